# SPDX-License-Identifier: GPL-2.0-or-later
# Unit tests, one block a folder under test. Blocks are independent of each other.

# tdm/: every byte on the fibre
$(eval $(call unit_test,test_frame,tests/unit/test_frame.c,tdm,libisal))
$(eval $(call unit_test,test_hit,tests/unit/test_hit.c,tdm,libisal))
$(eval $(call unit_test,test_hit_run,tests/unit/test_hit_run.c,tdm,libisal))
$(eval $(call unit_test,test_word,tests/unit/test_word.c,tdm,libisal))
$(eval $(call unit_test,test_record,tests/unit/test_record.c,tdm,libisal))
$(eval $(call unit_test,test_recording,tests/unit/test_recording.c,tdm,libisal))
$(eval $(call unit_test,test_deframe,$(addprefix tests/unit/,test_deframe.c deframe_rig.c),tdm,libisal))
$(eval $(call unit_test,test_deframe_random,$(addprefix tests/unit/,test_deframe_random.c deframe_rig.c),tdm,libisal))

# consumers: groups, publisher
$(eval $(call unit_test,test_groups,$(addprefix tests/unit/,test_groups.c groups_rig.c) $(addprefix daemon/,groups.c groups_policy.c groups_status.c),,))
$(eval $(call unit_test,test_groups_policy,$(addprefix tests/unit/,test_groups_policy.c groups_rig.c) $(addprefix daemon/,groups.c groups_policy.c groups_status.c),,))
$(eval $(call unit_test,test_groups_random,$(addprefix tests/unit/,test_groups_random.c groups_rig.c) $(addprefix daemon/,groups.c groups_policy.c groups_status.c),,))
$(eval $(call unit_test,test_consumer,tests/unit/test_consumer.c $(addprefix tests/system/,consumer_check.c truth_book.c),fcmdata data tdm,libzmq jansson libisal libxxhash sqlite3))
$(eval $(call unit_test,test_feed,$(addprefix tests/unit/,test_feed.c feed_rig.c) $(addprefix daemon/,feed.c feed_line.c feed_socket.c block_pool.c),tdm,libisal))
$(eval $(call unit_test,test_publisher_feed,$(addprefix tests/unit/,test_publisher_feed.c feed_rig.c),publisher data tdm,libzmq jansson libisal))
$(eval $(call unit_test,test_publisher,$(addprefix tests/unit/,test_publisher.c publisher_rig.c),publisher data tdm,libzmq jansson libisal))
$(eval $(call unit_test,test_publisher_slow,$(addprefix tests/unit/,test_publisher_slow.c publisher_rig.c),publisher data tdm,libzmq jansson libisal))

$(eval $(call unit_test,test_fcmdata,$(addprefix tests/unit/,test_fcmdata.c fcmdata_rig.c),fcmdata tdm,libzmq jansson libisal))
$(eval $(call unit_test,test_fcmdata_wait,$(addprefix tests/unit/,test_fcmdata_wait.c fcmdata_rig.c),fcmdata tdm,libzmq jansson libisal))
$(eval $(call unit_test,test_fcmdata_block,tests/unit/test_fcmdata_block.c,fcmdata tdm,libzmq jansson libisal))
$(eval $(call unit_test,test_fcmdata_track,tests/unit/test_fcmdata_track.c daemon/consumer/track.c,,))

# driver/: the board's model, its user-space host, the library
$(eval $(call unit_test,test_board,$(addprefix tests/unit/,test_board.c board_rig.c fake_world.c),emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_board_link,$(addprefix tests/unit/,test_board_link.c board_rig.c fake_world.c),emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_board_put,$(addprefix tests/unit/,test_board_put.c board_rig.c fake_world.c),emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_board_fault,$(addprefix tests/unit/,test_board_fault.c board_rig.c fake_world.c),emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_contract,$(addprefix tests/unit/,test_contract.c contract_rig.c contract_ring.c contract_owner.c contract_rights.c \
    contract_word.c contract_buffer.c contract_polling.c contract_fault.c contract_host.c fake_world.c),nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_contract_socket,$(addprefix tests/unit/,test_contract_socket.c socket_rig.c contract_host.c fake_world.c),nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_host,$(addprefix tests/unit/,test_host.c socket_rig.c contract_host.c fake_world.c),nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_lib_poller,tests/unit/test_lib_poller.c,nanet3,))
$(eval $(call unit_test,test_lib_polling,$(addprefix tests/unit/,test_lib_polling.c socket_rig.c contract_host.c fake_world.c),nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_perf,tests/unit/test_perf.c,perf nanet3,))

# driver/emu/: the board as a guest's PCI device
$(eval $(call unit_test,test_qemu_pci,tests/unit/test_qemu_pci.c,emuqemu,))
$(eval $(call unit_test,test_qemu_wire,tests/unit/test_qemu_wire.c,emuqemu,))
$(eval $(call unit_test,test_qemu_host,$(addprefix tests/unit/,test_qemu_host.c fake_world.c),emuqemu emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_emu_options,tests/unit/test_emu_options.c driver/emu/emu_options.c,emuqemu emuboard emuworld emuplay tdm,libisal libxxhash))

# the emulator's world
$(eval $(call unit_test,test_world,$(addprefix tests/unit/,test_world.c world_rig.c),emuworld emuplay tdm,libisal libxxhash))
$(eval $(call unit_test,test_floor,$(addprefix tests/unit/,test_floor.c world_rig.c),emuworld emuplay tdm,libisal libxxhash))
$(eval $(call unit_test,test_silence,tests/unit/test_silence.c,emuworld emuplay tdm,libisal libxxhash))
$(eval $(call unit_test,test_world_faults,$(addprefix tests/unit/,test_world_faults.c world_rig.c),emuworld emuplay tdm,libisal libxxhash))
$(eval $(call unit_test,test_scenario,tests/unit/test_scenario.c,emuworld emuplay tdm,libisal libxxhash))
$(eval $(call unit_test,test_play,$(addprefix tests/unit/,test_play.c record_rig.c),emuplay tdm,libisal))
$(eval $(call unit_test,test_gps,tests/unit/test_gps.c,emuworld emuplay tdm,libisal libxxhash))

# fcmctl
$(eval $(call unit_test,test_ctl_time,tests/unit/test_ctl_time.c,fcmctl,jansson))
$(eval $(call unit_test,test_ctl_writer,tests/unit/test_ctl_writer.c,fcmctl,jansson))
$(eval $(call unit_test,test_ctl_plot,tests/unit/test_ctl_plot.c,fcmctl,jansson))
$(eval $(call unit_test,test_ctl_histogram,tests/unit/test_ctl_histogram.c,fcmctl,jansson))
$(eval $(call unit_test,test_ctl_args,tests/unit/test_ctl_args.c,fcmctl,jansson))
$(eval $(call unit_test,test_ctl_message,tests/unit/test_ctl_message.c,fcmctl tdm,jansson libisal))

$(eval $(call unit_test,test_ctl_job,tests/unit/test_ctl_job.c,fcmctl slowctl tdm,jansson libzmq ncursesw libisal sqlite3 inih))
$(eval $(call unit_test,test_record_dump,$(addprefix tests/unit/,test_record_dump.c record_rig.c floor_rig.c),fcmctl slowctl tdm,jansson libzmq ncursesw libisal sqlite3 inih))
$(eval $(call unit_test,test_advice,tests/unit/test_advice.c,fcmctl slowctl tdm,jansson libzmq ncursesw libisal sqlite3 inih))

# daemon/: time, phase, configuration, log
$(eval $(call unit_test,test_clock,$(addprefix tests/unit/,test_clock.c clock_rig.c),timing tdm,libgps libisal))
$(eval $(call unit_test,test_clock_sources,$(addprefix tests/unit/,test_clock_sources.c clock_rig.c),timing tdm,libgps libisal))
$(eval $(call unit_test,test_clock_rules,$(addprefix tests/unit/,test_clock_rules.c clock_rig.c),timing tdm,libgps libisal))
$(eval $(call unit_test,test_phase,tests/unit/test_phase.c,timing,libgps))
$(eval $(call unit_test,test_phase_stability,tests/unit/test_phase_stability.c,timing,libgps))
$(eval $(call unit_test,test_config,tests/unit/test_config.c,common,inih libsystemd))
$(eval $(call unit_test,test_log,tests/unit/test_log.c,common,inih libsystemd))
$(eval $(call unit_test,test_gpsd,tests/unit/test_gpsd.c,timing,libgps))
$(eval $(call unit_test,test_late,tests/unit/test_late.c,,))
$(eval $(call unit_test,test_watch,$(addprefix tests/unit/,test_watch.c socket_rig.c contract_host.c fake_world.c) daemon/watch.c,nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_reason_kinds,tests/unit/test_reason_kinds.c daemon/reason_kinds.c,,jansson))
$(eval $(call unit_test,test_silence_say,tests/unit/test_silence_say.c daemon/silence.c,slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_standing,tests/unit/test_standing.c daemon/standing.c,,))
$(eval $(call unit_test,test_bursts,tests/unit/test_bursts.c daemon/bursts.c,,))
$(eval $(call unit_test,test_comings,tests/unit/test_comings.c daemon/comings.c,,))
$(eval $(call unit_test,test_overflow,tests/unit/test_overflow.c,,))
$(eval $(call unit_test,test_downlink,tests/unit/test_downlink.c,,))
$(eval $(call unit_test,test_rates,tests/unit/test_rates.c,,))
$(eval $(call unit_test,test_boots,tests/unit/test_boots.c,,))
$(eval $(call unit_test,test_access,tests/unit/test_access.c,slowctl,libzmq))
$(eval $(call unit_test,test_network,tests/unit/test_network.c $(addprefix daemon/,network.c network_door.c control_desk.c),slowctl,libevent jansson libzmq))
$(eval $(call unit_test,test_control_desk,tests/unit/test_control_desk.c daemon/control_desk.c,slowctl,jansson libzmq))
$(eval $(call unit_test,test_control,tests/unit/test_control.c daemon/control.c daemon/control_desk.c,slowctl,libevent jansson libzmq))

# daemon/: the way of the data up to the publisher
$(eval $(call unit_test,test_block,$(addprefix tests/unit/,test_block.c floor_rig.c),data tdm,libisal))
$(eval $(call unit_test,test_ledger,tests/unit/test_ledger.c,data tdm,libisal))
$(eval $(call unit_test,test_queue,tests/unit/test_queue.c,,))
$(eval $(call unit_test,test_assemble,tests/unit/test_assemble.c,data tdm,libisal))
$(eval $(call unit_test,test_settle,tests/unit/test_settle.c,data tdm,libisal))
$(eval $(call unit_test,test_capture,$(addprefix tests/unit/,test_capture.c capture_path.c capture_rig.c floor_rig.c),\
    data nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_run_border,tests/unit/test_run_border.c,data tdm,libisal))
$(eval $(call unit_test,test_runs,$(addprefix tests/unit/,test_runs.c runs_rig.c) daemon/run_state.c,data tdm,libisal))
$(eval $(call unit_test,test_capture_runs,$(addprefix tests/unit/,test_capture_runs.c capture_path.c capture_rig.c floor_rig.c),\
    data nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_capture_killed,$(addprefix tests/unit/,test_capture_killed.c capture_path.c capture_rig.c floor_rig.c),\
    data nanet3 emuboard emuplay tdm,libisal))
$(eval $(call unit_test,test_owner_page,tests/unit/test_owner_page.c,data tdm,libisal))
$(eval $(call unit_test,test_capture_link,$(addprefix tests/unit/,test_capture_link.c capture_rig.c floor_rig.c),data emuboard emuplay tdm,libisal))

# daemon/: the recorder
$(eval $(call unit_test,test_tap,tests/unit/test_tap.c,data tdm,libisal))
$(eval $(call unit_test,test_segment,tests/unit/test_segment.c,record data tdm,jansson libisal))
$(eval $(call unit_test,test_recorder,$(addprefix tests/unit/,test_recorder.c recorder_rig.c),record data tdm,jansson libisal))
$(eval $(call unit_test,test_recorder_box,$(addprefix tests/unit/,test_recorder_box.c recorder_rig.c),record data tdm,jansson libisal))

# slowctl/: parameters, command engine, queries; the store behind them
$(eval $(call unit_test,test_alarm,tests/unit/test_alarm.c,slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_limits,tests/unit/test_limits.c slowctl/limits.c,,))
$(eval $(call unit_test,test_param_site,tests/unit/test_param_site.c,slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_param,tests/unit/test_param.c,slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine,$(addprefix tests/unit/,test_engine.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_journal,$(addprefix tests/unit/,test_engine_journal.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_emergency,$(addprefix tests/unit/,test_engine_emergency.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_sequence,$(addprefix tests/unit/,test_engine_sequence.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_trip,$(addprefix tests/unit/,test_engine_trip.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_readback,$(addprefix tests/unit/,test_engine_readback.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_silence,$(addprefix tests/unit/,test_engine_silence.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_random,$(addprefix tests/unit/,test_engine_random.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_safe,$(addprefix tests/unit/,test_safe.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_engine_rules,$(addprefix tests/unit/,test_engine_rules.c engine_rig.c),slowctl tdm,inih jansson sqlite3 libisal))
$(eval $(call unit_test,test_store,$(addprefix tests/unit/,test_store.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_emergency,$(addprefix tests/unit/,test_emergency.c store_rig.c) daemon/emergency.c daemon/log.c,store slowctl data timing tdm,inih jansson sqlite3 libisal libgps libsystemd))
$(eval $(call unit_test,test_store_journal,$(addprefix tests/unit/,test_store_journal.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_store_life,$(addprefix tests/unit/,test_store_life.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_store_away,$(addprefix tests/unit/,test_store_away.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_store_migrate,$(addprefix tests/unit/,test_store_migrate.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_store_archive,$(addprefix tests/unit/,test_store_archive.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_query,$(addprefix tests/unit/,test_query.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_query_job,$(addprefix tests/unit/,test_query_job.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_query_at,$(addprefix tests/unit/,test_query_at.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_sample_keep,$(addprefix tests/unit/,test_sample_keep.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_query_ledger,$(addprefix tests/unit/,test_query_ledger.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))
$(eval $(call unit_test,test_ledger_keep,$(addprefix tests/unit/,test_ledger_keep.c store_rig.c),store slowctl data timing tdm,inih jansson sqlite3 libisal libgps))

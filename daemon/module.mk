# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon, one block a part. Blocks are independent of each other.

# doors: who gets through to a ZeroMQ socket, and what a connection may cost.
$(eval $(call library,doors,$(addprefix daemon/,door.c listener.c zap.c zmq_frames.c),libzmq libsystemd))

# publisher: blocks to the consumers. Wants block.c, tdm, doors, slowctl.
$(eval $(call library,publisher,$(addprefix daemon/,publisher.c publisher_members.c publisher_keys.c monitors.c groups.c groups_policy.c groups_status.c hello.c router.c feed.c feed_line.c feed_socket.c),libzmq jansson))

# common: configuration and log. Every program may use it.
$(eval $(call library,common,$(addprefix daemon/,config.c config_rules.c config_table.c config_value.c config_print.c log.c),inih libsystemd))

# data: the way of the data up to the publisher's queue. Wants tdm, nanet3.
$(eval $(call library,data,$(addprefix daemon/,block.c block_pool.c ledger.c losses.c assemble.c \
    owner_page.c settle.c tap.c run_border.c capture.c capture_link.c capture_out.c capture_report.c),libisal))

# record: what capture shows, to disk. Wants data, tdm.
$(eval $(call library,record,$(addprefix daemon/,segment.c record_dir.c recorder.c recorder_box.c),jansson))

# fcm-server: the main thread, where all parts meet.
$(eval $(call program,fcm-server,$(addprefix daemon/,main.c inherit.c emergency.c disk.c command_json.c links.c life.c shore.c reports.c runs.c run_state.c timing.c detector.c dry_run.c ramp.c status.c reasons.c reasons_loss.c reasons_floor.c silence.c reason_kinds.c standing.c told.c alarms_say.c ops_alarm.c bursts.c comings.c status_clock.c feed_say.c records.c ops.c ops_param.c ops_history.c ops_serial.c ops_plan.c snapshots.c ops_safe.c control.c control_desk.c control_groups.c places.c names.c worker.c questions.c network.c keys.c network_say.c doors_say.c watch.c),record data publisher doors store timing common slowctl tdm nanet3,libevent libzmq jansson sqlite3 libgps inih libsystemd libisal))

# timing: clock, gpsd, phase; state machines without I/O but for gps.c.
$(eval $(call library,timing,$(addprefix daemon/,clock.c clock_inputs.c clock_track.c clock_say.c leap.c gps.c phase.c phase_stability.c),libgps))

# store: SQLite's only writer. Wants slowctl, data, timing, tdm. Migrations are compiled in.
$(eval $(call library,store,$(addprefix daemon/,store.c store_file.c store_sql.c store_away.c store_archive.c store_read.c store_put.c store_keep.c),sqlite3))
$(B)/obj/daemon/store_file.o: $(wildcard schemas/sql/*.sql)

# SPDX-License-Identifier: GPL-2.0-or-later
# Slow control: parameters, command engine, queries to the database. No I/O but files that are read.
$(eval $(call library,slowctl,$(addprefix slowctl/,access.c keyfile.c file_guard.c alarm.c limits.c param.c param_match.c param_load.c param_site.c engine.c engine_command.c engine_rules.c engine_words.c engine_sequence.c engine_journal.c engine_view.c engine_undone.c kind_key.c safe.c query.c query_at.c query_job.c query_snapshot.c query_ledger.c query_missing.c query_station.c recordings.c),inih jansson sqlite3 libzmq))

# fcmctl, the command line; as a library, so that its parts can be tested one by one.
ctl_sources := $(addprefix slowctl/, \
  ctl_alarm.c ctl_args.c ctl_at.c ctl_away.c ctl_call.c ctl_client.c ctl_clock.c ctl_commands.c ctl_confirm.c ctl_complete.c ctl_consumer.c ctl_event.c ctl_histogram.c ctl_history.c \
  ctl_apply.c ctl_batch.c ctl_job.c ctl_job_file.c ctl_job_past.c ctl_job_show.c ctl_many.c ctl_plan.c ctl_snapshot.c \
  ctl_journal.c ctl_key.c ctl_ledger.c ctl_link.c ctl_message.c ctl_param.c ctl_phase.c ctl_plot.c ctl_record.c ctl_record_dump.c \
  ctl_record_items.c ctl_record_pcap.c ctl_run.c ctl_safe.c ctl_send.c ctl_serial.c ctl_status.c \
  ctl_monitor.c ctl_tail.c ctl_time.c ctl_top.c ctl_value.c ctl_writer.c)
ctl_packages := jansson libzmq ncursesw libisal
$(eval $(call library,fcmctl,$(ctl_sources),$(ctl_packages)))
$(eval $(call program,fcmctl,slowctl/ctl.c,fcmctl slowctl tdm,$(ctl_packages) sqlite3 inih))

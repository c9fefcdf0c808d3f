# SPDX-License-Identifier: GPL-2.0-or-later
# Slow control: parameters, command engine, queries to the database. No I/O but files that are read.
$(eval $(call library,slowctl,$(addprefix slowctl/,param.c param_load.c engine.c engine_command.c engine_words.c engine_view.c query.c query_ledger.c query_missing.c query_station.c recordings.c),inih jansson sqlite3))

# fcmctl, the command line; as a library, so that its parts can be tested one by one.
ctl_sources := $(addprefix slowctl/, \
  ctl_args.c ctl_away.c ctl_call.c ctl_client.c ctl_clock.c ctl_commands.c ctl_consumer.c ctl_event.c ctl_histogram.c \
  ctl_journal.c ctl_ledger.c ctl_link.c ctl_message.c ctl_param.c ctl_phase.c ctl_record.c ctl_record_dump.c \
  ctl_record_items.c ctl_record_pcap.c ctl_run.c ctl_send.c ctl_status.c \
  ctl_tail.c ctl_time.c ctl_top.c ctl_value.c ctl_writer.c)
ctl_packages := jansson libzmq ncursesw libisal
$(eval $(call library,fcmctl,$(ctl_sources),$(ctl_packages)))
$(eval $(call program,fcmctl,slowctl/ctl.c,fcmctl slowctl tdm,$(ctl_packages) sqlite3 inih))

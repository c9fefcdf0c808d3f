/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All commands of fcmctl, in the order of the help. A new noun: a file with its table, a line here and
 * in commands.h, a section in fcmctl.1. */
#include "slowctl/fcmctl/commands.h"

const struct ctl_command *const ctl_commands[] = {
	ctl_status_commands, ctl_top_commands,	    ctl_incident_commands, ctl_event_commands,
	ctl_log_commands,    ctl_report_commands,   ctl_doctor_commands,   ctl_link_commands,
	ctl_phase_commands,  ctl_clock_commands,    ctl_param_commands,	   ctl_safe_commands,
	ctl_past_commands,   ctl_history_commands,  ctl_plan_commands,	   ctl_batch_commands,
	ctl_job_commands,    ctl_snapshot_commands, ctl_journal_commands,  ctl_consumer_commands,
	ctl_ledger_commands, ctl_run_commands,	    ctl_record_commands,   ctl_record_dump_commands,
	ctl_data_commands,   ctl_serial_commands,   ctl_complete_commands, ctl_key_commands,
	ctl_drill_commands,  ctl_notify_commands,   ctl_backup_commands,   NULL,
};

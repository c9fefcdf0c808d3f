/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declares the tables of fcmctl's commands and `ctl_commands`, the list of them, which main.c gives to core/. A table
 * is in the file of its noun, here or in doctor/, jobs/, record/ and watch/. Then `get --at` (past.c) and the
 * hidden command of shell completion (complete.c). */
#pragma once

#include "slowctl/fcmctl/core/ctl.h"

extern const struct ctl_command *const ctl_commands[];
extern const struct ctl_command ctl_status_commands[], ctl_top_commands[], ctl_param_commands[],
	ctl_link_commands[], ctl_phase_commands[], ctl_clock_commands[], ctl_journal_commands[],
	ctl_consumer_commands[], ctl_ledger_commands[], ctl_run_commands[], ctl_record_commands[],
	ctl_record_dump_commands[], ctl_data_commands[], ctl_key_commands[], ctl_event_commands[],
	ctl_past_commands[], ctl_history_commands[], ctl_complete_commands[], ctl_serial_commands[],
	ctl_batch_commands[], ctl_plan_commands[], ctl_snapshot_commands[], ctl_safe_commands[],
	ctl_job_commands[], ctl_incident_commands[], ctl_log_commands[], ctl_report_commands[],
	ctl_drill_commands[], ctl_notify_commands[], ctl_backup_commands[], ctl_doctor_commands[];

/* get --at: the parameters of the words typed, as they were then. An exit code. */
int ctl_get_at(struct ctl *ctl, const struct ctl_args *args);
/* The hidden verb: the words typed behind fcmctl, the last one begun (perhaps ""). Prints one candidate a line on
 * stdout and nothing else, whatever happens. An exit code. */
int ctl_complete(int count, char **words);

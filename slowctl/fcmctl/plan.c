/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `plan` and `apply`: what differs from what is set, and setting it. */
#include "slowctl/fcmctl/commands.h"
#include "slowctl/fcmctl/jobs/plan.h"

static int plan_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct job job;
	struct plan plan;
	int code = job_open_plan(ctl, args, &job);

	code = code == CTL_DONE ? plan_make(&job, &plan) : code;
	if (code == CTL_DONE) {
		plan_show(&plan, true);
		code = plan.of[PLAN_IMPOSSIBLE] > 0 ? CTL_NOT : CTL_DONE;
	}
	job_close(&job);
	return code;
}

static int apply_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct job job;
	int code = job_open_plan(ctl, args, &job);

	code = code == CTL_DONE ? plan_apply(&job) : code;
	job_close(&job);
	return code;
}

const struct ctl_command ctl_plan_commands[] = {
	{NULL, "plan", "FILE|-", "what a file of values would change",
	 .help = "The file has lines NAME = VALUE; # begins a comment. A name may be a\n"
		 "pattern; a line with the parameter's own name overrides a pattern.\n"
		 "Shows, in the order of apply, for each parameter its value now, its\n"
		 "value then, its danger, and a remark. Nothing is sent. Exit 1 when a\n"
		 "value cannot be set.\n\n"
		 "  fcmctl get --plan 'floor3.om*.hv' > gains.plan    # then edit it\n"
		 "  fcmctl plan gains.plan",
	 .options = CTL_BIT(CTL_FORCE), .run = plan_run},
	{NULL, "apply", "FILE|-", "set what a file of values says, as one job",
	 .help = "Shows what would change and asks. Then it sets the values in a safe\n"
		 "order: HV down, modules on, ramps and thresholds, HV up, modules off.\n"
		 "Each step begins when the step before it has ended. It stops at the\n"
		 "first failure; with --keep-going it sets all that it can. With\n"
		 "--roll-back it then sets back what it has changed, in reverse order.\n"
		 "--job continues an interrupted job.\n\n"
		 "  fcmctl apply gains.plan --reason 'gain matching' --roll-back",
	 .options = CTL_BIT(CTL_REASON) | CTL_BIT(CTL_YES) | CTL_BIT(CTL_FORCE) |
		    CTL_BIT(CTL_DRY_RUN) | CTL_BIT(CTL_JOB) | CTL_BIT(CTL_KEEP_GOING) |
		    CTL_BIT(CTL_ROLL_BACK),
	 .run = apply_run},
	{0},
};

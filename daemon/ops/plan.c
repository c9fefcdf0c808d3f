// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What fcmctl plans, applies and restores asks for: the commands of a job, snapshots. Jobs themselves are fcmctl's; the
 * journal knows them by the client ids of their commands.
 */
#include <errno.h>
#include <string.h>

#include "daemon/ops/ops.h"
#include "daemon/station/station.h"

static unsigned most_arg(const json_t *args)
{
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));

	return limit > 0 ? (unsigned)limit : 0;
}

static int ask_job(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_job(q, text_arg(n->args, "job"), text_arg(n->args, "after"), ret_json);
}

static void op_job_show(struct control_request *rq, json_t *args, void *context)
{
	const char *job = text_arg(args, "job");

	if (!job || !*job || strlen(job) > 32) {
		control_fail(rq, "usage", "fcmctl batch --help", NULL, "which job?");
		return;
	}
	questions_ask(context,
		      &(struct question){.rq = rq, .args = args, .what = "job", .ask = ask_job});
}

static int ask_jobs(struct query *q, const struct question *n, json_t **ret_json)
{
	return query_jobs(q, most_arg(n->args), ret_json);
}

static void op_job_list(struct control_request *rq, json_t *args, void *context)
{
	questions_ask(context,
		      &(struct question){.rq = rq, .args = args, .what = "jobs", .ask = ask_jobs});
}

static void op_snapshot_save(struct control_request *rq, json_t *args, void *context)
{
	snapshots_op_save(context, rq, args);
}

static int ask_snapshots(struct query *q, const struct question *n, json_t **ret_json)
{
	int r = query_snapshots(q, most_arg(n->args), ret_json);
	json_t *snapshot;
	size_t i;

	if (r == 0) {
		json_array_foreach (json_object_get(*ret_json, "snapshots"), i, snapshot) {
			json_object_del(snapshot, "id");
		}
	}
	return r;
}

static void op_snapshot_list(struct control_request *rq, json_t *args, void *context)
{
	questions_ask(context,
		      &(struct question){
			      .rq = rq, .args = args, .what = "snapshots", .ask = ask_snapshots});
}

static void op_snapshot_show(struct control_request *rq, json_t *args, void *context)
{
	snapshots_op_show(context, rq, args);
}

static void op_snapshot_remove(struct control_request *rq, json_t *args, void *context)
{
	snapshots_op_remove(context, rq, args);
}

const struct control_op station_plan_ops[] = {
	{"job.list", ACCESS_READER, op_job_list, "limit:i"},
	{"job.show", ACCESS_READER, op_job_show, "job:s after:s"},
	{"snapshot.save", ACCESS_OPERATOR, op_snapshot_save, "name:s pattern:s note:s dry_run:b"},
	{"snapshot.list", ACCESS_READER, op_snapshot_list, "limit:i"},
	{"snapshot.show", ACCESS_READER, op_snapshot_show, "name:s"},
	{"snapshot.remove", ACCESS_EXPERT, op_snapshot_remove, "name:s dry_run:b"},
	{0},
};

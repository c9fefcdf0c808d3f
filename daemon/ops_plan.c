// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What fcmctl plans, applies and restores asks for: the commands of a job, snapshots. Jobs themselves are fcmctl's; the
 * journal knows them by the client ids of their commands.
 */
#include <errno.h>
#include <string.h>

#include "daemon/station.h"

static void op_job_show(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	const char *job = json_string_value(json_object_get(args, "job"));
	json_t *j = NULL;

	if (!job || !*job || strlen(job) > 32) {
		control_fail(rq, "usage", "fcmctl batch --help", NULL, "which job?");
	} else if (station_ask(s, rq, args, "job")) {
		const char *after = json_string_value(json_object_get(args, "after"));
		int r = query_job(s->query, job, after, &j);

		station_tell(rq, r, j, "job");
	}
}

static void op_job_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));
	json_t *j = NULL;

	if (station_ask(s, rq, args, "jobs")) {
		int r = query_jobs(s->query, limit > 0 ? (unsigned)limit : 0, &j);

		station_tell(rq, r, j, "jobs");
	}
}

static void op_snapshot_save(struct control_request *rq, json_t *args, void *context)
{
	snapshots_op_save(context, rq, args);
}

static void op_snapshot_list(struct control_request *rq, json_t *args, void *context)
{
	struct station *s = context;
	json_int_t limit = json_integer_value(json_object_get(args, "limit"));
	json_t *j = NULL;

	if (station_ask(s, rq, args, "snapshots")) {
		int r = query_snapshots(s->query, limit > 0 ? (unsigned)limit : 0, &j);
		json_t *snapshot;
		size_t n;

		json_array_foreach (json_object_get(j, "snapshots"), n, snapshot) {
			json_object_del(snapshot, "id");
		}
		station_tell(rq, r, j, "snapshots");
	}
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

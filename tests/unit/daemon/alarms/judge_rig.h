/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A judge in virtual time: a view of a station in which all is well, to be changed by a test, and the incidents that the
 * judge then tells.
 */
#pragma once

#include "daemon/alarms/judge.h"

#define RIG_S 1000000000ull

struct judge_rig {
	struct judge *judge;
	struct judge_view v;
	struct params *params;
	struct engine *engine;
	struct engine_reason reasons[64];
	struct judge_module module[NANET3_LINKS][PARAM_OM_COUNT];
	struct publisher_status publisher;
	struct boots_floor boot;
	uint64_t lost_ns; /* the last loss */
	unsigned events, boxes;
	char said[400]; /* the last event: "info link-loss: ..." */
};

/* Four links up, a group "trigger" with a member; 1000 s after the start. */
void rig_open(struct judge_rig *r);
void rig_close(struct judge_rig *r);
/* So long, a look each 100 ms. */
void rig_run(struct judge_rig *r, double seconds);
/* Before the next look: so many frames of a link, or of the group. */
void rig_lose(struct judge_rig *r, unsigned link, enum tdm_loss loss, uint64_t frames);
void rig_drop(struct judge_rig *r, enum outcome outcome, uint64_t frames);
/* No light; each look of it costs 800 frames. */
void rig_cut(struct judge_rig *r, unsigned link);
void rig_mend(struct judge_rig *r, unsigned link);
/* A parameter is read. */
void rig_read(struct judge_rig *r, const char *name, double value);
/* Alarms of its kind latch. */
void rig_latch(struct judge_rig *r, const char *name);

/* Incidents of this state; the only one of it, which there has to be. */
unsigned rig_count(struct judge_rig *r, enum incident_state state);
const struct incident *rig_only(struct judge_rig *r, enum incident_state state);
/* "link-dark link0, link-loss link0": its observations. */
const char *rig_parts(struct judge_rig *r, const struct incident *i);

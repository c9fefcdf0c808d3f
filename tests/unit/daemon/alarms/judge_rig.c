// SPDX-License-Identifier: GPL-2.0-or-later
/* A judge in virtual time. See judge_rig.h. */
#include "judge_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STEP_NS	    (RIG_S / 10)
#define STEP_FRAMES 800u

static void on_event(void *context, const struct judge_event *event)
{
	struct judge_rig *r = context;

	r->events++;
	snprintf(r->said, sizeof(r->said), "%s %s: %s", event->severity, event->code, event->text);
}

static void on_box(void *context, unsigned link, const char *code, const char *text)
{
	struct judge_rig *r = context;

	r->boxes++;
}

static void open_slow_control(struct judge_rig *r)
{
	struct param_floor floors[NANET3_LINKS];
	struct sc_error error = {0};
	struct engine_config config;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		floors[link] = (struct param_floor){(uint8_t)link, 1, (uint8_t)(link + 1)};
	}
	if (params_load("schemas/parameters.conf", floors, NANET3_LINKS, &r->params, &error) < 0) {
		fail_msg("%s", error.message);
	}
	engine_config_default(&config);
	config.poll = false;
	r->engine = engine_create(r->params, &config);
	assert_non_null(r->engine);
}

static const struct param *value_of(struct judge_rig *r, unsigned link, unsigned module,
				    const char *value)
{
	struct param *p = NULL;
	char name[PARAM_NAME_MAX];

	snprintf(name, sizeof(name), "tower1.floor%u.om%u.%s", link + 1, module, value);
	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	return p;
}

static void open_link(struct judge_rig *r, unsigned link)
{
	struct judge_link *l = &r->v.link[link];

	*l = (struct judge_link){.enabled = true,
				 .state = LINK_UP,
				 .signal = true,
				 .accounted = true,
				 .tower = 1,
				 .floor = (uint8_t)(link + 1),
				 .module = r->module[link]};
	for (unsigned m = 0; m < PARAM_OM_COUNT; m++) {
		r->module[link][m] = (struct judge_module){.hv = value_of(r, link, m, "hv"),
							   .power = value_of(r, link, m, "power"),
							   .trip = value_of(r, link, m, "trip"),
							   .lost = value_of(r, link, m, "lost")};
	}
	judge_account(r->judge, link, l->cells, 1, 0, false);
}

void rig_open(struct judge_rig *r)
{
	const struct judge_ops ops = {.event = on_event, .box = on_box, .context = r};

	memset(r, 0, sizeof(*r));
	r->judge = judge_create(&ops);
	assert_non_null(r->judge);
	r->v.config = (struct judge_config){.device = "board",
					    .database = "database",
					    .leap_file = "leaps",
					    .feed_address = "",
					    .reserved_endpoint = "",
					    .monitor_endpoint = "",
					    .drift_ps = 300};
	r->v.engine_reason = r->reasons;
	r->v.publisher = &r->publisher;
	r->v.closed_doors = "";
	r->v.started_ns = RIG_S;
	r->v.now_ns = 1001 * RIG_S;
	r->v.utc_ns = 1795187523000000000;
	r->v.board.present = true;
	r->v.clock.label.state = CLOCK_LOCKED;
	r->publisher.groups = 1;
	strcpy(r->publisher.group[0].name, "trigger");
	r->publisher.group[0].members = 1;
	open_slow_control(r);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		open_link(r, link);
	}
	rig_run(r, 1);
}

void rig_close(struct judge_rig *r)
{
	judge_destroy(r->judge);
	engine_destroy(r->engine);
	params_destroy(r->params);
}

void rig_lose(struct judge_rig *r, unsigned link, enum tdm_loss loss, uint64_t frames)
{
	r->v.link[link].cells[loss] += frames;
	r->v.link[link].lost[loss] += frames;
	r->lost_ns = r->v.now_ns;
}

void rig_drop(struct judge_rig *r, enum outcome outcome, uint64_t frames)
{
	r->publisher.group[0].dropped_frames[outcome] += frames;
	r->v.dropped[0][outcome] += frames;
	r->lost_ns = r->v.now_ns;
}

void rig_cut(struct judge_rig *r, unsigned link)
{
	r->v.link[link].state = LINK_DARK;
	r->v.link[link].signal = false;
}

void rig_mend(struct judge_rig *r, unsigned link)
{
	r->v.link[link].state = LINK_UP;
	r->v.link[link].signal = true;
}

void rig_read(struct judge_rig *r, const char *name, double value)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	param_put(p, value, r->v.utc_ns, r->v.now_ns);
}

void rig_latch(struct judge_rig *r, const char *name)
{
	struct param *p = NULL;

	assert_int_equal(params_find(r->params, name, &p, NULL), 0);
	((struct param_kind *)(uintptr_t)p->kind)->latch = true;
}

static void add_engine_reason(void *context, const struct engine_reason *reason)
{
	struct judge_rig *r = context;

	assert_true(r->v.engine_reasons < sizeof(r->reasons) / sizeof(*r->reasons));
	r->reasons[r->v.engine_reasons++] = *reason;
}

static void look_at_slow_control(struct judge_rig *r)
{
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		r->v.link[link].last_reply_ns = engine_last_reply_ns(r->engine, link);
		silence_get(r->params, link, r->v.now_ns, &r->v.link[link].silence);
	}
	r->v.engine_reasons = 0;
	engine_reasons(r->engine, (struct engine_now){r->v.now_ns, r->v.utc_ns}, add_engine_reason,
		       r);
}

static void step(struct judge_rig *r)
{
	r->v.now_ns += STEP_NS;
	r->v.utc_ns += (int64_t)STEP_NS;
	r->v.capture_tick_ns = r->v.now_ns;
	r->publisher.at_ns = r->v.now_ns;
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		struct judge_link *l = &r->v.link[link];

		if (l->state == LINK_UP) {
			l->last_good_ns = r->v.now_ns;
		} else if (l->state == LINK_DARK && r->v.board.present) {
			rig_lose(r, link, TDM_LOSS_LINK_DOWN, STEP_FRAMES);
		}
		if (r->v.now_ns - r->lost_ns > LOSS_WINDOW_S * RIG_S) {
			memset(l->lost, 0, sizeof(l->lost));
			memset(r->v.dropped, 0, sizeof(r->v.dropped));
		}
	}
	look_at_slow_control(r);
	judge_tick(r->judge, &r->v);
	alarms_tick(judge_alarms(r->judge), (struct engine_now){r->v.now_ns, r->v.utc_ns});
	for (struct alarm *e; (e = alarms_changed(judge_alarms(r->judge)));) {
		alarms_taken(e);
	}
}

void rig_run(struct judge_rig *r, double seconds)
{
	for (unsigned n = 0; n < (unsigned)(seconds * 10 + 0.5); n++) {
		step(r);
	}
}

unsigned rig_count(struct judge_rig *r, enum incident_state state)
{
	size_t count;
	const struct incident *const *list = incidents_list(judge_incidents(r->judge), &count);
	unsigned found = 0;

	for (size_t n = 0; n < count; n++) {
		found += list[n]->state == state;
	}
	return found;
}

const struct incident *rig_only(struct judge_rig *r, enum incident_state state)
{
	size_t count;
	const struct incident *const *list = incidents_list(judge_incidents(r->judge), &count);

	assert_int_equal(rig_count(r, state), 1);
	for (size_t n = 0; n < count; n++) {
		if (list[n]->state == state) {
			return list[n];
		}
	}
	return NULL;
}

const char *rig_parts(struct judge_rig *r, const struct incident *i)
{
	const struct incident_part *p = NULL;
	static char text[2000];
	size_t used = 0;

	*text = '\0';
	while ((p = incidents_part(judge_incidents(r->judge), i, p))) {
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s%s%s",
					 used ? ", " : "", p->kind->code, p->object,
					 p->loss ? " " : "", p->loss ? p->loss : "");
	}
	return text;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters: the values of floors, links and shore, each with its age, set value and limits.
 *
 *   kinds (schemas/parameters.conf), for each floor and link of the configuration, and the shore --> parameters
 *
 * A *kind* is an entry of the dictionary ([om.hv]: unit, registers, limits, ...); a *parameter* is one
 * instance of it (tower1.floor7.om3.hv). A floor's full name has its tower; a look-up may
 * omit it where that is unambiguous. Floors count from 1, links, modules and hydrophones from 0.
 *
 * No I/O except reading the dictionary, no threads: the daemon's main thread owns the
 * `struct params`. The engine writes the values of floors, the daemon those of the shore.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "slowctl/param/error.h"
#include "slowctl/param/limits.h"

#define PARAM_NAME_MAX	       64u
#define PARAM_LINKS	       4u
#define PARAM_ENUM_MAX	       16u
#define PARAM_OM_COUNT	       6u
#define PARAM_HYDROPHONE_COUNT 2u

/* The time of a call, for the state machines of slow control. */
struct engine_now {
	uint64_t mono_ns; /* CLOCK_MONOTONIC: time-outs, ages */
	int64_t utc_ns;	  /* CLOCK_REALTIME: what is written down */
};

enum param_object { PARAM_OM, PARAM_HYDROPHONE, PARAM_FCM, PARAM_LINK, PARAM_SHORE };
enum param_type { PARAM_FLOAT, PARAM_INT, PARAM_BOOL, PARAM_ENUM };
enum param_access { PARAM_RO, PARAM_RW, PARAM_ACTION };
enum param_danger { PARAM_SAFE, PARAM_CAREFUL, PARAM_DANGEROUS };
/* The source of the value: polled by READ, in every frame's telemetry, made by the daemon. */
enum param_source { PARAM_POLLED, PARAM_TELEMETRY, PARAM_DAEMON };
enum param_quality {
	PARAM_NEVER, /* no value yet */
	PARAM_GOOD,
	PARAM_STALE, /* older than stale_after */
	PARAM_BAD,   /* the floor refused to read it, or the value is impossible */
};

/* What they are called; each list ends with NULL. */
extern const char *const param_type_names[],
	*const param_access_names[], *const param_danger_names[], *const param_quality_names[];

/* An entry of the dictionary. Limits and tolerance are in `unit`; value = raw x scale. */
struct param_kind {
	char section[48];     /* as in the file: "om.hv", "clock.state" */
	char object_name[24]; /* "om", "hydrophone", "fcm", "link", or the shore's own: "clock" */
	char name[32];	      /* "hv" */
	char description[120];
	char unit[12];
	enum param_object object;
	enum param_type type;
	enum param_access access;
	enum param_danger danger;
	enum param_source source;
	int reg; /* rw: the register written; ro polled: read; action: the action's; -1 none */
	int readback_reg; /* rw: read to see the value; = reg unless named; action: the counter that
			   * proves it; -1 none */
	double scale;
	double hard_min, hard_max; /* the hardware's range; -/+INFINITY: none */
	double soft_min, soft_max; /* beyond: only with force */
	double tolerance;	   /* |read-back - set value| <= tolerance: the set is done */
	double settle_s;	   /* time allowed from ACK to done, besides the ramp */
	char settle_by[32];	   /* sibling that ramps it, in unit/s ("ramp"); "" none */
	char see[32];		   /* rw: sibling that, while on, keeps it off ("trip"); "" none */
	char needs
		[32]; /* sibling that must be on for it ("power"), unless it makes safer; "" none */
	char powered_by[32]; /* rw: sibling without which its FCM refuses a set; "" none */
	double safest;	/* rw: sets towards it make safer: no interlock holds them; NaN: no such */
	bool optional;	/* an FCM may lack it: then it is bad, and no reason of status */
	char moves[32]; /* action: sibling that goes to its set value then ("hv"); "" none */
	/* In which step a plan lowers it (switches it off) and raises it; small ones first. */
	double order_lower, order_raise;
	double poll_s;	      /* period of polling; 0: never */
	double stale_s;	      /* older is stale; 0: never stale */
	double history_s;     /* mean time between two samples kept; 0: no history */
	double deadband;      /* a change up to this is no new sample before the heartbeat */
	struct limits limits; /* beyond: warning, alarm */
	bool latch;	      /* it stays until an operator has acknowledged it */
	bool counter; /* it only grows, and begins at 0 again: at a boot, or past its largest */
	char on_alarm[200]; /* what to do */
	unsigned enum_count;
	char enum_names[PARAM_ENUM_MAX][24]; /* of values 0, 1, ... */
	int line;			     /* in the file */
	uint64_t given;			     /* which keys were, a bit each */
};

/* A command of ours. */
struct param_hand {
	char who[64];	 /* "": none is known */
	bool safe;	 /* it was part of a `safe` */
	int64_t time_ns; /* UTC */
};

struct param {
	const struct param_kind *kind;
	char name[PARAM_NAME_MAX]; /* full: "tower1.floor7.om3.hv", "link2.phase", "clock.state" */
	int link;		   /* 0..3; -1: none */
	uint8_t tower, floor;	   /* 0: none */
	uint8_t index;		   /* of the module, hydrophone or link */
	uint8_t module;		   /* as slow-control words name it */
	uint32_t number;	   /* place in the table */

	bool has_value, has_setpoint, bad;
	double value, setpoint; /* in unit; setpoint: what was last set and acknowledged */
	int32_t raw;
	int64_t time_ns;      /* UTC of the value */
	uint64_t mono_ns;     /* the same instant, CLOCK_MONOTONIC */
	uint64_t setpoint_ns; /* when the setpoint was acknowledged or read */
	struct param_hand by; /* our command that made the setpoint what it is */
	struct limits_state beyond;
	/* The history's own. */
	bool sampled;
	uint64_t sampled_mono_ns;
	double sampled_value, sampled_setpoint, sample_credit;
	enum limits_level sampled_level;
	/* The engine's own. */
	bool polling;
	uint64_t next_poll_ns;
};

/* A floor of the configuration. */
struct param_floor {
	uint8_t link, tower, floor;
};

struct params;
struct tdm_telemetry;

int param_no_memory(struct sc_error *error); /* -ENOMEM, and the refusal that says so */

/*
 * Read and check the dictionary at `path` and make the parameters of `floors` (one a link), of those
 * links and of the shore. -ENOENT, -EINVAL (the error says file:line), -ENOMEM.
 */
int params_load(const char *path, const struct param_floor *floors, unsigned floor_count,
		struct params **ret_params, struct sc_error *error);
/*
 * The site's changes: a file, or the files *.conf of a directory in the order of their names. A
 * section [om.hv] changes a kind, [floor3.om2.hv] or [link2.loss] one parameter. Later sections
 * override earlier ones; those of a parameter override those of its kind. Keys that describe the
 * hardware cannot be changed. *ret_count (may be NULL): sections read. -ENOENT, -EINVAL (the error
 * says file:line), -ENOMEM; then `p` is of no use.
 */
int params_override(struct params *p, const char *path, unsigned *ret_count,
		    struct sc_error *error);
void params_destroy(struct params *p);

unsigned params_count(const struct params *p);
struct param *params_at(struct params *p, unsigned number); /* in the order of the names shown */

/* By name, the tower optional. -ENOENT (the hint names what is near), -ENOTUNIQ (say the tower). */
int params_find(struct params *p, const char *name, struct param **ret_param,
		struct sc_error *error);
/* A sibling of the same module or object: params_sibling(p, om3.hv, "ramp"). NULL: none. */
struct param *params_sibling(struct params *p, const struct param *param, const char *name);
/* All that match a shell pattern ("floor*.om[0-5].hv"; * stays between dots, a leading tower may be
 * left out; a prefix like "floor3" or "floor3.om2" stands for all below it). Calls fn for each;
 * returns how many. */
unsigned params_match(struct params *p, const char *pattern,
		      void (*fn)(void *context, struct param *param), void *context);

/* Whether a full name matches such a pattern. */
bool param_name_matches(const char *pattern, const char *name);

/* A new value, now. `raw` is ignored by kinds without registers. */
void param_put(struct param *p, double value, int64_t utc_ns, uint64_t mono_ns);
void param_put_raw(struct param *p, int32_t raw, int64_t utc_ns, uint64_t mono_ns);
/* The telemetry's value of its register. */
void param_put_telemetry(struct param *p, const struct tdm_telemetry *telemetry, int64_t utc_ns,
			 uint64_t mono_ns);
void param_put_bad(struct param *p); /* it cannot be had; the last value, its age and level stay */
void param_put_setpoint(struct param *p, double setpoint, uint64_t mono_ns);
/* Whether its setpoint is known, from a reading that is not stale. */
bool param_setpoint_good(const struct param *p, uint64_t mono_ns);
enum param_quality param_quality(const struct param *p, uint64_t mono_ns);
/* Seconds since the value; negative: never. */
double param_age_s(const struct param *p, uint64_t mono_ns);
/* The level of the last known value against its limits. An alarm does not end because the value
 * cannot be read or is impossible. */
enum limits_level param_level(const struct param *p, uint64_t mono_ns);

/* "floor3.fcm.temperature was 41.2 degC, above 40.0; at worst 62.3, above 40.0 (not read for 12 s)": a value beyond the
 * limits of `level`. */
void param_level_text(const struct param *p, enum limits_level level, uint64_t mono_ns, char *text,
		      size_t size);

/* Whether the value belongs in the history now; it is counted as kept then. */
bool param_sample(struct param *p, uint64_t mono_ns);

/* A text of the operator ("1450", "1450 V", "on", "locked") as a value of this parameter, checked
 * against type and unit. -EINVAL. */
int param_parse(const struct param *p, const char *text, double *ret_value, struct sc_error *error);
/* Whether `value` may be set: access, type, hardware range, soft limits (unless force). -EACCES read-only,
 * -EINVAL, -ERANGE. */
int param_check_set(const struct param *p, double value, bool force, struct sc_error *error);
/* "1450.0", "on", "locked"; without unit. At most 32 bytes. Returns buf. */
const char *param_format(const struct param *p, double value, char *buf, size_t size);
/* The same with its unit, if it has one: "1450.0 V", "on"; "-" is NAN. At most 64 bytes. */
const char *param_text(const struct param *p, double value, char *buf, size_t size);
int32_t param_to_raw(const struct param_kind *k, double value); /* rounded, saturated */
/* The 32 bits of a counter are without a sign: it wraps to 0. */
double param_from_raw(const struct param_kind *k, int32_t raw);

/* The name of an enum or bool value, NULL when it is none. */
const char *param_enum_name(const struct param_kind *k, double value);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration of one daemon (instance N = board N): an ini file and its drop-ins, and one typed table.
 *
 *   FILE, then each *.conf of the folder FILE.d in order of name, then overrides "section.key=value"
 *      later ones win; every mistake is collected with file:line, none stops the reading
 *
 * The table in table.c is the only list of options: section, key, type, default, range, help and
 * whether a change needs a restart. --print-config, the example, the check of the manual page and the
 * reload all come from it. "%N" in a string stands for the instance number,
 * "%(5710+N)" for 5710 plus it, "%%" for a percent sign.
 *
 * Everything has a default except the floors; a configuration in which no link names one is a mistake.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "daemon/store/store.h"
#include "driver/nanet3.h"
#include "schemas/fcm_data.h"
#include "tdm/hit.h"

#define CONFIG_GROUPS	 4u /* = GROUPS_MAX of daemon/data/block.h */
#define CONFIG_STRING	 256u
#define CONFIG_EX_CONFIG 78 /* exit status of a configuration that is wrong: sysexits' EX_CONFIG */

enum config_holdover { CONFIG_RB = 0, CONFIG_OCXO_GOOD = 1, CONFIG_OCXO = 2, CONFIG_TCXO = 3 };

struct config_group {
	char name[32];
	uint8_t streams; /* bit mask of 1u << enum fcm_stream */
	enum fcm_policy policy;
	double hold_fraction; /* of the ring's depth that this group may hold back: 0.05..0.5 */
	uint32_t
		budget_mb; /* memory of blocks for it; 0: config_budget_bytes() shares the pool out */
};

struct config_link {
	bool enabled;	      /* a floor is named, and `enabled` is not "no" */
	bool wanted;	      /* the key itself */
	uint8_t tower, floor; /* 1.. ; floor 0 = none */
	char name[32];
	uint32_t cable_delay_ns; /* one way, added to the times of data; 0 = none */
};

struct config {
	unsigned instance; /* N */
	struct {
		char device[CONFIG_STRING]; /* for nanet3_open() */
	} board;
	struct {
		uint32_t block_frames; /* divisor of 1600, >= 8 */
		uint32_t tick_us;
		uint32_t pool_mb;
		enum hit_day_origin day_origin;
		char reserved_endpoint[CONFIG_STRING];
		char monitor_endpoint[CONFIG_STRING]; /* empty: none */
		uint32_t monitor_hwm;		      /* messages */
		uint32_t consumer_dead_ms;
		bool curve, insecure;
	} data;
	struct {
		bool enabled;
		char address[64];   /* numeric */
		uint32_t base_port; /* of board 0, link 0; config_feed_port() */
		uint32_t budget_mb; /* that a reader may be behind */
	} feed;
	unsigned groups;
	struct config_group group[CONFIG_GROUPS];
	struct config_link link[NANET3_LINKS];
	struct {
		char gpsd_host[CONFIG_STRING];
		uint32_t gpsd_port;
		char leap_file[CONFIG_STRING];
		uint32_t silence_ms;
		uint32_t confirm;
		enum config_holdover holdover; /* class; config_holdover_ppb() */
		uint32_t receiver_ns;
		uint32_t holdover_limit_ns;
		bool system_clock;
		uint32_t far_s;		      /* 0: the system clock is not used */
		uint32_t system_tolerance_ms; /* 0: not reported */
		int64_t earliest_utc_s;	      /* no date before it is believed */
	} clock;
	struct {
		double tolerance_ps, drift_ps;
		uint32_t relock_samples;
	} phase;
	struct {
		char dictionary[CONFIG_STRING];
		char site_dictionary[CONFIG_STRING]; /* "" none */
		bool poll;
		uint32_t reply_timeout_ms;
	} slowctl;
	struct {
		char socket[CONFIG_STRING];
		/* by role; empty: none, of operators the daemon's own */
		char reader_group[64], socket_group[64], expert_group[64];
	} control;
	struct {
		char endpoint[CONFIG_STRING]; /* empty: none */
		char key_file[CONFIG_STRING], allow_list[CONFIG_STRING];
		uint32_t rate, burst; /* requests a second and key; at once */
	} network;
	struct {
		char database[CONFIG_STRING], emergency[CONFIG_STRING];
		struct store_ages ages;
	} store;
	struct {
		char directory[CONFIG_STRING]; /* empty: beside the database */
		uint8_t links;		       /* bit mask: when none are named */
		uint32_t segment_mb, min_free_mb;
		uint32_t blackbox_s; /* 0: none */
		uint32_t blackbox_keep;
	} record;
	struct {
		char name[64]; /* what operators see */
		int log_level; /* of syslog.h */
	} daemon;
};

/* Drift of an oscillator class in holdover, ppb: what 4 h and 24 h cost at most (facts of the field). */
double config_holdover_ppb(enum config_holdover holdover);

/* Memory that the n-th group may hold: its budget_mb. If that is 0, its part of three quarters of the pool (or of what
 * a feed leaves of seven eighths, at least half), by what its streams can bring among those of all groups. */
uint64_t config_budget_bytes(const struct config *config, unsigned n);
/* Bytes that these streams (bit mask) bring at most, of a link and a frame. */
uint32_t config_stream_bytes(uint8_t streams);
/* Whether an endpoint of the data is beyond this machine, without keys. */
bool config_is_open(const struct config *c);
/* The port of the TriDAS feed for a link: base_port + 4 x board + link. */
unsigned config_feed_port(const struct config *c, unsigned link);

/* What reading has found: mistakes, and the origin of each value. */
struct config_report;

/*
 * Read `path` (NULL: defaults and overrides only), its drop-ins, then `overrides` ("section.key=value",
 * NULL-terminated; may be NULL). 0 or -EINVAL: the report holds at least one error. *ret_report is made
 * in either case and is the caller's to destroy; -ENOMEM leaves both untouched. *ret_config is filled in
 * either case, wrong values keep their default. No file at `path` is an error with what to do.
 */
int config_load(const char *path, unsigned instance, const char *const *overrides,
		struct config *ret_config, struct config_report **ret_report);
void config_report_destroy(struct config_report *report);

size_t config_errors(const struct config_report *report);
/* "FILE:LINE: what is wrong (what to do)", or without line where there is none. NULL beyond the last. */
const char *config_error(const struct config_report *report, size_t index);
/* All of them, one a line. */
void config_print_errors(const struct config_report *report, FILE *out);

/* --check-config: mistakes to `err`, or one sentence to `out` when there are none. Exit status 0 or 78. */
int config_check(const char *path, unsigned instance, const char *const *overrides, FILE *out,
		 FILE *err);
/* --print-config: the effective configuration as a file that reads back the same, each value with a
 * comment where it came from. Exit status 0 or 78. */
int config_print(const char *path, unsigned instance, const char *const *overrides, FILE *out,
		 FILE *err);
/* The example configuration: every key with its help, type, range and default, commented out. */
void config_print_example(FILE *out);

/* For a reload: calls `each` for every key whose value differs; `restart`: it takes effect only after a
 * restart. Returns how many need one. */
unsigned config_diff(const struct config *before, const struct config *after,
		     void (*each)(void *context, const char *section, const char *key,
				  bool restart),
		     void *context);

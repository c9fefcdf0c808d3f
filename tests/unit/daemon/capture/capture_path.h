/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A data path of this process, for tests of capture: the capture thread on the emulator's host
 * (capture_rig.h), a publisher of a few lines that gives every block to a consumer and settles it, and what
 * capture reports. One at a time.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <pthread.h>

#include <cmocka.h>

#include "daemon/capture/capture.h"
#include "tests/unit/daemon/capture/capture_rig.h"

#define PATH_GROUPS 2u /* hits; hits and samples */
#define PATH_LOSSES 4000u

/* Whether capture is as fast here as a board at real pace: what it cannot read in time is lost by right. */
#ifdef __SANITIZE_THREAD__
#define PATH_KEEPS_PACE false
#else
#define PATH_KEEPS_PACE true
#endif

/* SHARE: of a group without a member, half a ring of 2 s is kept. */
enum path_mode { PATH_ACK, PATH_HOLD, PATH_SHARE };

struct capture_path {
	struct queue blocks, settled, commands, reports;
	struct capture *capture;
	struct capture_status ended; /* the status when it had been stopped */
	pthread_t publisher;
	_Atomic int stop, mode, forget;	       /* forget: the consumer shall begin anew */
	_Atomic unsigned starved;	       /* how often capture said that the pool is empty */
	_Atomic int relieve;		       /* then the oldest blocks shall pay */
	_Atomic uint64_t frames[NANET3_LINKS]; /* of hits, delivered */
	_Atomic uint32_t first_run[NANET3_LINKS], last_run[NANET3_LINKS]; /* of blocks of hits */
	bool running;
	struct rig_consumer *consumer;
	/* what was reported */
	struct rig_rows rows;
	struct ledger_loss losses[PATH_LOSSES];
	unsigned loss_count, takeovers, aligns, identities, telemetry, time_words, runs;
	unsigned taken_over;
	uint8_t last_tower, last_floor;
	uint32_t run;
	uint32_t run_change;
	uint64_t run_slice, timed_slice; /* timed: of RUN_TIMED */
	unsigned planned;
	uint64_t planned_slice;
	unsigned timed;
	struct label kept_label;
	unsigned labelled_rows, late_rows; /* late: of a beginning before the last */
	bool drops;			   /* group 1 drops */
};
extern struct capture_path path;

/* What the world does wrong; the host's ring; how the next path's publisher begins. */
extern struct rig_control *path_control;
extern uint32_t path_frames_per_buffer;
extern enum path_mode path_begin_mode;

/* For cmocka: of a group, and of each case. */
int path_group_setup(void **state);
int path_group_teardown(void **state);
int path_setup(void **state);
int path_teardown(void **state);
#define PATH_TEST(function) cmocka_unit_test_setup_teardown(function, path_setup, path_teardown)

/* A world without faults behind so many links (bit mask). */
void path_host_begin(unsigned links, unsigned depth_ms, enum host_speed speed);
void path_host_end(void);

struct capture_config path_config(unsigned links);
void path_queues(void);
/* To capture; path_start() sends a label of time epoch 1. */
void path_command(const struct capture_command *what);
struct capture_command path_label_command(uint32_t time_epoch);
void path_start(const struct capture_config *c);
void path_stop_within(unsigned grace_ms);
void path_stop(void);

void path_sleep_ms(unsigned ms);
/* Takes reports for so long. */
void path_pump(unsigned ms);
void path_take_report(const struct capture_report *r);
/* Until so many frames more have come from a link: the host runs as fast as we do. */
void path_wait_frames(unsigned link, uint64_t frames);
/* Until so many changes of the run were reported since path_start(): each link has to reach the border. */
void path_wait_runs(unsigned runs);
void path_settle(struct block *b, enum outcome outcome);

void path_no_complaint(void);
/* All closed rows of a link balance; returns how many are closed. */
unsigned path_check_rows(unsigned link, uint64_t *ret_good, uint64_t *ret_lost);

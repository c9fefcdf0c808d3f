/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A station in virtual time for tests of the command engine: FCMs that keep the sequence rules of
 * tdm/registers.h and count what they execute, links that lose, double, delay and reorder, and a journal
 * that outlives the engine.
 *
 *   engine --STORE--> journal --answer--> engine
 *          --EMERGENCY--> the journal as well, at once (the daemon brings it there later)
 *          --SEND---> wire down (FIFO) --> FCM --> wire up (delay, loss, doubles) --> engine
 */
#pragma once

#include "slowctl/engine/private.h"

#define RIG_FLOORS     2u
#define RIG_COMMANDS   4096u
#define RIG_FIRST_BOOT 7u
#define RIG_SEQ	       (1u << 20)
#define RIG_MS	       1000000ull

/* One FCM. */
struct rig_floor {
	uint32_t boot;	     /* RIG_FIRST_BOOT and up */
	bool mute;	     /* hears and does, does not answer */
	bool deaf;	     /* does not hear */
	bool no_queries;     /* nor the QUERY of a sequence */
	bool no_commands;    /* nor words of commands, only READ and QUERY */
	bool no_timer;	     /* an FCM without the registers of the silence timer */
	bool no_rate;	     /* nor of the modules' rates */
	uint64_t away_until; /* booting */
	int32_t power[6], hv_set[6], hv[6], threshold[6], ramp[6], trip[6];
	int32_t clears[6], resets[6], cycles[6];
	int32_t hv_offset;	   /* read-back error, 0.1 V */
	unsigned slow, steps;	   /* 0, or its ramps go at 200/slow V/s; of them */
	uint8_t hv_refusal;	   /* of every write of the HV; WORD_OK: none */
	unsigned busy;		   /* so many writes are refused as busy */
	unsigned busy_reads;	   /* so many reads are */
	uint8_t executed[RIG_SEQ]; /* times a sequence was executed, over all boots */
	struct {
		uint32_t sequence;
		uint8_t status, module, reg;
		int32_t value;
	} outcomes[256];
	unsigned outcome_count;
	uint64_t reset_at; /* 0: none pending */
	uint64_t writes, reads, queries;
	uint64_t rejected; /* reads of registers that it does not have */
};

/* The journal's view of a command. */
struct rig_command {
	bool known, action;
	uint64_t id;
	char client_id[64], parameter[PARAM_NAME_MAX], state[16], detail[320];
	double old_value, new_value;
	char reason[100];
	uint64_t boot; /* or ENGINE_BOOT_UNKNOWN */
	uint32_t sequence, attempts, link;
	bool ended;
	bool emergency; /* it was sent before the store had it */
	bool taken_up;	/* it was open when the previous engine ended */
	int64_t time_ns, ended_ns;
	unsigned transitions;
	int64_t frame;	  /* of the last SENT; -1 none */
	char states[160]; /* "QUEUED SENT ACKED DONE" */
};

struct rig_wire;

struct rig {
	struct params *params;
	struct engine *e;
	struct engine_config config;
	struct engine_now now;
	struct rig_floor *floors;
	struct rig_command *commands; /* by id */
	uint64_t last_id;
	struct engine_marks marks; /* survive a crash */
	uint64_t reserved_until[RIG_FLOORS];
	struct rig_wire *down, *up, *stores, *refusals;
	uint64_t random, frame;

	/* What the links and the store do; probabilities in 1/1000. */
	unsigned lose_down, lose_up, double_up, late_up;
	unsigned delay_us, jitter_us, store_us;
	int store_result, send_result;
	bool store_hangs;      /* it takes rows and does not answer */
	unsigned refuse_words; /* the board has no room for the next so many */
	bool store_keeps; /* while it refuses it keeps what is not now or never, and writes it later */
	unsigned not_taken; /* words that the board gives back some ms later; 1/1000 */
	bool no_completions;
	bool power_unknown;    /* the modules' power was not polled; else at most a second ago */
	bool settings_unknown; /* nor what their HV is set to */
	uint64_t power_told;

	/* What came out. */
	void (*on_progress)(void *context, const struct engine_out *out);
	void *context;
	enum command_state last_state; /* of the last progress */
	bool final, alarm, numbered;
	char text[320], hint[240];
	uint64_t progress, finals, samples;
	uint64_t ticks; /* of the engine, when it said that one is due */
};

struct rig *rig_create(uint64_t seed);
void rig_destroy(struct rig *r);
/* After a call of the engine by the test itself. */
void rig_drain(struct rig *r);
/* Let time pass. */
void rig_run(struct rig *r, unsigned ms);
/* Until the command has ended, at most `ms`. */
void rig_until_end(struct rig *r, uint64_t id, unsigned ms);
/* kill -9 and start again: what was not stored is gone, the wires keep their words. */
void rig_crash(struct rig *r);
/* As a crash, and the journal is as it was at that command, or new (0). */
void rig_journal_back(struct rig *r, uint64_t last_id, const uint64_t reserved_until[RIG_FLOORS]);
void rig_link(struct rig *r, unsigned link, bool locked);
void rig_boot(struct rig *r, unsigned link);
/* Submit it, as "test" where nobody is named. */
int rig_submit(struct rig *r, struct engine_request q, uint64_t *ret_id, struct sc_error *error);
int rig_set(struct rig *r, const char *name, double value, uint64_t *ret_id);
int rig_action(struct rig *r, const char *name, uint64_t *ret_id);
/* A link as the engine has it; valid until the next rig_crash(). */
const struct link *rig_inside(const struct rig *r, unsigned link);
/* Before the 32 bits of its sequences are used up. */
uint32_t rig_sequences_left(const struct rig *r, unsigned link);
unsigned rig_random(struct rig *r, unsigned below);
/* How often the command's word was executed. */
unsigned rig_executed(const struct rig *r, uint64_t id);
/* The states that the journal has of it, in order, and how often its word was executed; else the test fails. */
void rig_expect(const struct rig *r, uint64_t id, const char *states, unsigned executed);

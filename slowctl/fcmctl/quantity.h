/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `fcmctl data plot` counts: a quantity of the hits in blocks, as whole numbers of its step. No I/O.
 */
#pragma once

#include "daemon/consumer/fcmdata.h"
#include "slowctl/fcmctl/show/tally.h"

#define QUANTITY_MODULES 6u

enum quantity_kind {
	QUANTITY_CHARGE, /* of each hit */
	QUANTITY_RATE, /* pulses of a module in a block: its hits without FragFlag, by the good frames */
	QUANTITY_SAMPLES, /* number of them, of each hit */
	QUANTITY_OVER,	  /* time over threshold of each pulse */
	QUANTITIES
};

struct quantity_row {
	const char *name, *unit, *of; /* "charge", "kHz", "pulses": what it is of */
	double step;		      /* value of 1 in the tally, in `unit` */
	uint32_t values;	      /* limit of the tally */
};
const struct quantity_row *quantity_row(enum quantity_kind kind);

/* The pulse that a module has begun: it goes on as long as its next hits have FragFlag. */
struct quantity_pulse {
	bool open;
	uint32_t samples, sum; /* of the baseline: its first ones */
	uint32_t over;	       /* samples at or above the threshold */
};

struct quantity {
	enum quantity_kind kind;
	unsigned over; /* the threshold: counts above the baseline */
	struct tally tally;
	uint64_t hits; /* all that were looked at */
	struct quantity_pulse pulse[FCM_LINKS][QUANTITY_MODULES];
};

/* 0 or -ENOMEM. */
int quantity_init(struct quantity *q, enum quantity_kind kind, unsigned over);
void quantity_fini(struct quantity *q);
/* The hits of a module, or FCMDATA_ALL; returns how many. Before a block behind a gap, and at the end, pulses that had begun
 * may lack their rest: they are not counted. */
uint64_t quantity_take(struct quantity *q, const struct fcmdata_block *b, int module);
/* Good frames in a block. */
uint32_t quantity_frames(const struct fcmdata_block *b);

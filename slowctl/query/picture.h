/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A long time at a glance: answers whose size and cost do not grow with the time that they cover. As in query.h: JSON,
 * new references, 0 or negative errno, within query_limit().
 */
#pragma once

#include "slowctl/query/query.h"

#define PICTURE_COLUMNS 400u
#define PICTURE_ROWS	200u

struct picture_window {
	int64_t since_ns, until_ns; /* UTC */
	unsigned columns;	    /* of time, 1..PICTURE_COLUMNS */
	unsigned rows;		    /* of the other axis, 1..PICTURE_ROWS */
};

/*
 * Frames lost by links and dropped by groups ("trigger: slow"), by name and column; a loss that lasted is spread evenly over
 * its time: {since, until, column_s, names:[name], columns:[[frames of each name]|null (nothing was lost)],
 * unaccounted:[column of which the ledger says nothing: no daemon ran, or there was no board], cut (there are
 * more losses than the newest 50000: the picture begins later)}.
 */
int picture_losses(struct query *q, const struct picture_window *w, json_t **ret_json);

/*
 * The phase of a link as an oscilloscope with infinite persistence shows it: {link, since, until, columns, rows, low_ps,
 * high_ps, row_ps, picture, histogram:[weight of each row, 1 in all], mean_ps|null, sigma_ps|null, samples, every_s,
 * trace:[[time, mean_ps, min_ps, max_ps]], reference_ps|null, events:[{time, verdict, slip, difference_ps}]}. `picture`:
 * two hexadecimal digits a cell, column by column, the lowest ps first: 0 nothing, else the logarithm of its density,
 * ff the densest. A row of the database counts as a Gaussian of its mean and sigma. Of the whole bits that the board
 * counts beside the phase, those are added, -5 to 4, that the link is off its reference: so a slip is seen. At most one
 * row is read in each `every_s` seconds, `samples` in all: of some hours that is each row.
 */
int picture_phase(struct query *q, int link, const struct picture_window *w, json_t **ret_json);

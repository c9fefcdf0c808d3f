/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A conversion: source.h --blocks--> slice.h --spread.h, missing.h--> a sink, with commits in between (journal.h).
 *
 * What is written is complete up to a slice at each commit; a conversion that goes on reads what was converted once more,
 * block by block, without converting it: so that the machines that make blocks stand where they stood.
 */
#pragma once

#include "daemon/convert/input.h"
#include "daemon/convert/kinds.h"
#include "daemon/convert/options.h"
#include "daemon/convert/report.h"

/* An exit status; everything said. `stop`: not 0: end after a complete slice. */
int convert(const struct options *o, const struct kind *kind, const struct input *in,
	    const struct about *about, struct report *report, const volatile int *stop);

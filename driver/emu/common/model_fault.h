/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Faults that a test injects by writing NANET3_REG_MODEL_FAULT, also from inside a guest. A scenario injects
 * its faults at given times instead. A real board has no such register.
 *
 *   bits 0-7 code, 8-15 `which`: link, vector or what else a fault says, 16-31 argument
 */
#pragma once

enum model_fault {
	MODEL_FAULT_NONE,
	MODEL_FAULT_LOSE_IRQS, /* the next `argument` interrupts of the vector are not raised */
	MODEL_FAULT_SPURIOUS, /* raise `argument` interrupts of the vector with nothing behind them */
	MODEL_FAULT_STUCK_DMA, /* the link stays BUSY for `argument` ms after a stop; 0xffff = until
				  * CONTROL_RESET, 0xfffe = for ever */
	MODEL_FAULT_GONE, /* off the bus for `argument` ms, 0 = for good: all ones, no DMA; then as after power-up */
	MODEL_FAULT_STALL,	    /* for `argument` ms no hand-overs, no events; 0: it ends */
	MODEL_FAULT_FLOOD,	    /* post `argument` LINK events at once */
	MODEL_FAULT_BAD_EVENT,	    /* post `argument` events of no known type or link */
	MODEL_FAULT_SKIPPING_EVENT, /* post an RX event of the link, `argument` positions too far on */
	MODEL_FAULT_STALE_EVENT, /* post `argument` RX events of the link with the epoch before */
	MODEL_FAULT_VERSION, /* VERSION reads `argument`, CAPS `which`, until the power is off */
	/* What a bus does, so in a guest only: */
	MODEL_FAULT_LOSE_READS, /* the next `argument` reads of registers get no answer: all ones */
	MODEL_FAULT_DEAF, /* for `argument` ms all reads get no answer; DMA goes on; 0: it ends */
	MODEL_FAULT_LOSE_EVENTS, /* the next `argument` events are counted, and never written */
	MODEL_FAULT_LOSE_DESCRIPTORS, /* the next `argument` descriptors are taken and cannot be read */
	MODEL_FAULT_SLOW_PUTS, /* from now on puts read and write `argument` ms after their descriptors are taken */
	MODEL_FAULT_STUCK_BUFFER, /* registered buffer `which` stays BUSY as STUCK_DMA, when it is made void */
	MODEL_FAULT_REORDER, /* if the bus may reorder writes (relaxed ordering): events of the next
			      * `argument` buffers arrive 1 ms before their last cell */
	MODEL_FAULT_TRAIN,   /* the slot has `which` lanes of generation `argument` from now on */
};
#define MODEL_FAULT(code, which, argument)                                                         \
	((unsigned)(code) | (unsigned)(which) << 8 | (unsigned)(argument) << 16)

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of nanet3-emu, as settings of the world and of one of the two hosts. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "driver/emu/host/host.h"
#include "driver/emu/qemu/qemu.h"
#include "driver/emu/world/world.h"

struct emu_options {
	struct world_config world;
	struct host_config host;
	struct qemu_config qemu; /* its memory is 0: run on a socket instead */
	unsigned board;		 /* its number */
	char name[32];		 /* of the board */
	int64_t start_utc_s;	 /* UTC at which model time begins; -1 = now */
	uint8_t swap[2];	 /* links whose fibres are swapped; equal: none */
	bool geometry;		 /* print positions, run nothing */
	bool flashes;		 /* print times of flashes, run nothing */
	int ready_fd;		 /* where "ready" is written; -1 = standard output */
};

/* 0 = go on; 1 = help or version was printed, leave well; -EINVAL = reported on standard error. Strings
 * point into argv. */
int emu_options_parse(int argc, char **argv, struct emu_options *ret_options);

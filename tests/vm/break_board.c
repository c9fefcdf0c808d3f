/* SPDX-License-Identifier: GPL-2.0-or-later */
/* break_board FAULT ARGUMENT: a fault of the model at a moment that a plan chooses; a scenario's come when they will. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/vm/guest.h"

static const struct {
	const char *name;
	enum model_fault code;
} faults[] = {
	{"gone", MODEL_FAULT_GONE},
	{"lose-descriptors", MODEL_FAULT_LOSE_DESCRIPTORS},
};

int main(int argc, char **argv)
{
	struct nanet3 *b = NULL;
	int r = nanet3_open(guest_where(), &b);

	for (size_t i = 0; r == 0 && argc == 3 && i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (strcmp(argv[1], faults[i].name) == 0) {
			r = nanet3_reg_write(
				b, NANET3_REG_MODEL_FAULT,
				MODEL_FAULT(faults[i].code, 0, (uint32_t)atoi(argv[2])));
			nanet3_close(b);
			return r == 0 ? 0 : 1;
		}
	}
	fprintf(stderr, "break_board: no board (%d), or no such fault\n", r);
	return 2;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between driver and library, tested through libnanet3 alone, so that the same file
 * judges every driver:
 *
 *   test_contract [PATTERN]                  starts the emulator's host with a fake world
 *   NANET3_WHERE=/dev/nanet3-0 test_contract   or unix:PATH: a board that is there already; its links
 *                                            must be free and locked, its seconds may be longer than ours
 *
 * PATTERN: only tests whose names match, * and ? as in a shell. With a board of others the cells'
 * content is not known, and what only a model can be told to do is skipped on a real one. Malformed
 * packets are in test_contract_socket.c, the end of the board is in test_host.c.
 */
#include <string.h>

#include "tests/unit/driver/lib/contract_rig.h"

static const struct CMUnitTest *const parts[] = {contract_ring, contract_owner,	 contract_rights,
						 contract_word, contract_buffer, contract_polling,
						 contract_fault};

int main(int argc, char **argv)
{
	size_t count = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const struct CMUnitTest *t = parts[i]; t->name != NULL; t++) {
			count++;
		}
	}
	if (argc > 1) {
		cmocka_set_test_filter(argv[1]);
	}

	struct CMUnitTest contract[count];

	count = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		for (const struct CMUnitTest *t = parts[i]; t->name != NULL; t++) {
			contract[count++] = *t;
		}
	}
	return cmocka_run_group_tests(contract, contract_start, contract_end);
}

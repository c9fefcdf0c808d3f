/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of the contract test share: the board under test, handles that are closed whatever
 * happens, and what is asked again and again. Waits are generous, as model time may be slow: on a sound
 * board none is ever waited out.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#include "driver/lib/libnanet3.h"

#define PATIENCE_MS 20000

extern char where[128]; /* for nanet3_open() */
extern bool ours;	/* the host is ours: fake pattern, short linger time */

/* The parts, each a list that ends with an empty entry. */
extern const struct CMUnitTest contract_ring[], contract_owner[], contract_rights[],
	contract_word[], contract_buffer[], contract_polling[], contract_fault[];
#define CONTRACT_TEST(f) cmocka_unit_test_teardown(f, contract_tidy)

/* Set-up and tear-down of all: a host of ours unless NANET3_WHERE names a board. */
int contract_start(void **state);
int contract_end(void **state);
/* Tear-down of each: no handle stays open, no link lingers. */
int contract_tidy(void **state);
/* Does not return. */
void skip_because(const char *reason);

struct nanet3 *open_board(void);
void close_board(struct nanet3 *b);

uint64_t now_ms(void);
void sleep_ms(unsigned ms);
uint64_t board_count_now(struct nanet3 *b);

/* Until the status register says so. */
void wait_locked(struct nanet3 *b, unsigned link);
void claim(struct nanet3 *b, unsigned link, uint32_t flags, bool expect_taken_over);
/* Wait until position `position` of a link has been completed. Events are taken and dropped. */
const struct nanet3_event *completed(struct nanet3 *b, unsigned link, uint64_t position);
/* A completion is sound in itself and begins at *count, where the last one ended (0: the first). */
void check_completion(struct nanet3 *b, unsigned link, uint64_t position, uint64_t *count);
struct nanet3_event next_tx(struct nanet3 *b);

/* Open a handle that claims the link and lets the given one act for it. Returns the owner, which
 * the data wake. */
struct nanet3 *may_send(struct nanet3 *b, unsigned link);
/* For the rest of the test this process has no CAP_SYS_ADMIN in effect. */
void privilege_drop(void);
/* Run this in a process of nobody's, with a handle of its own: what it returns, 0..76. */
int as_nobody(int (*act)(struct nanet3 *b));
/* Break the model; skips on a board, and for the unprivileged. */
void model_fault(struct nanet3 *b, unsigned code, unsigned which, unsigned argument);

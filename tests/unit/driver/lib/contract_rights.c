/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The contract: rights, and limits of what is shared. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/unit/driver/lib/contract_rig.h"

static const struct nanet3_tx hv_word = {.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}};
static const struct nanet3_tx to_all = {.link = 0xff, .kind = NANET3_TX_TIMING, .bytes = {2}};

static int send_to(struct nanet3 *b, unsigned link)
{
	struct nanet3_tx tx = hv_word;

	tx.link = (uint8_t)link;
	return nanet3_send(b, &tx);
}

static int align(struct nanet3 *b, unsigned link)
{
	return nanet3_link_command(b, link, NANET3_LINK_ALIGN);
}

static int set_deadline(struct nanet3 *b, unsigned link)
{
	return nanet3_reg_write(b, NANET3_REG_LINK(link, NANET3_LREG_DEADLINE), 5000);
}

/* Every action on a link is refused to the handle. */
static void check_no_right(struct nanet3 *b, unsigned link)
{
	assert_int_equal(send_to(b, link), -EPERM);
	assert_int_equal(align(b, link), -EPERM);
}

static uint32_t alignments(struct nanet3 *b, unsigned link)
{
	uint32_t count = 0;

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_LINK(link, NANET3_LREG_ALIGNS), &count, 1),
			 0);
	return count;
}

/* Every action on a link is accepted. */
static void check_right(struct nanet3 *b, unsigned link)
{
	const uint64_t until = now_ms() + 10000;
	uint32_t before;

	wait_locked(b, link);
	assert_int_equal(send_to(b, link), 0);
	assert_int_equal(next_tx(b).link, link);
	before = alignments(b, link);
	assert_int_equal(align(b, link), 0);
	assert_int_equal(set_deadline(b, link), 0);
	/* The lock is lost at the board's next step only: the status may not show it yet. */
	while (alignments(b, link) == before && now_ms() < until) {
		sleep_ms(1);
	}
	assert_int_not_equal(alignments(b, link), before);
	wait_locked(b, link);
}

/* ------------------------------------------------------------------------ words and commands */

static void stranger_moves_no_link(void **state)
{
	struct nanet3 *owner = open_board(), *stranger = open_board();

	privilege_drop();
	wait_locked(owner, 0);
	check_no_right(stranger, 0); /* not claimed yet */
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	check_no_right(stranger, 0);
	check_no_right(owner, 1);
	check_right(owner, 0);
	assert_int_equal(nanet3_yield(owner, 0), 0);
	check_no_right(owner, 0); /* a former owner has no right */
	close_board(owner);
	close_board(stranger);
}

static void lingering_link_is_nobodys(void **state)
{
	struct nanet3 *owner = open_board(), *stranger = open_board();

	privilege_drop();
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	close_board(owner);
	check_no_right(stranger, 0);
	claim(stranger, 0, 0, true);
	check_right(stranger, 0);
	assert_int_equal(nanet3_yield(stranger, 0), 0);
	close_board(stranger);
}

static void owner_lets_another_handle_act(void **state)
{
	struct nanet3 *owner = open_board(), *a = open_board(), *b = open_board();
	uint64_t number = nanet3_info(a)->handle;

	privilege_drop();
	assert_true(number != 0 && number != nanet3_info(b)->handle);
	assert_int_equal(nanet3_grant(a, 0, number), -EPERM);
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_grant(a, 0, number), -EPERM);
	assert_int_equal(nanet3_grant(owner, 1, number), -EPERM);
	assert_int_equal(nanet3_grant(owner, NANET3_LINKS, number), -EINVAL);
	assert_int_equal(nanet3_grant(owner, 0, ~0ull), -ENOENT);
	check_no_right(a, 0);
	assert_int_equal(nanet3_grant(owner, 0, number), 0);
	check_right(a, 0);
	check_right(owner, 0);
	check_no_right(a, 1);
	/* It acts on the link; the ring stays the owner's, and it cannot grant the right to
	 * others. */
	assert_int_equal(nanet3_release(a, 0, 0), -EPERM);
	assert_int_equal(nanet3_yield(a, 0), -EPERM);
	assert_int_equal(nanet3_polling(a, true), -EPERM);
	assert_int_equal(nanet3_grant(a, 0, nanet3_info(b)->handle), -EPERM);
	assert_int_equal(nanet3_grant(owner, 0, nanet3_info(b)->handle), 0);
	check_no_right(a, 0); /* one at a time */
	check_right(b, 0);
	assert_int_equal(nanet3_grant(owner, 0, 0), 0);
	check_no_right(b, 0);
	close_board(owner);
	close_board(a);
	close_board(b);
}

static void grant_ends_with_either_handle(void **state)
{
	struct nanet3 *owner = open_board(), *a = open_board();
	uint64_t number = nanet3_info(a)->handle;

	privilege_drop();
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_grant(owner, 0, number), 0);
	assert_int_equal(nanet3_yield(owner, 0), 0);
	check_no_right(a, 0);
	claim(owner, 0, NANET3_CLAIM_FRESH, false); /* begins a new ownership */
	check_no_right(a, 0);
	assert_int_equal(nanet3_grant(owner, 0, number), 0);
	close_board(owner);
	check_no_right(a, 0);
	owner = open_board();
	claim(owner, 0, 0, true);
	check_no_right(a, 0);
	assert_int_equal(nanet3_grant(owner, 0, number), 0);
	close_board(a);
	a = open_board();
	check_no_right(a, 0);
	assert_true(nanet3_info(a)->handle != number);
	assert_int_equal(nanet3_grant(owner, 0, number), -ENOENT);
	close_board(a);
	close_board(owner);
}

/* A short deadline fills the owner's ring with next to nothing. */
static int set_anothers_deadline(struct nanet3 *b)
{
	return set_deadline(b, 0) == -EPERM ? 0 : 1;
}

static void deadline_is_the_owners(void **state)
{
	struct nanet3 *owner = open_board();

	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(as_nobody(set_anothers_deadline), 0);
	close_board(owner);
}

/* ------------------------------------------------------------------------ read-only handles */

static void handle_for_reading_changes_nothing(void **state)
{
	static uint8_t memory[100];
	const struct nanet3_put put = {.length = 1};
	struct nanet3 *owner = open_board(), *b = NULL;
	struct nanet3_event ev;
	struct nanet3_stats stats;
	uint32_t value = 0;

	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_open_read_only(where, &b), 0);
	assert_int_equal(nanet3_grant(owner, 0, nanet3_info(b)->handle), 0);
	assert_int_equal(nanet3_claim(b, 1, 0, NULL), -EBADF);
	assert_int_equal(nanet3_yield(b, 0), -EBADF);
	assert_int_equal(nanet3_grant(b, 0, 0), -EBADF);
	assert_int_equal(nanet3_release(b, 0, 0), -EBADF);
	assert_int_equal(send_to(b, 0), -EBADF);
	assert_int_equal(align(b, 0), -EBADF);
	assert_int_equal(set_deadline(b, 0), -EBADF);
	assert_int_equal(nanet3_reg_write(b, NANET3_REG_SCRATCH, 1), -EBADF);
	assert_int_equal(nanet3_subscribe(b, 1u << NANET3_EVENT_PPS), -EBADF);
	assert_int_equal(nanet3_polling(b, true), -EBADF);
	assert_int_equal(nanet3_register_buffer(b, memory, sizeof(memory), &value), -EBADF);
	assert_int_equal(nanet3_unregister_buffer(b, 0), -EBADF);
	assert_int_equal(nanet3_put(b, &put), -EBADF);
	assert_int_equal(nanet3_wait(b, 0), -EBADF);
	assert_int_equal(nanet3_next_event(b, &ev), 0);
	assert_int_equal(nanet3_events_lost(b), 0);
	assert_int_equal(nanet3_reg_read(b, NANET3_REG_ID, &value, 1), 0);
	assert_int_equal(nanet3_stats(b, &stats), 0);
	assert_int_equal(nanet3_observe(b, 0), 0);
	assert_int_equal(nanet3_ring(b, 0)->status, NANET3_RING_OWNED);
	nanet3_close(b);
	assert_int_equal(nanet3_yield(owner, 0), 0);
	close_board(owner);
}

/* A broadcast reaches four floors. */
/* Those who only look leave room for a daemon that opens the board again. */
static void readers_leave_handles_for_writers(void **state)
{
	struct nanet3 *readers[NANET3_READ_HANDLES + 1], *b;
	unsigned n = 0;
	int r = 0;

	while (n <= NANET3_READ_HANDLES && (r = nanet3_open_read_only(where, &readers[n])) == 0) {
		n++;
	}
	assert_int_equal(r, -EMFILE);
	assert_in_range(n, 1, NANET3_READ_HANDLES);
	b = open_board();
	assert_true(nanet3_info(b)->handle != 0);
	close_board(b);
	while (n > 0) {
		nanet3_close(readers[--n]);
	}
}

static void broadcast_needs_all_links(void **state)
{
	struct nanet3 *b = open_board();

	privilege_drop();
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(b, i);
		assert_int_equal(nanet3_send(b, &to_all), -EPERM);
		claim(b, i, NANET3_CLAIM_FRESH, false);
	}
	assert_int_equal(nanet3_send(b, &to_all), 0);
	assert_int_equal(next_tx(b).link, 0xff);
	assert_int_equal(nanet3_yield(b, 2), 0);
	assert_int_equal(nanet3_send(b, &to_all), -EPERM);
	close_board(b);
}

/* ------------------------------------------------------------------------ limits of what is shared */

/* Send words for later frames until no more are taken. Returns how many. */
static unsigned fill_link(struct nanet3 *b, unsigned link, uint64_t at_frame)
{
	struct nanet3_tx tx = hv_word;
	unsigned sent = 0;
	int r;

	tx.link = (uint8_t)link;
	tx.at_frame = at_frame;
	while ((r = nanet3_send(b, &tx)) == 0) {
		assert_true(++sent < 10000);
	}
	assert_int_equal(r, -EAGAIN);
	return sent;
}

static void take_words(struct nanet3 *b, unsigned count)
{
	while (count-- > 0) {
		next_tx(b);
	}
}

/* At least half a second of board time from now on. */
static uint64_t later(struct nanet3 *b)
{
	return board_count_now(b) + NANET3_FRAMES_PER_SECOND / 2;
}

/* An owner's words leave even when words wait for another link. */
static void owner_of_one_link_fills_no_other(void **state)
{
	struct nanet3 *a = open_board(), *b = open_board();
	unsigned sent;

	for (unsigned i = 0; i < 2; i++) {
		wait_locked(a, i);
		claim(i == 0 ? a : b, i, NANET3_CLAIM_FRESH, false);
	}
	sent = fill_link(a, 0, later(a));
	assert_int_equal(sent, NANET3_LINK_WORDS);
	assert_int_equal(send_to(b, 1), 0);
	take_words(b, 1);
	take_words(a, sent);
	assert_int_equal(send_to(a, 0), 0);
	take_words(a, 1);
	close_board(a);
	close_board(b);
}

/* CAP_SYS_ADMIN lets a handle send to any link, but not use it up. */
static void privileged_words_leave_the_owner_room(void **state)
{
	struct nanet3 *owner = open_board(), *others[2] = {open_board(), open_board()};
	unsigned sent[2], owners;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		wait_locked(owner, i);
	}
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	if (send_to(others[0], 0) == -EPERM) {
		skip_because("this process has no CAP_SYS_ADMIN");
	}
	take_words(others[0], 1);
	assert_int_equal(align(others[0], 1), 0);
	wait_locked(owner, 1);
	assert_int_equal(nanet3_send(others[0], &to_all), 0);
	take_words(others[0], 1);
	for (unsigned i = 0; i < 2; i++) {
		sent[i] = fill_link(others[i], 0, later(owner));
	}
	assert_int_equal(sent[0], NANET3_OTHERS_WORDS);
	assert_int_equal(sent[1], 0); /* more handles get no more */
	assert_int_equal(nanet3_send(others[1], &to_all), -EAGAIN);
	owners = fill_link(owner, 0, later(owner));
	assert_int_equal(owners, NANET3_LINK_WORDS - NANET3_OTHERS_WORDS);
	take_words(owner, owners);
	take_words(others[0], sent[0]);
	assert_int_equal(send_to(others[1], 0), 0);
	take_words(others[1], 1);
	for (unsigned i = 0; i < 2; i++) {
		close_board(others[i]);
	}
	close_board(owner);
}

/* Puts that are held back take no word's place. */
static void puts_leave_room_for_words(void **state)
{
	struct nanet3 *owner = open_board(), *stranger = open_board();
	const size_t bytes = 1u << 20;
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nanet3_put put = {.length = 100, .flags = NANET3_PUT_MORE};
	unsigned posted;

	assert_true(p != MAP_FAILED);
	wait_locked(owner, 0);
	claim(owner, 0, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_register_buffer(stranger, p, bytes, &put.source), 0);
	put.destination = put.source;
	put.destination_offset = bytes / 2;
	/* One put less than what rings the doorbell; that number is found out first. */
	for (posted = 0; nanet3_put(stranger, &put) == 0; posted++) {
		assert_true(posted < 10000);
	}
	while (nanet3_wait(stranger, 200) == 1) {
		for (struct nanet3_event ev; nanet3_next_event(stranger, &ev) == 1;) {
		}
	}
	for (unsigned i = 0; i < posted; i++) {
		assert_int_equal(nanet3_put(stranger, &put), 0);
	}
	for (unsigned i = 0; i < 16; i++) {
		struct nanet3_tx tx = hv_word;

		tx.flags = i < 15 ? NANET3_TX_MORE : 0;
		assert_int_equal(nanet3_send(owner, &tx), 0);
	}
	take_words(owner, 16);
	close_board(stranger);
	close_board(owner);
	munmap(p, bytes);
}

/* As many buffers as the handle gets. */
static unsigned take_buffers(struct nanet3 *b, uint8_t *pages)
{
	unsigned got = 0;
	uint32_t buffer;
	int r;

	/* A page each; a DMA debugger counts no more than 7 to a page. */
	while ((r = nanet3_register_buffer(b, pages + got * NANET3_PAGE, 100, &buffer)) == 0) {
		assert_true(++got <= NANET3_BUFFERS);
	}
	assert_int_equal(r, -ENOSPC);
	return got;
}

static void strangers_leave_buffers_for_owners(void **state)
{
	struct nanet3 *owner = open_board(), *strangers[5];
	const size_t bytes = (NANET3_BUFFERS + 1) * NANET3_PAGE;
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned got = 0;

	assert_true(p != MAP_FAILED);
	for (unsigned i = 0; i < 5; i++) {
		strangers[i] = open_board();
		got += take_buffers(strangers[i], p);
	}
	assert_int_equal(got, NANET3_OTHERS_BUFFERS); /* no more for more handles */
	claim(owner, 3, NANET3_CLAIM_FRESH, false);
	assert_int_equal(take_buffers(owner, p), NANET3_HANDLE_BUFFERS);
	for (unsigned i = 0; i < 5; i++) {
		close_board(strangers[i]);
	}
	close_board(owner);
	munmap(p, bytes);
}

const struct CMUnitTest contract_rights[] = {
	CONTRACT_TEST(stranger_moves_no_link),
	CONTRACT_TEST(lingering_link_is_nobodys),
	CONTRACT_TEST(owner_lets_another_handle_act),
	CONTRACT_TEST(grant_ends_with_either_handle),
	CONTRACT_TEST(deadline_is_the_owners),
	CONTRACT_TEST(handle_for_reading_changes_nothing),
	CONTRACT_TEST(readers_leave_handles_for_writers),
	CONTRACT_TEST(broadcast_needs_all_links),
	CONTRACT_TEST(owner_of_one_link_fills_no_other),
	CONTRACT_TEST(privileged_words_leave_the_owner_room),
	CONTRACT_TEST(puts_leave_room_for_words),
	CONTRACT_TEST(strangers_leave_buffers_for_owners),
	{NULL},
};

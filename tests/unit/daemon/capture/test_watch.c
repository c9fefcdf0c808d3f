/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The main thread's handle: words and commands on links that another handle owns. */
#include <errno.h>

#include "daemon/capture/watch.h"
#include "tests/unit/rig/privilege.h"
#include "tests/unit/rig/socket_rig.h"

#define WAITED_MS 2100u /* watch.h says 2 s */

static const struct nanet3_tx word = {.link = 1, .kind = NANET3_TX_REQUEST, .bytes = {1}};

static void ignore(const struct nanet3_event *event, void *context)
{
}

static struct watch *started_watch(void)
{
	const struct watch_events events = {.on_event = ignore};
	struct watch *w = NULL;

	assert_int_equal(watch_create(where, 0xf, &events, &w), 0);
	assert_int_equal(watch_poll(w, 1), 0);
	return w;
}

static void wait_locked(struct watch *w)
{
	for (uint64_t until = now_ms() + 20000; now_ms() < until;) {
		assert_int_equal(watch_poll(w, now_ms()), 0);
		if (watch_link(w, 1)->status & NANET3_LSTAT_LOCKED) {
			return;
		}
	}
	fail_msg("link 1 does not lock");
}

/* Capture claims again soon after a board's return: no command fails for that. */
static void links_not_granted_yet_are_waited_for(void **state)
{
	struct nanet3 *owner = open_board();
	struct watch *w = started_watch();

	assert_int_equal(privilege_admin(false), 0);
	wait_locked(w);
	assert_int_equal(watch_send(w, &word), -EAGAIN);
	assert_int_equal(watch_link_command(w, 1, NANET3_LINK_ALIGN), -EAGAIN);
	assert_int_equal(nanet3_claim(owner, 1, 0, NULL), 0);
	assert_int_equal(nanet3_grant(owner, 1, watch_info(w)->handle), 0);
	assert_int_equal(watch_send(w, &word), 0);
	assert_int_equal(watch_link_command(w, 1, NANET3_LINK_ALIGN), 0);
	watch_destroy(w);
	nanet3_close(owner);
}

/* A link that another program keeps is reported as such. */
static void links_of_others_are_refused_in_the_end(void **state)
{
	struct nanet3 *owner = open_board();
	struct watch *w = started_watch();
	uint64_t until;

	assert_int_equal(privilege_admin(false), 0);
	wait_locked(w);
	assert_int_equal(nanet3_claim(owner, 1, 0, NULL), 0);
	assert_int_equal(watch_send(w, &word), -EAGAIN);
	for (until = now_ms() + WAITED_MS; now_ms() < until;) {
		assert_int_equal(watch_poll(w, now_ms()), 0);
	}
	assert_int_equal(watch_send(w, &word), -EPERM);
	assert_int_equal(watch_link_command(w, 1, NANET3_LINK_ALIGN), -EPERM);
	assert_int_equal(nanet3_grant(owner, 1, watch_info(w)->handle), 0);
	assert_int_equal(watch_send(w, &word), 0);
	assert_int_equal(nanet3_grant(owner, 1, 0), 0);
	assert_int_equal(watch_send(w, &word), -EAGAIN); /* for another while */
	watch_destroy(w);
	nanet3_close(owner);
}

static int tidy(void **state)
{
	return privilege_admin(true) | tear_down(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(links_not_granted_yet_are_waited_for, set_up, tidy),
		cmocka_unit_test_setup_teardown(links_of_others_are_refused_in_the_end, set_up,
						tidy),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

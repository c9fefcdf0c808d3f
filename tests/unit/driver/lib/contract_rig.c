/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the contract test share: the board under test, its handles, waits. See contract_rig.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver/emu/common/model_fault.h"
#include "tests/unit/rig/contract_host.h"
#include "tests/unit/driver/lib/contract_rig.h"
#include "tests/unit/rig/fake_world.h"
#include "tests/unit/rig/privilege.h"

#define BOARDS_MAX 16u

char where[128];
bool ours;
static char directory[64];
static pid_t host;
static struct nanet3 *boards[BOARDS_MAX];

/* ------------------------------------------------------------------------ handles */

struct nanet3 *open_board(void)
{
	for (unsigned i = 0; i < BOARDS_MAX; i++) {
		if (boards[i] == NULL) {
			assert_int_equal(nanet3_open(where, &boards[i]), 0);
			return boards[i];
		}
	}
	fail_msg("more than %u handles", BOARDS_MAX);
	return NULL;
}

void close_board(struct nanet3 *b)
{
	for (unsigned i = 0; i < BOARDS_MAX; i++) {
		if (b != NULL && boards[i] == b) {
			boards[i] = NULL;
		}
	}
	nanet3_close(b);
}

int contract_tidy(void **state)
{
	struct nanet3 *b = NULL;

	(void)privilege_admin(true);
	for (unsigned i = 0; i < BOARDS_MAX; i++) {
		close_board(boards[i]);
	}
	if (nanet3_open(where, &b) != 0) {
		return 0; /* the next test says so */
	}
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		if (nanet3_observe(b, i) == 0 &&
		    nanet3_ring(b, i)->status == NANET3_RING_LINGERING &&
		    nanet3_claim(b, i, NANET3_CLAIM_FRESH, NULL) == 0) {
			(void)nanet3_yield(b, i);
		}
	}
	nanet3_close(b);
	return 0;
}

void skip_because(const char *reason)
{
	print_message("[   SKIP   ] because %s\n", reason);
	skip();
}

/* ------------------------------------------------------------------------ time */

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* ------------------------------------------------------------------------ links and events */

void wait_locked(struct nanet3 *b, unsigned link)
{
	uint64_t until = now_ms() + PATIENCE_MS;
	uint32_t status = 0;

	while (now_ms() < until) {
		assert_int_equal(
			nanet3_reg_read(b, NANET3_REG_LINK(link, NANET3_LREG_STATUS), &status, 1),
			0);
		if (status & NANET3_LSTAT_LOCKED) {
			return;
		}
		sleep_ms(10);
	}
	fail_msg("link %u does not lock", link);
}

void claim(struct nanet3 *b, unsigned link, uint32_t flags, bool expect_taken_over)
{
	bool taken_over = !expect_taken_over;

	assert_int_equal(nanet3_claim(b, link, flags, &taken_over), 0);
	assert_int_equal(taken_over, expect_taken_over);
}

struct nanet3 *may_send(struct nanet3 *b, unsigned link)
{
	struct nanet3 *owner = open_board();

	claim(owner, link, NANET3_CLAIM_FRESH, false);
	assert_int_equal(nanet3_grant(owner, link, nanet3_info(b)->handle), 0);
	return owner;
}

const struct nanet3_event *completed(struct nanet3 *b, unsigned link, uint64_t position)
{
	uint64_t until = now_ms() + PATIENCE_MS;
	struct nanet3_event ev;

	while (nanet3_write_position(b, link) <= position) {
		assert_true(now_ms() < until);
		assert_true(nanet3_wait(b, 100) >= 0);
		while (nanet3_next_event(b, &ev) == 1) {
		}
	}
	return nanet3_completion(b, link, position);
}

static void check_content(struct nanet3 *b, const struct nanet3_event *c)
{
	const uint8_t *p = nanet3_buffer(b, c->link, c->position);

	assert_non_null(p);
	for (uint32_t i = 0; ours && i < c->length; i += 8) {
		uint64_t word;

		memcpy(&word, p + i, 8);
		if (word != fake_pattern(c->frame_count + i / NANET3_FRAME_BYTES, c->link)) {
			fail_msg("byte %u of position %llu", i, (unsigned long long)c->position);
		}
	}
}

void check_completion(struct nanet3 *b, unsigned link, uint64_t position, uint64_t *count)
{
	const struct nanet3_ring *ring = nanet3_ring(b, link);
	const struct nanet3_event *c = nanet3_completion(b, link, position);

	assert_int_equal(c->type, NANET3_EVENT_RX);
	assert_int_equal(c->link, link);
	assert_int_equal(c->position, position);
	assert_int_equal(c->dma_epoch, ring->dma_epoch);
	assert_true(c->frames > 0 && c->time_ns > 0);
	if (c->length > 0) {
		assert_int_equal(c->length, c->frames * NANET3_FRAME_BYTES);
		assert_true(c->frames <= ring->frames_per_buffer);
		assert_int_equal(c->reason, 0);
		check_content(b, c);
	} else {
		assert_in_range(c->reason, NANET3_GAP_LINK_DOWN, NANET3_GAP_RING_FULL);
	}
	if (*count != 0 && c->frame_count != *count) {
		assert_true(c->frame_count > *count);
		assert_int_equal(c->frame_count % NANET3_FRAMES_PER_SECOND, 0);
	}
	*count = c->frame_count + c->frames;
}

struct nanet3_event next_tx(struct nanet3 *b)
{
	struct nanet3_event ev = {0};

	while (nanet3_wait(b, PATIENCE_MS) == 1) {
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type == NANET3_EVENT_TX) {
				return ev;
			}
		}
	}
	fail_msg("no completion");
	return ev;
}

uint64_t board_count_now(struct nanet3 *b)
{
	uint32_t pair[2];

	assert_int_equal(nanet3_reg_read(b, NANET3_REG_COUNT, pair, 2), 0);
	return (uint64_t)pair[1] << 32 | pair[0];
}

/* ------------------------------------------------------------------------ privilege */

void privilege_drop(void)
{
	assert_int_equal(privilege_admin(false), 0);
}

int as_nobody(int (*act)(struct nanet3 *b))
{
	int status = 0;
	pid_t pid;

	if (geteuid() != 0) {
		skip_because("only root can become somebody else");
	}
	if (ours) {
		assert_int_equal(chmod(directory, 0755), 0);
		assert_int_equal(chmod(where + 5, 0666), 0);
	}
	pid = fork();
	if (pid == 0) {
		struct nanet3 *b = NULL;
		int r;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* A device's file may be for few; what counts there is who asks, not who has opened. */
		r = strncmp(where, "unix:", 5) != 0 ? nanet3_open(where, &b) : 0;
		if (setgid(65534) != 0 || setuid(65534) != 0) {
			_exit(1);
		}
		r = r == 0 && b == NULL ? nanet3_open(where, &b) : r;
		_exit(r == -EACCES ? 77 : r < 0 ? 2 : act(b));
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 77) {
		skip_because("the board is not for everybody here");
	}
	return WEXITSTATUS(status);
}

void model_fault(struct nanet3 *b, unsigned code, unsigned which, unsigned argument)
{
	int r;

	if (nanet3_info(b)->emulated == 0) {
		skip_because("a real board cannot be told to fail");
	}
	r = nanet3_reg_write(b, NANET3_REG_MODEL_FAULT, MODEL_FAULT(code, which, argument));
	if (r == -EPERM) {
		skip_because("only the privileged may break the model");
	}
	assert_int_equal(r, 0);
}

/* ------------------------------------------------------------------------ the host */

int contract_start(void **state)
{
	const char *given = getenv("NANET3_WHERE");
	struct host_config config;

	if (given != NULL) {
		snprintf(where, sizeof(where), "%s", given);
		return 0;
	}
	strcpy(directory, "/tmp/nanet3-XXXXXX");
	if (mkdtemp(directory) == NULL) {
		return -1;
	}
	snprintf(where, sizeof(where), "unix:%s/socket", directory);
	host_config_default(&config);
	config.socket_path = where + 5;
	config.depth_ms = 200;
	config.linger_ms = 1000;
	host = contract_host_start(&config);
	ours = host > 0;
	return ours ? 0 : -1;
}

int contract_end(void **state)
{
	if (ours) {
		if (contract_host_end(host, SIGTERM) != 0) {
			return -1;
		}
		rmdir(directory);
	}
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See guest.h. */
#include "tests/vm/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYSLOG_ACTION_READ_ALL 3 /* of syslog(2) */

const char *guest_where(void)
{
	const char *where = getenv("NANET3_WHERE");

	return where != NULL ? where : "/dev/nanet3-0";
}

#define HANDLES 16u
static struct nanet3 *open_handles[HANDLES];

/* Put `b` where `old` stands. */
static void note_handle(struct nanet3 *old, struct nanet3 *b)
{
	for (unsigned i = 0; i < HANDLES; i++) {
		if (open_handles[i] == old) {
			open_handles[i] = b;
			return;
		}
	}
}

struct nanet3 *guest_open(void)
{
	struct nanet3 *b = NULL;

	assert_int_equal(nanet3_open(guest_where(), &b), 0);
	note_handle(NULL, b);
	return b;
}

void guest_close(struct nanet3 *b)
{
	if (b != NULL) {
		note_handle(b, NULL);
		nanet3_close(b);
	}
}

int guest_close_all(void **state)
{
	for (unsigned i = 0; i < HANDLES; i++) {
		guest_close(open_handles[i]);
	}
	return 0;
}

int guest_open_raw(void)
{
	struct nanet3_info info = {.version = NANET3_ABI_VERSION};
	int fd = open(guest_where(), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(ioctl(fd, NANET3_IOC_INFO, &info), 0);
	return fd;
}

uint64_t guest_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void guest_sleep_ms(unsigned ms)
{
	nanosleep(&(struct timespec){ms / 1000, (long)(ms % 1000) * 1000000}, NULL);
}

/* ------------------------------------------------------------------------ files of /sys */

int guest_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r;

	if (fd < 0) {
		return -errno;
	}
	r = write(fd, text, strlen(text)) < 0 ? -errno : 0;
	close(fd);
	return r;
}

/* What the node's class entry points to. */
void guest_pci_path(char *path, size_t size, const char *file)
{
	char link[512], target[PATH_MAX] = "";
	const char *slash = strrchr(guest_where(), '/');

	snprintf(link, sizeof(link), "/sys/class/nanet3/%s/device", slash != NULL ? slash + 1 : "");
	assert_non_null(realpath(link, target));
	snprintf(path, size, "%s%s%s", target, file[0] != '\0' ? "/" : "", file);
}

int guest_driver(const char *what, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/nanet3/%s", what);
	return guest_write(path, name);
}

/* ------------------------------------------------------------------------ registers */

uint32_t guest_reg(struct nanet3 *b, uint32_t offset)
{
	uint32_t value = 0;

	assert_int_equal(nanet3_reg_read(b, offset, &value, 1), 0);
	return value;
}

void guest_reg_set(struct nanet3 *b, uint32_t offset, uint32_t value)
{
	assert_int_equal(nanet3_reg_write(b, offset, value), 0);
}

void guest_fault(struct nanet3 *b, enum model_fault code, unsigned which, unsigned argument)
{
	assert_true(guest_reg(b, NANET3_REG_MODEL) != 0); /* never ask a board */
	guest_reg_set(b, NANET3_REG_MODEL_FAULT, MODEL_FAULT(code, which, argument));
}

struct nanet3_stats guest_stats(struct nanet3 *b)
{
	struct nanet3_stats s;

	assert_int_equal(nanet3_stats(b, &s), 0);
	return s;
}

/* ------------------------------------------------------------------------ waiting */

void guest_wait_locked(struct nanet3 *b, unsigned link)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;

	while (!(guest_reg(b, NANET3_REG_LINK(link, NANET3_LREG_STATUS)) & NANET3_LSTAT_LOCKED)) {
		if (guest_ms() > until) {
			fail_msg("link %u does not lock", link);
		}
		guest_sleep_ms(10);
	}
}

void guest_claim(struct nanet3 *b, unsigned link)
{
	bool taken_over = true;

	guest_wait_locked(b, link);
	assert_int_equal(nanet3_claim(b, link, NANET3_CLAIM_FRESH, &taken_over), 0);
	assert_false(taken_over);
}

void guest_yield(struct nanet3 *b, unsigned link)
{
	assert_int_equal(nanet3_yield(b, link), 0);
}

static void drain(struct nanet3 *b)
{
	struct nanet3_event ev;

	while (nanet3_next_event(b, &ev) == 1) {
	}
}

void guest_wait_completed(struct nanet3 *b, unsigned link, uint64_t position)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;

	while (nanet3_write_position(b, link) <= position) {
		if (guest_ms() > until) {
			fail_msg("link %u: position %llu never comes, written are %llu", link,
				 (unsigned long long)position,
				 (unsigned long long)nanet3_write_position(b, link));
		}
		assert_true(nanet3_wait(b, 100) >= 0);
		drain(b);
	}
}

struct nanet3_event guest_wait_event(struct nanet3 *b, enum nanet3_event_type type)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;
	struct nanet3_event ev = {0};

	while (guest_ms() < until) {
		assert_true(nanet3_wait(b, 100) >= 0);
		while (nanet3_next_event(b, &ev) == 1) {
			if (ev.type == type) {
				return ev;
			}
		}
	}
	fail_msg("no event of type %d", (int)type);
	return ev;
}

void guest_wait_for(uint64_t (*value)(void *context), void *context, uint64_t least,
		    const char *what)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS, now;

	while ((now = value(context)) < least) {
		if (guest_ms() > until) {
			fail_msg("%s: %llu, not %llu", what, (unsigned long long)now,
				 (unsigned long long)least);
		}
		guest_sleep_ms(10);
	}
}

uint64_t guest_logged(void *text)
{
	static char log[1 << 20];
	int length = klogctl(SYSLOG_ACTION_READ_ALL, log, sizeof(log) - 1);
	uint64_t n = 0;

	assert_true(length >= 0);
	log[length] = '\0';
	for (const char *p = log; (p = strstr(p, text)) != NULL; p++) {
		n++;
	}
	return n;
}

uint64_t guest_can_open(void *context)
{
	struct nanet3 *b = NULL;

	if (nanet3_open(guest_where(), &b) != 0) {
		return 0;
	}
	nanet3_close(b);
	return 1;
}

uint64_t guest_says_gone(void *context)
{
	uint32_t id;

	return nanet3_reg_read(context, NANET3_REG_ID, &id, 1) == -ENODEV;
}

/* ------------------------------------------------------------------------ the reader */

void guest_reader_init(struct guest_reader *r, unsigned link, uint64_t position)
{
	memset(r, 0, sizeof(*r));
	r->link = link;
	r->position = position;
	r->deframe = tdm_deframe_create(4);
	assert_non_null(r->deframe);
}

void guest_reader_resume(struct guest_reader *r, uint64_t count,
			 const struct tdm_deframe_mark *mark)
{
	assert_int_equal(tdm_deframe_resume(r->deframe, mark), 0);
	r->count = count;
	r->mark = *mark;
	r->aligned = true;
}

void guest_reader_fini(struct guest_reader *r)
{
	tdm_deframe_destroy(r->deframe);
	r->deframe = NULL;
}

#define SETTLING_FRAMES 400u /* there and back over the longest fibre, and some to agree */

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct guest_reader *r = context;

	if (v->loss == TDM_GOOD) {
		if (v->header.floor != r->link + 1) {
			fail_msg("link %u: a frame of floor %u", r->link, v->header.floor);
		}
		r->good++;
		r->aligned = true;
		r->mark = (struct tdm_deframe_mark){.count = v->count,
						    .sequence = v->header.sequence,
						    .number = v->header.time.frame,
						    .offset = v->offset};
		return;
	}
	r->lost[v->loss]++;
	if (v->loss == TDM_LOSS_TIME && v->count < r->forgiven) {
		return;
	}
	if (r->aligned && v->loss > TDM_LOSS_RING_FULL) {
		fail_msg("link %u: frame %llu is lost: %s", r->link, (unsigned long long)v->count,
			 tdm_loss_name(v->loss));
	}
}

static void take_gap(struct guest_reader *r, const struct nanet3_event *c)
{
	assert_in_range(c->reason, NANET3_GAP_LINK_DOWN, NANET3_GAP_RING_FULL);
	r->gap_cells += c->frames;
	if (c->reason == NANET3_GAP_LINK_DOWN) {
		r->aligned = false;
	}
	tdm_deframe_gap(r->deframe, c->frames, c->frame_count, (enum tdm_loss)c->reason, on_verdict,
			r);
}

static void take_one(struct guest_reader *r, struct nanet3 *b)
{
	const struct nanet3_event *c = nanet3_completion(b, r->link, r->position);

	assert_non_null(c);
	assert_int_equal(c->type, NANET3_EVENT_RX);
	assert_int_equal(c->link, r->link);
	assert_int_equal(c->position, r->position);
	assert_int_equal(c->dma_epoch, nanet3_ring(b, r->link)->dma_epoch);
	assert_true(c->frames > 0);
	if (r->count == 0) { /* a hole may lie just before its beginning */
		r->forgiven = c->frame_count / NANET3_FRAMES_PER_SECOND * NANET3_FRAMES_PER_SECOND +
			      SETTLING_FRAMES;
	}
	if (r->count != 0 &&
	    c->frame_count != r->count) { /* the one hole allowed: a short second */
		assert_true(c->frame_count > r->count);
		assert_int_equal(c->frame_count % NANET3_FRAMES_PER_SECOND, 0);
		r->forgiven = c->frame_count + SETTLING_FRAMES;
	}
	if (c->length > 0) {
		const uint8_t *bytes = nanet3_buffer(b, r->link, r->position);

		assert_int_equal(c->length, c->frames * NANET3_FRAME_BYTES);
		assert_non_null(bytes);
		r->data_cells += c->frames;
		tdm_deframe_push(r->deframe, bytes, c->frames, c->frame_count, on_verdict, r);
	} else {
		take_gap(r, c);
	}
	r->count = c->frame_count + c->frames;
	r->position++;
}

unsigned guest_reader_take(struct guest_reader *r, struct nanet3 *b)
{
	struct tdm_deframe_stats before, after;
	unsigned taken = 0;
	bool aligned = r->aligned;

	tdm_deframe_stats(r->deframe, &before);
	for (; r->position < nanet3_write_position(b, r->link); taken++) {
		take_one(r, b);
	}
	tdm_deframe_stats(r->deframe, &after);
	if (aligned && r->aligned && r->count > r->forgiven &&
	    after.sequence_gaps != before.sequence_gaps) {
		fail_msg("link %u: the floor's sequence jumps before position %llu", r->link,
			 (unsigned long long)r->position);
	}
	return taken;
}

void guest_reader_run(struct guest_reader *r, struct nanet3 *b, uint64_t good)
{
	uint64_t until = guest_ms() + GUEST_LIMIT_MS;

	while (r->good < good) {
		if (guest_ms() > until) {
			fail_msg("link %u: %llu good frames of %llu, position %llu", r->link,
				 (unsigned long long)r->good, (unsigned long long)good,
				 (unsigned long long)r->position);
		}
		assert_true(nanet3_wait(b, 100) >= 0);
		drain(b);
		if (guest_reader_take(r, b) > 0) {
			assert_int_equal(nanet3_release(b, r->link, r->position), 0);
		}
	}
}

/* ------------------------------------------------------------------------ processes */

pid_t guest_fork(void (*run)(void *context), void *context)
{
	static const int deadly[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS};
	pid_t parent = getpid(), pid;

	fflush(stdout);
	pid = fork();
	assert_true(pid >= 0);
	if (pid > 0) {
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(1);
	}
	/* A failed assertion would jump into the parent's test: here it ends the child. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	for (size_t i = 0; i < sizeof(deadly) / sizeof(deadly[0]); i++) {
		signal(deadly[i], SIG_DFL);
	}
	run(context);
	_exit(0);
}

int guest_join(pid_t pid)
{
	int status = 0;

	while (waitpid(pid, &status, 0) != pid) {
		assert_int_equal(errno, EINTR);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

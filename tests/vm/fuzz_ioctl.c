/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_ioctl: requests, mappings, forks, kills and closes of the device at random, by several processes at
 * once. Two kinds: *random*, any number with any bytes; *structured*, a request of the contract with
 * fields that are mostly plausible, so that it gets past the first checks. No result is wrong here but a
 * hang: what is looked for is in the kernel's log.
 *
 *   fuzz_ioctl [--seconds N] [--seed N]      default 20 s; TAP on standard output
 *
 * Never asked for: model faults (tests of their own ask for those), and writes of other registers, which
 * are the privileged one's own risk.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "driver/nanet3.h"

#define WORKERS 4u
#define HANDLES 4u
#define MAPS	16u
#define ARENA	(16u << 20) /* that buffers are registered in: so much that few overlap */
#define BUFFER	(1u << 16)
#define LIFE_MS 3000u /* of a worker; half of them end by SIGKILL in the middle of something */
#define HANG_S	60    /* a worker that cannot be killed within this hangs in the kernel */
#define NOBODY	65534

struct mapping {
	void *p;
	size_t bytes;
};

struct fuzz {
	uint64_t random;
	int fds[HANDLES];
	struct mapping maps[MAPS];
	uint8_t *arena;
	uint64_t requests, accepted;
	uint64_t number; /* of one of our handles, open or not */
};

struct totals { /* shared between the processes */
	uint64_t requests, accepted;
};

static struct totals *totals;

/* xorshift64* */
static uint64_t any(struct fuzz *f)
{
	f->random ^= f->random >> 12;
	f->random ^= f->random << 25;
	f->random ^= f->random >> 27;
	return f->random * 0x2545f4914f6cdd1dull;
}

static uint64_t below(struct fuzz *f, uint64_t n)
{
	return any(f) % n;
}

/* Small, near a border, or anything. */
static uint64_t number(struct fuzz *f)
{
	switch (below(f, 6)) {
	case 0:
		return below(f, 8);
	case 1:
		return 1ull << below(f, 64);
	case 2:
		return (1ull << below(f, 64)) - 1;
	case 3:
		return ~below(f, 8);
	case 4:
		return below(f, 100000);
	default:
		return any(f);
	}
}

static void noise(struct fuzz *f, void *p, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		((uint8_t *)p)[i] = (uint8_t)any(f);
	}
}

/* Mostly a link, now and then not. */
static uint32_t link_number(struct fuzz *f)
{
	return below(f, 10) > 0 ? (uint32_t)below(f, NANET3_LINKS) : (uint32_t)number(f);
}

static int handle(struct fuzz *f)
{
	return f->fds[below(f, HANDLES)];
}

static int request(struct fuzz *f, unsigned long code, void *arg)
{
	int r = ioctl(handle(f), code, arg);

	f->requests++;
	f->accepted += r == 0;
	return r;
}

/* ------------------------------------------------------------------------ requests */

static void do_info(struct fuzz *f)
{
	struct nanet3_info info = {.version = below(f, 8) > 0 ? NANET3_ABI_VERSION
							      : (uint32_t)number(f)};

	request(f, NANET3_IOC_INFO, &info);
}

static void do_claim(struct fuzz *f)
{
	struct nanet3_claim claim = {.link = link_number(f)};

	claim.flags = below(f, 4) > 0 ? (uint32_t)below(f, 2) : (uint32_t)number(f);
	request(f, NANET3_IOC_CLAIM, &claim);
}

static void do_yield(struct fuzz *f)
{
	__u32 link = link_number(f);

	request(f, NANET3_IOC_YIELD, &link);
}

/* To one of our handles, to one beside it, to anything. */
static void do_grant(struct fuzz *f)
{
	struct nanet3_grant grant = {.link = link_number(f), .handle = f->number};

	if (below(f, 3) == 0) {
		grant.handle = below(f, 2) == 0 ? number(f) : f->number + below(f, 4) - 2;
	}
	request(f, NANET3_IOC_GRANT, &grant);
}

static void do_release(struct fuzz *f)
{
	struct nanet3_release release = {.link = link_number(f)};

	release.position = below(f, 3) > 0 ? below(f, 400) : number(f);
	request(f, NANET3_IOC_RELEASE, &release);
}

static void do_send(struct fuzz *f)
{
	struct nanet3_tx tx = {.link = (uint8_t)link_number(f),
			       .kind = (uint8_t)(1 + below(f, 4)),
			       .cookie = any(f)};

	noise(f, tx.bytes, below(f, sizeof(tx.bytes) + 1));
	if (below(f, 4) == 0) {
		tx.at_frame = number(f);
	}
	if (below(f, 10) == 0) {
		noise(f, &tx, sizeof(tx));
	}
	request(f, NANET3_IOC_SEND, &tx);
}

static void do_reg_read(struct fuzz *f)
{
	struct nanet3_regs regs = {.offset = (uint32_t)below(f, 0x4000) * 4,
				   .count = 1 + (uint32_t)below(f, NANET3_REGS_MAX)};

	if (below(f, 4) == 0) {
		regs.offset = (uint32_t)number(f);
		regs.count = (uint32_t)number(f);
	}
	request(f, NANET3_IOC_REG_READ, &regs);
}

/* The harmless ones; out of range, and misaligned, of which none may be written. */
static void do_reg_write(struct fuzz *f)
{
	struct nanet3_regs regs = {.offset = NANET3_REG_SCRATCH, .count = 1};

	noise(f, regs.values, sizeof(regs.values));
	if (below(f, 2) == 0) {
		regs.offset =
			NANET3_REG_LINK((uint32_t)below(f, NANET3_LINKS), NANET3_LREG_DEADLINE);
		regs.values[0] = 125 + (uint32_t)below(f, 20000);
	}
	if (below(f, 4) == 0) {
		regs.offset = NANET3_BAR_BYTES + (uint32_t)number(f) % 0x7fff0000u;
		regs.count = (uint32_t)number(f);
	}
	request(f, NANET3_IOC_REG_WRITE, &regs);
}

static void do_link_command(struct fuzz *f)
{
	struct nanet3_link_command command = {.link = link_number(f),
					      .command = (uint32_t)below(f, 16)};

	request(f, NANET3_IOC_LINK_CMD, &command);
}

static void do_subscribe(struct fuzz *f)
{
	struct nanet3_subscribe subscribe = {.mask = (uint32_t)below(f, 256)};

	request(f, NANET3_IOC_SUBSCRIBE, &subscribe);
}

static void do_wait(struct fuzz *f)
{
	struct nanet3_wait wait = {.timeout_ms = (uint32_t)below(f, 30)};

	request(f, NANET3_IOC_WAIT, &wait);
}

static void do_polling(struct fuzz *f)
{
	struct nanet3_polling polling = {.on = (uint32_t)below(f, 3)};

	request(f, NANET3_IOC_POLLING, &polling);
}

static void do_register(struct fuzz *f)
{
	struct nanet3_register r = {.address = (uintptr_t)f->arena + below(f, ARENA)};

	r.length = below(f, 4) > 0 ? 1 + below(f, BUFFER) : number(f);
	if (below(f, 8) == 0) {
		r.address = number(f);
	}
	request(f, NANET3_IOC_REGISTER, &r);
}

static void do_unregister(struct fuzz *f)
{
	__u32 buffer = (__u32)(below(f, 8) > 0 ? below(f, 16) : number(f));

	request(f, NANET3_IOC_UNREGISTER, &buffer);
}

static void do_put(struct fuzz *f)
{
	struct nanet3_put put = {.source = (uint32_t)below(f, 16),
				 .destination = (uint32_t)below(f, 16),
				 .length = 1 + below(f, 20000),
				 .cookie = any(f),
				 .flags = (uint32_t)below(f, 4)};

	if (below(f, 3) == 0) {
		put.source_offset = below(f, BUFFER);
		put.destination_offset = below(f, BUFFER);
	}
	if (below(f, 10) == 0) {
		put.length = number(f);
		put.destination_offset = number(f);
	}
	request(f, NANET3_IOC_PUT, &put);
}

static void do_stats(struct fuzz *f)
{
	struct nanet3_stats stats;

	request(f, NANET3_IOC_STATS, &stats);
}

/* Any code of the right magic, any bytes, any pointer. MODEL_FAULT and other registers stay out. */
static void do_random(struct fuzz *f)
{
	uint8_t bytes[512];
	unsigned long code = _IOC(below(f, 4), 'N', below(f, 32), below(f, sizeof(bytes)));

	if (below(f, 2) == 0) { /* a code that exists, nonsense in it */
		static const unsigned long known[] = {
			NANET3_IOC_INFO,     NANET3_IOC_CLAIM,	 NANET3_IOC_YIELD,
			NANET3_IOC_RELEASE,  NANET3_IOC_SEND,	 NANET3_IOC_REG_READ,
			NANET3_IOC_LINK_CMD, NANET3_IOC_POLLING, NANET3_IOC_REGISTER,
			NANET3_IOC_PUT,	     NANET3_IOC_STATS,	 NANET3_IOC_UNREGISTER,
			NANET3_IOC_GRANT,
		};

		code = known[below(f, sizeof(known) / sizeof(known[0]))];
	}
	if (_IOC_NR(code) == _IOC_NR(NANET3_IOC_WAIT) ||
	    _IOC_NR(code) == _IOC_NR(NANET3_IOC_REG_WRITE)) {
		return;
	}
	noise(f, bytes, sizeof(bytes));
	request(f, code, below(f, 8) > 0 ? (void *)bytes : (void *)(uintptr_t)number(f));
}

/* ------------------------------------------------------------------------ the rest of a handle */

static void do_reopen(struct fuzz *f)
{
	int *fd = &f->fds[below(f, HANDLES)];
	struct nanet3_info info = {.version = NANET3_ABI_VERSION};

	close(*fd);
	*fd = open("/dev/nanet3-0",
		   (below(f, 10) > 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (below(f, 8) > 0 && ioctl(*fd, NANET3_IOC_INFO, &info) == 0) {
		f->number = info.handle;
	}
}

static void do_map(struct fuzz *f)
{
	struct mapping *m = &f->maps[below(f, MAPS)];
	unsigned long long what[] = {
		NANET3_MAP_QUEUE,
		NANET3_MAP_EVENTS,
		NANET3_MAP_DOORBELL(below(f, 5)),
		NANET3_MAP_RING(below(f, 5)),
		NANET3_MAP_OWNER(below(f, 5)),
		NANET3_MAP_CHUNK(below(f, 5), below(f, 4)),
		number(f),
	};
	unsigned long long offset = what[below(f, sizeof(what) / sizeof(what[0]))];
	int protection = (int)below(f, 8);
	void *p;

	if (m->p != NULL) {
		munmap(m->p, m->bytes);
		m->p = NULL;
	}
	m->bytes = NANET3_PAGE * (1 + below(f, below(f, 2) == 0 ? 2 : 1024));
	if (below(f, 8) == 0) {
		offset += NANET3_PAGE * below(f, 16);
	}
	p = mmap(NULL, m->bytes, protection, below(f, 8) > 0 ? MAP_SHARED : MAP_PRIVATE, handle(f),
		 (off_t)(offset & ~(unsigned long long)(NANET3_PAGE - 1)));
	m->p = p == MAP_FAILED ? NULL : p;
}

static sigjmp_buf *landing;

/* Look at a mapping, and where it may be written, write: a SIGBUS or SIGSEGV is an answer too. */
static void do_touch(struct fuzz *f)
{
	struct mapping *m = &f->maps[below(f, MAPS)];
	volatile uint8_t *p = m->p;
	sigjmp_buf here;

	if (p == NULL) {
		return;
	}
	p += below(f, m->bytes);
	landing = &here;
	if (sigsetjmp(here, 1) == 0) {
		uint8_t was = *p;

		if (below(f, 4) == 0) {
			*p = (uint8_t)(was + 1);
		}
	}
	landing = NULL;
}

static void do_remap(struct fuzz *f)
{
	struct mapping *m = &f->maps[below(f, MAPS)];
	size_t bytes = NANET3_PAGE * (1 + below(f, 64));
	void *p;

	if (m->p == NULL) {
		return;
	}
	if (below(f, 2) == 0) {
		mprotect(m->p, m->bytes, (int)below(f, 8));
		return;
	}
	p = mremap(m->p, m->bytes, bytes, MREMAP_MAYMOVE);
	if (p != MAP_FAILED) {
		*m = (struct mapping){p, bytes};
	}
}

static void do_poll(struct fuzz *f)
{
	struct pollfd p = {.fd = handle(f), .events = (short)any(f)};

	poll(&p, 1, (int)below(f, 5));
}

/* A child with all of it, that ends in one of the ways there are. */
static void do_fork(struct fuzz *f)
{
	pid_t pid;

	if (below(f, 20) != 0) {
		return;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (unsigned i = 0; i < 5; i++) {
			do_touch(f);
			do_claim(f);
			do_yield(f);
		}
		_exit(0);
	}
	if (pid > 0) {
		if (below(f, 2) == 0) {
			kill(pid, SIGKILL);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Pages that are pinned, and taken away. */
static void do_arena(struct fuzz *f)
{
	size_t at = below(f, ARENA / NANET3_PAGE) * NANET3_PAGE;
	static const int advice[] = {MADV_DONTNEED, MADV_DONTFORK, MADV_DOFORK, MADV_WILLNEED};

	if (below(f, 4) == 0) {
		madvise(f->arena + at, NANET3_PAGE, advice[below(f, 4)]);
	} else if (below(f, 4) == 0) {
		mmap(f->arena + at, NANET3_PAGE, PROT_READ | (below(f, 2) ? PROT_WRITE : 0),
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	}
}

static void (*const deeds[])(struct fuzz *f) = {
	do_info,       do_claim,    do_claim,	  do_yield, do_release, do_release,
	do_send,       do_reg_read, do_reg_write, do_wait,  do_polling, do_link_command,
	do_subscribe,  do_register, do_register,  do_put,   do_put,	do_put,
	do_unregister, do_stats,    do_random,	  do_map,   do_map,	do_touch,
	do_touch,      do_remap,    do_poll,	  do_fork,  do_arena,	do_reopen,
	do_random,     do_random,   do_grant,
};

/* ------------------------------------------------------------------------ processes */

static void on_fault(int number)
{
	if (landing == NULL) {
		_exit(100 + number);
	}
	siglongjmp(*landing, 1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void work(uint64_t seed)
{
	struct sigaction act = {.sa_handler = on_fault};
	struct fuzz f = {.random = seed * 0x9e3779b97f4a7c15ull | 1};
	uint64_t until = now_ms() + LIFE_MS / 2 + below(&f, LIFE_MS);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGSEGV, &act, NULL);
	sigaction(SIGBUS, &act, NULL);
	f.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (seed % 3 == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0)) {
		_exit(1);
	}
	for (unsigned i = 0; i < HANDLES; i++) {
		f.fds[i] = -1;
	}
	for (unsigned i = 0; i < 2 * HANDLES; i++) {
		do_reopen(&f);
	}
	while (now_ms() < until) {
		for (unsigned i = 0; i < 50; i++) {
			deeds[below(&f, sizeof(deeds) / sizeof(deeds[0]))](&f);
		}
		__atomic_fetch_add(&totals->requests, f.requests, __ATOMIC_RELAXED);
		__atomic_fetch_add(&totals->accepted, f.accepted, __ATOMIC_RELAXED);
		f.requests = f.accepted = 0;
	}
	_exit(0);
}

/* True when it is gone; false: it hangs. */
static bool finish(pid_t pid)
{
	for (uint64_t until = now_ms() + 1000 * HANG_S; now_ms() < until;) {
		if (waitpid(pid, NULL, WNOHANG) == pid) {
			return true;
		}
		nanosleep(&(struct timespec){0, 10000000}, NULL);
	}
	return false;
}

static bool one_round(uint64_t seed)
{
	pid_t pids[WORKERS];
	bool good = true;

	for (unsigned i = 0; i < WORKERS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			work(seed + i);
		}
	}
	nanosleep(&(struct timespec){LIFE_MS / 1000, 0}, NULL);
	for (unsigned i = 0; i < WORKERS; i++) {
		if (seed % 2 == 0) {
			kill(pids[i], SIGKILL);
		}
		good &= finish(pids[i]);
	}
	return good;
}

int main(int argc, char **argv)
{
	static const struct option options[] = {{"seconds", required_argument, NULL, 's'},
						{"seed", required_argument, NULL, 'r'},
						{NULL}};
	uint64_t seed = 1, rounds = 0, until;
	unsigned seconds = 20;
	bool good = true;
	int k;

	while ((k = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (k == 's') {
			seconds = (unsigned)strtoul(optarg, NULL, 0);
		} else if (k == 'r') {
			seed = strtoull(optarg, NULL, 0);
		} else {
			return 2;
		}
	}
	totals = mmap(NULL, sizeof(*totals), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	printf("1..2\n# seed %llu, %u s\n", (unsigned long long)seed, seconds);
	chmod("/dev/nanet3-0", 0666);
	for (until = now_ms() + 1000ull * seconds; good && now_ms() < until; rounds++) {
		good = one_round((seed << 32) + rounds * WORKERS);
		fflush(stdout);
	}
	printf("# %llu rounds, %llu requests, %llu of them accepted\n", (unsigned long long)rounds,
	       (unsigned long long)totals->requests, (unsigned long long)totals->accepted);
	printf("%sok 1 - nobody hangs\n", good ? "" : "not ");
	/* A fuzzer that is always refused at the door tests the door. */
	printf("%sok 2 - requests got through\n",
	       totals->accepted > 0 && totals->accepted < totals->requests ? "" : "not ");
	return 0;
}

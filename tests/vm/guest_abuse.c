/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Wrong requests, each refused by its name, and malformed mappings. The rule behind all of them: after a
 * refusal nothing has changed, which the last test of the file looks at.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/rig/privilege.h"
#include "tests/vm/guest.h"

#define NOBODY	65534
#define OWNED	1u /* the link that `owner` claims in these tests */
#define ANOTHER 2u

static int owner = -1, other = -1; /* two handles; the first owns a link */

/* 0, or the errno of the refusal. */
static int request(int fd, unsigned long code, void *arg)
{
	return ioctl(fd, code, arg) < 0 ? errno : 0;
}

/* 0, or the errno of the refusal; what was mapped is unmapped. */
static int map(int fd, uint64_t what, size_t bytes, int protection, int flags)
{
	void *p = mmap(NULL, bytes, protection, flags, fd, (off_t)what);

	if (p == MAP_FAILED) {
		return errno;
	}
	munmap(p, bytes);
	return 0;
}

static int open_both(void **state)
{
	struct nanet3_claim claim = {.link = OWNED, .flags = NANET3_CLAIM_FRESH};

	owner = guest_open_raw();
	other = guest_open_raw();
	return request(owner, NANET3_IOC_CLAIM, &claim);
}

static int close_both(void **state)
{
	__u32 link = OWNED;

	request(owner, NANET3_IOC_YIELD, &link);
	close(owner);
	close(other);
	return 0;
}

/* ------------------------------------------------------------------------ by errno */

static void enotty(void **state)
{
	struct nanet3_stats room;
	static const unsigned long codes[] = {
		0,
		~0ul,
		_IO('N', 0x00),
		_IO('N', 0x0f),
		_IO('N', 0xff),
		_IOWR('N', 0x0f, struct nanet3_info),
		_IO('N', 0x10),
		_IOW('N', 0x10, struct nanet3_grant),
		_IOWR('O', 0x00, struct nanet3_info),
		_IOR('N', 0x00, struct nanet3_info), /* wrong direction */
		0x5401 /* TCGETS */,
	};

	memset(&room, 0, sizeof(room));
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		assert_int_equal(request(owner, codes[i], &room), ENOTTY);
	}
}

/* Structs grow at their ends: shorter than ever is wrong, and so is what a later driver may know. */
static void other_lengths(void **state)
{
	struct {
		struct nanet3_info info;
		uint64_t later[4];
	} a = {.info.version = NANET3_ABI_VERSION};
	const unsigned long code = NANET3_REQUEST(NANET3_IOC_INFO);
	int fd = open(guest_where(), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(request(fd, _IOWR('N', 0x00, struct nanet3_claim), &a), EINVAL);
	assert_int_equal(request(fd, code, &a), EINVAL);
	assert_int_equal(request(fd, code | (NANET3_INFO_LEAST - 1) << _IOC_SIZESHIFT, &a), EINVAL);
	assert_int_equal(request(fd, code | NANET3_INFO_LEAST << _IOC_SIZESHIFT, &a), 0);
	assert_int_equal(a.info.hw_version, 0);
	a.info.version = NANET3_ABI_VERSION + 7;
	a.info.version_min = NANET3_ABI_VERSION;
	assert_int_equal(request(fd, code | sizeof(a) << _IOC_SIZESHIFT, &a), 0);
	assert_int_equal(a.info.version, NANET3_ABI_VERSION);
	assert_int_equal(a.info.hw_version, NANET3_HW_VERSION);
	assert_true(a.info.caps & NANET3_CAP_LOST_DESCRIPTORS);
	a.later[3] = 1;
	assert_int_equal(request(fd, code | sizeof(a) << _IOC_SIZESHIFT, &a), E2BIG);
	a.later[3] = 0;
	a.info.version = NANET3_ABI_VERSION + 7;
	a.info.reserved = 1;
	assert_int_equal(request(fd, code | sizeof(a) << _IOC_SIZESHIFT, &a), EINVAL);
	a.info.reserved = 0;
	a.info.version_min = NANET3_ABI_VERSION + 1;
	assert_int_equal(request(fd, NANET3_IOC_INFO, &a), EPROTO);
	close(fd);
}

/* All requests; the first four change nothing. */
static const unsigned long codes[] = {
	NANET3_IOC_INFO,    NANET3_IOC_REG_READ, NANET3_IOC_STATS,	NANET3_IOC_WAIT,
	NANET3_IOC_CLAIM,   NANET3_IOC_YIELD,	 NANET3_IOC_GRANT,	NANET3_IOC_RELEASE,
	NANET3_IOC_SEND,    NANET3_IOC_LINK_CMD, NANET3_IOC_REG_WRITE,	NANET3_IOC_SUBSCRIBE,
	NANET3_IOC_POLLING, NANET3_IOC_REGISTER, NANET3_IOC_UNREGISTER, NANET3_IOC_PUT,
};
#define LOOKS 4u

static void efault(void **state)
{
	uint8_t *gone = mmap(NULL, 2 * NANET3_PAGE, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(gone != MAP_FAILED);
	munmap(gone + NANET3_PAGE, NANET3_PAGE);
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		assert_int_equal(request(owner, codes[i], NULL), EFAULT);
		assert_int_equal(request(owner, codes[i], (void *)~0xful), EFAULT);
		assert_int_equal(request(owner, codes[i], gone + NANET3_PAGE - 2), EFAULT);
	}
	munmap(gone, NANET3_PAGE);
}

/* Answers that cannot be written: who does not know what he got has got nothing. */
static void efault_on_the_way_back(void **state)
{
	uint8_t *page =
		mmap(NULL, NANET3_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct nanet3_claim claim = {.link = ANOTHER, .flags = NANET3_CLAIM_FRESH};
	struct nanet3_register reg = {.address = (uintptr_t)&claim, .length = sizeof(claim)};
	struct nanet3_stats stats;
	__u32 link = ANOTHER;

	memcpy(page, &claim, sizeof(claim));
	memcpy(page + 64, &reg, sizeof(reg));
	assert_int_equal(mprotect(page, NANET3_PAGE, PROT_READ), 0);
	assert_int_equal(request(other, NANET3_IOC_CLAIM, page), EFAULT);
	assert_int_equal(request(other, NANET3_IOC_YIELD, &link), EPERM);
	assert_int_equal(request(other, NANET3_IOC_CLAIM, &claim), 0);
	assert_int_equal(request(other, NANET3_IOC_YIELD, &link), 0);
	assert_int_equal(request(other, NANET3_IOC_REGISTER, page + 64), EFAULT);
	assert_int_equal(request(other, NANET3_IOC_STATS, &stats), 0);
	assert_int_equal(stats.buffers, 0);
	munmap(page, NANET3_PAGE);
}

static void eproto(void **state)
{
	struct nanet3_info info = {.version = NANET3_ABI_VERSION - 1};
	struct nanet3_claim claim = {.link = ANOTHER};
	struct nanet3_grant grant = {.link = ANOTHER};
	struct nanet3_stats stats;
	struct nanet3_wait wait = {0};
	__u32 word = ANOTHER;
	int fd = open(guest_where(), O_RDWR | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(request(fd, NANET3_IOC_CLAIM, &claim), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_YIELD, &word), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_STATS, &stats), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_GRANT, &grant), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_WAIT, &wait), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_UNREGISTER, &word), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_INFO, &info), EPROTO);
	info.version = ~0u;
	assert_int_equal(request(fd, NANET3_IOC_INFO, &info), EPROTO);
	assert_int_equal(request(fd, NANET3_IOC_CLAIM, &claim), EPROTO);
	info.version = NANET3_ABI_VERSION;
	assert_int_equal(request(fd, NANET3_IOC_INFO, &info), 0);
	assert_int_equal(request(fd, NANET3_IOC_WAIT, &wait), ETIMEDOUT);
	close(fd);
}

/* A file that is not open for writing changes nothing, neither for root nor with a grant. */
static void ebadf(void **state)
{
	union {
		struct nanet3_info info;
		struct nanet3_regs regs;
		uint8_t bytes[sizeof(struct nanet3_stats)];
	} arg;
	struct nanet3_grant grant = {.link = OWNED};
	int fd = open(guest_where(), O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	for (unsigned i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		const int expected = i < LOOKS ? 0 : EBADF;

		memset(&arg, 0, sizeof(arg));
		if (codes[i] == NANET3_IOC_INFO) {
			arg.info.version = NANET3_ABI_VERSION;
		} else if (codes[i] == NANET3_IOC_REG_READ) {
			arg.regs.count = 1;
		}
		assert_int_equal(request(fd, codes[i], &arg),
				 codes[i] == NANET3_IOC_WAIT ? ETIMEDOUT : expected);
		if (codes[i] == NANET3_IOC_INFO) {
			grant.handle = arg.info.handle;
			assert_int_equal(request(owner, NANET3_IOC_GRANT, &grant), 0);
		}
	}
	assert_int_equal(map(fd, NANET3_MAP_RING(OWNED), NANET3_PAGE, PROT_READ, MAP_SHARED), 0);
	assert_int_equal(map(fd, NANET3_MAP_QUEUE, NANET3_PAGE, PROT_READ, MAP_SHARED), 0);
	assert_int_equal(map(fd, NANET3_MAP_QUEUE, NANET3_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED),
			 EACCES);
	assert_int_equal(map(fd, NANET3_MAP_DOORBELL(OWNED), NANET3_PAGE, PROT_WRITE, MAP_SHARED),
			 EACCES);
	close(fd);
}

static void eperm(void **state)
{
	struct nanet3_release release = {.link = OWNED};
	struct nanet3_polling polling = {.on = 1};
	struct nanet3_grant grant = {.link = OWNED};
	__u32 link = OWNED;

	assert_int_equal(request(other, NANET3_IOC_YIELD, &link), EPERM);
	assert_int_equal(request(other, NANET3_IOC_RELEASE, &release), EPERM);
	assert_int_equal(request(other, NANET3_IOC_POLLING, &polling), EPERM);
	assert_int_equal(request(other, NANET3_IOC_GRANT, &grant), EPERM);
	link = ANOTHER;
	assert_int_equal(request(owner, NANET3_IOC_YIELD, &link), EPERM);
	release.link = ANOTHER;
	assert_int_equal(request(owner, NANET3_IOC_RELEASE, &release), EPERM);
	grant.link = ANOTHER;
	assert_int_equal(request(owner, NANET3_IOC_GRANT, &grant), EPERM);
}

/* 0, or the errno of a word and of an align, which must be the same. */
static int act_on(int fd, unsigned link)
{
	struct nanet3_tx tx = {.link = (uint8_t)link, .kind = NANET3_TX_REQUEST, .bytes = {1}};
	struct nanet3_link_command command = {link, NANET3_LINK_ALIGN};
	struct nanet3 *b = guest_open();
	int r;

	guest_wait_locked(b, link);
	r = request(fd, NANET3_IOC_SEND, &tx);
	assert_int_equal(request(fd, NANET3_IOC_LINK_CMD, &command), r);
	guest_wait_locked(b, link);
	guest_close(b);
	return r;
}

/* Neither the user nor write access to the node gives rights on a link: only the owner's handle
 * does, or CAP_SYS_ADMIN of the caller. */
static void acts_by_owner_or_capability(void **state)
{
	assert_int_equal(privilege_admin(false), 0);
	assert_int_equal(geteuid(), 0);
	assert_int_equal(act_on(owner, OWNED), 0);
	assert_int_equal(act_on(other, OWNED), EPERM);
	assert_int_equal(act_on(other, ANOTHER), EPERM);
	assert_int_equal(act_on(owner, ANOTHER), EPERM);
	assert_int_equal(privilege_admin(true), 0);
	assert_int_equal(act_on(other, OWNED), 0);
	assert_int_equal(act_on(other, ANOTHER), 0);
}

/* The calling thread counts, not the one that opened the file. */
static void act_without_capability(void *context)
{
	assert_int_equal(setgid(NOBODY), 0);
	assert_int_equal(setuid(NOBODY), 0);
	assert_int_equal(act_on(other, OWNED), EPERM);
	assert_int_equal(act_on(owner, OWNED), 0);
}

static void capability_is_the_callers(void **state)
{
	struct stat s;

	assert_int_equal(stat(guest_where(), &s), 0);
	assert_int_equal(chmod(guest_where(), 0666), 0);
	assert_int_equal(guest_join(guest_fork(act_without_capability, NULL)), 0);
	assert_int_equal(chmod(guest_where(), s.st_mode & 0777), 0);
}

/* Registers that need privilege to write; one that needs none, and one that needs a handle acting
 * for its link. */
static void write_as_nobody(void *context)
{
	static const uint32_t forbidden[] = {
		NANET3_REG_CONTROL,
		NANET3_REG_IRQ_MASK,
		NANET3_REG_DMA_EPOCH,
		NANET3_REG_EVQ_BASE,
		NANET3_REG_TX_BASE,
		NANET3_REG_TX_WRITE,
		NANET3_REG_MODEL_FAULT,
		NANET3_REG_BUFFER(0, 0),
		NANET3_REG_DOORBELL(0),
		NANET3_REG_LINK(0, NANET3_LREG_CONTROL),
		NANET3_REG_LINK(0, NANET3_LREG_TABLE),
		NANET3_REG_LINK(0, NANET3_LREG_RELEASE),
	};
	struct nanet3_claim claim = {.link = 3, .flags = NANET3_CLAIM_FRESH};
	struct nanet3_regs regs = {.count = 1};
	__u32 link = 3;
	int fd;

	assert_int_equal(setgid(NOBODY), 0);
	assert_int_equal(setuid(NOBODY), 0);
	fd = guest_open_raw();
	for (unsigned i = 0; i < sizeof(forbidden) / sizeof(forbidden[0]); i++) {
		regs.offset = forbidden[i];
		regs.count = 1;
		assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), EPERM);
	}
	regs.offset = NANET3_REG_SCRATCH; /* harmless, but its neighbour is not */
	regs.count = 2;
	assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), EPERM);
	regs.count = 1;
	assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), 0);
	regs.offset = NANET3_REG_LINK(3, NANET3_LREG_DEADLINE);
	regs.values[0] = 5000;
	assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), EPERM);
	assert_int_equal(request(fd, NANET3_IOC_CLAIM, &claim), 0);
	assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), 0);
	regs.values[0] = 0; /* a ring full of single frames */
	assert_int_equal(request(fd, NANET3_IOC_REG_WRITE, &regs), EPERM);
	assert_int_equal(request(fd, NANET3_IOC_YIELD, &link), 0);
	close(fd);
}

static void eperm_registers(void **state)
{
	struct stat s;

	assert_int_equal(stat(guest_where(), &s), 0);
	assert_int_equal(chmod(guest_where(), 0666), 0);
	assert_int_equal(guest_join(guest_fork(write_as_nobody, NULL)), 0);
	assert_int_equal(chmod(guest_where(), s.st_mode & 0777), 0);
}

static void einval_links(void **state)
{
	static const __u32 links[] = {NANET3_LINKS, 0xff, ~0u, 1u << 31};

	for (unsigned i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		struct nanet3_claim claim = {.link = links[i]};
		struct nanet3_release release = {.link = links[i]};
		struct nanet3_link_command command = {links[i], NANET3_LINK_RESET};
		__u32 link = links[i];

		assert_int_equal(request(owner, NANET3_IOC_CLAIM, &claim), EINVAL);
		assert_int_equal(request(owner, NANET3_IOC_YIELD, &link), EINVAL);
		assert_int_equal(request(owner, NANET3_IOC_RELEASE, &release), EINVAL);
		assert_int_equal(request(owner, NANET3_IOC_LINK_CMD, &command), EINVAL);
	}
}

static void einval_fields(void **state)
{
	struct nanet3_claim claim = {.link = ANOTHER, .flags = 0x80};
	struct nanet3_release release = {.link = OWNED, .position = ~0ull};
	struct nanet3_subscribe subscribe = {.mask = 1u << NANET3_EVENT_RX};
	struct nanet3_link_command command = {.link = OWNED, .command = NANET3_LINK_ENABLE};

	assert_int_equal(request(owner, NANET3_IOC_CLAIM, &claim), EINVAL);
	assert_int_equal(request(owner, NANET3_IOC_RELEASE, &release), EINVAL);
	release.position = 1ull << 63;
	assert_int_equal(request(owner, NANET3_IOC_RELEASE, &release), EINVAL);
	assert_int_equal(request(owner, NANET3_IOC_SUBSCRIBE, &subscribe), EINVAL);
	subscribe.mask = ~0u;
	assert_int_equal(request(owner, NANET3_IOC_SUBSCRIBE, &subscribe), EINVAL);
	assert_int_equal(request(owner, NANET3_IOC_LINK_CMD, &command), EINVAL);
	command.command = 0;
	assert_int_equal(request(owner, NANET3_IOC_LINK_CMD, &command), EINVAL);
}

static void einval_registers(void **state)
{
	static const struct nanet3_regs bad[] = {
		{.offset = 1, .count = 1},
		{.offset = 2, .count = 1},
		{.offset = 0, .count = 0},
		{.offset = 0, .count = NANET3_REGS_MAX + 1},
		{.offset = 0, .count = ~0u},
		{.offset = NANET3_BAR_BYTES, .count = 1},
		{.offset = NANET3_BAR_BYTES - 4, .count = 2},
		{.offset = 0xfffffffc, .count = 2},
		{.offset = 0xfffffffc, .count = 1},
		{.offset = 0x80000000, .count = 1},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nanet3_regs regs = bad[i];

		assert_int_equal(request(owner, NANET3_IOC_REG_READ, &regs), EINVAL);
		assert_int_equal(request(owner, NANET3_IOC_REG_WRITE, &regs), EINVAL);
	}
}

static void einval_words(void **state)
{
	static const struct nanet3_tx bad[] = {
		{.link = 4, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0xff, .kind = NANET3_TX_REQUEST, .bytes = {1}},
		{.link = 0, .kind = 0, .bytes = {1}},
		{.link = 0, .kind = 99, .bytes = {1}},
		{.link = NANET3_LOOPBACK,
		 .kind = NANET3_TX_PUT,
		 .bytes = {1}}, /* the driver's own */
		{.link = 0, .kind = NANET3_TX_PUT, .bytes = {1}},
		{.link = 0, .kind = NANET3_TX_SERIAL, .bytes = {0, 31}},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .flags = 2},
		{.link = 0, .kind = NANET3_TX_REQUEST, .bytes = {1}, .at_frame = ~0ull},
	};

	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct nanet3_tx tx = bad[i];

		assert_int_equal(request(owner, NANET3_IOC_SEND, &tx), EINVAL);
	}
}

static void ebusy_and_enoent(void **state)
{
	struct nanet3_claim claim = {.link = OWNED};
	struct nanet3_put put = {.source = 5, .destination = 6, .length = 1};
	__u32 buffer = 0;

	assert_int_equal(request(other, NANET3_IOC_CLAIM, &claim), EBUSY);
	assert_int_equal(request(owner, NANET3_IOC_CLAIM, &claim), EBUSY);
	assert_int_equal(request(owner, NANET3_IOC_UNREGISTER, &buffer), ENOENT);
	buffer = ~0u;
	assert_int_equal(request(owner, NANET3_IOC_UNREGISTER, &buffer), ENOENT);
	assert_int_equal(request(owner, NANET3_IOC_PUT, &put), ENOENT);
}

static void read_write_seek(void **state)
{
	char c[64] = {0};

	assert_int_equal(read(owner, c, sizeof(c)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(write(owner, c, sizeof(c)), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(lseek(owner, 0, SEEK_SET), -1);
	assert_int_equal(errno, ESPIPE);
}

/* ------------------------------------------------------------------------ mappings */

static void malformed_mappings(void **state)
{
	static const uint64_t nowhere[] = {
		0,
		NANET3_PAGE,
		NANET3_MAP_QUEUE + NANET3_PAGE, /* begins inside */
		NANET3_MAP_RING(0) + NANET3_PAGE,
		NANET3_MAP_RING(NANET3_LINKS),
		NANET3_MAP_RING(15),
		NANET3_MAP_OWNER(NANET3_LINKS),
		NANET3_MAP_CHUNK(OWNED, 4095),
		NANET3_MAP_CHUNK(NANET3_LINKS, 0),
		NANET3_MAP_CHUNK(OWNED, 0) + NANET3_PAGE,
		NANET3_MAP_DOORBELL(NANET3_LINKS),
		NANET3_MAP_EVENTS + NANET3_PAGE,
		0x7ull << 40,
		0x7full << 40,
		1ull << 62,
	};

	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		assert_int_not_equal(map(owner, nowhere[i], NANET3_PAGE, PROT_READ, MAP_SHARED), 0);
	}
	/* Longer than what is there, up to an end that overflows. */
	assert_int_not_equal(map(owner, NANET3_MAP_QUEUE, 64u << 20, PROT_READ, MAP_SHARED), 0);
	assert_int_not_equal(map(owner, NANET3_MAP_RING(OWNED), 64u << 20, PROT_READ, MAP_SHARED),
			     0);
	assert_int_not_equal(
		map(owner, NANET3_MAP_OWNER(OWNED), 2 * NANET3_PAGE, PROT_READ, MAP_SHARED), 0);
	assert_int_not_equal(
		map(owner, NANET3_MAP_CHUNK(OWNED, 0), 2 * NANET3_CHUNK_MAX, PROT_READ, MAP_SHARED),
		0);
	assert_int_not_equal(
		map(owner, NANET3_MAP_DOORBELL(OWNED), 2 * NANET3_PAGE, PROT_WRITE, MAP_SHARED), 0);
}

static void writable_where_it_must_not_be(void **state)
{
	const int rw = PROT_READ | PROT_WRITE;
	uint8_t *p;

	assert_int_not_equal(map(owner, NANET3_MAP_RING(OWNED), NANET3_PAGE, rw, MAP_SHARED), 0);
	assert_int_not_equal(map(owner, NANET3_MAP_EVENTS, NANET3_PAGE, rw, MAP_SHARED), 0);
	assert_int_equal(map(owner, NANET3_MAP_RING(OWNED), NANET3_PAGE, PROT_READ, MAP_SHARED), 0);
	p = mmap(NULL, NANET3_PAGE, PROT_READ, MAP_SHARED, owner, (off_t)NANET3_MAP_RING(OWNED));
	assert_true(p != MAP_FAILED);
	assert_int_equal(mprotect(p, NANET3_PAGE, rw), -1); /* nor later */
	assert_int_equal(errno, EACCES);
	/* Grown beyond its end: refused now, or when touched; never somebody else's memory. */
	assert_true(mremap(p, NANET3_PAGE, 256u << 20, MREMAP_MAYMOVE) == MAP_FAILED);
	munmap(p, NANET3_PAGE);
	/* A private copy of what the board writes would be a lie. */
	assert_int_not_equal(map(owner, NANET3_MAP_RING(OWNED), NANET3_PAGE, rw, MAP_PRIVATE), 0);
}

static void mappings_of_others(void **state)
{
	assert_int_equal(map(other, NANET3_MAP_OWNER(OWNED), NANET3_PAGE, PROT_READ, MAP_SHARED),
			 EPERM);
	assert_int_equal(map(other, NANET3_MAP_CHUNK(OWNED, 0), NANET3_PAGE, PROT_READ, MAP_SHARED),
			 EPERM);
	assert_int_equal(map(other, NANET3_MAP_EVENTS, NANET3_PAGE, PROT_READ, MAP_SHARED), EPERM);
	assert_int_equal(
		map(other, NANET3_MAP_DOORBELL(OWNED), NANET3_PAGE, PROT_WRITE, MAP_SHARED), EPERM);
	assert_int_equal(
		map(owner, NANET3_MAP_DOORBELL(ANOTHER), NANET3_PAGE, PROT_WRITE, MAP_SHARED),
		EPERM);
	assert_int_equal(map(owner, NANET3_MAP_OWNER(ANOTHER), NANET3_PAGE, PROT_READ, MAP_SHARED),
			 EPERM);
}

/* ------------------------------------------------------------------------ how many */

static void emfile(void **state)
{
	int fds[200];
	unsigned n = 0;

	while (n < 200 && (fds[n] = open(guest_where(), O_RDWR | O_CLOEXEC)) >= 0) {
		n++;
	}
	assert_int_equal(errno, EMFILE);
	assert_in_range(n, 16, 199); /* of this board, not of this process */
	close(fds[n - 1]);
	fds[n - 1] = guest_open_raw();
	while (n > 0) {
		close(fds[--n]);
	}
}

/* ------------------------------------------------------------------------ */

static void nothing_has_changed(void **state)
{
	struct nanet3 *b = guest_open();
	struct guest_reader r;

	assert_int_equal(nanet3_observe(b, OWNED), 0);
	assert_int_equal(nanet3_ring(b, OWNED)->status, NANET3_RING_OWNED);
	assert_int_equal(nanet3_ring(b, OWNED)->owner_pid, getpid());
	assert_int_equal(nanet3_release_position(b, OWNED), 0);
	guest_claim(b, ANOTHER);
	guest_reader_init(&r, ANOTHER, 0);
	guest_reader_run(&r, b, 200);
	assert_int_equal(r.gap_cells, 0);
	guest_reader_fini(&r);
	guest_yield(b, ANOTHER);
	guest_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(enotty),
		GUEST_TEST(other_lengths),
		GUEST_TEST(efault),
		GUEST_TEST(efault_on_the_way_back),
		GUEST_TEST(eproto),
		GUEST_TEST(ebadf),
		GUEST_TEST(eperm),
		GUEST_TEST(acts_by_owner_or_capability),
		GUEST_TEST(capability_is_the_callers),
		GUEST_TEST(eperm_registers),
		GUEST_TEST(einval_links),
		GUEST_TEST(einval_fields),
		GUEST_TEST(einval_registers),
		GUEST_TEST(einval_words),
		GUEST_TEST(ebusy_and_enoent),
		GUEST_TEST(read_write_seek),
		GUEST_TEST(malformed_mappings),
		GUEST_TEST(writable_where_it_must_not_be),
		GUEST_TEST(mappings_of_others),
		GUEST_TEST(emfile),
		GUEST_TEST(nothing_has_changed),
	};

	return cmocka_run_group_tests(tests, open_both, close_both);
}

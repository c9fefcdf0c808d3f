/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The wire between QEMU's x-pci-proxy-dev and the process that emulates the device: requests on a stream socket,
 * some with descriptors, some wanting an answer. Host byte order, as both ends are on one machine.
 *
 *   header: s32 command, 4 bytes of nothing, u64 size; then `size` bytes; descriptors with the header
 *
 * Everything is checked here: what comes out has a known command, its own size and no descriptors but
 * where they belong. The wire cannot be resynchronised, so anything else ends it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROXY_REGIONS 8u /* of guest memory, and descriptors in a message */

enum proxy_command {
	PROXY_SYNC_SYSMEM,  /* this is the guest's memory from now on; no answer */
	PROXY_RET,	    /* the answer */
	PROXY_CONFIG_WRITE, /* these and the rest: answered */
	PROXY_CONFIG_READ,
	PROXY_BAR_WRITE,
	PROXY_BAR_READ,
	PROXY_SET_IRQFD, /* eventfds of INTx, for KVM; no answer */
	PROXY_DEVICE_RESET,
	PROXY_COMMANDS
};

struct proxy_memory {
	uint64_t address[PROXY_REGIONS]; /* guest-physical */
	uint64_t bytes[PROXY_REGIONS];
	int64_t offset[PROXY_REGIONS]; /* in the descriptor */
};

struct proxy_config {
	uint32_t address, value;
	int32_t length; /* 1, 2 or 4 */
};

struct proxy_bar {
	uint64_t address; /* guest-physical */
	uint64_t value;
	uint32_t length; /* 1, 2, 4 or 8 */
	uint8_t memory;	 /* 0: an I/O port */
	uint8_t padding[3];
};

struct proxy_message {
	enum proxy_command command;
	union {
		struct proxy_memory memory;
		struct proxy_config config;
		struct proxy_bar bar;
		uint64_t value; /* RET, and nothing in SET_IRQFD and DEVICE_RESET */
	};
	int fds[PROXY_REGIONS]; /* the receiver's to close: proxy_close_fds() */
	unsigned fd_count;
};

struct proxy_header {
	int32_t command;
	uint32_t padding;
	uint64_t bytes;
};

/* One end of the wire: zero but for the descriptor at first; proxy_close_fds() of its message at the end. */
struct proxy {
	int fd; /* the caller's */
	struct proxy_header header;
	struct proxy_message message; /* being received */
	size_t got;		      /* bytes of header and message */
};

/*
 * The next message, without waiting: 1 with one, 0 when there is no whole one yet, -EPIPE when the
 * other end is closed, -EPROTO on nonsense, else -errno. After an error the wire is of no more use.
 */
int proxy_receive(struct proxy *p, struct proxy_message *ret_message);
void proxy_close_fds(struct proxy_message *m);
int proxy_answer(struct proxy *p, uint64_t value);

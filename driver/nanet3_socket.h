/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second transport: the emulator's socket. A Unix SOCK_SEQPACKET socket on which a client sends
 * one request a packet and gets one answer: the same request codes and structs as the device's
 * ioctls, so that a client cannot tell board from model but by what it opened.
 *
 *   request  struct nanet3_sock_head, then `size` bytes of the request's struct
 *   answer   struct nanet3_sock_head (result = 0 or -errno), then the struct as it came out
 *
 * NANET3_SOCK_MAP (u64 of NANET3_MAP_*) answers with struct nanet3_sock_map and one descriptor by
 * SCM_RIGHTS: EINVAL no such mapping, EPERM for chunks, owner page and doorbell of a link that the
 * caller does not own, and for the board's queue when it owns none. A packet of a wrong size is
 * answered with EINVAL, an unknown request with ENOTTY. INFO's answer carries an eventfd that is
 * signalled when events have been put on the client's queue. End of file on the socket = the board is
 * gone (ENODEV); end of file at the other end = the client died, its links linger.
 *
 * The rights of a process, CAP_SYS_ADMIN included, are looked up in /proc at each request. A handle is open for writing
 * unless its first packet, INFO, carries NANET3_SOCK_READ_ONLY; the queue's mapping is then read-only too.
 *
 * The doorbell is a page of memory: the host looks at its first u64, the release position, at every
 * frame period. A registered buffer stays the client's memory: the host reads and writes it with
 * process_vm_readv(2) and process_vm_writev(2), which the client allows it (PR_SET_PTRACER).
 */
#pragma once

#include "driver/nanet3.h"

struct nanet3_sock_head {
	__u32 request; /* NANET3_IOC_* or NANET3_SOCK_MAP */
	__s32 result;
	__u32 size;
	__u32 flags; /* of the first INFO: NANET3_SOCK_READ_ONLY; else 0 (EINVAL) */
};
#define NANET3_SOCK_READ_ONLY 0x1u

struct nanet3_sock_map {
	__u64 what;   /* in: NANET3_MAP_* */
	__u64 bytes;  /* out: length of the mapping */
	__u64 offset; /* out: offset in the descriptor */
	__u32 writable;
	__u32 reserved;
};
#define NANET3_SOCK_MAP _IOWR('N', 0x40, struct nanet3_sock_map)
#define NANET3_SOCK_MAX 1024u /* bytes of a packet, head included */

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ROUTER (or PUB) of the test's own, which plays the daemon to libfcmdata, well or badly; one at a time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "daemon/consumer/fcmdata.h"

#define PATIENCE_MS 10000
#define BLOCK	    80u
#define RESENT	    FCM_BLOCK_RESENT

struct rig {
	void *context, *socket;
	char endpoint[64];
	uint8_t id[64];
	int id_bytes;
	struct fcmdata *h;
};
extern struct rig rig;

/* ZeroMQ, where a signal comes between two of its calls. */
struct rig_interrupts {
	bool on, now; /* every second call of the consumer's ends so */
	unsigned times;
};
extern struct rig_interrupts interrupts;

int64_t rig_now_ms(void);
void rig_daemon_starts(int type);
void rig_daemon_dies(void);
int rig_set_up(void **state);
int rig_set_up_monitor(void **state);
int rig_tear_down(void **state);
void rig_say(const void *const part[], const size_t bytes[], unsigned parts);
void rig_say_words(const char *verb, const char *body);
void rig_welcome(void);
/* Block `n`, 4 bytes of `n` behind its status. `damage`: what is wrong with it. */
void rig_say_block(uint64_t n, uint32_t flags, enum fcmdata_damage damage);
/* What the consumer has said, ALIVEs left out unless wanted; its words go to `body`. Meanwhile the
 * consumer lives, and gets no block. False: nothing for `patience_ms`. */
bool rig_hear(const char *verb, char *body, int *ret_bytes, int patience_ms);
void rig_expect(const char *verb, char *body, int *ret_bytes);
void rig_expect_hello(void);
/* Acknowledgements of blocks `n`.., in as many messages as a slow machine makes of them. */
void rig_expect_acks(uint64_t n, unsigned count);
void rig_open_asking(void); /* it has said HELLO */
void rig_open_member(void);
struct fcmdata_stats rig_stats(void);
/* No block comes, until the connection's end is noticed. */
void rig_wait_disconnected(void);
const struct fcmdata_block *rig_receive(uint64_t n);
/* The next word of one who has closed; *acked counts. */
bool rig_hear_bye(unsigned *acked);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user-space host on a socket of its own for each test, and packets to it that no library would send. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <sys/types.h>

#include <cmocka.h>

#include "driver/lib/libnanet3.h"
#include "driver/nanet3_socket.h"
#include "tests/unit/rig/contract_host.h"

extern struct host_config config; /* of the host; for the next one once it is changed */
extern char path[96], where[128]; /* of the socket, and the same for nanet3_open() */
extern pid_t host;		  /* 0: it was ended */

/* cmocka's set-up and tear-down: rings of 200 ms, lingering 300 ms. */
int set_up(void **state);
int tear_down(void **state);
/* End the host and start one as `config` says now. */
void restart(void);

struct nanet3 *open_board(void);
uint64_t now_ms(void);

int raw_open(void);
/* Send bytes, return the answer's result; its struct goes to `answer` (may be NULL). */
int raw(int fd, const void *bytes, size_t length, void *answer);
int raw_request(int fd, uint32_t request, const void *arg, uint32_t size, void *answer);
/* INFO, as the first request must be. */
void greet(int fd);
/* Ask for a mapping: its descriptor. */
int raw_map(int fd, uint64_t what, struct nanet3_sock_map *ret_map);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ZeroMQ asks us about every key that knocks at a CURVE socket of a context (ZAP, RFC 27). Belongs to the thread of
 * that context's sockets. To be opened before one of them is bound: without an answer everybody gets in.
 */
#ifndef DAEMON_NET_ZAP_H
#define DAEMON_NET_ZAP_H

#include <stdbool.h>

#include "slowctl/access/access.h"

struct zap;

/* May who has proved to have `key` come in? `domain` is the socket's, `key` "" when it does not encrypt. NULL: yes, and
 * its messages have the key as User-Id; else why not. */
typedef const char *(*zap_judge_fn)(void *context, const char *domain, const char *address,
				    const char *key);

int zap_open(void *zmq_context, zap_judge_fn judge, void *context, struct zap **ret_zap);
/* Encrypt, and ask in this domain. `secret`: of the server. Any error leaves the socket open to nobody. */
int zap_guard(void *socket, const char *domain, const char *secret);
/* The ZeroMQ socket, to wait for. */
void *zap_socket(struct zap *z);
/* Answers some of those that wait. True: there may be more. */
bool zap_serve(struct zap *z);
/* NULL is fine. */
void zap_close(struct zap *z);

#endif

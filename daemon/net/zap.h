/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Authentication at the CURVE sockets of a context: ZeroMQ asks about the key of every handshake
 * (ZAP, RFC 27). Belongs to the thread of those sockets. To be opened before one of them is bound:
 * without ZAP every key is accepted.
 */
#pragma once

#include <stdbool.h>

#include "slowctl/access/access.h"

struct zap;

/* Whether the peer, which has proved to have `key` ("": it does not encrypt), is accepted. NULL: yes, and its messages
 * have the key as User-Id; else the reason why not. */
typedef const char *(*zap_judge_fn)(void *context, const char *address, const char *key);

int zap_open(void *zmq_context, zap_judge_fn judge, void *context, struct zap **ret_zap);
/* Encrypt, and ask for each key. `secret`: of the server. After an error the socket accepts no
 * peer. */
int zap_guard(void *socket, const char *secret);
/* The ZeroMQ socket, to wait for. */
void *zap_socket(struct zap *z);
/* Answers some of the waiting questions. True: there may be more. */
bool zap_serve(struct zap *z);
/* NULL is fine. */
void zap_close(struct zap *z);

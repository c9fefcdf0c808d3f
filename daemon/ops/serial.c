// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The serial tunnel to an instrument of a floor: serial.open (a request that goes on until its client closes;
 * one at a time for each channel of a floor), serial.write. Down: pieces of 30 bytes through the board's TX ring,
 * one a frame. Up, the bytes are in the floor's instrument blocks as always; a monitor receives them.
 */
#include "daemon/ops/private.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/capture/watch.h"

#define SESSIONS_MAX 16u  /* of one user or key */
#define PIECE	     30u  /* of struct nanet3_tx */
#define WRITE_MAX    480u /* bytes of a serial.write: 16 frames of 125 us */

struct serial_session {
	struct serial_session *next;
	struct control_request *rq;
	char id[17];
	char who[64];
	char object[32]; /* "floor3 serial 1" */
	unsigned link, channel;
	uint64_t bytes;
	int64_t since_ns;
};

static void say(struct ops *ops, const struct serial_session *x, const char *code, const char *text)
{
	store_put_event(ops->store, "info", code, x->object, text, NULL, now_utc_ns());
	log_event(LOG_NOTICE, "serial", (int)x->link, LOG_ID_COMMAND, "%s: %s", x->object, text);
}

static void end(struct ops *ops, struct serial_session *x, bool stopped)
{
	char text[128];

	snprintf(text, sizeof(text), "closed by %s after %.0f s: %llu bytes went down", x->who,
		 (double)(now_utc_ns() - x->since_ns) / 1e9, (unsigned long long)x->bytes);
	say(ops, x, "serial-closed", text);
	if (stopped) {
		control_fail(x->rq, "unknown", "fcmctl status", NULL, "the daemon was stopped");
	} else {
		control_answer(x->rq, NULL); /* its client is gone */
	}
	free(x);
}

void serial_tick(struct ops *ops)
{
	struct serial_session **at = &ops->serials, *x;

	while ((x = *at)) {
		if (control_alive(x->rq)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		end(ops, x, false);
	}
}

void serial_stop(struct ops *ops)
{
	struct serial_session *x;

	while ((x = ops->serials)) {
		ops->serials = x->next;
		end(ops, x, true);
	}
}

/* The link of the floor asked for. False: refused, answered. */
static bool floor_arg(struct ops *ops, struct control_request *rq, json_t *args, unsigned *ret_link)
{
	int64_t floor = arg_int(args, "floor", 0), tower = arg_int(args, "tower", 0);
	unsigned found = 0;

	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		const struct config_link *c = &ops->config->link[link];

		if (c->enabled && c->floor == floor && (tower == 0 || c->tower == tower)) {
			*ret_link = link;
			found++;
		}
	}
	if (found != 1) {
		control_fail(rq, "usage", found ? "say the tower" : "fcmctl link list shows them",
			     NULL, found ? "floor %d is in several towers" : "there is no floor %d",
			     (int)floor);
		return false;
	}
	if (links_other_floor(ops->station, *ret_link)) {
		control_fail(rq, "refused", "swap the fibres back first", NULL,
			     "link %u: another floor than configured is on it", *ret_link);
		return false;
	}
	return true;
}

/* Whether the user, or key, may have one more. False: refused, answered. */
static bool may_open(struct ops *ops, struct control_request *rq)
{
	unsigned sessions = 0;

	for (const struct serial_session *x = ops->serials; x; x = x->next) {
		sessions += control_same_peer(x->rq, rq);
	}
	if (sessions < SESSIONS_MAX) {
		return true;
	}
	control_fail(
		rq, "refused", "close one", control_detail(DETAIL_SESSIONS),
		"%s has %u serial channels open already, which is all that one user or key may",
		control_peer(rq)->who, sessions);
	return false;
}

static void op_serial_open(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	unsigned channel = (unsigned)arg_int(args, "channel", 0);
	struct serial_session *x;
	const struct config_link *c;
	uint64_t dice = 0;
	unsigned link;

	serial_tick(ops); /* a client that has just gone holds no channel */
	if (!floor_arg(ops, rq, args, &link) || !may_open(ops, rq)) {
		return;
	}
	c = &ops->config->link[link];
	for (x = ops->serials; x; x = x->next) {
		if (x->link == link && x->channel == channel) {
			control_fail(rq, "refused", "one at a time: wait until it is closed", NULL,
				     "%s is held by %s since %.0f s", x->object, x->who,
				     (double)(now_utc_ns() - x->since_ns) / 1e9);
			return;
		}
	}
	x = calloc(1, sizeof(*x));
	if (!x || getrandom(&dice, sizeof(dice), 0) != (ssize_t)sizeof(dice)) {
		free(x);
		control_fail(rq, "internal", "", NULL, "out of memory");
		return;
	}
	*x = (struct serial_session){.next = ops->serials,
				     .rq = rq,
				     .link = link,
				     .channel = channel,
				     .since_ns = now_utc_ns()};
	snprintf(x->id, sizeof(x->id), "%016llx", (unsigned long long)dice);
	snprintf(x->who, sizeof(x->who), "%s", control_peer(rq)->who);
	snprintf(x->object, sizeof(x->object), "floor%u serial %u", c->floor, x->channel);
	ops->serials = x;
	control_subscribe(rq);
	say(ops, x, "serial-opened", x->who);
	control_progress(rq, json_pack("{s:s,s:s,s:i,s:i,s:i,s:i,s:s,s:o}", "text", "open",
				       "session", x->id, "link", (int)link, "tower", (int)c->tower,
				       "floor", (int)c->floor, "channel", (int)channel,
				       FIELD(&ops->config->data, monitor_endpoint), "public_key",
				       status_data_key(ops)));
}

/* How many bytes. */
static size_t bytes_of(const char *hex, uint8_t bytes[WRITE_MAX])
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++) {
		sscanf(hex + 2 * i, "%2hhx", &bytes[i]);
	}
	return n;
}

/* How many of the bytes the board has taken; *ret_error says why not all. */
static size_t send_down(struct ops *ops, const struct serial_session *x, const uint8_t *bytes,
			size_t length, int *ret_error)
{
	size_t sent = 0;

	*ret_error = 0;
	while (sent < length) {
		size_t piece = length - sent < PIECE ? length - sent : PIECE;
		struct nanet3_tx tx = {.link = (uint8_t)x->link, .kind = NANET3_TX_SERIAL};

		tx.bytes[0] = (uint8_t)x->channel;
		tx.bytes[1] = (uint8_t)piece;
		memcpy(tx.bytes + 2, bytes + sent, piece);
		*ret_error = watch_send(ops->watch, &tx);
		if (*ret_error < 0) {
			break;
		}
		sent += piece;
	}
	return sent;
}

static void op_serial_write(struct control_request *rq, json_t *args, void *context)
{
	struct ops *ops = context;
	const char *id = arg_text(args, "session");
	struct serial_session *x = ops->serials;
	uint8_t bytes[WRITE_MAX];
	size_t length = bytes_of(arg_text(args, "data"), bytes);
	size_t sent;
	int error;

	while (x && strcmp(x->id, id) != 0) {
		x = x->next;
	}
	if (!x) {
		control_fail(rq, "usage", "serial.open gives its name", NULL,
			     "there is no such session");
		return;
	}
	sent = send_down(ops, x, bytes, length, &error);
	x->bytes += sent;
	if (sent == 0 && error != -EAGAIN) {
		control_fail(rq, "refused", "fcmctl link list shows what the link does", NULL,
			     "%s: link %u: %s; nothing was sent", x->object, x->link,
			     strerror(-error));
		return;
	}
	control_answer(rq, json_pack("{s:I}", "written", (json_int_t)sent));
}

const struct control_op serial_ops[] = {
	{"serial.open", ACCESS_EXPERT, op_serial_open, "open a serial channel of a floor",
	 CONTROL_ARGS({"floor", ARG_INT, true, 1, 0, .about = "link.list shows them"},
		      {"tower", ARG_INT, false, 1, 0, .about = "where several have such a floor"},
		      {"channel", ARG_INT, true, 0, 255, .about = "channel of the floor"})},
	{"serial.write", ACCESS_EXPERT, op_serial_write, "send bytes down a serial channel",
	 CONTROL_ARGS({"session", ARG_TEXT, true, .about = "serial.open gives its name"},
		      {"data", ARG_HEX, true, 1, WRITE_MAX, .about = "the bytes"})},
	{0},
};

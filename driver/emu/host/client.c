/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A client of the user-space host: its event queue and its rights. The client can write anything into the
 * queue's read index, so the index is only compared.
 */
#include <inttypes.h>
#include <linux/capability.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "driver/emu/host/private.h"

void client_post(struct host *h, struct client *c, const struct nanet3_event *ev)
{
	struct nanet3_queue *q = (struct nanet3_queue *)c->queue.p;
	struct nanet3_event *events;
	uint64_t size = h->config.queue_events;

	if (q == NULL) {
		return;
	}
	/* A read index that makes no sense looks like a full queue. */
	if (c->queue_write - __atomic_load_n(&q->read, __ATOMIC_ACQUIRE) >= size) {
		if (ev->type != NANET3_EVENT_RX) {
			__atomic_fetch_add(&q->lost, 1, __ATOMIC_RELAXED);
			h->counts.queue_lost++;
		}
		c->wake = true;
		return;
	}
	events = (struct nanet3_event *)(c->queue.p + NANET3_QUEUE_EVENTS);
	events[c->queue_write & (size - 1)] = *ev;
	c->queue_write++;
	__atomic_store_n(&q->write, c->queue_write, __ATOMIC_RELEASE);
	c->wake = true;
}

void clients_wake(struct host *h)
{
	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		struct client *c = &h->clients[i];

		if (c->fd >= 0 && c->wake) {
			/* Non-blocking: at the counter's limit the client is awake anyway. */
			(void)!write(c->event_fd, &(uint64_t){1}, sizeof(uint64_t));
			c->wake = false;
		}
	}
}

int client_queue_create(struct host *h, struct shared *ret_queue)
{
	size_t bytes = NANET3_QUEUE_EVENTS + h->config.queue_events * sizeof(struct nanet3_event);
	struct nanet3_queue *q;
	int r = shared_create("nanet3-queue", (bytes + NANET3_PAGE - 1) / NANET3_PAGE * NANET3_PAGE,
			      false, ret_queue);

	if (r < 0) {
		return r;
	}
	q = (struct nanet3_queue *)ret_queue->p;
	q->version = NANET3_ABI_VERSION;
	q->size = h->config.queue_events;
	return 0;
}

struct client *client_by_id(struct host *h, uint32_t id)
{
	for (unsigned i = 0; i < HOST_CLIENTS; i++) {
		if (h->clients[i].fd >= 0 && h->clients[i].id == id) {
			return &h->clients[i];
		}
	}
	return NULL;
}

bool client_proc(const struct client *c, const char *file, const char *format, uint64_t *ret_value)
{
	char path[64], line[256];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%" PRId32 "/%s", c->pid, file);
	f = fopen(path, "re");
	if (f == NULL) {
		return false;
	}
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		found = sscanf(line, format, ret_value) == 1;
	}
	fclose(f);
	return found;
}

bool client_is_admin(const struct client *c)
{
	uint64_t effective;

	return client_proc(c, "status", "CapEff: %" SCNx64, &effective) &&
	       effective & 1ull << CAP_SYS_ADMIN;
}

bool client_hung_up(const struct client *c)
{
	struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) == 1 && p.revents & (POLLRDHUP | POLLHUP | POLLERR);
}

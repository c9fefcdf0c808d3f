/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the user-space host. README.md lists the files in such an order that none calls one below it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/emu/board/board.h"
#include "driver/emu/common/spin.h"
#include "driver/emu/host/host.h"
#include "driver/nanet3.h"
#include "driver/nanet3_rules.h"
#include "driver/nanet3_socket.h"

#define HOST_CLIENTS 64u
#define HOST_TX_SLOTS                                                                              \
	1024u /* words and puts on their way, all clients; also descriptors in the TX ring */
#define HOST_TX_PUTS	  (HOST_TX_SLOTS - NANET3_TX_WORDS) /* packets of puts; and puts on their way */
#define HOST_DEPTH_MIN	  8u	  /* buffers: half of them may be held back and a step still fits */
#define HOST_TICK_NS	  900000u /* owners are woken for data once a millisecond, less the jitter */
#define HOST_FOLLOW_STEPS 16u /* the board's queue is looked at that often without an interrupt */

/* A piece of shared memory, mapped here and handed to clients as a descriptor. Sealed against
 * shrinking: no client can make the host fault. */
struct shared {
	int fd;	     /* read-write; -1: none */
	int read_fd; /* read-only descriptor of the same; -1: none */
	uint8_t *p;
	size_t bytes;
};

/* Bus addresses: region << 36 | offset. */
enum region_id {
	REGION_NONE,
	REGION_RING, /* + link */
	REGION_TABLE = REGION_RING + NANET3_LINKS,
	REGION_EVQ = REGION_TABLE + NANET3_LINKS,
	REGION_TX,
	REGION_BUFFER_TABLE, /* + buffer: its pages, for the board to walk */
	REGIONS = REGION_BUFFER_TABLE + NANET3_BUFFERS,
	REGION_BUFFER = REGIONS, /* + buffer: its client's memory, for host_copy() only */
};
struct region {
	uint8_t *p;
	uint64_t bytes;
};
/* What readiness is for: a client's id, or one of these. */
#define HOST_LISTEN_ID 0u
#define HOST_TIMER_ID  (1ull << 32)

#define HOST_BUS(region) ((uint64_t)(region) << 36)

struct client {
	int fd; /* -1: place is empty */
	int event_fd;
	uint32_t id; /* never reused */
	int32_t pid;
	uint32_t uid;
	bool privileged, greeted; /* greeted: INFO was answered */
	bool read_only;		  /* not open for writing */
	bool polling;		  /* reads the board's queue by itself, for all links it owns */
	bool wake;		  /* something was put on the queue since it was last woken */
	uint32_t subscribed;
	struct shared queue;
	uint64_t queue_write; /* ours; the mapped one is the client's to read */
};

struct host_link {
	struct shared ring_memory; /* buffers */
	struct shared state;	   /* struct nanet3_ring and completions */
	struct shared owner_page;  /* a new one with each start of the DMA */
	struct shared doorbell;	   /* of this owner: a new one with each claim */
	uint64_t *table;	   /* bus addresses of the buffers, for the board */
	struct nanet3_ring *ring;
	struct nanet3_event *completions;
	struct client *owner;
	struct client *delegate;      /* acts for the link too, by the owner's grant; NULL: none */
	unsigned words, others_words; /* on their way; from clients that did not act for the link */
	uint64_t linger_until_ns;
	bool broken;		    /* the board completed what cannot be */
	struct nanet3_event latest; /* RX event not yet announced; type NONE: there is none */
};

struct tx_slot {
	uint64_t cookie;    /* the client's */
	uint32_t client_id; /* 0: slot is free */
	uint32_t generation;
	uint8_t link;
	bool put;    /* a put: two events follow */
	bool others; /* a word whose sender did not act for the link */
};

/* A registered buffer. Its bus addresses: REGION_BUFFER + its number, offset in its first page on. */
struct host_buffer {
	struct client *client; /* NULL: is free */
	uint64_t address, length;
	uint32_t pages;
	uint64_t *table;
};

struct host {
	struct host_config config;
	struct world *world; /* not owned */
	struct board *board;
	struct region regions[REGIONS];
	struct host_link links[NANET3_LINKS];
	struct shared evq_memory;
	struct nanet3_event *evq;
	uint32_t evq_size, evq_read;
	uint8_t *tx_ring;
	uint32_t tx_write; /* descriptors posted */
	struct tx_slot tx[HOST_TX_SLOTS];
	unsigned tx_next, tx_puts; /* where to look for a free slot; puts on their way */
	struct host_buffer buffers[NANET3_BUFFERS];
	bool irq;	     /* the board has posted events */
	bool gone;	     /* the board is off the bus */
	unsigned time_reads; /* how often clients have read the board's time of day */
	struct client clients[HOST_CLIENTS];
	uint32_t client_ids;
	int epoll_fd, listen_fd, spare_fd;
	bool bound;
	int pass_fd; /* the descriptor that goes with the answer to this request; -1: none */
	uint64_t announced_ns; /* when data was last announced to owners */
	struct host_stats stats;
	struct nanet3_stats counts;
};

/* memory.c */
int shared_create(const char *name, size_t bytes, bool sealed_writes, struct shared *ret_shared);
void shared_destroy(struct shared *s);
int host_memory_create(struct host *h);
void host_memory_destroy(struct host *h);
void *host_map(void *context, uint64_t bus, uint32_t length, bool write);

/* Write a 64-bit register: the low half counts, so it comes last. */
static inline void host_write_pair(struct host *h, uint32_t offset, uint64_t value)
{
	board_reg_write(h->board, offset + 4, (uint32_t)(value >> 32));
	board_reg_write(h->board, offset, (uint32_t)value);
}

/* The links that the client owns, and those it acts for when `delegated`, as a mask. */
static inline unsigned links_of(const struct host *h, const struct client *c, bool delegated)
{
	unsigned mask = 0;

	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		const struct host_link *l = &h->links[i];

		mask |= l->owner == c || (delegated && l->delegate == c) ? 1u << i : 0;
	}
	return mask;
}

/* Whether the client owns the link, or acts for its owner; link 0xff, a broadcast: for all links. */
static inline bool link_acts(const struct host *h, const struct client *c, unsigned link)
{
	const unsigned all = (1u << NANET3_LINKS) - 1,
		       wanted = link < NANET3_LINKS ? 1u << link : all;

	return (links_of(h, c, true) & wanted) == wanted;
}

/* The client's buffer of that number, or NULL. */
static inline struct host_buffer *buffer_of(struct host *h, const struct client *c, uint32_t buffer)
{
	if (buffer >= NANET3_BUFFERS || h->buffers[buffer].client != c) {
		return NULL;
	}
	return &h->buffers[buffer];
}

/* ---- client.c ---- */
/* Put an event on a client's queue. Control events that do not fit are counted. */
void client_post(struct host *h, struct client *c, const struct nanet3_event *ev);
void clients_wake(struct host *h);
int client_queue_create(struct host *h, struct shared *ret_queue);
struct client *client_by_id(struct host *h, uint32_t id);
/* The number that a line of /proc/PID/`file` has by this format of sscanf(3); false when there is none. */
bool client_proc(const struct client *c, const char *file, const char *format, uint64_t *ret_value);
/* Whether its process has CAP_SYS_ADMIN now. */
bool client_is_admin(const struct client *c);
bool client_hung_up(const struct client *c);

/* ---- tx.c ---- */
/* A slot that is a copy of `like` with the next generation; NULL when there is no room. */
struct tx_slot *tx_slot_take(struct host *h, const struct tx_slot *like);
uint64_t tx_slot_cookie(const struct host *h, const struct tx_slot *slot);
struct nanet3_tx *tx_descriptor(struct host *h, uint32_t index);
/* Number of descriptors that the board has not taken. */
uint32_t tx_pending(struct host *h);
/* Announce the descriptors posted to the board. */
void tx_ring_bell(struct host *h);
/* A TX or PUT event: give it its own cookie and its client. */
void host_tx_event(struct host *h, struct nanet3_event *ev);
/* As after a reset of the board. */
void host_tx_reset(struct host *h);

/* ---- events.c ---- */
/* Take everything off the board's event queue. */
void host_drain(struct host *h);

/* ---- put.c ---- */
/* No packet that is still on the ring shall touch this buffer. */
void host_tx_forget(struct host *h, unsigned buffer);

/* ---- buffer.c ---- */
void buffers_drop(struct host *h, const struct client *c);
bool host_copy(void *context, uint64_t to, uint64_t from, uint32_t length);

/* ---- links.c ---- */
/* Take what the doorbells say. */
void doorbells_follow(struct host *h);
int link_claim(struct host *h, struct client *c, struct nanet3_claim *claim);
void link_stop(struct host *h, unsigned link);
/* The client is gone: its links linger, its buffers are free. */
void client_drop(struct host *h, struct client *c);

/* Requests, called by the table of request.c: `arg` is the request's struct in nanet3.h. */
int host_tx_send(struct host *h, struct client *c, void *arg);
int host_tx_put(struct host *h, struct client *c, void *arg);
int buffer_register(struct host *h, struct client *c, void *arg);
int buffer_unregister(struct host *h, struct client *c, void *arg);
int polling_set(struct host *h, struct client *c, void *arg);

/* request.c: execute the request whose struct of `size` bytes is at `arg`, which is also where the answer goes.
 * Its result; on success h->pass_fd goes with the answer. */
int request_execute(struct host *h, struct client *c, uint32_t request, void *arg, uint32_t size);

/* ---- service.c ---- */
int clients_create(struct host *h);
void clients_destroy(struct host *h);
void clients_accept(struct host *h);
/* Tell one, or all, that the board is gone, and hang up. */
void client_gone(struct host *h, struct client *c);
void clients_gone(struct host *h);
/* Serve what the client has sent; drops it when it has hung up. */
void client_service(struct host *h, struct client *c);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user-space host: it is the driver of the device model. It owns the rings' memory,
 * takes the board's events, records which client owns which link, and serves libnanet3 on a Unix socket
 * (driver/nanet3_socket.h).
 *
 *   libnanet3  <--socket, shared memory-->  host  <--registers, memory, irq-->  board  <-->  world
 *
 * Registered buffers stay the clients' memory: the host reads and writes them in their processes. When
 * the board goes off the bus, as a test may ask (model_fault.h), all clients get GONE and are disconnected;
 * it is set up again when it is back.
 *
 * One thread: the caller of host_run(), or of host_step() and host_poll() in turn, owns host, board and
 * world. Invalid input from clients is answered with an error, never fatal. Errors are negative
 * errno.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct board;
struct host;
struct world;

enum host_speed {
	HOST_SPEED_REAL, /* 8000 steps a second; late = catch up in bursts */
	HOST_SPEED_MAX,	 /* as fast as rings are released; waits while no ring runs */
};

#define HOST_FACTOR_MIN 0.0001
#define HOST_FACTOR_MAX 1000.0

struct host_config {
	/* A stale socket there is replaced: EADDRINUSE when it is served, EEXIST when it is something
	 * else than a socket. Access by the umask. */
	const char *socket_path;
	const char *name; /* board's name for INFO, below 32 bytes */
	uint32_t serial;
	uint32_t first_epoch; /* DMA starts so far, of an earlier life: the next is one more */
	unsigned frames_per_buffer; /* 1..419 */
	unsigned depth_ms;	    /* of each link's ring, in time; 8 buffers at least */
	unsigned deadline_us;
	unsigned linger_ms;    /* wall time from an owner's death to the end of its DMA */
	unsigned queue_events; /* of a client's queue, a power of two */
	enum host_speed speed;
	double factor;	/* HOST_SPEED_REAL: seconds of model time in one of the wall; 1 is real */
	bool play_once; /* a recording: host_run() returns when it is over and taken */
	/* Called when it is; may be NULL. `whole`: all that was played has been released. */
	void (*played)(void *context, bool whole);
	void *played_context;
	double duration_s; /* model time after which host_run() returns; 0 = endless */
};

/* Defaults of design.md: 16 frames, 2000 ms, 5 ms, 10 s, real time. */
void host_config_default(struct host_config *config);

struct host_stats {
	uint64_t steps;
	uint64_t worst_lag_ns; /* real time: how far model time fell behind, at worst */
	bool too_slow; /* that was more than the rings' depth: losses are not the daemon's */
};

/* -EINVAL geometry makes no sense, -EADDRINUSE, -EEXIST, -ENAMETOOLONG, -ENOMEM, or what the socket said.
 * `world` stays the caller's and must outlive the host. */
int host_create(const struct host_config *config, struct world *world, struct host **ret_host);
/* Tells every client that the board is gone. NULL is fine. */
void host_destroy(struct host *h);

/* One frame period, and what it brings to the clients. */
void host_step(struct host *h);
/* Wake clients that have events (owners for data: once a millisecond at most), serve clients, waiting
 * at most timeout_ms for one to want something (0 = not at all), look after lingering links. To be
 * called about every millisecond. 0, or -errno of epoll (-EINTR included). */
int host_poll(struct host *h, int timeout_ms);
/* Steps and polls at the configured speed until *stop, or the duration has passed. */
int host_run(struct host *h, volatile sig_atomic_t *stop);

void host_stats(const struct host *h, struct host_stats *ret_stats);

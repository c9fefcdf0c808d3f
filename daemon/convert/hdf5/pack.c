// SPDX-License-Identifier: GPL-2.0-or-later
/* Threads that compress chunks: see pack.h. The queue is a ring of the jobs in the order given. */
#include "daemon/convert/hdf5/pack.h"

#include <errno.h>
#include <isa-l/igzip_lib.h>
#include <pthread.h>
#include <stdlib.h>

#define LEVEL 1u
#define TABLE ISAL_DEF_LVL1_DEFAULT

struct pack {
	pthread_mutex_t lock;
	pthread_cond_t given, done;
	bool over;
	unsigned threads_n;
	pthread_t *threads;
	size_t room;

	unsigned jobs_n;
	struct pack_job *jobs;
	struct pack_job **spare; /* the caller's alone */
	unsigned spare_n;

	/* Under `lock`: jobs [taken, given) of the ring are under way, [begun, given) wait for a worker. */
	struct pack_job **ring;
	uint64_t taken_n, begun_n, given_n;
};

/* What a worker needs beside the chunk. */
struct tools {
	struct isal_zstream stream;
	uint8_t table[TABLE];
};

static size_t deflate_with(struct tools *t, const uint8_t *in, size_t bytes, uint8_t *out,
			   size_t room)
{
	struct isal_zstream *z = &t->stream;

	isal_deflate_stateless_init(z);
	z->level = LEVEL;
	z->level_buf = t->table;
	z->level_buf_size = TABLE;
	z->gzip_flag = IGZIP_ZLIB;
	z->end_of_stream = 1;
	z->flush = NO_FLUSH;
	z->next_in = (uint8_t *)(uintptr_t)in; /* it is not written to */
	z->avail_in = (uint32_t)bytes;
	z->next_out = out;
	z->avail_out = (uint32_t)room;
	return isal_deflate_stateless(z) == COMP_OK && z->avail_in == 0 ? z->total_out : 0;
}

size_t pack_deflate(const uint8_t *in, size_t bytes, uint8_t *out, size_t room)
{
	struct tools *t = malloc(sizeof(*t));
	size_t n = t ? deflate_with(t, in, bytes, out, room) : 0;

	free(t);
	return n;
}

/* A worker: owns the job that it has begun. */
static void *work(void *context)
{
	struct pack *p = context;
	struct tools *t = malloc(sizeof(*t));

	pthread_mutex_lock(&p->lock);
	while (!p->over) {
		struct pack_job *job;

		if (p->begun_n == p->given_n) {
			pthread_cond_wait(&p->given, &p->lock);
			continue;
		}
		job = p->ring[p->begun_n++ % p->jobs_n];
		pthread_mutex_unlock(&p->lock);
		/* Without memory chunks stay as they are. */
		job->out_bytes =
			t ? deflate_with(t, job->in, job->in_bytes, job->out, job->in_bytes) : 0;
		pthread_mutex_lock(&p->lock);
		job->done = true;
		pthread_cond_signal(&p->done);
	}
	pthread_mutex_unlock(&p->lock);
	free(t);
	return NULL;
}

static bool make_jobs(struct pack *p)
{
	p->jobs = calloc(p->jobs_n, sizeof(*p->jobs));
	p->spare = calloc(p->jobs_n, sizeof(struct pack_job *));
	p->ring = calloc(p->jobs_n, sizeof(struct pack_job *));
	if (!p->jobs || !p->spare || !p->ring) {
		return false;
	}
	for (unsigned i = 0; i < p->jobs_n; i++) {
		p->jobs[i].in = malloc(p->room);
		p->jobs[i].out = malloc(p->room);
		if (!p->jobs[i].in || !p->jobs[i].out) {
			return false;
		}
		p->spare[p->spare_n++] = &p->jobs[i];
	}
	return true;
}

int pack_create(unsigned threads, unsigned jobs, size_t room, struct pack **ret_pack)
{
	struct pack *p = calloc(1, sizeof(*p));
	int err = 0;

	if (!p) {
		return -ENOMEM;
	}
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->given, NULL);
	pthread_cond_init(&p->done, NULL);
	p->room = room;
	p->jobs_n = jobs;
	p->threads = calloc(threads, sizeof(*p->threads));
	if (!p->threads || !make_jobs(p)) {
		err = -ENOMEM;
	}
	while (err == 0 && p->threads_n < threads) {
		err = -pthread_create(&p->threads[p->threads_n], NULL, work, p);
		p->threads_n += err == 0;
	}
	if (err < 0) {
		pack_destroy(p);
		return err;
	}
	*ret_pack = p;
	return 0;
}

void pack_destroy(struct pack *p)
{
	if (!p) {
		return;
	}
	pthread_mutex_lock(&p->lock);
	p->over = true;
	pthread_cond_broadcast(&p->given);
	pthread_mutex_unlock(&p->lock);
	for (unsigned i = 0; i < p->threads_n; i++) {
		pthread_join(p->threads[i], NULL);
	}
	for (unsigned i = 0; p->jobs && i < p->jobs_n; i++) {
		free(p->jobs[i].in);
		free(p->jobs[i].out);
	}
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->given);
	pthread_mutex_destroy(&p->lock);
	free(p->threads);
	free(p->jobs);
	free(p->spare);
	free(p->ring);
	free(p);
}

struct pack_job *pack_get(struct pack *p)
{
	return p->spare_n > 0 ? p->spare[--p->spare_n] : NULL;
}

void pack_give(struct pack *p, struct pack_job *job)
{
	job->done = false;
	pthread_mutex_lock(&p->lock);
	p->ring[p->given_n++ % p->jobs_n] = job;
	pthread_cond_signal(&p->given);
	pthread_mutex_unlock(&p->lock);
}

static struct pack_job *take(struct pack *p, bool wait)
{
	struct pack_job *job = NULL;

	pthread_mutex_lock(&p->lock);
	if (p->taken_n < p->given_n) {
		job = p->ring[p->taken_n % p->jobs_n];
		while (wait && !job->done) {
			pthread_cond_wait(&p->done, &p->lock);
		}
		job = job->done ? job : NULL;
		p->taken_n += job != NULL;
	}
	pthread_mutex_unlock(&p->lock);
	return job;
}

struct pack_job *pack_take(struct pack *p)
{
	return take(p, true);
}

struct pack_job *pack_take_done(struct pack *p)
{
	return take(p, false);
}

void pack_put(struct pack *p, struct pack_job *job)
{
	p->spare[p->spare_n++] = job;
}

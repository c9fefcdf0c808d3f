// SPDX-License-Identifier: GPL-2.0-or-later
/* The thread that checks the disk of the database: see disk.h. */
#include "daemon/disk/disk.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "daemon/core/now.h"
#include "daemon/core/thread.h"

#define STOP_NS 1000000000ull
#define LOOK_NS 250000000

struct disk {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake, over;
	bool stop, ended, answered;
	struct disk_status status;
	char *database, *copy, *fresh; /* fresh: name of the copy while it is written */
	void *bytes;		       /* to be written; the thread's while `offered` */
	size_t count;
	bool offered;
};

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno != EINTR) {
			return -errno;
		}
		bytes += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
	}
	return 0;
}

/* Complete and on the disk, or not at all. */
static int write_copy(struct disk *d)
{
	int fd = open(d->fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640), r;

	if (fd < 0) {
		return -errno;
	}
	r = write_all(fd, d->bytes, d->count);
	r = r == 0 && fdatasync(fd) < 0 ? -errno : r;
	close(fd);
	return r == 0 && rename(d->fresh, d->copy) < 0 ? -errno : r;
}

/* statvfs() may be answered without the disk, so a block is read, too. (Not of the database: to close a descriptor of
 * it would drop SQLite's locks.) */
static void read_disk(const struct disk *d)
{
	static _Alignas(4096) char block[4096];
	int fd = open(d->copy, O_RDONLY | O_DIRECT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd >= 0) {
		(void)!pread(fd, block, sizeof(block), 0); /* an error is an answer */
		close(fd);
	}
}

static void look(struct disk *d)
{
	struct statvfs f;
	bool known, offered;
	int r = 0;

	pthread_mutex_lock(&d->lock);
	d->status.asked_ns = now_mono_ns();
	offered = d->offered;
	pthread_mutex_unlock(&d->lock);
	known = statvfs(d->database, &f) == 0;
	read_disk(d);
	if (offered) {
		r = write_copy(d);
	}
	pthread_mutex_lock(&d->lock);
	d->answered = true;
	pthread_cond_signal(&d->over);
	d->status.asked_ns = 0;
	d->status.known = known;
	if (known) {
		d->status.free_bytes = (double)f.f_bavail * (double)f.f_frsize;
		d->status.size_bytes = (double)f.f_blocks * (double)f.f_frsize;
	}
	if (offered) {
		d->offered = false;
		d->status.copy_error = r;
	}
	pthread_mutex_unlock(&d->lock);
}

/* Owns its copy only. Checks four times a second: a query that starts before the hang is detected would
 * hang, too. */
static void *disk_thread(void *context)
{
	struct disk *d = context;

	pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		uint64_t until_ns;

		pthread_mutex_unlock(&d->lock);
		look(d);
		until_ns = now_mono_ns() + LOOK_NS;
		pthread_mutex_lock(&d->lock);
		while (!d->stop && thread_wait_until(&d->wake, &d->lock, until_ns) == 0) {
		}
	}
	d->ended = true;
	pthread_cond_signal(&d->over);
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static void release(struct disk *d)
{
	free(d->database);
	free(d->copy);
	free(d->fresh);
	free(d->bytes);
	free(d);
}

int disk_start(const char *database, const char *copy, struct disk **ret_disk)
{
	struct disk *d = calloc(1, sizeof(*d));
	int r;

	if (!d) {
		return -ENOMEM;
	}
	d->database = strdup(database);
	d->copy = strdup(copy);
	if (!d->database || !d->copy || asprintf(&d->fresh, "%s.new", copy) < 0) {
		release(d);
		return -ENOMEM;
	}
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->wake, NULL);
	pthread_cond_init(&d->over, NULL);
	r = thread_start(&d->thread, "disk", disk_thread, d);
	if (r < 0) {
		release(d);
		return r;
	}
	*ret_disk = d;
	return 0;
}

/* With its lock, until *flag is set. Returns that. */
static bool wait_for(struct disk *d, const bool *flag, uint64_t limit_ns)
{
	uint64_t until_ns = now_mono_ns() + limit_ns;
	int r = 0;

	while (!*flag && r == 0) {
		r = thread_wait_until(&d->over, &d->lock, until_ns);
	}
	return *flag;
}

bool disk_has_answered(struct disk *d, uint64_t limit_ns)
{
	bool answered;

	pthread_mutex_lock(&d->lock);
	answered = wait_for(d, &d->answered, limit_ns);
	pthread_mutex_unlock(&d->lock);
	return answered;
}

bool disk_stop(struct disk *d)
{
	bool ended;

	if (!d) {
		return true;
	}
	pthread_mutex_lock(&d->lock);
	d->stop = true;
	pthread_cond_signal(&d->wake);
	ended = wait_for(d, &d->ended, STOP_NS);
	pthread_mutex_unlock(&d->lock);
	if (!ended) {
		return false; /* its memory is freed with the process */
	}
	pthread_join(d->thread, NULL);
	release(d);
	return true;
}

bool disk_offer(struct disk *d, const void *bytes, size_t count)
{
	bool taken;

	pthread_mutex_lock(&d->lock);
	taken = !d->offered;
	if (taken) {
		free(d->bytes);
		d->bytes = malloc(count);
		taken = d->bytes != NULL;
	}
	if (taken) {
		memcpy(d->bytes, bytes, count);
		d->count = count;
		d->offered = true;
	}
	pthread_mutex_unlock(&d->lock);
	return taken;
}

void disk_get_status(struct disk *d, struct disk_status *ret_status)
{
	pthread_mutex_lock(&d->lock);
	*ret_status = d->status;
	pthread_mutex_unlock(&d->lock);
}

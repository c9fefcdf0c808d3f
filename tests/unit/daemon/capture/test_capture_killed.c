/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A daemon that is killed at any moment: its data path (capture_path.h) runs in a child, the consumer here. It
 * misses nothing, whatever comes again is flagged, and each frame that is lost is lost once, by name.
 */
#include "tests/unit/daemon/capture/capture_path.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/core/now.h"

/* What a child writes to its parent. */
struct message {
	uint32_t what; /* 0 block: header and payload follow; else a report */
	uint32_t bytes;
};

static int send_all(int fd, const void *bytes, size_t length)
{
	const uint8_t *p = bytes;

	while (length > 0) {
		ssize_t n = send(fd, p, length, MSG_NOSIGNAL);

		if (n <= 0) {
			return -1;
		}
		p += n;
		length -= (size_t)n;
	}
	return 0;
}

static bool receive_all(int fd, void *bytes, size_t length)
{
	return recv(fd, bytes, length, MSG_WAITALL) == (ssize_t)length;
}

/* Frames handed over since reports were last saved: the host is many times faster than a board. */
static _Atomic unsigned unsaved;
#define UNSAVED_MAX 3000u /* with its losses the page (OWNER_LOSSES) is never full */

/* As the store: some reports are young at any moment, and die with the daemon. */
static void *child_reports(void *arg)
{
	int fd = *(int *)arg;

	for (;;) {
		uint64_t number[NANET3_LINKS] = {0};
		struct capture_report *r;

		while ((r = queue_peek(&path.reports))) {
			if (send_all(fd, r, sizeof(*r)) < 0) {
				_exit(3);
			}
			if (r->type == CAPTURE_LOSS && r->number > 0) {
				number[r->link] = r->number;
			}
			queue_release(&path.reports);
		}
		for (uint8_t i = 0; i < NANET3_LINKS; i++) {
			struct capture_command saved = {
				.type = CAPTURE_LOSS_SAVED, .link = i, .number = number[i]};

			if (number[i] > 0) {
				path_command(&saved);
			}
		}
		atomic_store(&unsaved, 0);
		path_sleep_ms(30);
	}
	return NULL;
}

/* The daemon that will be killed: each block goes to the parent and is settled when its answer is
 * there; reports go as well. Two sockets, so that rows cannot wait behind blocks. */
static void child_publish(int fd)
{
	for (;;) {
		struct block **place = queue_peek(&path.blocks);
		struct message m;
		struct block *b;
		char ack;

		if (!place || atomic_load(&unsaved) > UNSAVED_MAX) {
			path_sleep_ms(1);
			continue;
		}
		b = *place;
		queue_release(&path.blocks);
		atomic_fetch_add(&unsaved, b->header.frames);
		m = (struct message){0, (uint32_t)sizeof(b->header) + b->header.payload_bytes};
		if (b->already[0] && b->already[1]) {
			path_settle(b, OUTCOME_ACKED);
			continue;
		}
		if (send_all(fd, &m, sizeof(m)) < 0 ||
		    send_all(fd, &b->header, sizeof(b->header)) < 0 ||
		    send_all(fd, b->payload, b->header.payload_bytes) < 0 ||
		    recv(fd, &ack, 1, MSG_WAITALL) != 1) {
			_exit(2);
		}
		path_settle(b, OUTCOME_ACKED);
	}
}

static pid_t child_start(uint32_t block_frames, int *ret_blocks, int *ret_reports)
{
	static int reports_fd;
	int blocks[2], reports[2];
	pthread_t thread;
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, blocks), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, reports), 0);
	pid = fork();
	if (pid == 0) {
		struct capture_config c = path_config(0x3);
		struct capture_command label = path_label_command(1);

		c.block_frames = block_frames;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		path_queues();
		path_command(&label);
		path.drops = true;
		if (capture_create(&c, &path.blocks, &path.settled, &path.commands, &path.reports,
				   &path.capture) < 0 ||
		    capture_start(path.capture) < 0) {
			_exit(4);
		}
		reports_fd = reports[1];
		pthread_create(&thread, NULL, child_reports, &reports_fd);
		child_publish(blocks[1]);
		_exit(0);
	}
	assert_true(pid > 0);
	close(blocks[1]);
	close(reports[1]);
	*ret_blocks = blocks[0];
	*ret_reports = reports[0];
	return pid;
}

static uint8_t payload[32u << 20];

/* One block from the child: its frames. 0: there is none. */
static uint32_t parent_block(int fd, bool acknowledge)
{
	struct fcm_block_header header;
	struct message m;

	if (!receive_all(fd, &m, sizeof(m)) || !receive_all(fd, &header, sizeof(header)) ||
	    !receive_all(fd, payload, header.payload_bytes)) {
		return 0;
	}
	rig_consume(path.consumer, &header, payload);
	return !acknowledge || send(fd, "a", 1, MSG_NOSIGNAL) == 1 ? header.frames : 0;
}

static void parent_reports(int fd)
{
	struct capture_report r;

	while (recv(fd, &r, sizeof(r), MSG_PEEK | MSG_DONTWAIT) == (ssize_t)sizeof(r)) {
		if (recv(fd, &r, sizeof(r), MSG_WAITALL) != (ssize_t)sizeof(r)) {
			return;
		}
		/* As in the database: a row that its daemon could not close keeps what it has. */
		if (r.type == CAPTURE_LOSS && r.loss.kind == 1) {
			r.loss.open = false;
		}
		path_take_report(&r);
	}
}

static uint64_t dice = 11;
static uint32_t roll(uint32_t n)
{
	dice = dice * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(dice >> 33) % n;
}

/* Frames of a run within a second, whose border no block straddles. */
static uint64_t frames_of(const struct ledger_loss *l, uint64_t second)
{
	uint64_t frames = 0;

	assert_int_equal(l->next - l->first, l->frames);
	for (uint64_t f = l->first; f < l->next; f++) {
		frames += f / TDM_FRAMES_PER_SECOND == second;
	}
	return frames;
}

/* Frames lost in a second by name, every run once, however often it was told. */
static uint64_t named(unsigned kind, unsigned code, unsigned link, unsigned stream, uint64_t second)
{
	uint64_t frames = 0;

	for (unsigned i = 0; i < path.loss_count; i++) {
		const struct ledger_loss *l = &path.losses[i];
		bool again = false;

		if (l->kind != kind || l->code != code || l->link != link || l->stream != stream) {
			continue;
		}
		for (unsigned k = 0; k < path.loss_count && !again; k++) {
			const struct ledger_loss *o = &path.losses[k];

			again = o->kind == kind && o->code == code && o->link == link &&
				o->stream == stream && o->first == l->first &&
				(o->frames > l->frames || (o->frames == l->frames && k > i));
		}
		frames += again ? 0 : frames_of(l, second);
	}
	return frames;
}

/* Every frame that the closed rows call lost has its name, wherever the daemons died. */
static void check_names(unsigned link)
{
	uint64_t crc = 0, slow = 0;

	for (unsigned i = 0; i < RIG_ROWS; i++) {
		const struct ledger_link_row *row = &path.rows.link[link][i];

		if (row->closed) {
			assert_int_equal(named(0, TDM_LOSS_CRC, link, 0, row->second),
					 row->verdicts[TDM_LOSS_CRC]);
			crc += row->verdicts[TDM_LOSS_CRC];
		}
		for (unsigned s = 0; row->closed && s < FCM_STREAMS; s++) {
			const struct ledger_stream_row *stream =
				&path.rows.stream[link][s][1][row->second % RIG_ROWS];

			assert_int_equal(named(1, OUTCOME_DROP_SLOW, link, s, row->second),
					 stream->outcome[OUTCOME_DROP_SLOW]);
			slow += stream->outcome[OUTCOME_DROP_SLOW];
		}
	}
	assert_true(link > 0 || crc > 20);
	assert_true(slow > 20 * 80);
	assert_true(path.loss_count < PATH_LOSSES);
}

/* Whole seconds that both links have closed. */
static unsigned rows_closed(void)
{
	uint64_t good, lost;
	unsigned a = path_check_rows(0, &good, &lost), b = path_check_rows(1, &good, &lost);

	return a < b ? a : b;
}

/* Each daemon uses the next of these block lengths. */
static void killed_again_and_again(const uint32_t *lengths, unsigned count)
{
	const unsigned lives = 14;
	int blocks, reports, status;
	unsigned restarts = 0;
	pid_t pid;

	memset(&path, 0, sizeof(path));
	path.consumer = calloc(1, sizeof(*path.consumer));
	path_host_begin(0x3, 500, HOST_SPEED_MAX);
	path_control->offset[1] = 7777;
	path_control->crc_every[0] = 333;
	for (unsigned life = 0; life < lives; life++) {
		bool last = life == lives - 1;
		uint64_t until = now_mono_ns() + 60000000000ull;
		uint64_t frames = 0, enough = last ? UINT64_MAX : roll(15000);

		pid = child_start(lengths[life % count], &blocks, &reports);
		while (now_mono_ns() < until && frames < enough && !(last && rows_closed() >= 4)) {
			/* Sometimes it dies with a block that was taken but not acknowledged. */
			bool acknowledge = last || roll(200) > 0;
			uint32_t more = parent_block(blocks, acknowledge);

			if (more == 0) {
				break;
			}
			frames += more;
			if (!acknowledge) {
				path_sleep_ms(roll(50));
				break;
			}
			parent_reports(reports);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status));
		parent_reports(reports);
		close(blocks);
		close(reports);
	}
	path_no_complaint();
	for (unsigned link = 0; link < 2; link++) {
		const struct rig_stream *pmt = &path.consumer->stream[link][FCM_PMT];
		uint64_t good, lost;

		assert_int_equal(pmt->holes + pmt->bad + pmt->unflagged + pmt->different, 0);
		assert_true(pmt->repeats > 0);
		assert_true(path_check_rows(link, &good, &lost) >= 4);
		assert_true(link == 0 || lost <= 5); /* the alignment, once */
		check_names(link);
		for (unsigned i = 0; i < RIG_ROWS; i++) {
			restarts += path.rows.link[link][i].restarts;
		}
		printf("link %u: %llu blocks, %llu repeated, %llu good frames in closed rows\n",
		       link, (unsigned long long)pmt->blocks, (unsigned long long)pmt->repeats,
		       (unsigned long long)good);
	}
	assert_int_equal(path.rows.closed_twice, 0);
	assert_true(restarts > 0);
}

static void test_killed(void **state)
{
	killed_again_and_again((const uint32_t[]){80}, 1);
}

static void test_killed_and_another_block_length(void **state)
{
	killed_again_and_again((const uint32_t[]){80, 16, 320, 16, 80}, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PATH_TEST(test_killed),
		PATH_TEST(test_killed_and_another_block_length),
	};

	return cmocka_run_group_tests(tests, path_group_setup, path_group_teardown);
}

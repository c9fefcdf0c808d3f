// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bytes as a client of the control socket sends them, in pieces, to the daemon's own parser, dispatcher,
 * operations, engine and store: all of it but the way of the data, with no board, whose floors claim to be
 * there. The first byte says how the rest is cut up.
 *
 * What must be true: every line that comes back is an answer or progress of version 1; there are no more
 * answers than messages; garbage is the last thing that is read and is counted; the client is let go.
 */
int daemon_main(int argc, char **argv);
#define main daemon_main
#include "daemon/main.c"
#undef main

#include <ftw.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "daemon/capture/watch.h"
#include "daemon/control/dispatch.h"
#include "tests/fuzz/fuzz.h"

#define LIMIT_NS   20000000000ull /* of an input: the daemon does not let go of its client */
#define ANSWER_MAX (32u << 20)

static struct station station;
static char directory[] = "/tmp/fcm-fuzz.XXXXXX";

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return remove(path);
}

static void clean(void)
{
	nftw(directory, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void configure(void)
{
	struct config_report *report = NULL;
	char path[96];
	FILE *f;

	must(mkdtemp(directory));
	atexit(clean);
	snprintf(path, sizeof(path), "%s/conf", directory);
	f = fopen(path, "w");
	must(f);
	fprintf(f,
		"[daemon]\n[data]\n"
		"reserved_endpoint = ipc://%s/reserved\nmonitor_endpoint = "
		"ipc://%s/monitor\n[board]\ndevice = unix:%s/board.sock\n"
		"[control]\nsocket = %s/control.sock\nsocket_group =\n"
		"[store]\ndatabase = %s/station.db\nemergency = %s/emergency\n[record]\ndirectory "
		"= %s/recordings\n"
		"[slowctl]\ndictionary = schemas/parameters.conf\n",
		directory, directory, directory, directory, directory, directory, directory);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		fprintf(f, "[link %u]\ntower = 1\nfloor = %u\n", link, link + 1);
	}
	fclose(f);
	if (config_load(path, 0, NULL, &station.config, &report) < 0) {
		config_print_errors(report, stderr);
		abort();
	}
	config_report_destroy(report);
	station.config_path = "conf";
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct station *s = &station;
	int r;

	signal(SIGPIPE, SIG_IGN);
	log_open(0, LOG_CRIT);
	configure();
	r = start_base(s);
	r = r ? r : questions_start(s);
	r = r ? r : load_detector(s);
	r = r ? r : detector_disk(s);
	r = r ? r : start_control(s);
	r = r ? r : data_open_queues(s);
	r = r ? r : data_start_publisher(s, 16000);
	r = r ? r : records_start(s);
	r = r ? r : start_store(s);
	r = r ? r : detector_start(s);
	links_start(s); /* all but the board */
	must(s->watch && !watch_info(s->watch));
	r = r ? r : timing_start(s);
	r = r ? r : start_store_thread(s);
	r = r ? r : start_operations(s);
	must(r == 0);
	for (unsigned link = 0; link < NANET3_LINKS; link++) {
		engine_link(s->engine, link, true, 1, (uint8_t)(link + 1),
			    (struct engine_now){now_mono_ns(), now_utc_ns()});
	}
	return 0;
}

static int connect_client(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%.107s",
		 station.config.control.socket);
	must(fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

static void let_it_work(void)
{
	event_base_loop(station.base, EVLOOP_NONBLOCK);
	detector_stored(&station);
	detector_tick(&station);
	waiters_tick(&operations);
	detector_drain(&station);
}

/* What the client has heard. */
struct heard {
	char *text;
	size_t length;
	bool closed;
};

static void hear(int fd, struct heard *h)
{
	ssize_t n;

	while (h->length < ANSWER_MAX &&
	       (n = recv(fd, h->text + h->length, ANSWER_MAX - h->length, 0)) >= 0) {
		h->length += (size_t)n;
		if (n == 0) {
			h->closed = true;
			return;
		}
	}
}

/* Where the daemon takes it to be over, `*ret_bad`: a line that is no JSON object. */
static unsigned messages(const uint8_t *data, size_t size, bool *ret_bad)
{
	unsigned n = 0;
	const uint8_t *end = NULL;
	json_error_t error;

	*ret_bad = false;
	for (; !*ret_bad && (end = memchr(data, '\n', size));
	     size -= (size_t)(end + 1 - data), data = end + 1) {
		size_t length = (size_t)(end - data);
		json_t *j;

		if (length == 0 || (length == 1 && data[0] == '\r')) {
			continue;
		}
		j = dispatch_load(data, length, &error);
		*ret_bad = !json_is_object(j);
		json_decref(j);
		n++;
	}
	*ret_bad |= size > 0 && !end;
	return n;
}

static unsigned answers(struct heard *h)
{
	unsigned n = 0;
	char *end, *line = h->text;

	for (; (end = memchr(line, '\n', (size_t)(h->text + h->length - line))); line = end + 1) {
		json_t *j = json_loadb(line, (size_t)(end - line), 0, NULL);

		must(json_is_object(j) && json_integer_value(json_object_get(j, "v")) == 2);
		must(json_object_get(j, "id"));
		if (json_object_get(j, "progress")) {
			must(json_is_object(json_object_get(j, "progress")));
		} else {
			bool ok = json_is_true(json_object_get(j, "ok"));
			json_t *e = json_object_get(j, "error");

			must(json_is_object(ok ? json_object_get(j, "result") : e));
			must(ok || (json_string_length(json_object_get(e, "message")) > 0 &&
				    json_string_length(json_object_get(e, "code")) > 0));
			n++;
		}
		json_decref(j);
	}
	must(line == h->text + h->length);
	return n;
}

static void say(int fd, const uint8_t *data, size_t size, size_t piece, struct heard *h)
{
	while (size > 0 && !h->closed) {
		size_t part = size < piece ? size : piece;
		ssize_t n = send(fd, data, part, MSG_NOSIGNAL);

		if (n > 0) {
			data += n;
			size -= (size_t)n;
		} else if (errno != EAGAIN) {
			break; /* cut off */
		}
		let_it_work();
		hear(fd, h);
	}
	shutdown(fd, SHUT_WR);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct heard h;
	struct control_stats before, after;
	uint64_t end_ns = now_mono_ns() + LIMIT_NS;
	unsigned asked;
	bool bad;
	int fd;

	if (size < 2) {
		return 0;
	}
	h.text = h.text ? h.text : malloc(ANSWER_MAX);
	must(h.text);
	h.length = 0;
	h.closed = false;
	control_get_stats(station.control, &before);
	fd = connect_client();
	say(fd, data + 1, size - 1, data[0] & 7 ? size : 1 + (data[0] >> 3) * 7u, &h);
	do {
		let_it_work();
		hear(fd, &h);
		must(now_mono_ns() < end_ns);
	} while (!h.closed);
	close(fd);
	do {
		let_it_work();
		control_get_stats(station.control, &after);
		must(now_mono_ns() < end_ns);
	} while (after.clients != before.clients);
	asked = messages(data + 1, size - 1, &bad);
	must(answers(&h) <= asked + 1);
	must(after.bad_messages - before.bad_messages == (uint64_t)bad);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * fcmctl against a daemon that answers what it likes. The first byte chooses what is typed; the answers are the canned
 * ones of the system tests, and the input says what is wrong with each: values of other types, without end, deep,
 * with what a terminal obeys in them; lines that are cut, doubled, garbage; a connection that ends.
 *
 * What must be true: fcmctl ends with an exit code of its own; what it says drives no terminal.
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/fuzz/fcmctl_rig.h"
#include "tests/fuzz/fuzz.h"

#define CLIENTS	       4u
#define ANSWERS	       60u /* of an input: then it hangs up on everybody */
#define QUIET_MS       40  /* a client that asks nothing more waits for what does not come */
#define NODES	       4096u
#define LINE_MAX_BYTES (1u << 20)
#define FILES	       "tests/system/fcmctl_transcripts/files/"

static const char *const typed[] = {
	"status",
	"status --json",
	"link list",
	"link show 2",
	"link list --json",
	"link reset 2",
	"link reset 2 --dry-run",
	"link align 2",
	"phase show",
	"phase show 2",
	"phase show 1",
	"phase history 2 --since 1h",
	"phase accept 2 --reason x",
	"phase soak 2 --trials 2 --interval 0s",
	"clock show",
	"clock history",
	"get",
	"get floor3.om2.hv",
	"get floor3 --json",
	"get floor3.om2.hv --at 2026-11-20T15:11:10",
	"get --plan floor3.om2.hv",
	"diff --at 2026-11-20T14:00 --at 2026-11-20T15:11:10",
	"set floor3.om2.hv 1450",
	"set floor3.om2.hv 1450 --json",
	"set floor*.om*.hv 1800 --yes",
	"set floor3.om2.hv 1450 --no-wait",
	"set floor3.om2.hv 1450 --dry-run",
	"ramp floor3.om2.hv 1450 --rate 20",
	"action floor3.om2.clear_trip",
	"action floor3.fcm.reset --yes",
	"action floor3.*.clear_trip --yes",
	"safe --yes",
	"safe floor3 --yes --json",
	"safe --dry-run",
	"history floor3.om2.hv",
	"history floor3.om2.hv --csv",
	"history floor3.om2.hv --plot",
	"history link2.state",
	"history floor*.om0.rate",
	"command list",
	"command list --json",
	"command show 17",
	"command show last",
	"command cancel 18",
	"job list",
	"job show gains-1",
	"job show two-2 --json",
	"alarm list",
	"alarm list --json",
	"alarm ack floor3/hv-trip --reason x",
	"alarm pause link2/link-dark --for 2h --reason x",
	"alarm resume link2",
	"event list",
	"event list --json",
	"consumer list",
	"consumer list --json",
	"ledger show",
	"ledger show --rows --since 2026-11-20",
	"run show",
	"run start x",
	"run stop",
	"record list",
	"record start --links 0,2 --for 1s",
	"record stop",
	"snapshot list",
	"snapshot show nominal",
	"snapshot diff nominal",
	"snapshot save again",
	"snapshot remove nominal",
	"snapshot restore nominal floor3.om2.h* --yes",
	"plan " FILES "gains.plan",
	"apply " FILES "gains.plan --yes",
	"apply " FILES "two.plan --job two-2 --roll-back --yes",
	"batch " FILES "gains.batch",
	"batch " FILES "two.batch --yes --json",
	"serial floor3 ctd",
	"__complete get floor3.om2.",
	"__complete link reset",
};
#define TYPED (sizeof(typed) / sizeof(typed[0]))

static struct {
	char directory[32], path[64];
	json_t *canned;
	int listener, stop;
	struct fuzz_input in; /* the server's, while it runs */
	unsigned answers;
} s;

/* ------------------------------------------------------------------------------- what is wrong */

struct node {
	json_t *in;	 /* an object or array */
	const char *key; /* of an object's */
	size_t index;
};

static void collect(json_t *j, struct node nodes[NODES], unsigned *count)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach (j, key, value) {
		if (*count < NODES) {
			nodes[(*count)++] = (struct node){j, key, 0};
		}
		collect(value, nodes, count);
	}
	json_array_foreach (j, i, value) {
		if (*count < NODES) {
			nodes[(*count)++] = (struct node){j, NULL, i};
		}
		collect(value, nodes, count);
	}
}

static json_t *deep(void)
{
	json_t *j = json_object();

	for (unsigned n = 0; n < 500; n++) {
		j = n % 2 ? json_pack("[o]", j) : json_pack("{s:o}", "x", j);
	}
	return j;
}

static json_t *long_text(void)
{
	static char text[70001];

	memset(text, 'x', sizeof(text) - 1);
	return json_string(text);
}

static json_t *text_of(struct fuzz_input *in)
{
	char text[32];
	unsigned length = fuzz_take(in, 1) % sizeof(text);

	for (unsigned n = 0; n < length; n++) {
		text[n] = (char)(fuzz_take(in, 1) & 0x7f);
	}
	return json_stringn(text, length);
}

static json_t *another(struct fuzz_input *in, const json_t *old, unsigned count)
{
	static const char hostile[] =
		"\x1b]0;t\x07\x1b[2J%s%n \xe2\x80\xae\xc2\x9b\x7f\r\n\t\xe2\x81\xa6";
	json_t *j = NULL;

	switch (fuzz_take(in, 1) % 18) {
	case 0:
		return json_null();
	case 1:
		return json_true();
	case 2:
		return json_integer(-1);
	case 3:
		return json_integer(INT64_MAX);
	case 4:
		return json_integer(INT64_MIN);
	case 5:
		return json_real(1e308);
	case 6:
		return json_real(-0.5);
	case 7:
		return json_string("");
	case 8:
		return json_string(hostile);
	case 9:
		return long_text();
	case 10:
		return json_array();
	case 11:
		return json_object();
	case 12:
		return deep();
	case 13:
		return json_integer((int32_t)fuzz_take(in, 4));
	case 14:
		return text_of(in);
	case 15:
		return json_string("12");
	case 16: /* many of it, but not many times many */
		j = json_array();
		for (unsigned n = 0; n < 300 && n < 20000 / count; n++) {
			json_array_append_new(j, json_deep_copy(old));
		}
		return j;
	default:
		return json_pack("[O]", old);
	}
}

static void spoil(struct fuzz_input *in, json_t *message)
{
	static struct node nodes[NODES];
	unsigned count = 0;
	struct node *n;

	collect(message, nodes, &count);
	n = &nodes[fuzz_take(in, 2) % (count ? count : 1)];
	if (count == 0) {
		return;
	}
	if (n->key) {
		json_t *value = another(in, json_object_get(n->in, n->key), count);

		json_object_set_new(n->in, n->key, value);
	} else {
		json_array_set_new(n->in, n->index,
				   another(in, json_array_get(n->in, n->index), count));
	}
}

/* ------------------------------------------------------------------------------- the server */

/* False: it hangs up. */
static bool send_line(int fd, const json_t *message, unsigned fault)
{
	char *line = json_dumps(message, JSON_COMPACT);
	size_t length = line ? strlen(line) : 0;
	bool whole = fault < 250;

	must(line);
	if (fault == 251) {
		line[length / 2] = '\0';
	} else if (fault == 252) {
		line[length / 2] = '\n';
	} else if (fault == 253) {
		line[length - 1] = '\xff';
	} else if (fault >= 254) {
		length /= 2;
	}
	/* Who has gone, or does not read, misses it. */
	if (send(fd, line, length, MSG_NOSIGNAL) < 0 ||
	    send(fd, "\n", fault < 254, MSG_NOSIGNAL) < 0) {
		whole = false;
	}
	free(line);
	return whole;
}

static bool send_message(int fd, const json_t *id, const char *what, const json_t *body)
{
	json_t *message = json_pack("{s:i,s:O,s:o}", "v", 2, "id", id, what, json_deep_copy(body));
	unsigned wrong = fuzz_take(&s.in, 1), fault = fuzz_take(&s.in, 1);
	bool goes_on;

	must(message);
	if (strcmp(what, "progress") != 0) {
		json_object_set_new(message, "ok", json_boolean(strcmp(what, "result") == 0));
	}
	for (unsigned n = 0; n < (wrong & 3); n++) {
		spoil(&s.in, message);
	}
	goes_on = send_line(fd, message, fault);
	json_decref(message);
	return goes_on;
}

/* One of those that are canned for it. */
static const json_t *answer_to(const char *op)
{
	const json_t *fit[64], *a;
	unsigned count = 0;
	size_t i;

	json_array_foreach (s.canned, i, a) {
		if (strcmp(json_string_value(json_object_get(a, "op")), op) == 0 && count < 64) {
			fit[count++] = a;
		}
	}
	return count ? fit[fuzz_take(&s.in, 1) % count] : NULL;
}

static bool answer(int fd, const char *line, size_t length)
{
	json_t *request = json_loadb(line, length, 0, NULL);
	const char *op = json_string_value(json_object_get(request, "op"));
	const json_t *id = json_object_get(request, "id"), *step, *a;
	bool goes_on = true;
	size_t i;

	must(op && id);
	a = answer_to(op);
	json_array_foreach (json_object_get(a, "progress"), i, step) {
		goes_on = goes_on && send_message(fd, id, "progress", step);
	}
	if (goes_on && json_object_get(a, "result")) {
		goes_on = send_message(fd, id, "result", json_object_get(a, "result"));
	} else if (goes_on) {
		json_t *error =
			json_pack("{s:s,s:s,s:s}", "code", "failed", "message", "no", "hint", "x");

		goes_on = send_message(fd, id, "error",
				       json_object_get(a, "error") ? json_object_get(a, "error")
								   : error);
		json_decref(error);
	}
	json_decref(request);
	return goes_on && ++s.answers < ANSWERS;
}

struct caller {
	int fd;
	char *line;
	size_t used;
};

static void hang_up(struct caller *c)
{
	close(c->fd);
	free(c->line);
	*c = (struct caller){.fd = -1};
}

/* What has come of requests. */
static void serve(struct caller *c)
{
	ssize_t n = recv(c->fd, c->line + c->used, LINE_MAX_BYTES - c->used, 0);
	char *end;

	if (n <= 0) {
		hang_up(c);
		return;
	}
	c->used += (size_t)n;
	while ((end = memchr(c->line, '\n', c->used))) {
		size_t length = (size_t)(end - c->line);

		if (!answer(c->fd, c->line, length)) {
			hang_up(c);
			return;
		}
		c->used -= length + 1;
		memmove(c->line, end + 1, c->used);
	}
}

static void admit(struct caller callers[CLIENTS])
{
	int fd = accept4(s.listener, NULL, NULL, SOCK_CLOEXEC);

	for (unsigned n = 0; n < CLIENTS && s.answers < ANSWERS; n++) {
		if (callers[n].fd < 0) {
			callers[n].fd = fd;
			callers[n].line = malloc(LINE_MAX_BYTES);
			must(callers[n].line);
			return;
		}
	}
	close(fd);
}

static void *server(void *arg)
{
	struct caller callers[CLIENTS];
	struct pollfd p[2 + CLIENTS] = {{s.stop, POLLIN, 0}, {s.listener, POLLIN, 0}};

	for (unsigned n = 0; n < CLIENTS; n++) {
		callers[n] = (struct caller){.fd = -1};
	}
	do {
		int ready;

		for (unsigned n = 0; n < CLIENTS; n++) {
			p[2 + n] = (struct pollfd){callers[n].fd, POLLIN, 0};
		}
		ready = poll(p, 2 + CLIENTS, QUIET_MS);
		for (unsigned n = 0; n < CLIENTS; n++) {
			if (callers[n].fd >= 0 && p[2 + n].revents) {
				serve(&callers[n]);
			} else if (callers[n].fd >= 0 && ready == 0) {
				hang_up(&callers[n]);
			}
		}
		if (p[1].revents) {
			admit(callers);
		}
	} while (!p[0].revents);
	for (unsigned n = 0; n < CLIENTS; n++) {
		if (callers[n].fd >= 0) {
			hang_up(&callers[n]);
		}
	}
	return arg;
}

/* ------------------------------------------------------------------------------------------- */

static void clean(void)
{
	unlink(s.path);
	rmdir(s.directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	snprintf(s.directory, sizeof(s.directory), "/tmp/fcm-fuzz.XXXXXX");
	must(mkdtemp(s.directory));
	snprintf(s.path, sizeof(s.path), "%s/control.sock", s.directory);
	memcpy(address.sun_path, s.path, strlen(s.path));
	atexit(clean);
	s.canned = json_load_file("tests/system/fcmctl_transcripts/answers.json", 0, NULL);
	s.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	s.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	must(json_is_array(s.canned) && s.listener >= 0 && s.stop >= 0);
	must(bind(s.listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	must(listen(s.listener, 16) == 0);
	fcmctl_init();
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *words[24] = {NULL};
	unsigned count = 0;
	pthread_t thread;
	uint64_t rung = 1;
	char *line, *rest, *word;

	if (size == 0) {
		return 0;
	}
	s.in = (struct fuzz_input){data + 1, size - 1};
	s.answers = 0;
	line = rest = strdup(typed[data[0] % TYPED]);
	must(line);
	/* Completion is asked for as the first word. */
	if (strncmp(line, "__complete", 10) != 0) {
		words[count++] = "--dir";
		words[count++] = s.directory;
	} else {
		setenv("FCM_DIR", s.directory, 1);
	}
	while ((word = strsep(&rest, " "))) {
		words[count++] = word;
	}
	must(pthread_create(&thread, NULL, server, NULL) == 0);
	fcmctl_run(words);
	must(write(s.stop, &rung, sizeof(rung)) == sizeof(rung));
	pthread_join(thread, NULL);
	must(read(s.stop, &rung, sizeof(rung)) == sizeof(rung));
	unsetenv("FCM_DIR");
	free(line);
	return 0;
}

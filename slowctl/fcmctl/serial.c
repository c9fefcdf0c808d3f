/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl serial: a terminal on a serial channel of a floor's instrument. Input is sent with the operation
 * serial.write; output is read from the floor's instrument blocks, as a monitor. Ctrl-] then q ends it.
 *
 * Bytes from the floor may contain escape sequences, which the user's terminal would execute. They are
 * printed unchanged only with --raw, or if stdin is a terminal in raw mode and stdout is the same terminal.
 * Otherwise each byte except printable ASCII, newline and tab is printed as '?'; the CR of a CR LF is dropped.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/core/client.h"
#include "slowctl/fcmctl/core/monitor.h"
#include "slowctl/fcmctl/show/value.h"
#include "slowctl/param/plural.h"

#define ESCAPE	  0x1d /* Ctrl-] */
#define WRITE_MAX 240u
#define WAIT_S	  10.0
#define LINGER_S  1.0 /* behind the end of what is not typed, for the answer */
#define SILENT_S  5.0
#define PAUSE_NS  2000000 /* 16 frames: room for as many words */

struct serial {
	struct ctl *ctl;
	const struct ctl_args *args;
	struct ctl_monitor monitor;
	char session[32];
	unsigned channel;
	bool started; /* a block has come */
	bool heard, silence_reported;
	bool raw, escaped, done, ended; /* done: Ctrl-] q; ended: nothing more will be typed */
	bool as_is;			/* bytes of the floor are written as they are */
	bool returned;			/* a CR has come, and waits for its LF */
	struct termios before;
};

/* ------------------------------------------------------------------ up */

/* Lines of text, also of an instrument that ends them with CR LF. No byte above ASCII: some terminals take 0x80 to 0x9f
 * for controls, and a character may come in two pieces. */
static void show_harmless(struct serial *x, const uint8_t *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		uint8_t c = bytes[i];

		if (x->returned && c != '\n') {
			putchar('?');
		}
		x->returned = c == '\r';
		if (!x->returned) {
			putchar((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t' ? c : '?');
		}
	}
}

static void take(struct serial *x, const struct fcmdata_block *b)
{
	struct fcmdata_serial record;
	struct fcmdata_cursor cursor;
	int r;

	x->started = true;
	if (b->gap_lost > 0) {
		ctl_remark("missed here: %llu frame%s; bytes may be missing",
			   (unsigned long long)b->gap_lost, plural(b->gap_lost));
	}
	fcmdata_begin(b, FCMDATA_CHANNEL_SERIAL, &cursor);
	while ((r = fcmdata_next_serial(&cursor, &record)) == 1 || r == -EBADMSG) {
		if (r != 1 || record.channel != x->channel) {
			continue;
		}
		if (x->as_is) {
			fwrite(record.bytes, 1, record.length, stdout);
		} else {
			show_harmless(x, record.bytes, record.length);
		}
		x->heard = x->heard || record.length > 0;
	}
}

/* What has come, after waiting up to 50 ms for it or for what is typed. *ret_typed: something is. */
static int take_all(struct serial *x, bool wait, bool *ret_typed)
{
	struct pollfd in[] = {{.fd = fcmdata_fd(x->monitor.data), .events = POLLIN},
			      {.fd = STDIN_FILENO, .events = POLLIN}};
	const struct fcmdata_block *b;
	int code;

	if (wait) {
		poll(in, ret_typed != NULL ? 2 : 1, 50);
	}
	if (ret_typed != NULL) {
		*ret_typed = in[1].revents != 0;
	}
	while ((code = ctl_monitor_next(x->ctl, &x->monitor, 0, &b)) == CTL_DONE && b != NULL) {
		take(x, b);
		fcmdata_release(x->monitor.data, b);
	}
	fflush(stdout);
	return code;
}

/* ------------------------------------------------------------------ down */

static int fail_link(struct serial *x, int err)
{
	char why[96];

	return ctl_fail(x->ctl, CTL_UNKNOWN, "broken",
			"fcmctl status shows the state of the daemon", "serial: %s",
			ctl_broken_text(err, WAIT_S, why, sizeof(why)));
}

/* Asks and waits: CTL_DONE and *ret_answer, or all is said. All else on the way is that serial.open has ended. */
static int ask(struct serial *x, const char *op, json_t *args, json_t **ret_answer)
{
	json_t *message = NULL;
	const json_t *error;
	const char *code;
	unsigned id, found;
	int exit_code;
	int err = client_ask(x->ctl->client, op, args, WAIT_S, ctl_interrupted, &id);

	err = err == 0 ? client_next(x->ctl->client, WAIT_S, ctl_interrupted, &found, &message)
		       : err;
	if (err == 0 && found != id) {
		err = -ECONNRESET;
	}
	error = json_object_get(message, "error");
	if (err == 0 && error == NULL) {
		*ret_answer = message;
		return CTL_DONE;
	}
	code = value_string(error, "code", "internal");
	exit_code = err != 0 ? fail_link(x, err)
			     : ctl_fail(x->ctl, strcmp(code, "usage") == 0 ? CTL_USAGE : CTL_NOT,
					code, value_string(error, "hint", ""), "serial: %s",
					value_string(error, "message", "?"));
	json_decref(message);
	return exit_code;
}

/* Some of the bytes; *ret_sent as many as the board took, 0 when it has no room just now. */
static int write_some(struct serial *x, const unsigned char *bytes, size_t length, size_t *ret_sent)
{
	char hex[2 * WRITE_MAX + 1];
	json_t *answer = NULL;
	int code;

	for (size_t i = 0; i < length; i++) {
		snprintf(hex + 2 * i, 3, "%02x", bytes[i]);
	}
	code = ask(x, "serial.write", json_pack("{s:s,s:s}", "session", x->session, "data", hex),
		   &answer);
	*ret_sent = (size_t)value_integer(answer, "result.written", 0);
	json_decref(answer);
	return code == CTL_USAGE ? CTL_NOT
				 : code; /* the session has ended: nothing was typed wrong */
}

static int write_all(struct serial *x, const unsigned char *bytes, size_t length)
{
	const struct timespec pause = {.tv_nsec = PAUSE_NS};
	double start = ctl_monotonic();
	int code = CTL_DONE;

	while (length > 0 && code == CTL_DONE && !ctl_interrupted()) {
		size_t sent = 0;

		code = write_some(x, bytes, length, &sent);
		bytes += sent;
		length -= sent;
		if (code == CTL_DONE && sent == 0 && ctl_monotonic() - start > WAIT_S) {
			return ctl_fail(x->ctl, CTL_NOT, "refused", "fcmctl link list",
					"serial: the board takes no bytes");
		}
		if (sent == 0) {
			nanosleep(&pause, NULL);
		}
	}
	return code;
}

/* Ctrl-] q ends, Ctrl-] Ctrl-] is one of them; of what is not typed every byte is meant. */
static size_t unescape(struct serial *x, unsigned char *bytes, size_t length)
{
	size_t kept = 0;

	for (size_t i = 0; i < length && !x->done; i++) {
		if (x->escaped) {
			x->escaped = false;
			x->done = bytes[i] == 'q';
			if (bytes[i] == ESCAPE) {
				bytes[kept++] = ESCAPE;
			}
		} else if (x->raw && bytes[i] == ESCAPE) {
			x->escaped = true;
		} else {
			bytes[kept++] = bytes[i];
		}
	}
	return kept;
}

static int typed(struct serial *x)
{
	unsigned char bytes[WRITE_MAX];
	ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));

	if (got <= 0) {
		x->ended = got == 0 || errno != EINTR;
		return CTL_DONE;
	}
	return write_all(x, bytes, unescape(x, bytes, (size_t)got));
}

/* ------------------------------------------------------------------ the session */

/* Whether the daemon has ended it; a quick look. */
static int still_open(struct serial *x)
{
	json_t *message = NULL;
	unsigned id;
	int err = client_next(x->ctl->client, 0.001, ctl_interrupted, &id, &message);

	json_decref(message);
	return err == -ETIMEDOUT || err == -EINTR ? CTL_DONE
						  : fail_link(x, err == 0 ? -ECONNRESET : err);
}

/* No floor says which instruments it has. */
static void report_silence(struct serial *x)
{
	if (x->heard || x->silence_reported) {
		return;
	}
	x->silence_reported = true;
	ctl_remark("nothing has come from channel %u: no instrument is there, or it is silent",
		   x->channel);
	if (x->raw) {
		fputc('\r', stderr);
	}
}

static int talk(struct serial *x, double for_s)
{
	double start = ctl_monotonic();
	double ended = 0.0;
	int code = CTL_DONE;

	while (code == CTL_DONE && !x->done && !ctl_interrupted() &&
	       (for_s <= 0.0 || ctl_monotonic() - start < for_s) &&
	       (ended == 0.0 || for_s > 0.0 || ctl_monotonic() - ended < LINGER_S)) {
		bool is_typed = false;

		code = take_all(x, true, x->ended ? NULL : &is_typed);
		if (code == CTL_DONE && is_typed) {
			code = typed(x);
			ended = x->ended ? ctl_monotonic() : 0.0;
		} else if (code == CTL_DONE) {
			code = still_open(x);
		}
		if (ctl_monotonic() - start > SILENT_S) {
			report_silence(x);
		}
	}
	code = code == CTL_DONE ? take_all(x, false, NULL) : code;
	if (code == CTL_DONE && !ctl_interrupted()) {
		report_silence(x);
	}
	return code;
}

/* The answer to bytes that are sent before the first block has come would be missed. */
static int await_first(struct serial *x)
{
	double start = ctl_monotonic();
	int code = CTL_DONE;

	while (code == CTL_DONE && !x->started && !ctl_interrupted()) {
		if (ctl_monotonic() - start > WAIT_S) {
			return ctl_fail(x->ctl, CTL_NOT, "time-out",
					"fcmctl link list shows what the link does",
					"serial: no block of the floor's instruments for %.0f s",
					WAIT_S);
		}
		code = take_all(x, true, NULL);
	}
	return code;
}

static int listen_at(struct serial *x, const json_t *open)
{
	char topic[32];
	int code;

	snprintf(topic, sizeof(topic), "instrument.T%02lld.F%02lld",
		 value_integer(open, "tower", 0), value_integer(open, "floor", 0));
	code = ctl_monitor_open(x->ctl, x->args, open, topic, &x->monitor);
	return code == CTL_DONE ? await_first(x) : code;
}

/* What serial.open says first: it is ours, or who has it. */
static int begin(struct serial *x, json_t *args)
{
	json_t *message = NULL;
	int err = ctl_connect(x->ctl);
	int code;

	if (err != 0) {
		json_decref(args);
		return ctl_away_fail(x->ctl, err, false);
	}
	code = ask(x, "serial.open", args, &message);
	if (code == CTL_DONE) {
		snprintf(x->session, sizeof(x->session), "%s",
			 value_string(message, "progress.session", ""));
		code = listen_at(x, value_at(message, "progress"));
	}
	json_decref(message);
	return code;
}

/* Whether what is shown goes to the terminal where it is typed. */
static bool shown_where_typed(void)
{
	struct stat in;
	struct stat out;

	return isatty(STDOUT_FILENO) && fstat(STDIN_FILENO, &in) == 0 &&
	       fstat(STDOUT_FILENO, &out) == 0 && in.st_rdev == out.st_rdev;
}

static void make_raw(struct serial *x)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &x->before) != 0) {
		return;
	}
	ctl_remark("the instrument's terminal; Ctrl-] then q ends it");
	raw = x->before;
	cfmakeraw(&raw);
	x->raw = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
	x->as_is = x->as_is || (x->raw && shown_where_typed());
}

/* "floor3", "3", "tower1.floor3" */
static bool floor_of(const char *text, json_t *args)
{
	int tower = 0;
	int floor = 0;
	int used = 0;

	if (sscanf(text, "tower%3d.floor%3d%n", &tower, &floor, &used) == 2 && text[used] == '\0') {
		json_object_set_new(args, "tower", json_integer(tower));
	} else if ((sscanf(text, "floor%3d%n", &floor, &used) != 1 || text[used] != '\0') &&
		   (sscanf(text, "%3d%n", &floor, &used) != 1 || text[used] != '\0')) {
		return false;
	}
	json_object_set_new(args, "floor", json_integer(floor));
	return floor > 0;
}

/* Channels of a floor's tunnel, ours: 0 a plug that sends back what comes, 1 the CTD. */
static bool channel_of(const char *text, unsigned *ret_channel)
{
	static const char *const names[] = {"loop", "ctd"};
	int used = 0;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_channel = i;
			return true;
		}
	}
	return sscanf(text, "%3u%n", ret_channel, &used) == 1 && text[used] == '\0' &&
	       *ret_channel <= 255 && text[0] != '-';
}

static int serial_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct serial x = {.ctl = ctl, .args = args, .as_is = ctl_given(args, CTL_RAW)};
	json_t *asked = json_object();
	int code;

	if (ctl->json || !floor_of(args->word[0], asked) ||
	    !channel_of(args->word[1], &x.channel)) {
		json_decref(asked);
		return ctl_usage(ctl, "fcmctl serial floor3 ctd",
				 ctl->json ? "the bytes of an instrument are not JSON"
					   : "needs a floor and a channel: loop, ctd, 0 to 255");
	}
	json_object_set_new(asked, "channel", json_integer(x.channel));
	ctl_catch_interrupt();
	code = begin(&x, asked);
	if (code == CTL_DONE) {
		make_raw(&x);
		code = talk(&x, args->number[CTL_FOR]);
	}
	if (x.raw) {
		tcsetattr(STDIN_FILENO, TCSANOW, &x.before);
		fputc('\n', stderr);
	}
	ctl_release_interrupt();
	fcmdata_close(x.monitor.data);
	return code;
}

const struct ctl_command ctl_serial_commands[] = {
	{NULL, "serial", "FLOOR CHANNEL", "a terminal to an instrument of a floor",
	 .help = "Sends what you type to the instrument and shows what it answers, byte\n"
		 "by byte. Ctrl-] then q ends it; Ctrl-] twice sends one Ctrl-]. A\n"
		 "channel has one user at a time; a second user sees who has it.\n"
		 "Opening and closing are recorded as events. CHANNEL is loop (a plug\n"
		 "that sends back what it gets), ctd, or a number. From a pipe: sends\n"
		 "the input, then waits 1 s, or --for, for the answer. Control\n"
		 "characters are shown as ? unless fcmctl has made the terminal raw, or\n"
		 "with --raw.\n\n"
		 "  fcmctl serial floor3 ctd\n"
		 "  fcmctl serial floor3 ctd --for 10s < /dev/null",
	 .options = CTL_BIT(CTL_FOR) | CTL_BIT(CTL_KEY) | CTL_BIT(CTL_RAW), .run = serial_run},
	{0},
};

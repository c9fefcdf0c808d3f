// SPDX-License-Identifier: GPL-2.0-or-later
/* See deliver.h. The words are in files without a name, which the child has as its standard input. */
#include "slowctl/notify/deliver.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SAID_BYTES     200
#define CONFIG_FD      3
#define VARIABLES      5
#define VARIABLE_BYTES 100000 /* Linux allows 128 KiB for one */

struct delivery {
	pid_t pid;
	int pidfd, said;       /* what it writes to standard output and error: a pipe */
	char last[SAID_BYTES]; /* the end of that */
	size_t length;
	struct event *ended, *deadline, *says;
	bool late;
	delivered_fn done;
	void *context;
};

/* A file without a name that holds `text`; -1: errno. */
static int file_of(const char *text)
{
	int fd = memfd_create("notice", MFD_CLOEXEC);
	size_t length = strlen(text);

	if (fd >= 0 && (write(fd, text, length) != (ssize_t)length || lseek(fd, 0, SEEK_SET) < 0)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* A header has ASCII only. */
static char *mail_of(const struct receiver *r, const struct notify_words *w)
{
	char subject[sizeof(w->subject)];
	char *text;

	snprintf(subject, sizeof(subject), "%s", w->subject);
	for (char *c = subject; *c; c++) {
		*c = *c >= ' ' && *c <= '~' ? *c : '?';
	}
	return asprintf(&text,
			"To: %s\nSubject: %s\nMIME-Version: 1.0\n"
			"Content-Type: text/plain; charset=utf-8\nAuto-Submitted: "
			"auto-generated\n\n%s",
			r->target, subject, w->body) < 0
		       ? NULL
		       : text;
}

/* Not as an argument: the URL may be a secret, and arguments are public. */
static char *curl_config(const struct receiver *r)
{
	char *text;

	return asprintf(&text, "url = \"%s\"\nheader = \"Content-Type: application/json\"\n",
			r->target) < 0
		       ? NULL
		       : text;
}

/* ------------------------------------------------------------------ its end */

static void release(struct delivery *d)
{
	if (d->ended) {
		event_free(d->ended);
	}
	if (d->deadline) {
		event_free(d->deadline);
	}
	if (d->says) {
		event_free(d->says);
	}
	if (d->pidfd >= 0) {
		close(d->pidfd);
	}
	if (d->said >= 0) {
		close(d->said);
	}
	free(d);
}

/* However much it says, the end of it is kept. */
static void on_says(evutil_socket_t fd, short what, void *context)
{
	struct delivery *d = context;
	char bytes[4096];
	ssize_t n;

	while ((n = read(d->said, bytes, sizeof(bytes))) > 0) {
		size_t more = (size_t)n < sizeof(d->last) ? (size_t)n : sizeof(d->last);
		size_t kept =
			d->length < sizeof(d->last) - more ? d->length : sizeof(d->last) - more;

		memmove(d->last, d->last + d->length - kept, kept);
		memcpy(d->last + kept, bytes + (size_t)n - more, more);
		d->length = kept + more;
	}
	if (n == 0 && d->says) {
		event_del(d->says);
	}
}

/* The last line that it has said, or "". */
static void last_line(const struct delivery *d, char *text)
{
	size_t end = d->length, begin;

	while (end > 0 && d->last[end - 1] == '\n') {
		end--;
	}
	for (begin = end; begin > 0 && d->last[begin - 1] != '\n'; begin--) {
	}
	for (; begin < end; begin++) {
		*text++ = d->last[begin] >= ' ' && d->last[begin] <= '~' ? d->last[begin] : '?';
	}
	*text = '\0';
}

static void on_ended(evutil_socket_t fd, short what, void *context)
{
	struct delivery *d = context;
	char said[SAID_BYTES + 1], why[SAID_BYTES + 64] = "";
	int status = 0;

	waitpid(d->pid, &status, 0);
	on_says(d->said, EV_READ, d);
	last_line(d, said);
	if (d->late) {
		snprintf(why, sizeof(why), "not within %d s", DELIVER_S);
	} else if (WIFSIGNALED(status)) {
		snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(status));
	} else if (WEXITSTATUS(status) != 0) {
		snprintf(why, sizeof(why), "exit %d%s%s", WEXITSTATUS(status), *said ? ": " : "",
			 said);
	}
	d->done(d->context, *why ? why : NULL);
	release(d);
}

/* With its group. False: it has become another user. */
static bool kill_it(const struct delivery *d)
{
	bool group = kill(-d->pid, SIGKILL) == 0;

	return kill(d->pid, SIGKILL) == 0 || group;
}

static void on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct delivery *d = context;
	char why[32];

	d->late = true;
	if (!kill_it(d)) { /* else on_ended() comes */
		snprintf(why, sizeof(why), "not within %d s", DELIVER_S);
		d->done(d->context, why);
		release(d);
	}
}

void delivery_kill(struct delivery *d)
{
	if (d) {
		waitpid(d->pid, NULL, kill_it(d) ? 0 : WNOHANG);
		release(d);
	}
}

/* ------------------------------------------------------------------ its beginning */

/* Our environment and these, a NULL behind them. NULL: out of memory. */
static char **environment(const struct receiver *r, unsigned board, const struct notify_words *w)
{
	size_t have = 0;
	char **all;

	while (environ[have]) {
		have++;
	}
	all = calloc(have + VARIABLES + 1, sizeof(*all));
	if (!all) {
		return NULL;
	}
	memcpy(all + VARIABLES, environ, have * sizeof(*all));
	if (asprintf(&all[0], "FCM_BOARD=%u", board) < 0 ||
	    asprintf(&all[1], "FCM_RECEIVER=%s", r->name) < 0 ||
	    asprintf(&all[2], "FCM_LEVEL=%s", w->level) < 0 ||
	    asprintf(&all[3], "FCM_SUBJECT=%s", w->subject) < 0 ||
	    asprintf(&all[4], "FCM_NOTICES=%s", strlen(w->json) < VARIABLE_BYTES ? w->json : "") <
		    0) {
		abort(); /* out of memory */
	}
	return all;
}

static void release_environment(char **all)
{
	for (size_t i = 0; all && i < VARIABLES; i++) {
		free(all[i]);
	}
	free(all);
}

/* A process group of its own, with these files. 0 or an errno. */
static int spawn(pid_t *ret_pid, char *const argv[], char **env, int in, int config, int said)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t none, usual;
	int r;

	sigemptyset(&none);
	sigemptyset(&usual);
	sigaddset(&usual, SIGPIPE);
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setpgroup(&attributes, 0);
	posix_spawnattr_setsigmask(&attributes, &none);
	posix_spawnattr_setsigdefault(&attributes, &usual);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
						      POSIX_SPAWN_SETSIGDEF);
	posix_spawn_file_actions_adddup2(&files, in, 0);
	posix_spawn_file_actions_adddup2(&files, said, 1);
	posix_spawn_file_actions_adddup2(&files, said, 2);
	if (config >= 0) {
		posix_spawn_file_actions_adddup2(&files, config, CONFIG_FD);
	}
	r = posix_spawn(ret_pid, argv[0], &files, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return r;
}

/* The child runs; 0 or an errno. */
static int start(struct delivery *d, const struct receiver *r, unsigned board,
		 const struct notify_words *w, int said)
{
	const char *const argv[][17] = {
		[RECEIVER_PROGRAM] = {r->target},
		[RECEIVER_MAIL] = {"/usr/sbin/sendmail", "-i", "-t"},
		[RECEIVER_WEBHOOK] = {"/usr/bin/curl", "-q", "-sS", "--fail", "--globoff",
				      "--proto", "=http,https", "--max-time", "30", "--output",
				      "/dev/null", "--config", "/dev/fd/3", "--data-binary", "@-"},
	};
	char *mail = r->kind == RECEIVER_MAIL ? mail_of(r, w) : NULL;
	char *config = r->kind == RECEIVER_WEBHOOK ? curl_config(r) : NULL;
	char **env = environment(r, board, w);
	int in = file_of(mail ? mail : config ? w->json : w->body);
	int settings = config ? file_of(config) : -1;
	int error = env && in >= 0 && (settings >= 0 || !config)
			    ? spawn(&d->pid, (char *const *)(uintptr_t)argv[r->kind], env, in,
				    settings, said)
			    : errno;

	if (in >= 0) {
		close(in);
	}
	if (settings >= 0) {
		close(settings);
	}
	release_environment(env);
	free(mail);
	free(config);
	return error;
}

struct delivery *delivery_begin(struct event_base *base, const struct receiver *r, unsigned board,
				const struct notify_words *w, delivered_fn done, void *context,
				char *ret_why, size_t size)
{
	const struct timeval longest = {.tv_sec = DELIVER_S};
	struct delivery *d = calloc(1, sizeof(*d));
	int error, said[2] = {-1, -1};

	if (!d) {
		snprintf(ret_why, size, "out of memory");
		return NULL;
	}
	*d = (struct delivery){.pidfd = -1, .said = -1, .done = done, .context = context};
	error = pipe2(said, O_CLOEXEC) < 0 ? errno : start(d, r, board, w, said[1]);
	d->said = said[0];
	if (said[1] >= 0) {
		close(said[1]);
		fcntl(d->said, F_SETFL, O_NONBLOCK);
	}
	if (error) {
		snprintf(ret_why, size, "cannot be started: %s", strerror(error));
		release(d);
		return NULL;
	}
	d->pidfd = (int)syscall(SYS_pidfd_open, d->pid, 0);
	d->ended = event_new(base, d->pidfd, EV_READ, on_ended, d);
	d->deadline = event_new(base, -1, 0, on_deadline, d);
	d->says = event_new(base, d->said, EV_READ | EV_PERSIST, on_says, d);
	if (d->pidfd < 0 || !d->ended || !d->deadline || !d->says ||
	    event_add(d->ended, NULL) < 0 || event_add(d->deadline, &longest) < 0 ||
	    event_add(d->says, NULL) < 0) {
		snprintf(ret_why, size, "cannot be watched: %s", strerror(errno));
		delivery_kill(d);
		return NULL;
	}
	return d;
}

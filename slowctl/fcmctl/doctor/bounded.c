/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Work with a limit, see bounded.h. A child's result is JSON on a pipe; an empty line there is a sign of life. */
#include "slowctl/fcmctl/doctor/bounded.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"

#define RESULT_MAX (4u << 20)
#define JOBS_MAX   48u

static int alive_fd = -1;

void bounded_alive(void)
{
	int saved = errno;

	if (alive_fd >= 0 && write(alive_fd, "\n", 1) < 0) {
		_exit(1); /* no reader */
	}
	errno = saved;
}

/* ------------------------------------------------------------------ children */

static void write_all(int fd, const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t n = write(fd, text, bytes);

		if (n < 0 && errno != EINTR) {
			return;
		}
		text += n > 0 ? n : 0;
		bytes -= n > 0 ? (size_t)n : 0;
	}
}

/* A group of its own, so that the programs it has started end with it; and with us. */
static void become_child(pid_t parent)
{
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent) {
		_exit(1);
	}
}

static void work(const struct bounded *job, int fd)
{
	json_t *result;
	char *text;

	alive_fd = fd;
	result = job->work(job->context);
	text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
	if (text != NULL) {
		write_all(fd, text, strlen(text));
	}
	_exit(0);
}

static void start(struct bounded *job)
{
	pid_t parent = getpid();
	int fds[2];

	job->pid = -1;
	job->fd = -1;
	if (pipe2(fds, O_CLOEXEC) < 0) {
		return;
	}
	job->pid = fork();
	if (job->pid == 0) {
		close(fds[0]);
		become_child(parent);
		work(job, fds[1]);
	}
	close(fds[1]);
	if (job->pid < 0) {
		close(fds[0]);
		return;
	}
	setpgid(job->pid, job->pid);
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	job->fd = fds[0];
	job->deadline = ctl_monotonic() + job->limit_s;
}

/* The child is not waited for: one that waits for a disk cannot even be killed. */
static void end(struct bounded *job)
{
	json_error_t error;

	if (job->fd < 0) {
		return;
	}
	close(job->fd);
	job->fd = -1;
	kill(-job->pid, SIGKILL);
	kill(job->pid, SIGKILL);
	waitpid(job->pid, NULL, WNOHANG);
	if (!job->late && job->text != NULL) {
		job->result = json_loadb(job->text, job->used, JSON_DECODE_ANY, &error);
	}
	free(job->text);
	job->text = NULL;
}

/* What is there. False: it has ended, or says too much. */
static bool take(struct bounded *job)
{
	char buf[65536];
	ssize_t n = read(job->fd, buf, sizeof(buf));
	char *grown;

	if (n < 0) {
		return errno == EAGAIN || errno == EINTR;
	}
	if (n == 0 || job->used + (size_t)n > RESULT_MAX) {
		return false;
	}
	grown = realloc(job->text, job->used + (size_t)n);
	if (grown == NULL) {
		return false;
	}
	memcpy(grown + job->used, buf, (size_t)n);
	job->text = grown;
	job->used += (size_t)n;
	job->deadline = ctl_monotonic() + job->limit_s;
	return true;
}

/* One turn; false: all have ended. */
static bool turn(struct bounded *jobs, size_t count)
{
	struct pollfd fds[JOBS_MAX];
	double next = INFINITY, now;
	nfds_t open = 0;

	for (size_t i = 0; i < count; i++) {
		fds[i] = (struct pollfd){.fd = jobs[i].fd, .events = POLLIN};
		if (jobs[i].fd >= 0) {
			next = jobs[i].deadline < next ? jobs[i].deadline : next;
			open++;
		}
	}
	if (open == 0) {
		return false;
	}
	now = ctl_monotonic();
	poll(fds, count, next > now ? (int)((next - now) * 1e3) + 1 : 0);
	now = ctl_monotonic();
	for (size_t i = 0; i < count; i++) {
		if (jobs[i].fd < 0) {
			continue;
		}
		if (fds[i].revents != 0 && !take(&jobs[i])) {
			end(&jobs[i]);
		} else if (now >= jobs[i].deadline) {
			jobs[i].late = true;
			end(&jobs[i]);
		}
	}
	return true;
}

void bounded_run(struct bounded *jobs, size_t count)
{
	count = count < JOBS_MAX ? count : JOBS_MAX;
	for (size_t i = 0; i < count; i++) {
		jobs[i].late = false;
		jobs[i].result = NULL;
		jobs[i].text = NULL;
		jobs[i].used = 0;
		start(&jobs[i]);
	}
	while (turn(jobs, count)) {
	}
}

/* ------------------------------------------------------------------ programs */

static void become_program(const char *const *argv, const int *out, const int *errors, pid_t parent)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(out[1], STDOUT_FILENO) < 0 || dup2(errors[1], STDERR_FILENO) < 0) {
		_exit(127);
	}
	setenv("LC_ALL", "C", 1);
	setenv("SYSTEMD_PAGER", "", 1);
	execvp(argv[0], (char *const *)(uintptr_t)argv);
	_exit(127);
}

/* Into `text` as far as it fits; false: the end. */
static bool take_text(int fd, struct program_text *text)
{
	char rest[4096];
	bool room = text != NULL && text->used + 1 < text->size;
	ssize_t n = room ? read(fd, text->text + text->used, text->size - text->used - 1)
			 : read(fd, rest, sizeof(rest));

	if (n > 0 && room) {
		text->used += (size_t)n;
		text->text[text->used] = '\0';
	}
	return n > 0;
}

static int take_both(int fds[2], double deadline, struct program_text *out,
		     struct program_text *errors)
{
	bool open[2] = {true, true};

	while (open[0] || open[1]) {
		struct pollfd polled[2] = {{.fd = open[0] ? fds[0] : -1, .events = POLLIN},
					   {.fd = open[1] ? fds[1] : -1, .events = POLLIN}};
		double left = deadline - ctl_monotonic();

		if (left <= 0.0 || poll(polled, 2, (int)(left * 1e3) + 1) == 0) {
			return -ETIMEDOUT;
		}
		open[0] = open[0] && (polled[0].revents == 0 || take_text(fds[0], out));
		open[1] = open[1] && (polled[1].revents == 0 || take_text(fds[1], errors));
	}
	return 0;
}

int bounded_program(const char *const *argv, double limit_s, struct program_text *out,
		    struct program_text *errors)
{
	double deadline = ctl_monotonic() + limit_s;
	pid_t parent = getpid(), pid;
	int to[2], bad[2], both[2], status = 0, r;

	if (out != NULL && out->size > 0) {
		out->text[0] = '\0';
	}
	if (errors != NULL && errors->size > 0) {
		errors->text[0] = '\0';
	}
	if (pipe2(to, O_CLOEXEC) < 0) {
		return -errno;
	}
	if (pipe2(bad, O_CLOEXEC) < 0) {
		r = -errno;
		close(to[0]);
		close(to[1]);
		return r;
	}
	pid = fork();
	if (pid == 0) {
		become_program(argv, to, bad, parent);
	}
	close(to[1]);
	close(bad[1]);
	both[0] = to[0];
	both[1] = bad[0];
	r = pid < 0 ? -EAGAIN : take_both(both, deadline, out, errors);
	close(to[0]);
	close(bad[0]);
	if (r < 0 && pid > 0) {
		kill(pid, SIGKILL);
	}
	if (pid > 0) {
		/* What was killed may wait for a disk; what closed both ends ends. */
		waitpid(pid, &status, r < 0 ? WNOHANG : 0);
	}
	if (r < 0) {
		return r;
	}
	return !WIFEXITED(status)	    ? -EINTR
	       : WEXITSTATUS(status) == 127 ? -ENOENT
					    : WEXITSTATUS(status);
}

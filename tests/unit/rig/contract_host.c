/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the emulator's host with a fake world in a process of its own, for tests of libnanet3. See contract_host.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/rig/contract_host.h"
#include "tests/unit/rig/fake_world.h"

static volatile sig_atomic_t stop;

static void on_term(int number)
{
	stop = 1;
}

static int run(const struct host_config *config, int ready_fd)
{
	struct world *w = malloc(sizeof(*w));
	struct host *h;
	int r;

	signal(SIGTERM, on_term);
	if (w == NULL) {
		return 1;
	}
	fake_world_init(w);
	r = host_create(config, w, &h);
	(void)!write(ready_fd, &r, sizeof(r));
	close(ready_fd);
	if (r == 0) {
		r = host_run(h, &stop);
		host_destroy(h);
	}
	free(w);
	return r == 0 ? 0 : 1;
}

pid_t contract_host_start(const struct host_config *config)
{
	int ready[2], r = -EIO;
	pid_t pid;

	if (pipe(ready) != 0) {
		return -errno;
	}
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(ready[0]);
		_exit(run(config, ready[1]));
	}
	close(ready[1]);
	if (pid > 0 && read(ready[0], &r, sizeof(r)) != sizeof(r)) {
		r = -EIO;
	}
	close(ready[0]);
	if (pid > 0 && r < 0) {
		waitpid(pid, NULL, 0);
		return r;
	}
	return pid;
}

int contract_host_end(pid_t pid, int number)
{
	int status;

	kill(pid, number);
	if (waitpid(pid, &status, 0) != pid) {
		return -errno;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

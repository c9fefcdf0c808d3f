/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fcmctl doctor: the facts, then all checks side by side, then what they said. */
#include <errno.h>
#include <fnmatch.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "slowctl/access/file_guard.h"
#include "slowctl/fcmctl/doctor/bounded.h"
#include "slowctl/fcmctl/doctor/bundle.h"
#include "slowctl/fcmctl/doctor/doctor.h"
#include "slowctl/fcmctl/doctor/parse.h"
#include "slowctl/fcmctl/show/value.h"

/* Together, and what starting processes takes, below five seconds. */
#define FACTS_S	 1.8
#define CHECKS_S 2.6

static const struct doctor_check *const check_lists[] = {doctor_service_checks, doctor_board_checks,
							 doctor_time_checks, doctor_file_checks};
#define CHECKS_MAX 40u

/* ------------------------------------------------------------------ facts */

static json_t *ask_daemon(const void *context)
{
	const struct doctor *d = context;
	struct ctl ctl = *d->ctl;
	json_t *info = NULL, *status = NULL;
	int err;

	ctl.client = NULL;
	ctl.timeout_s = FACTS_S - 0.1;
	err = ctl_call_quietly(&ctl, "info", NULL, &info);
	err = err == 0 ? ctl_call_quietly(&ctl, "status", NULL, &status) : err;
	ctl_disconnect(&ctl);
	return json_pack("{s:i,s:o?,s:o?}", "error", err, "info", info, "status", status);
}

/* The file that whoever listens at the control socket says it was started with; "" unknown. */
static void find_started(const struct doctor *d, char config[PATH_MAX])
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *socket_path = d->ctl->station.socket;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = {.pid = 0};
	socklen_t size = sizeof(peer);
	char path[64], words[4 * PATH_MAX];
	ssize_t bytes = 0;

	config[0] = '\0';
	if (fd >= 0 && strlen(socket_path) < sizeof(address.sun_path)) {
		strcpy(address.sun_path, socket_path);
		if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
		    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0) {
			snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)peer.pid);
			bytes = doctor_read(path, words, sizeof(words));
		}
	}
	if (fd >= 0) {
		close(fd);
	}
	for (const char *w = words; bytes > 0 && w < words + bytes; w += strlen(w) + 1) {
		const char *next = w + strlen(w) + 1;
		const char *given = strncmp(w, "--config=", 9) == 0 ? w + 9 : "";

		if ((strcmp(w, "--config") == 0 || strcmp(w, "-c") == 0) && next < words + bytes) {
			given = next;
		}
		if (*given == '/' && fnmatch("*.conf", given, 0) == 0) {
			snprintf(config, PATH_MAX, "%s", given);
		}
	}
}

/* NULL, or why it is not read: with the rights of root a file must be root's, where nobody else can put another one or a
 * link. Of an installed station too: its fixes are typed as root. */
static const char *distrust(const struct doctor *d, const char *path)
{
	const struct file_guard guard = {.user = geteuid(), .most = 1u << 20};
	struct sc_error error = {.code = ""};
	int fd;

	if (geteuid() != 0 && !d->ctl->station.installed) {
		return NULL;
	}
	if (file_guard_open(path, &guard, &fd, &error) < 0) {
		return strcmp(error.code, "file") == 0 ? "there is no such file to read"
						       : "another user could have put it there";
	}
	close(fd);
	return NULL;
}

/* NULL, or why it is not read. */
static const char *find_config(const struct doctor *d, char config[PATH_MAX])
{
	const char *socket_path = d->ctl->station.socket;
	const char *slash = strrchr(socket_path, '/');
	const char *why;

	find_started(d, config);
	why = config[0] != '\0' ? distrust(d, config) : NULL;
	if (d->ctl->station.installed && (why != NULL || config[0] == '\0')) {
		doctor_path(d, config, "/etc/fcm-server/board-%u.conf", d->ctl->station.board);
		return NULL;
	}
	if (config[0] == '\0') {
		snprintf(config, PATH_MAX, "%.*sboard.conf",
			 slash != NULL ? (int)(slash + 1 - socket_path) : 0, socket_path);
	}
	return why;
}

/* The daemon's program: beside this one, as built; where packages have it. */
static const char *find_program(char buf[PATH_MAX])
{
	static const char *const places[] = {"fcm-server", "../sbin/fcm-server"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = '\0';
	if (n > 0 && strrchr(self, '/') != NULL) {
		*strrchr(self, '/') = '\0';
	}
	for (size_t i = 0; n > 0 && i < sizeof(places) / sizeof(places[0]); i++) {
		snprintf(buf, PATH_MAX, "%.*s/%s", PATH_MAX - 32, self, places[i]);
		if (access(buf, X_OK) == 0) {
			return buf;
		}
	}
	snprintf(buf, PATH_MAX, "/usr/sbin/fcm-server");
	return access(buf, X_OK) == 0 ? "/usr/sbin/fcm-server" : NULL;
}

static json_t *lines_of(char *text)
{
	json_t *lines = json_array();
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		if (json_array_append_new(lines, json_string(line)) < 0) {
			json_array_append_new(lines,
					      json_string("a mistake whose text is no UTF-8"));
		}
	}
	return lines;
}

/* As the daemon reads it: its own reader says so. */
static json_t *read_config(const void *context)
{
	const struct doctor *d = context;
	char config[PATH_MAX], program[PATH_MAX], board[16], text[65536], bad[8192];
	struct program_text out = {.text = text, .size = sizeof(text)};
	struct program_text errors = {.text = bad, .size = sizeof(bad)};
	const char *argv[] = {NULL, "--board", board, "--config", config, "--print-config", NULL};
	const char *why = find_config(d, config);
	int r = -ENOENT;

	snprintf(board, sizeof(board), "%u", d->ctl->station.board);
	argv[0] = find_program(program);
	if (why == NULL && access(config, R_OK) < 0 && errno == EACCES) {
		why = "rights";
	} else if (why == NULL && argv[0] == NULL) {
		why = "no program fcm-server, which reads it";
	} else if (why == NULL) {
		r = bounded_program(argv, FACTS_S, &out, &errors);
		why = r < 0 ? "fcm-server, which reads it, did not end" : NULL;
	}
	/* Without a file there are only defaults. */
	return json_pack("{s:s,s:s?,s:s?,s:o*,s:o*}", "config", config, "program", argv[0], "why",
			 why, "values",
			 why == NULL && access(config, F_OK) == 0 ? parse_config(text) : NULL,
			 "mistakes", why == NULL ? lines_of(bad) : NULL);
}

static void find_facts(struct doctor *d)
{
	struct bounded jobs[] = {{.work = ask_daemon, .context = d, .limit_s = FACTS_S},
				 {.work = read_config, .context = d, .limit_s = FACTS_S}};
	const json_t *daemon, *config;
	const char *why;

	bounded_run(jobs, 2);
	daemon = jobs[0].result;
	config = jobs[1].result;
	d->daemon_error = (int)value_integer(daemon, "error", -ETIMEDOUT);
	d->info = json_incref(json_object_get(daemon, "info"));
	d->status = json_incref(json_object_get(daemon, "status"));
	if (!json_is_object(d->info) || !json_is_object(d->status)) {
		json_decref(d->info);
		json_decref(d->status);
		d->info = d->status = NULL;
		d->daemon_error = d->daemon_error == 0 ? -EPROTO : d->daemon_error;
	}
	snprintf(d->config, sizeof(d->config), "%s", value_string(config, "config", "?"));
	snprintf(d->program, sizeof(d->program), "%s",
		 value_string(config, "program", "fcm-server"));
	why = value_string(config, "why", NULL);
	snprintf(d->config_why, sizeof(d->config_why), "%s",
		 config == NULL ? "reading it did not end"
		 : why != NULL	? why
				: "");
	d->values = json_incref(json_object_get(config, "values"));
	d->mistakes = json_incref(json_object_get(config, "mistakes"));
	json_decref(jobs[0].result);
	json_decref(jobs[1].result);
}

/* ------------------------------------------------------------------ checks */

struct one {
	const struct doctor *d;
	const struct doctor_check *check;
};

static json_t *run_one(const void *context)
{
	const struct one *one = context;
	json_t *lines = json_array();

	one->check->run(one->d, lines);
	return lines;
}

/* Its line, when it said nothing. */
static void say_hung(const struct one *one, const struct bounded *job, json_t *lines)
{
	if (job->late) {
		doctor_say(lines, one->check->hung_state, one->check->hung,
			   "it did not answer in %.1f s", job->limit_s);
	} else {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: the check has failed");
	}
}

/* Lines of a check into the list of all, with its name, and with fixes as they can be typed. */
static void take_lines(const struct doctor *d, const struct one *one, const json_t *lines,
		       json_t *all, unsigned count[4])
{
	char typed[4 * PATH_MAX];
	const json_t *line;
	size_t i;

	json_array_foreach (lines, i, line) {
		const char *state = value_string(line, "state", "warn");
		const char *fix = value_string(line, "fix", "");

		for (unsigned n = 0; n < 4; n++) {
			count[n] += strcmp(state, doctor_state_name((enum doctor_state)n)) == 0;
		}
		ctl_typed(d->ctl, fix, typed, sizeof(typed));
		json_array_append_new(
			all, json_pack("{s:s,s:s,s:s,s:o}", "check", one->check->name, "state",
				       state, "text", value_string(line, "text", "?"), "fix",
				       *typed != '\0' ? json_string(typed) : json_null()));
	}
}

static json_t *run_checks(const struct doctor *d, unsigned count[4])
{
	struct one ones[CHECKS_MAX];
	struct bounded jobs[CHECKS_MAX];
	json_t *all = json_array();
	size_t n = 0;

	for (size_t i = 0; i < sizeof(check_lists) / sizeof(check_lists[0]); i++) {
		for (const struct doctor_check *c = check_lists[i];
		     c->name != NULL && n < CHECKS_MAX; c++, n++) {
			ones[n] = (struct one){.d = d, .check = c};
			jobs[n] = (struct bounded){
				.work = run_one, .context = &ones[n], .limit_s = CHECKS_S};
		}
	}
	bounded_run(jobs, n);
	for (size_t i = 0; i < n; i++) {
		json_t *lines =
			json_is_array(jobs[i].result) ? json_incref(jobs[i].result) : json_array();

		if (json_array_size(lines) == 0) {
			say_hung(&ones[i], &jobs[i], lines);
		}
		take_lines(d, &ones[i], lines, all, count);
		json_decref(lines);
		json_decref(jobs[i].result);
	}
	return all;
}

/* ------------------------------------------------------------------ the command */

static enum writer_style style_of(const char *state)
{
	switch (*state) {
	case 'p':
		return WRITER_GOOD;
	case 'w':
		return WRITER_WARN;
	case 'f':
		return WRITER_BAD;
	default:
		return WRITER_DIM;
	}
}

static void render_doctor(struct writer *w, const json_t *result)
{
	const json_t *line;
	size_t i;

	json_array_foreach (value_at(result, "checks"), i, line) {
		const char *state = value_string(line, "state", "?");
		const char *fix = value_string(line, "fix", "");

		writer_text(w, style_of(state), "%-4s  ", state);
		writer_text(w, WRITER_PLAIN, "%-13s  ", value_string(line, "check", "?"));
		writer_paragraph(w, 21, WRITER_PLAIN, "%s", value_string(line, "text", "?"));
		if (*fix != '\0') {
			writer_line(w, WRITER_BOLD, "                     -> %s", fix);
		}
	}
	value_line(w, WRITER_PLAIN, result, "{pass} pass, {warn} warn, {fail} fail");
	if (*value_string(result, "bundle", "") != '\0') {
		value_line(w, WRITER_PLAIN, result,
			   "{bundle} is written, without keys and passwords: read it before you "
			   "send it");
	}
}

static int doctor_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *root = ctl_given(args, CTL_ROOT) ? args->text[CTL_ROOT] : "";
	struct doctor *d = ctl_memory(ctl, calloc(1, sizeof(*d)));
	unsigned count[4] = {0};
	json_t *result, *checks;
	int code = CTL_DONE;

	d->ctl = ctl;
	d->root = strcmp(root, "/") == 0 ? "" : root;
	d->deep = ctl_given(args, CTL_DEEP);
	find_facts(d);
	checks = run_checks(d, count);
	result = json_pack("{s:i,s:s,s:f,s:b,s:o,s:i,s:i,s:i,s:i,s:n}", "board",
			   (int)ctl->station.board, "version", FCM_VERSION, "time", ctl_now(),
			   "deep", d->deep, "checks", checks, "pass", (int)count[DOCTOR_PASS],
			   "warn", (int)count[DOCTOR_WARN], "fail", (int)count[DOCTOR_FAIL], "none",
			   (int)count[DOCTOR_NONE], "bundle");
	if (ctl_given(args, CTL_BUNDLE)) {
		code = bundle_write(ctl, d, result, args->text[CTL_BUNDLE]);
	}
	if (code == CTL_DONE) {
		writer_result(ctl->out, result, render_doctor);
		code = count[DOCTOR_FAIL] > 0 ? CTL_NOT : CTL_DONE;
	}
	json_decref(result);
	json_decref(d->values);
	json_decref(d->mistakes);
	json_decref(d->info);
	json_decref(d->status);
	free(d);
	return code;
}

const struct ctl_command ctl_doctor_commands[] = {
	{NULL, "doctor", "", "the machine around the station: what is wrong, what to type",
	 .help = "Looks at daemon, configuration, board, driver, time, disk, database, keys, "
		 "ports\n"
		 "and the kernel's log, and changes nothing. A line is pass, warn, fail, or n/a "
		 "where\n"
		 "it does not apply; a command to type follows ->. Also works while the daemon "
		 "is\n"
		 "not running. Takes less than five seconds, whatever hangs. sudo lets it see "
		 "more.\n"
		 "Exits 1 if a line is fail.\n\n"
		 "  fcmctl doctor\n  sudo fcmctl doctor --bundle station.tar",
	 .options = CTL_BIT(CTL_DEEP) | CTL_BIT(CTL_BUNDLE) | CTL_BIT(CTL_ROOT), .run = doctor_run},
	{0},
};

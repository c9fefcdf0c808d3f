/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon around its process: unit, configuration, ports, the kernel's log, huge pages, consumers. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "driver/nanet3.h"
#include "slowctl/fcmctl/doctor/bounded.h"
#include "slowctl/fcmctl/doctor/doctor.h"
#include "slowctl/fcmctl/doctor/parse.h"
#include "slowctl/fcmctl/show/value.h"

/* ------------------------------------------------------------------ daemon, unit */

/* The daemon's program with this station's configuration, as it is typed. */
static void daemon_command(const struct doctor *d, const char *what, char *fix, size_t size)
{
	*fix = '\0';
	ctl_append_word(fix, size, "", d->program);
	value_append(fix, size, "%s --board %u --config ", what, d->ctl->station.board);
	ctl_append_word(fix, size, "", d->config);
}

static void check_daemon(const struct doctor *d, json_t *lines)
{
	const struct ctl_station *station = &d->ctl->station;
	const char *version = value_string(d->info, "version", "?");
	char fix[2 * PATH_MAX + 64];

	if (d->info != NULL) {
		bool same = strcmp(version, FCM_VERSION) == 0;

		snprintf(fix, sizeof(fix), "sudo systemctl restart fcm-server@%u", station->board);
		doctor_say(lines, same ? DOCTOR_PASS : DOCTOR_WARN,
			   same || !station->installed ? NULL : fix,
			   "fcm-server %s runs, pid %lld%s", version,
			   value_integer(d->info, "pid", 0),
			   same ? ""
				: ": fcmctl " FCM_VERSION
				  " is installed, taken over at its next start");
	} else if (ctl_is_away(d->daemon_error) && station->installed) {
		snprintf(fix, sizeof(fix), "sudo systemctl start fcm-server@%u", station->board);
		doctor_say(lines, DOCTOR_WARN, fix, "fcm-server is not running");
	} else if (ctl_is_away(d->daemon_error)) {
		daemon_command(d, "", fix, sizeof(fix));
		doctor_say(lines, DOCTOR_WARN, access(d->config, F_OK) == 0 ? fix : "make run",
			   "fcm-server is not running");
	} else if (d->daemon_error == -EACCES) {
		doctor_say_rights(d, lines, station->socket);
	} else {
		snprintf(fix, sizeof(fix), "journalctl -u fcm-server@%u -n 50 --no-pager",
			 station->board);
		doctor_say(lines, DOCTOR_FAIL, station->installed ? fix : "fcmctl status",
			   "fcm-server takes connections and does not answer: %s",
			   strerror(-d->daemon_error));
	}
}

/* What systemd says of a unit. */
struct unit {
	char name[64], load[24], active[24], sub[24], file[24];
	unsigned restarts; /* since it was started by somebody */
};

/* Its value in the lines NAME=VALUE of one unit, which end with an empty line. */
static void take_property(const char *line, const char *name, char *value, size_t size)
{
	size_t length = strlen(name);

	*value = '\0';
	while (*line != '\0' && *line != '\n') {
		size_t end = strcspn(line, "\n");

		if (strncmp(line, name, length) == 0 && line[length] == '=') {
			snprintf(value, size, "%.*s", (int)(end - length - 1), line + length + 1);
		}
		line += end + (line[end] == '\n');
	}
}

/* False: systemd says nothing of it. `said` is of `systemctl show`: the units in its own order of properties. */
static bool take_unit(const char *said, const char *name, struct unit *ret)
{
	char restarts[24];
	const char *end;

	for (; said != NULL; said = end != NULL ? end + 2 : NULL) {
		take_property(said, "Id", ret->name, sizeof(ret->name));
		if (strcmp(ret->name, name) == 0) {
			break;
		}
		end = strstr(said, "\n\n");
	}
	if (said == NULL) {
		return false;
	}
	take_property(said, "LoadState", ret->load, sizeof(ret->load));
	take_property(said, "ActiveState", ret->active, sizeof(ret->active));
	take_property(said, "SubState", ret->sub, sizeof(ret->sub));
	take_property(said, "UnitFileState", ret->file, sizeof(ret->file));
	take_property(said, "NRestarts", restarts, sizeof(restarts));
	ret->restarts = (unsigned)strtoul(restarts, NULL, 10);
	return *ret->active != '\0';
}

/* What it does not do while it is not well. */
static void say_state(const struct unit *u, enum doctor_state state, const char *failed,
		      json_t *lines)
{
	char look[128], fix[128];

	snprintf(look, sizeof(look), "journalctl -u %s -n 50 --no-pager", u->name);
	if (strcmp(u->load, "masked") == 0) {
		snprintf(fix, sizeof(fix), "sudo systemctl unmask %s", u->name);
		doctor_say(lines, state, fix, "%s is masked: nothing can start it", u->name);
	} else if (strcmp(u->active, "failed") == 0) {
		doctor_say(lines, state, look, "%s", failed);
	} else if (strncmp(u->sub, "auto-restart", 12) == 0 ||
		   (strcmp(u->active, "activating") == 0 && u->restarts > 0)) {
		doctor_say(lines, state, look, "%s ends at once, again and again: %u restarts",
			   u->name, u->restarts);
	} else if (u->restarts > 0) {
		doctor_say(lines, DOCTOR_WARN, look, "systemd has restarted %s %u time%s", u->name,
			   u->restarts, u->restarts == 1 ? "" : "s");
	}
}

/* A page or notifier that should run, and does not. */
static void say_helper(const struct unit *u, bool configured, json_t *lines)
{
	bool enabled = strcmp(u->file, "enabled") == 0, masked = strcmp(u->load, "masked") == 0;
	char fix[128], failed[128];

	if (!enabled && !configured) {
		return;
	}
	snprintf(failed, sizeof(failed), "%s has failed, and is not tried again", u->name);
	say_state(u, DOCTOR_FAIL, failed, lines);
	if (strcmp(u->active, "inactive") == 0 && !masked) {
		snprintf(fix, sizeof(fix), "sudo systemctl %s %s",
			 enabled ? "start" : "enable --now", u->name);
		doctor_say(lines, DOCTOR_WARN, fix, "%s is not running", u->name);
	}
}

static void ask_systemd(const struct doctor *d, json_t *lines)
{
	static const char *const names[] = {"fcm-server", "nanet3-selftest", "fcm-page",
					    "fcm-notify"};
	unsigned n = d->ctl->station.board;
	char units[4][64], said[4096], path[PATH_MAX];
	const char *const argv[] = {
		"systemctl",
		"show",
		"--property=Id,LoadState,ActiveState,SubState,UnitFileState,NRestarts",
		units[0],
		units[1],
		units[2],
		units[3],
		NULL};
	struct program_text out = {.text = said, .size = sizeof(said)};
	struct unit u[4];

	for (size_t i = 0; i < 4; i++) {
		snprintf(units[i], sizeof(units[i]), "%s@%u.service", names[i], n);
	}
	if (bounded_program(argv, 1.5, &out, NULL) != 0) {
		said[0] = '\0';
	}
	for (size_t i = 0; i < 4; i++) {
		if (!take_unit(said, units[i], &u[i])) {
			doctor_say(lines, DOCTOR_WARN, NULL,
				   "not checked: systemd says nothing of %s", units[i]);
			return;
		}
	}
	say_state(&u[0], DOCTOR_FAIL, "the daemon has failed, and is not tried again", lines);
	say_state(&u[1], DOCTOR_WARN, "the board has failed its self-test", lines);
	say_helper(&u[2], false, lines);
	doctor_path(d, path, "/etc/fcm-server/notify-%u.conf", n);
	say_helper(&u[3], access(path, F_OK) == 0, lines);
}

static void check_unit(const struct doctor *d, json_t *lines)
{
	unsigned n = d->ctl->station.board;
	char fix[128];

	if (!d->ctl->station.installed) {
		doctor_say(lines, DOCTOR_NONE, NULL, "not run by systemd");
		return;
	}
	if (doctor_enabled(d)) {
		doctor_say(lines, DOCTOR_PASS, NULL, "started at boot");
	} else {
		snprintf(fix, sizeof(fix), "sudo systemctl enable fcm-server@%u", n);
		doctor_say(lines, DOCTOR_WARN, fix, "fcm-server@%u is not started at boot", n);
	}
	if (*d->root == '\0') {
		ask_systemd(d, lines);
	}
}

/* ------------------------------------------------------------------ configuration */

static void check_config(const struct doctor *d, json_t *lines)
{
	char fix[2 * PATH_MAX];
	const json_t *mistake;
	size_t i;

	if (*d->config_why != '\0') {
		if (strcmp(d->config_why, "rights") == 0) {
			doctor_say_rights(d, lines, d->config);
		} else {
			doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s", d->config_why);
		}
		return;
	}
	daemon_command(d, " --check-config", fix, sizeof(fix));
	json_array_foreach (d->mistakes, i, mistake) {
		if (i <
		    (d->values != NULL ? 5u : 1u)) { /* without a file it is the one that says so */
			doctor_say(lines, DOCTOR_FAIL, fix, "%.300s", json_string_value(mistake));
		}
	}
	if (json_array_size(d->mistakes) == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "%s is valid", d->config);
	}
}

/* ------------------------------------------------------------------ ports */

struct ports {
	const struct doctor *d;
	json_t *lines;
	char *tcp, *tcp6; /* of /proc/net; NULL: unreadable */
	uid_t user;
	char user_name[64];
};

#define NET_BYTES (2u << 20)

static char *read_net(const struct doctor *d, const char *file)
{
	char path[PATH_MAX];
	char *text = ctl_memory(NULL, malloc(NET_BYTES));

	if (doctor_read(doctor_path(d, path, "/proc/net/%s", file), text, NET_BYTES) <= 0) {
		free(text);
		return NULL;
	}
	return text;
}

static bool find_listener(const char *text, const struct endpoint *at, struct listener *ret)
{
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (parse_listener(line, ret) && parse_same_place(&ret->at, at)) {
			return true;
		}
		if (*line == '\0') {
			break;
		}
	}
	return false;
}

/* Whether the daemon holds the socket; -EACCES: its descriptors are not for us to see. */
static int daemon_holds(const struct doctor *d, unsigned long inode)
{
	long long pid = json_integer_value(json_object_get(d->info, "pid"));
	char path[PATH_MAX], link[64], wanted[64];
	const struct dirent *entry;
	int r = 0;
	DIR *fds = opendir(doctor_path(d, path, "/proc/%lld/fd", pid));

	if (fds == NULL) {
		return -errno;
	}
	snprintf(wanted, sizeof(wanted), "socket:[%lu]", inode);
	while (r == 0 && (entry = readdir(fds)) != NULL) {
		ssize_t n = readlinkat(dirfd(fds), entry->d_name, link, sizeof(link) - 1);

		link[n > 0 ? n : 0] = '\0';
		r = strcmp(link, wanted) == 0;
	}
	closedir(fds);
	return r;
}

static void say_port(struct ports *p, const char *what, const struct endpoint *at)
{
	const struct doctor *d = p->d;
	struct listener found;
	bool taken = find_listener(p->tcp, at, &found) || find_listener(p->tcp6, at, &found);
	char look[64];
	int held;

	snprintf(look, sizeof(look), "sudo ss -ltnp 'sport = :%u'", at->port);
	if (d->info == NULL && !taken) {
		doctor_say(p->lines, DOCTOR_PASS, NULL, "%s: port %u is free", what, at->port);
	} else if (d->info == NULL && d->ctl->station.installed && found.user == p->user) {
		doctor_say(p->lines, DOCTOR_WARN, look,
			   "%s: user %s listens on port %u: systemd may keep it for the daemon",
			   what, p->user_name, at->port);
	} else if (d->info == NULL) {
		doctor_say(p->lines, DOCTOR_FAIL, look,
			   "%s: port %u is taken by another program (uid %u)", what, at->port,
			   (unsigned)found.user);
	} else if (!taken) {
		doctor_say(p->lines, DOCTOR_FAIL, look, "%s: nothing listens on port %u", what,
			   at->port);
	} else {
		held = daemon_holds(d, found.inode);
		if (held > 0) {
			doctor_say(p->lines, DOCTOR_PASS, NULL, "%s: the daemon listens on port %u",
				   what, at->port);
		} else if (held < 0 && found.user == p->user) {
			doctor_say(p->lines, DOCTOR_PASS, NULL,
				   "%s: the daemon's user listens on port %u", what, at->port);
		} else {
			doctor_say(p->lines, DOCTOR_FAIL, look,
				   "%s: another program (uid %u) listens on port %u", what,
				   (unsigned)found.user, at->port);
		}
	}
}

static void say_endpoint(struct ports *p, const char *what, const char *key)
{
	const char *text = doctor_value(p->d, key);
	struct endpoint at;

	if (parse_endpoint(text, &at)) {
		say_port(p, what, &at);
	} else if (strncmp(text, "tcp://", 6) == 0) {
		doctor_say(p->lines, DOCTOR_WARN, NULL, "not checked: %s: no port in %s", what,
			   text);
	}
}

static void say_feed(struct ports *p)
{
	unsigned base = (unsigned)strtoul(doctor_value(p->d, "feed.base_port"), NULL, 10);
	char key[32], what[32];
	struct endpoint at;

	for (unsigned link = 0; link < NANET3_LINKS && doctor_yes(p->d, "feed.enabled"); link++) {
		snprintf(key, sizeof(key), "link %u.floor", link);
		if (strcmp(doctor_value(p->d, key), "0") != 0) {
			parse_address(doctor_value(p->d, "feed.address"), &at);
			at.port = base + NANET3_LINKS * p->d->ctl->station.board + link;
			snprintf(what, sizeof(what), "feed of link %u", link);
			say_port(p, what, &at);
		}
	}
}

static void check_ports(const struct doctor *d, json_t *lines)
{
	struct ports p = {.d = d, .lines = lines};

	if (!doctor_needs_values(d, lines)) {
		return;
	}
	if (d->info == NULL && !ctl_is_away(d->daemon_error)) {
		doctor_say(lines, DOCTOR_WARN, NULL,
			   "not checked: it is unknown which process is the daemon");
		return;
	}
	p.tcp = read_net(d, "tcp");
	p.tcp6 = read_net(d, "tcp6");
	p.user = doctor_user(d, p.user_name, sizeof(p.user_name));
	if (p.tcp == NULL) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: no /proc/net/tcp");
	} else {
		say_endpoint(&p, "reserved", "data.reserved_endpoint");
		say_endpoint(&p, "monitors", "data.monitor_endpoint");
		say_endpoint(&p, "control", "network.endpoint");
		say_feed(&p);
	}
	free(p.tcp);
	free(p.tcp6);
}

/* ------------------------------------------------------------------ kernel */

struct kernel_found {
	unsigned records, warnings, broken;
	char last[240];
};

static void take_kernel(char *text, struct kernel_found *found)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		enum kernel_word word;
		unsigned level;
		char *said;

		if (!parse_kmsg(line, &level, &said)) {
			continue; /* fields of the record before it */
		}
		word = parse_kernel(level, said);
		found->records++;
		found->warnings += word == KERNEL_WARNING;
		found->broken += word == KERNEL_BROKEN;
		if (word != KERNEL_NOTHING) {
			snprintf(found->last, sizeof(found->last), "%s", said);
		}
	}
}

#define RECORDS_MAX 200000u

static void check_kernel(const struct doctor *d, json_t *lines)
{
	static const char look[] = "sudo journalctl -k -p warning -n 50 --no-pager";
	struct kernel_found found = {.records = 0};
	char path[PATH_MAX], buf[8192];
	int fd = open(doctor_path(d, path, "/dev/kmsg"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 && (errno == EACCES || errno == EPERM)) {
		doctor_say_rights(d, lines, "the kernel's log");
		return;
	}
	for (unsigned n = 0; fd >= 0 && n < RECORDS_MAX; n++) {
		ssize_t got = read(fd, buf, sizeof(buf) - 1); /* one record */

		if (got < 0 && (errno == EPIPE || errno == EINTR)) {
			continue; /* overwritten meanwhile */
		}
		if (got <= 0) {
			break;
		}
		buf[got] = '\0';
		take_kernel(buf, &found);
	}
	if (fd >= 0) {
		close(fd);
	}
	if (found.records == 0) {
		doctor_say(lines, DOCTOR_WARN, look, "not checked: nothing can be read from %s",
			   path);
	} else if (found.broken > 0) {
		doctor_say(lines, DOCTOR_FAIL, look,
			   "the machine has to be switched off and on; the last message: %s",
			   found.last);
	} else if (found.warnings > 0) {
		doctor_say(lines, DOCTOR_WARN, look, "%u messages since its start; the last: %s",
			   found.warnings, found.last);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL,
			   "%u messages, none of those known of board, bus or disk", found.records);
	}
}

/* ------------------------------------------------------------------ huge pages */

/* The most that the daemon may take: MemoryMax of fcm-server@.service. */
#define DAEMON_MB 4096

/* A number of the pages of one size, `sized` as in "hugepages-2048kB"; 0: it cannot be read. */
static unsigned long long pages_of(const struct doctor *d, const char *sized, const char *what)
{
	char path[PATH_MAX], number[32];

	doctor_path(d, path, "/sys/kernel/mm/hugepages/%s/%s", sized, what);
	return doctor_line(path, number, sizeof(number)) ? strtoull(number, NULL, 10) : 0;
}

/* Reserved pages take memory from all programs but those that ask for them, and none of ours does. The fix leaves what
 * is used. False: none of this size are reserved. */
static bool say_reserved(const struct doctor *d, const char *sized, const char *meminfo,
			 json_t *lines)
{
	unsigned long long all = pages_of(d, sized, "nr_hugepages");
	unsigned long long idle = pages_of(d, sized, "free_hugepages");
	unsigned long long used = all - idle + pages_of(d, sized, "resv_hugepages");
	long long available_mb = parse_meminfo(meminfo, "MemAvailable") / 1024;
	unsigned long kb = strtoul(sized + strcspn(sized, "0123456789"), NULL, 10);
	unsigned long long unused_mb = all > used ? (all - used) * kb / 1024 : 0;
	char fix[256];

	if (all == 0) {
		return false;
	}
	snprintf(fix, sizeof(fix),
		 parse_meminfo(meminfo, "Hugepagesize") == (long long)kb
			 ? "sudo sysctl vm.nr_hugepages=%llu"
			 : "sudo sh -c 'echo %llu > /sys/kernel/mm/hugepages/%.100s/nr_hugepages'",
		 used, sized);
	if (unused_mb > 0 && available_mb < DAEMON_MB) {
		doctor_say(lines, DOCTOR_WARN, fix,
			   "%llu pages of %lu kB are reserved, %llu MiB of them unused: the "
			   "read-out needs none, and only %lld MiB are available beside them",
			   all, kb, unused_mb, available_mb);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL,
			   "%llu pages of %lu kB are reserved, %llu MiB of them unused; %lld MiB "
			   "are available beside them",
			   all, kb, unused_mb, available_mb);
	}
	return true;
}

static bool in_virtual_machine(const struct doctor *d)
{
	char path[PATH_MAX], first[8192];

	return doctor_read(doctor_path(d, path, "/proc/cpuinfo"), first, sizeof(first)) > 0 &&
	       strstr(first, " hypervisor") != NULL;
}

/* Of our programs only the emulator asks for them, for the rings (driver/emu/host/memory.c). */
static void say_transparent(const struct doctor *d, json_t *lines)
{
	static const char directory[] = "/sys/kernel/mm/transparent_hugepage";
	char path[PATH_MAX], line[128], enabled[32], shared[32];
	const char *emulator;

	doctor_line(doctor_path(d, path, "%s/enabled", directory), line, sizeof(line));
	parse_chosen(line, enabled, sizeof(enabled));
	doctor_line(doctor_path(d, path, "%s/shmem_enabled", directory), line, sizeof(line));
	parse_chosen(line, shared, sizeof(shared));
	if (*enabled == '\0' || *shared == '\0') {
		doctor_say(lines, DOCTOR_NONE, NULL, "transparent: not in this kernel");
	} else if (doctor_is_emulator(d, &emulator) && in_virtual_machine(d) &&
		   (strcmp(shared, "never") == 0 || strcmp(shared, "deny") == 0)) {
		snprintf(line, sizeof(line), "sudo sh -c 'echo advise > %s/shmem_enabled'",
			 directory);
		doctor_say(lines, DOCTOR_WARN, line,
			   "transparent: shmem_enabled is %s: in a virtual machine the emulator "
			   "needs them for its rings; used from its next start",
			   shared);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "transparent: enabled %s, shmem_enabled %s",
			   enabled, shared);
	}
}

static void check_huge_pages(const struct doctor *d, json_t *lines)
{
	char path[PATH_MAX], meminfo[8192];
	DIR *sizes = opendir(doctor_path(d, path, "/sys/kernel/mm/hugepages"));
	const struct dirent *entry;
	bool any = false;

	if (doctor_read(doctor_path(d, path, "/proc/meminfo"), meminfo, sizeof(meminfo)) <= 0) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s cannot be read", path);
	} else {
		while (sizes != NULL && (entry = readdir(sizes)) != NULL) {
			any = (entry->d_name[0] != '.' &&
			       say_reserved(d, entry->d_name, meminfo, lines)) ||
			      any;
		}
		if (!any) {
			doctor_say(lines, DOCTOR_PASS, NULL, "none are reserved");
		}
		say_transparent(d, lines);
	}
	if (sizes != NULL) {
		closedir(sizes);
	}
}

/* ------------------------------------------------------------------ consumers */

static void check_consumers(const struct doctor *d, json_t *lines)
{
	const json_t *groups = value_at(d->status, "groups"), *group;
	size_t i;

	if (d->status == NULL) {
		doctor_say(lines, ctl_is_away(d->daemon_error) ? DOCTOR_NONE : DOCTOR_WARN, NULL,
			   ctl_is_away(d->daemon_error)
				   ? "fcm-server is not running"
				   : "not checked: fcm-server does not answer");
		return;
	}
	json_array_foreach (groups, i, group) {
		long long members = value_integer(group, "members", 0);

		if (members > 0) {
			doctor_say(lines, DOCTOR_PASS, NULL, "group %.40s has %lld member%s",
				   value_string(group, "group", "?"), members,
				   members == 1 ? "" : "s");
		} else {
			doctor_say(lines, DOCTOR_WARN, "fcmctl consumer list",
				   "group %.40s has no member: its data are dropped",
				   value_string(group, "group", "?"));
		}
	}
	if (json_array_size(groups) == 0) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: the daemon names no group");
	}
}

const struct doctor_check doctor_service_checks[] = {
	{"daemon", check_daemon, "fcmctl status", DOCTOR_WARN},
	{"unit", check_unit, "systemctl is-system-running", DOCTOR_WARN},
	{"configuration", check_config, "fcmctl doctor", DOCTOR_WARN},
	{"ports", check_ports, "ss -ltn", DOCTOR_WARN},
	{"kernel log", check_kernel, "sudo dmesg -T -l warn,err", DOCTOR_WARN},
	{"huge pages", check_huge_pages, "grep Huge /proc/meminfo", DOCTOR_WARN},
	{"consumers", check_consumers, "fcmctl consumer list", DOCTOR_WARN},
	{0},
};

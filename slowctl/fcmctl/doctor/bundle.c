/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bundle. Each part is collected by a process of its own, as a text of at most PART_MAX bytes; all texts pass
 * redact() before they are written. Files with secrets (keys, allow lists, notices) are not among them.
 */
#include "slowctl/fcmctl/doctor/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "driver/nanet3.h"
#include "slowctl/access/access.h"
#include "slowctl/fcmctl/doctor/bounded.h"
#include "slowctl/fcmctl/doctor/parse.h"
#include "slowctl/fcmctl/doctor/redact.h"
#include "slowctl/fcmctl/show/value.h"

#define PART_MAX    (512u << 10)
#define COLLECT_S   3.0
#define WRITE_S	    5.0
#define TAR_BLOCK   512u
#define SECRETS_MAX 16u

/* ------------------------------------------------------------------ parts */

/* Any bytes as a text of JSON. */
static json_t *text_json(char *text)
{
	json_t *json = json_string(text);

	for (char *p = text; json == NULL && *p != '\0'; p++) {
		*p = (unsigned char)*p < 0x80 ? *p : '?';
	}
	return json != NULL ? json : json_string(text);
}

static char *part_memory(void)
{
	return ctl_memory(NULL, calloc(1, PART_MAX));
}

static json_t *collect_config(const void *context)
{
	const struct doctor *d = context;
	char *text = part_memory();
	const char *key;
	json_t *value;
	size_t i;

	value_append(text, PART_MAX, "# %s\n", d->config);
	json_object_foreach (d->values, key, value) {
		value_append(text, PART_MAX, "%s = %s\n", key, json_string_value(value));
	}
	json_array_foreach (d->mistakes, i, value) {
		value_append(text, PART_MAX, "mistake: %s\n", json_string_value(value));
	}
	return text_json(text);
}

static json_t *collect_events(const void *context)
{
	const struct doctor *d = context;
	struct ctl ctl = *d->ctl;
	json_t *events = NULL;

	ctl.client = NULL;
	ctl.timeout_s = COLLECT_S - 0.5;
	ctl_call_quietly(&ctl, "event.list", json_pack("{s:i}", "limit", 200), &events);
	return events;
}

/* Of the kernel's log what is about the board, the bus, disks. */
static json_t *collect_kernel(const void *context)
{
	const struct doctor *d = context;
	char path[PATH_MAX], buf[8192], *text = part_memory();
	int fd = open(doctor_path(d, path, "/dev/kmsg"), O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	for (unsigned n = 0; fd >= 0 && n < 200000; n++) {
		ssize_t got = read(fd, buf, sizeof(buf) - 1);
		char *save = NULL;

		if (got < 0 && (errno == EPIPE || errno == EINTR)) {
			continue;
		}
		if (got <= 0) {
			break;
		}
		buf[got] = '\0';
		for (char *line = strtok_r(buf, "\n", &save); line != NULL;
		     line = strtok_r(NULL, "\n", &save)) {
			unsigned level;
			char *said;

			if (parse_kmsg(line, &level, &said) &&
			    (strstr(said, "nanet3") != NULL || strstr(said, "pcieport") != NULL ||
			     parse_kernel(level, said) != KERNEL_NOTHING)) {
				value_append(text, PART_MAX, "<%u> %s\n", level, said);
			}
		}
	}
	return text_json(text);
}

/* The end of the daemon's log in the station's directory; its first line is not whole. */
static void tail_of(const struct doctor *d, char *text)
{
	const char *socket_path = d->ctl->station.socket, *slash = strrchr(socket_path, '/');
	char path[PATH_MAX + 16], *line;
	int fd;
	off_t size;
	ssize_t n;

	snprintf(path, sizeof(path), "%.*sdaemon.log",
		 slash != NULL ? (int)(slash + 1 - socket_path) : 0, socket_path);
	/* Root may ask, and another user may own the directory: no links. */
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
	size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
	n = fd >= 0 ? pread(fd, text, PART_MAX - 1,
			    size > (off_t)PART_MAX / 2 ? size - (off_t)PART_MAX / 2 : 0)
		    : 0;
	text[n > 0 ? n : 0] = '\0';
	line = size > (off_t)PART_MAX / 2 ? strchr(text, '\n') : NULL;
	if (line != NULL) {
		memmove(text, line + 1, strlen(line + 1) + 1);
	}
	if (fd >= 0) {
		close(fd);
	}
}

static json_t *collect_journal(const void *context)
{
	const struct doctor *d = context;
	char ours[32], selftest[40], *text = part_memory();
	const char *const argv[] = {"journalctl", "-u",		ours, "-u",   selftest,
				    "-u",	  "gpsd",	"-n", "1000", "-o",
				    "short-iso",  "--no-pager", NULL};
	struct program_text out = {.text = text, .size = PART_MAX};

	snprintf(ours, sizeof(ours), "fcm-*@%u.service", d->ctl->station.board);
	snprintf(selftest, sizeof(selftest), "nanet3-selftest@%u", d->ctl->station.board);
	if (d->ctl->station.installed) {
		bounded_program(argv, COLLECT_S - 0.5, &out, NULL);
	} else {
		tail_of(d, text);
	}
	return text_json(text);
}

static void add_file(const struct doctor *d, char *text, const char *path, const char *only)
{
	char place[PATH_MAX], *got = part_memory(), *save = NULL;

	value_append(text, PART_MAX, "== %s\n", path);
	doctor_read(doctor_path(d, place, "%s", path), got, PART_MAX);
	for (char *line = strtok_r(got, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		if (only == NULL || strstr(line, only) != NULL) {
			value_append(text, PART_MAX, "%s\n", line);
		}
	}
	free(got);
}

static json_t *collect_machine(const void *context)
{
	const struct doctor *d = context;
	char *text = part_memory(), *bus = part_memory(), ids[16];
	const char *const argv[] = {"lspci", "-vv", "-d", ids, NULL};
	struct program_text out = {.text = bus, .size = PART_MAX};
	struct utsname name;

	if (uname(&name) == 0) {
		value_append(text, PART_MAX, "%s %s %s %s\n", name.sysname, name.release,
			     name.version, name.machine);
	}
	add_file(d, text, "/etc/os-release", NULL);
	add_file(d, text, "/proc/loadavg", NULL);
	add_file(d, text, "/proc/meminfo", "Mem");
	add_file(d, text, "/proc/interrupts", "nanet3");
	add_file(d, text, "/sys/module/nanet3/version", NULL);
	snprintf(ids, sizeof(ids), "%04x:%04x", NANET3_PCI_VENDOR, NANET3_PCI_DEVICE);
	if (*d->root == '\0' && bounded_program(argv, 1.0, &out, NULL) == 0) {
		value_append(text, PART_MAX, "== lspci -vv -d %s\n%s", ids, bus);
	}
	return text_json(text);
}

/* Keys that lie about, so that their text can be found in all others. False: there is a file that cannot be read. */
static bool add_secrets(json_t *secrets, const char *path)
{
	char text[4096], *save = NULL;
	ssize_t n = doctor_read(path, text, sizeof(text));

	if (n <= 0) {
		return n == 0 || n == -ENOENT;
	}
	for (char *word = strtok_r(text, " \t\r\n", &save); word != NULL;
	     word = strtok_r(NULL, " \t\r\n", &save)) {
		if (strlen(word) + 1 == ACCESS_KEY_TEXT) {
			json_array_append_new(secrets, json_string(word));
		}
	}
	explicit_bzero(text, sizeof(text));
	return true;
}

/* {"known": [...], "all": false where there are others} */
static json_t *collect_secrets(const void *context)
{
	const struct doctor *d = context;
	json_t *secrets = json_array();
	char path[PATH_MAX], file[PATH_MAX];
	const struct dirent *entry;
	DIR *directory = opendir(doctor_path(d, path, "/etc/fcm-server"));
	bool all = (directory != NULL || errno == ENOENT) && d->values != NULL;

	all = add_secrets(secrets, doctor_value(d, "network.key_file")) && all;
	while (directory != NULL && (entry = readdir(directory)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (length > 4 && strcmp(entry->d_name + length - 4, ".key") == 0) {
			doctor_path(d, file, "/etc/fcm-server/%s", entry->d_name);
			all = add_secrets(secrets, file) && all;
		}
	}
	if (directory != NULL) {
		closedir(directory);
	}
	all = json_array_size(secrets) <= SECRETS_MAX && all;
	return json_pack("{s:o,s:b}", "known", secrets, "all", all);
}

/* ------------------------------------------------------------------ tar */

struct tar {
	char *bytes;
	size_t used, size;
};

static void tar_put(struct tar *tar, const char *bytes, size_t count)
{
	size_t whole = (count + TAR_BLOCK - 1) / TAR_BLOCK * TAR_BLOCK;

	if (tar->used + whole > tar->size) {
		tar->size = 2 * (tar->used + whole);
		tar->bytes = ctl_memory(NULL, realloc(tar->bytes, tar->size));
	}
	memset(tar->bytes + tar->used, 0, whole);
	memcpy(tar->bytes + tar->used, bytes, count);
	tar->used += whole;
}

/* A file of POSIX's ustar. */
static void tar_add(struct tar *tar, const char *name, const char *text, long long time_s)
{
	char header[TAR_BLOCK] = "";
	unsigned sum = 0;

	snprintf(header, 100, "fcm-doctor/%s", name);
	snprintf(header + 100, 8, "%07o", 0600u);
	snprintf(header + 108, 8, "%07o", 0u);
	snprintf(header + 116, 8, "%07o", 0u);
	snprintf(header + 124, 12, "%011o", (unsigned)strlen(text));
	snprintf(header + 136, 12, "%011o", (unsigned)time_s);
	memset(header + 148, ' ', 8);
	header[156] = '0';
	snprintf(header + 257, 6, "ustar");
	header[263] = header[264] = '0'; /* its version, without an end */
	for (size_t i = 0; i < sizeof(header); i++) {
		sum += (unsigned char)header[i];
	}
	snprintf(header + 148, 8, "%06o", sum);
	tar_put(tar, header, sizeof(header));
	tar_put(tar, text, strlen(text));
}

struct file {
	const char *path;
	const struct tar *tar;
};

/* A new file, never over another; 0 or negative errno. */
static json_t *write_file(const void *context)
{
	const struct file *file = context;
	int fd = open(file->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : 0;
	size_t done = 0;

	while (r == 0 && done < file->tar->used) {
		ssize_t n = write(fd, file->tar->bytes + done, file->tar->used - done);

		r = n < 0 ? -errno : 0;
		done += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0 && close(fd) < 0 && r == 0) {
		r = -errno;
	}
	if (r < 0 && fd >= 0) {
		unlink(file->path);
	}
	return json_integer(r);
}

/* ------------------------------------------------------------------ the bundle */

static const char readme[] =
	"Made by fcmctl doctor --bundle. report.json: the checks. configuration.txt: the values "
	"in\n"
	"effect. daemon.json, events.json: the daemon's answers. journal.txt, kernel.txt: logs.\n"
	"Removed: keys (of 40 characters, also public ones), mail addresses, and what follows\n"
	"words such as password, secret, token. Key files, allow lists and receivers of notices\n"
	"are left out.\n";
static const char readme_unread[] =
	"Not all key files could be read: only what looks like a key was removed. Read all of\n"
	"it before you send it, or make it again with sudo.\n";

static const struct {
	const char *name;
	json_t *(*collect)(const void *context);
} parts[] = {
	{"configuration.txt", collect_config}, {"events.json", collect_events},
	{"kernel.txt", collect_kernel},	       {"journal.txt", collect_journal},
	{"machine.txt", collect_machine},      {"secrets", collect_secrets}, /* last; not written */
};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

struct secrets {
	const char *text[SECRETS_MAX];
	size_t count;
};

static void tar_add_redacted(struct tar *tar, const struct secrets *secrets, const char *name,
			     const char *text, long long time_s)
{
	char *clean = ctl_memory(NULL, redact(text, secrets->text, secrets->count));

	tar_add(tar, name, clean, time_s);
	free(clean);
}

/* A copy, redacted as JSON, so that it still is. */
static void tar_add_json(struct tar *tar, const struct secrets *secrets, const char *name,
			 const json_t *json, long long time_s)
{
	json_t *copy = ctl_memory(NULL, json_deep_copy(json));
	char *text;

	redact_json(copy, secrets->text, secrets->count);
	text = json_dumps(copy, JSON_INDENT(1));
	tar_add(tar, name, text != NULL ? text : "null\n", time_s);
	free(text);
	json_decref(copy);
}

static void fill(struct tar *tar, const struct doctor *d, const json_t *report,
		 const struct bounded *jobs)
{
	long long now = (long long)ctl_now();
	struct secrets secrets = {.count = 0};
	const json_t *found = jobs[PARTS - 1].result, *secret;
	char about[sizeof(readme) + sizeof(readme_unread)];
	json_t *daemon = json_pack("{s:O?,s:O?}", "info", d->info, "status", d->status);
	size_t i;

	json_array_foreach (json_object_get(found, "known"), i, secret) {
		if (secrets.count < SECRETS_MAX) {
			secrets.text[secrets.count++] = json_string_value(secret);
		}
	}
	snprintf(about, sizeof(about), "%s%s", readme,
		 json_is_true(json_object_get(found, "all")) ? "" : readme_unread);
	tar_add(tar, "README.txt", about, now);
	tar_add_json(tar, &secrets, "report.json", report, now);
	tar_add_json(tar, &secrets, "daemon.json", daemon, now);
	for (i = 0; i + 1 < PARTS; i++) {
		const char *text = json_string_value(jobs[i].result);

		if (text == NULL && jobs[i].result != NULL) {
			tar_add_json(tar, &secrets, parts[i].name, jobs[i].result, now);
		} else {
			tar_add_redacted(tar, &secrets, parts[i].name,
					 text != NULL ? text : "not collected: no answer\n", now);
		}
	}
	tar_put(tar, (char[2 * TAR_BLOCK]){0}, (size_t)2 * TAR_BLOCK);
	json_decref(daemon);
}

static int write_tar(struct ctl *ctl, const struct tar *tar, const char *path)
{
	struct file file = {.path = path, .tar = tar};
	struct bounded job = {.work = write_file, .context = &file, .limit_s = WRITE_S};
	int r;

	bounded_run(&job, 1);
	r = job.late			  ? -ETIMEDOUT
	    : json_is_integer(job.result) ? (int)json_integer_value(job.result)
					  : -EIO;
	json_decref(job.result);
	if (r == 0) {
		return CTL_DONE;
	}
	return ctl_fail(ctl, CTL_NOT, r == -EEXIST ? "refused" : "failed",
			r == -EEXIST ? "a file is never written over: name another"
				     : "name a file elsewhere",
			"%s: %s", path, strerror(-r));
}

int bundle_write(struct ctl *ctl, const struct doctor *d, json_t *report, const char *path)
{
	struct bounded jobs[PARTS];
	struct tar tar = {.bytes = NULL};
	int code = CTL_DONE;

	for (size_t i = 0; i < PARTS; i++) {
		jobs[i] = (struct bounded){
			.work = parts[i].collect, .context = d, .limit_s = COLLECT_S};
	}
	bounded_run(jobs, PARTS);
	if (json_is_object(jobs[PARTS - 1].result)) {
		fill(&tar, d, report, jobs);
	} else {
		code = ctl_fail(ctl, CTL_NOT, "failed", "fcmctl doctor says which disk hangs",
				"no bundle: the secrets that it must not have could not be read");
	}
	for (size_t i = 0; i < PARTS; i++) {
		json_decref(jobs[i].result);
	}
	code = code == CTL_DONE ? write_tar(ctl, &tar, path) : code;
	free(tar.bytes);
	if (code == CTL_DONE) {
		json_object_set_new(report, "bundle", json_string(path));
	}
	return code;
}

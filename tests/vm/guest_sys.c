/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board as the rest of the system sees it: sysfs, hwmon for sensors(1), debugfs, and a PPS source for
 * ppstest(8), gpsd and chrony. Every file that may be read is read; the values that matter are compared
 * with the registers they come from.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pps.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/vm/guest.h"

#define CLASS	  "/sys/class/nanet3/nanet3-0"
#define DEPTH_MAX 4

/* The file's first bytes, without its last newline; length or -errno. */
static ssize_t slurp(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0) {
		return -errno;
	}
	n = read(fd, text, size - 1);
	n = n < 0 ? -errno : n;
	close(fd);
	if (n >= 0) {
		text[n] = '\0';
		text[strcspn(text, "\n")] = '\0';
	}
	return n;
}

/* Read all that is readable below a directory; how many files. */
static unsigned read_all(const char *directory, int depth)
{
	DIR *d = opendir(directory);
	struct dirent *e;
	unsigned files = 0;

	assert_non_null(d);
	while ((e = readdir(d)) != NULL) {
		char path[1024], text[65536];
		struct stat s;

		snprintf(path, sizeof(path), "%s/%s", directory, e->d_name);
		if (e->d_name[0] == '.' || lstat(path, &s) != 0) {
			continue;
		}
		if (S_ISDIR(s.st_mode) && depth < DEPTH_MAX) {
			files += read_all(path, depth + 1);
		} else if (S_ISREG(s.st_mode) && s.st_mode & 0444) {
			ssize_t n = slurp(path, text, sizeof(text));

			/* ENODATA and EIO: a value that is not there now, said as it should be. */
			if (n < 0 && n != -ENODATA && n != -EIO && n != -EPERM && n != -EAGAIN) {
				fail_msg("%s: %s", path, strerror((int)-n));
			}
			files++;
		}
	}
	closedir(d);
	return files;
}

/* The directory below `parent` whose file `name` begins with `value`. */
static bool find(char *path, size_t size, const char *parent, const char *value)
{
	DIR *d = opendir(parent);
	struct dirent *e;
	bool found = false;

	while (d != NULL && !found && (e = readdir(d)) != NULL) {
		char file[1024], text[256];

		snprintf(file, sizeof(file), "%s/%s/name", parent, e->d_name);
		if (e->d_name[0] != '.' && slurp(file, text, sizeof(text)) > 0 &&
		    strncmp(text, value, strlen(value)) == 0) {
			snprintf(path, size, "%s/%s", parent, e->d_name);
			found = true;
		}
	}
	if (d != NULL) {
		closedir(d);
	}
	return found;
}

static void attributes(void **state)
{
	char target[PATH_MAX];
	struct nanet3 *b = guest_open();

	assert_true(read_all(CLASS, 0) >= 3);
	assert_non_null(realpath(CLASS "/device", target));
	assert_true(read_all(target, 0) > 0);
	/* And while all links are busy. */
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_claim(b, i);
	}
	assert_true(read_all(CLASS, 0) >= 3);
	for (unsigned i = 0; i < NANET3_LINKS; i++) {
		guest_yield(b, i);
	}
	guest_close(b);
}

static void sensors(void **state)
{
	static const struct {
		const char *file, *expected;
	} rows[] = {
		{"temp1_label", "board"},     {"temp1_max", "75000"},
		{"temp1_crit", "85000"},      {"temp1_max_alarm", "0"},
		{"temp1_crit_alarm", "0"},    {"power1_label", "link0 rx"},
		{"power8_label", "link3 tx"}, {"power1_min", "1"},
		{"power1_min_alarm", "0"},    {"power7_min_alarm", "0"},
	};
	char hwmon[512], path[640], text[64];
	struct nanet3 *b = guest_open();
	long value, reg;

	if (!find(hwmon, sizeof(hwmon), "/sys/class/hwmon", "nanet3")) {
		fail_msg("no hwmon entry");
	}
	assert_true(read_all(hwmon, 2) >= 2);
	snprintf(path, sizeof(path), "%s/temp1_input", hwmon);
	assert_true(slurp(path, text, sizeof(text)) > 0);
	value = strtol(text, NULL, 10);
	reg = (int32_t)guest_reg(b, NANET3_REG_TEMPERATURE);
	assert_in_range(value, reg - 3000, reg + 3000);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", hwmon, rows[i].file);
		assert_true(slurp(path, text, sizeof(text)) > 0);
		if (strcmp(text, rows[i].expected) != 0) {
			fail_msg("%s: %s", rows[i].file, text);
		}
	}
	guest_close(b);
}

static void debugfs(void **state)
{
	assert_true(read_all("/sys/kernel/debug/nanet3", 0) > 0);
}

/* A PPS comes each second of model time, with a number that counts. */
static void pps(void **state)
{
	char directory[512], device[64];
	struct pps_fdata first = {.timeout = {.flags = PPS_TIME_INVALID}}, second = first;
	int fd;

	if (!find(directory, sizeof(directory), "/sys/class/pps", "nanet3")) {
		fail_msg("no PPS source");
	}
	snprintf(device, sizeof(device), "/dev/%s", strrchr(directory, '/') + 1);
	fd = open(device, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	first.timeout = (struct pps_ktime){.sec = GUEST_LIMIT_MS / 1000};
	second.timeout = first.timeout;
	assert_int_equal(ioctl(fd, PPS_FETCH, &first), 0);
	assert_int_equal(ioctl(fd, PPS_FETCH, &second), 0);
	assert_true(second.info.assert_sequence > first.info.assert_sequence);
	assert_true(second.info.assert_tu.sec > 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		GUEST_TEST(attributes),
		GUEST_TEST(sensors),
		GUEST_TEST(debugfs),
		GUEST_TEST(pps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

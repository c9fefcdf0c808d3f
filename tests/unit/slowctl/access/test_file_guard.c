// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files that decide who gets in: whatever somebody else may write, replace or (of a secret) read is refused, with the
 * command that mends it; what sshd would take is taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "slowctl/access/file_guard.h"

#define MOST	 100u
#define STRANGER 54321u

static char top[] = "/tmp/test_file_guard.XXXXXX"; /* has `directory`, has `path` */
static char directory[64], path[80];
static struct sc_error error;

static void put(size_t length, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)length), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static int begin(void **state)
{
	strcpy(top + strlen(top) - 6, "XXXXXX");
	assert_non_null(mkdtemp(top));
	snprintf(directory, sizeof(directory), "%s/keys", top);
	snprintf(path, sizeof(path), "%s/file", directory);
	assert_int_equal(mkdir(directory, 0755), 0);
	put(10, 0600);
	return 0;
}

static int end(void **state)
{
	unlink(path);
	rmdir(directory);
	return rmdir(top);
}

static int look_as(uid_t user, bool secret, const char *name)
{
	const struct file_guard guard = {.user = user, .secret = secret, .most = MOST};
	char byte;
	int fd = -1, r;

	error = (struct sc_error){0};
	r = file_guard_open(name, &guard, &fd, &error);
	assert_true((r == 0) == (fd >= 0));
	assert_true((r == 0) == (error.message[0] == '\0'));
	if (r == 0) {
		assert_true(read(fd, &byte, 1) >= 0);
		close(fd);
	}
	return r;
}

static int look(bool secret)
{
	return look_as(geteuid(), secret, path);
}

static void says(const char *what, const char *hint)
{
	if (!strstr(error.message, what) || !strstr(error.hint, hint)) {
		fail_msg("\"%s\", \"%s\": expected \"%s\", \"%s\"", error.message, error.hint, what,
			 hint);
	}
}

static void what_only_its_user_can_change_is_taken(void **state)
{
	static const mode_t lists[] = {0400, 0600, 0640, 0644, 0755}, secrets[] = {0400, 0600};

	for (unsigned n = 0; n < sizeof(lists) / sizeof(lists[0]); n++) {
		put(10, lists[n]);
		assert_int_equal(look(false), 0);
	}
	for (unsigned n = 0; n < sizeof(secrets) / sizeof(secrets[0]); n++) {
		put(10, secrets[n]);
		assert_int_equal(look(true), 0);
	}
	assert_int_equal(chdir(directory), 0);
	assert_int_equal(look_as(geteuid(), true, "file"), 0);
	assert_int_equal(look_as(geteuid(), true, "./file"), 0);
	assert_int_equal(look_as(geteuid(), true, "../keys/file"), 0);
	assert_int_equal(chdir("/"), 0);
}

static void what_others_may_write_is_refused(void **state)
{
	char command[128];

	snprintf(command, sizeof(command), "chmod go-w %s", path);
	put(10, 0664);
	assert_int_equal(look(false), -EACCES);
	says("its group may write to it (mode 664)", command);
	put(10, 0646);
	assert_int_equal(look(false), -EACCES);
	says("anybody may write to it (mode 646)", command);
	put(10, 0620);
	assert_int_equal(look(true), -EACCES);
	says("(mode 620)", "chmod 600 ");
}

static void a_secret_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = {0640, 0604, 0610, 0601, 0677};

	for (unsigned n = 0; n < sizeof(modes) / sizeof(modes[0]); n++) {
		put(10, modes[n]);
		assert_int_equal(look(true), -EACCES);
		says("others than its owner may read or write it", "make a new one");
	}
}

static void what_belongs_to_another_is_refused(void **state)
{
	uid_t owner = geteuid() ? geteuid() : 1234;
	char command[128];

	if (geteuid() == 0) {
		assert_int_equal(chown(path, owner, (gid_t)-1), 0);
		assert_int_equal(look(false), -EACCES); /* root relies on root's only */
		snprintf(command, sizeof(command), "chown 0 %s", path);
		says("belongs to uid 1234; it must belong to uid 0", command);
	}
	assert_int_equal(look_as(owner, true, path), 0);
	assert_int_equal(look_as(STRANGER, false, path), -EACCES);
	snprintf(command, sizeof(command), "chown %u %s", STRANGER, path);
	says("it must belong to uid 54321 or to root", command);
}

/* LoadCredential= without an ACL: the user's, 0400, in a directory of the user's. With one: root's, and the ACL's mask
 * stands where the rights of the group do. */
static void root_may_give_a_secret_to_a_group(void **state)
{
	if (geteuid() != 0) {
		skip();
	}
	put(10, 0440);
	assert_int_equal(look_as(STRANGER, true, path), 0);
	assert_int_equal(look_as(0, true, path), -EACCES); /* his own he keeps to himself */
	put(10, 0444);
	assert_int_equal(look_as(STRANGER, true, path), -EACCES);
	put(10, 0460);
	assert_int_equal(look_as(STRANGER, true, path), -EACCES);
	put(10, 0400);
	assert_int_equal(chown(path, STRANGER, (gid_t)-1), 0);
	assert_int_equal(chown(directory, STRANGER, (gid_t)-1), 0);
	assert_int_equal(chmod(directory, 0500), 0);
	assert_int_equal(look_as(STRANGER, true, path), 0);
}

static void a_directory_that_others_may_write_is_refused(void **state)
{
	char command[128];

	assert_int_equal(chmod(directory, 0775), 0);
	assert_int_equal(look(true), -EACCES);
	snprintf(command, sizeof(command), "chmod go-w %s", directory);
	says("its group may write to /tmp/test_file_guard.", command);
	assert_int_equal(chmod(directory, 0707), 0);
	assert_int_equal(look(false), -EACCES);
	says("anybody may write to /tmp/test_file_guard.", command);
	assert_int_equal(chmod(directory, 01777), 0); /* but what others own nobody replaces */
	assert_int_equal(look(true), 0);
	assert_int_equal(chmod(directory, 0755), 0);
	assert_int_equal(chmod(top, 0777), 0);
	assert_int_equal(look(true), -EACCES);
	snprintf(command, sizeof(command), "chmod go-w %s", top);
	says("put another file in its place", command);
}

static void a_directory_of_another_is_refused(void **state)
{
	if (geteuid() != 0) {
		skip();
	}
	assert_int_equal(chown(directory, 1234, (gid_t)-1), 0);
	assert_int_equal(look(true), -EACCES);
	says("belongs to uid 1234, who can put another file in its place", "/etc/fcm-server");
	assert_int_equal(chown(directory, 0, (gid_t)-1), 0);
	assert_int_equal(chown(top, 1234, (gid_t)-1), 0);
	assert_int_equal(look(true), -EACCES);
	assert_int_equal(look_as(1234, true, path), 0);
}

static void links_are_not_followed_to_the_file(void **state)
{
	char link[96], through[128];

	snprintf(link, sizeof(link), "%s/link", top);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(look_as(geteuid(), true, link), -ELOOP);
	says("is a symbolic link", "name the file that it leads to");
	unlink(link);
	assert_int_equal(symlink(directory, link), 0);
	snprintf(through, sizeof(through), "%s/file", link);
	assert_int_equal(look_as(geteuid(), true, through), 0);
	/* Looked at is where the file lies, not what the name says. */
	assert_int_equal(chmod(directory, 0777), 0);
	assert_int_equal(look_as(geteuid(), true, through), -EACCES);
	unlink(link);
}

static void what_is_no_file_holds_nobody_up(void **state)
{
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(look(true), -EINVAL);
	says("is no file, but a directory, pipe or device", "name a file");
	assert_int_equal(look_as(geteuid(), false, directory), -EINVAL);
	assert_int_equal(look_as(geteuid(), false, "/dev/null"), -EINVAL);
	assert_int_equal(look_as(geteuid(), false, "/"), -EINVAL);
}

static void what_is_too_long_is_refused(void **state)
{
	put(MOST, 0600);
	assert_int_equal(look(true), 0);
	put(MOST + 1, 0600);
	assert_int_equal(look(true), -EFBIG);
	says("longer than 100 bytes", "");
}

static void what_is_not_there_says_so(void **state)
{
	char *endless = malloc(10000);

	unlink(path);
	assert_int_equal(look(true), -ENOENT);
	says("No such file", "");
	assert_int_equal(look_as(geteuid(), true, ""), -EINVAL);
	assert_int_equal(look_as(geteuid(), true, "/nowhere/file"), -ENOENT);
	assert_int_equal(look_as(geteuid(), true, "/dev/null/file"), -ENOTDIR);
	assert_non_null(endless);
	memset(endless, '/', 9999);
	endless[9999] = '\0';
	assert_int_equal(look_as(geteuid(), true, endless), -ENAMETOOLONG);
	free(endless);
}

static void the_database_says_who_runs_the_daemon(void **state)
{
	uid_t owner = geteuid() ? geteuid() : 1234;

	assert_int_equal(chown(directory, owner, (gid_t)-1), 0);
	assert_int_equal(file_guard_user(path), geteuid()); /* its own */
	unlink(path);
	assert_int_equal(file_guard_user(path), owner); /* where it will be */
	assert_int_equal(file_guard_user("/nowhere/station.db"), geteuid());
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, begin, end)
	const struct CMUnitTest tests[] = {
		CASE(what_only_its_user_can_change_is_taken),
		CASE(what_others_may_write_is_refused),
		CASE(a_secret_that_others_may_read_is_refused),
		CASE(what_belongs_to_another_is_refused),
		CASE(root_may_give_a_secret_to_a_group),
		CASE(a_directory_that_others_may_write_is_refused),
		CASE(a_directory_of_another_is_refused),
		CASE(links_are_not_followed_to_the_file),
		CASE(what_is_no_file_holds_nobody_up),
		CASE(what_is_too_long_is_refused),
		CASE(what_is_not_there_says_so),
		CASE(the_database_says_who_runs_the_daemon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

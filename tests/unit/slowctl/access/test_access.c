// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The allow list, read whole or not at all; files with secret keys, for their owner's eyes; the token bucket.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#include <zmq.h>

#include "daemon/core/limit.h"
#include "slowctl/access/keyfile.h"

static char directory[] = "/tmp/test_access.XXXXXX";
static char path[64];
static char keys[3][ACCESS_KEY_TEXT];

static int begin(void **state)
{
	char secret[ACCESS_KEY_TEXT];

	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	for (unsigned n = 0; n < 3; n++) {
		assert_int_equal(zmq_curve_keypair(keys[n], secret), 0);
	}
	return 0;
}

static int end(void **state)
{
	unlink(path);
	return rmdir(directory);
}

static void put(const char *text, size_t length)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(text, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static char said[4][900];
static unsigned mistakes;

static void complain(void *context, const char *text)
{
	assert_ptr_equal(context, &mistakes);
	snprintf(said[mistakes++ % 4], sizeof(said[0]), "%s", text);
}

static int read_list(struct access_list *list)
{
	mistakes = 0;
	return access_list_read(geteuid(), path, list, complain, &mistakes);
}

static int read_text(const char *text, struct access_list *list)
{
	put(text, strlen(text));
	return read_list(list);
}

static void test_list(void **state)
{
	static struct access_list list;
	char text[512];

	snprintf(text, sizeof(text),
		 "# who may\n\n  daq\toperator %s  \r\nlook reader %s\n\t# more\nanna expert %s",
		 keys[0], keys[1], keys[2]);
	assert_int_equal(read_text(text, &list), 0);
	assert_int_equal(mistakes, 0);
	assert_int_equal(list.count, 3);
	assert_string_equal(list.key[0].name, "daq");
	assert_int_equal(list.key[0].right.role, ACCESS_OPERATOR);
	assert_ptr_equal(access_list_find(&list, ACCESS_CONTROL, keys[2]), &list.key[2]);
	assert_int_equal(list.key[2].right.role, ACCESS_EXPERT);
	assert_null(access_list_find(&list, ACCESS_CONTROL, ""));
	assert_null(access_list_find(&list, ACCESS_CONSUMER, keys[2]));
	assert_int_equal(read_text("", &list), 0);
	assert_int_equal(list.count, 0);
	assert_null(access_list_find(&list, ACCESS_CONTROL, keys[2]));
}

/* A key opens one door. */
static void test_data(void **state)
{
	static const char *const rights[] = {"reader", "expert", "consumer:trigger", "monitor"};
	static struct access_list list;
	struct access_right right;
	char text[512], back[ACCESS_RIGHT_MAX];

	for (unsigned i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		assert_int_equal(access_right_parse(rights[i], &right), 0);
		access_right_text(&right, back);
		assert_string_equal(back, rights[i]);
	}
	snprintf(text, sizeof(text),
		 "t-1 consumer:trigger %s\nt-1 consumer:trigger %s\nlook monitor %s", keys[0],
		 keys[1], keys[2]);
	assert_int_equal(read_text(text, &list), 0);
	assert_int_equal(list.count, 3);
	for (unsigned i = 0; i < 2; i++) {
		assert_ptr_equal(access_list_find(&list, ACCESS_CONSUMER, keys[i]), &list.key[i]);
		assert_string_equal(list.key[i].right.group, "trigger");
		assert_null(access_list_find(&list, ACCESS_MONITOR, keys[i]));
		assert_null(access_list_find(&list, ACCESS_CONTROL, keys[i]));
	}
	assert_ptr_equal(access_list_find(&list, ACCESS_MONITOR, keys[2]), &list.key[2]);
	assert_null(access_list_find(&list, ACCESS_CONTROL, keys[2]));
}

static void wrong(const char *text, const char *what)
{
	static struct access_list list;

	list.count = 77;
	assert_int_equal(read_text(text, &list), -EINVAL);
	assert_int_equal(list.count, 77); /* untouched */
	assert_int_equal(mistakes, 1);
	if (!strstr(said[0], what)) {
		fail_msg("\"%s\", expected \"%s\"", said[0], what);
	}
}

static void test_mistakes(void **state)
{
	static struct access_list unused;
	char text[2000];

	wrong("daq\n", "file:1: not NAME ROLE PUBLICKEY");
	wrong("\n# x\ndaq reader\n", "file:3: not NAME");
	snprintf(text, sizeof(text), "daq reader %s more\n", keys[0]);
	wrong(text, "file:1: not NAME");
	snprintf(text, sizeof(text), "d/q reader %s\n", keys[0]);
	wrong(text, "\"d/q\" is no name");
	snprintf(text, sizeof(text), ".daq reader %s\n", keys[0]);
	wrong(text, "is no name");
	snprintf(text, sizeof(text), "a123456789012345678901234567890x reader %s\n", keys[0]);
	wrong(text, "is no name");
	snprintf(text, sizeof(text), "daq root %s\n", keys[0]);
	wrong(text, "\"root\" is no role");
	wrong("daq reader 0123456789\n", "no public key");
	wrong("daq reader 0123456789012345678901234567890123456~\x80\xff;\n", "no public key");
	snprintf(text, sizeof(text), "a reader %s\na expert %s\n", keys[0], keys[1]);
	wrong(text, "file:2: the name a is in line 1");
	snprintf(text, sizeof(text), "a reader %s\nb expert %s\n", keys[0], keys[0]);
	wrong(text, "file:2: the same key is a's in line 1");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	wrong(text, "longer than");
	put("a\0b\n", 4);
	assert_int_equal(read_list(&unused), -EINVAL);
	put("# to its end\0", 13); /* in the last line, which has no end */
	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "a zero byte"));
}

static void test_no_list(void **state)
{
	static struct access_list unused;

	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "fcmctl key make"));
	assert_int_equal(mkfifo(path, 0600), 0); /* nobody waits for its other end */
	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "is no file"));
	unlink(path);
	put("", 0);
	assert_int_equal(chmod(path, 0646), 0);
	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "anybody may write"));
	assert_int_equal(chmod(path, 0664), 0);
	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "its group may write"));
	assert_non_null(strstr(said[0], "(chmod go-w /tmp/test_access."));
	assert_int_equal(mistakes, 1);
}

/* Whoever can put another list or key in its place is as good as who can write it. */
static void test_replaceable(void **state)
{
	char public[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT], link[80];
	static struct access_list unused;
	struct sc_error error = {0};

	assert_int_equal(keyfile_make(path, "daq", public, &error), 0);
	assert_int_equal(chmod(directory, 0770), 0);
	assert_int_equal(keyfile_read(geteuid(), path, secret, public, &error), -EACCES);
	assert_non_null(strstr(error.hint, "chmod go-w /tmp/test_access."));
	assert_int_equal(read_list(&unused), -EINVAL);
	assert_non_null(strstr(said[0], "put another file in its place"));
	assert_int_equal(chmod(directory, 0700), 0);
	snprintf(link, sizeof(link), "%s.link", path);
	assert_int_equal(symlink(path, link), 0);
	assert_int_equal(keyfile_read(geteuid(), link, secret, public, &error), -ELOOP);
	unlink(link);
}

/* Every byte in the place of a key's first: nothing of it ends the program. */
static void test_any_key(void **state)
{
	char text[ACCESS_KEY_TEXT];
	unsigned good = 0;

	strcpy(text, keys[0]);
	for (int c = -128; c < 128; c++) {
		text[0] = (char)c;
		good += access_key_check(text) == 0;
	}
	assert_in_range(good, 1, 85);
	assert_int_equal(access_key_check(""), -EINVAL);
}

static void test_keyfile(void **state)
{
	char public[ACCESS_KEY_TEXT], again[ACCESS_KEY_TEXT], secret[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	struct stat st;

	umask(0);
	assert_int_equal(keyfile_make(path, "daq", public, &error), 0);
	umask(022);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(keyfile_read(geteuid(), path, secret, again, &error), 0);
	assert_string_equal(public, again);
	assert_int_equal(keyfile_make(path, "daq", again, &error), -EEXIST);
	assert_int_equal(keyfile_read(geteuid(), path, secret, again, &error), 0);
	assert_string_equal(public, again);
	assert_int_equal(chmod(path, 0640), 0);
	assert_int_equal(keyfile_read(geteuid(), path, secret, again, &error), -EACCES);
	assert_non_null(strstr(error.message, "mode 640"));
	assert_null(strstr(error.message, secret));
	unlink(path);
	assert_int_equal(keyfile_read(geteuid(), path, secret, again, &error), -ENOENT);
	assert_non_null(strstr(error.hint, "fcmctl key server"));
	put("secret 123\n", 11);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(keyfile_read(geteuid(), path, secret, again, &error), -EINVAL);
	assert_non_null(strstr(error.message, "no line \"secret KEY\""));
	assert_int_equal(keyfile_make("/nowhere/file", "daq", again, &error), -ENOENT);
}

/* Killed while it writes (a limit on files ends the process): the name is still free. */
static void test_keyfile_killed(void **state)
{
	char public[ACCESS_KEY_TEXT], pattern[80];
	struct sc_error error = {0};
	glob_t left;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct rlimit none = {0, 0};

		signal(SIGXFSZ, SIG_DFL);
		setrlimit(RLIMIT_FSIZE, &none);
		keyfile_make(path, "daq", public, &error);
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGXFSZ);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(keyfile_make(path, "daq", public, &error), 0);
	unlink(path);
	snprintf(pattern, sizeof(pattern), "%s.??????", path);
	assert_int_equal(glob(pattern, 0, NULL, &left), 0);
	assert_int_equal(left.gl_pathc, 1);
	unlink(left.gl_pathv[0]);
	globfree(&left);
}

static void test_bucket(void **state)
{
	struct bucket b = {0};
	uint64_t now = 1000000000000ull;
	unsigned taken = 0;

	for (unsigned n = 0; n < 100; n++) {
		taken += bucket_take(&b, 5, 20, now);
	}
	assert_int_equal(taken, 20);
	for (unsigned n = 0; n < 100; n++) { /* 10 s, 10 tries a second */
		now += 100000000;
		taken += bucket_take(&b, 5, 20, now);
	}
	assert_in_range(taken, 69, 70);
	now += 3600000000000ull; /* a long rest is worth one burst */
	for (unsigned n = 0; n < 100; n++) {
		taken += bucket_take(&b, 5, 20, now);
	}
	assert_in_range(taken, 89, 90);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_list, begin, end),
		cmocka_unit_test_setup_teardown(test_data, begin, end),
		cmocka_unit_test_setup_teardown(test_mistakes, begin, end),
		cmocka_unit_test_setup_teardown(test_no_list, begin, end),
		cmocka_unit_test_setup_teardown(test_replaceable, begin, end),
		cmocka_unit_test_setup_teardown(test_any_key, begin, end),
		cmocka_unit_test_setup_teardown(test_keyfile, begin, end),
		cmocka_unit_test_setup_teardown(test_keyfile_killed, begin, end),
		cmocka_unit_test(test_bucket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

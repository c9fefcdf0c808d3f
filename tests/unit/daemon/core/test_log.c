// SPDX-License-Identifier: GPL-2.0-or-later
/* The system log: lines, journal fields, the limit of each call site, several threads. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/core/log.h"

static char lines[1 << 16];
static size_t lines_length;
static unsigned lines_count;
static char fields[8][2048];
static int fields_count;
static int journal_result;
static uint64_t now;

static void take_line(const char *bytes, size_t length)
{
	assert_true(lines_length + length < sizeof(lines));
	memcpy(lines + lines_length, bytes, length);
	lines_length += length;
	lines[lines_length] = '\0';
	lines_count++;
}

static int take_fields(const char *bytes, size_t length)
{
	static const char name[] = "SYSLOG_IDENTIFIER=test_log\n";

	assert_true(length > sizeof(name) - 1 && bytes[length - 1] == '\n');
	assert_memory_equal(bytes, name, sizeof(name) - 1);
	fields_count = 0;
	for (const char *at = bytes + sizeof(name) - 1; at < bytes + length;) {
		size_t field = strcspn(at, "\n");

		assert_true(fields_count < 8 && field < sizeof(fields[0]));
		memcpy(fields[fields_count], at, field);
		fields[fields_count++][field] = '\0';
		at += field + 1;
	}
	return journal_result;
}

static uint64_t virtual_now(void)
{
	return now;
}

static int setup(void **state)
{
	lines_length = lines_count = 0;
	lines[0] = '\0';
	fields_count = 0;
	journal_result = 0;
	now = 1000000000000ull;
	unsetenv("JOURNAL_STREAM");
	log_open(0, LOG_INFO);
	log_test_hooks(take_fields, take_line, virtual_now);
	return 0;
}

static int teardown(void **state)
{
	log_close();
	log_test_hooks(NULL, NULL, NULL);
	return 0;
}

static bool has_field(const char *wanted)
{
	for (int i = 0; i < fields_count; i++) {
		if (!strcmp(fields[i], wanted)) {
			return true;
		}
	}
	return false;
}

static void one_line(void **state)
{
	int y, mo, d, h, mi, s, ms, n = 0;

	errno = EBUSY;
	log_warning("clock", "state %s: %d", "holdover", 3);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(
		sscanf(lines, "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ %n", &y, &mo, &d, &h, &mi, &s, &ms, &n),
		7);
	assert_int_equal(n, 25);
	assert_string_equal(lines + n, "warning clock: state holdover: 3\n");
	assert_int_equal(fields_count, 0);
}

static void levels(void **state)
{
	log_debug("x", "not written");
	assert_int_equal(lines_count, 0);
	log_set_level(LOG_DEBUG);
	log_debug("x", "written");
	assert_int_equal(lines_count, 1);
	log_set_level(LOG_ERR);
	log_warning("x", "not written");
	log_error("x", "written");
	assert_int_equal(lines_count, 2);
	assert_int_equal(log_level_parse("notice"), LOG_NOTICE);
	assert_int_equal(log_level_parse("emergency"), -EINVAL);
	assert_int_equal(log_level_parse(""), -EINVAL);
	assert_string_equal(log_level_name(LOG_ERR), "error");
	assert_string_equal(log_level_name(99), "?");
}

static void hostile_text(void **state)
{
	char *big = malloc(5000);

	assert_non_null(big);
	log_info("consumer", "name \"%s\"", "a\nb\r\x1b[2J\x7f");
	assert_non_null(strstr(lines, "name \"a b  [2J \"\n"));
	memset(big, 'x', 4999);
	big[4999] = '\0';
	log_info("consumer", "%s", big);
	assert_int_equal(lines_count, 2);
	assert_int_equal(lines[lines_length - 1], '\n');
	assert_non_null(strstr(lines, "xxx...\n"));
	log_info(big, "%s", big);
	assert_int_equal(lines[lines_length - 1], '\n');
	free(big);
}

static void chatter(int link)
{
	log_event(LOG_NOTICE, "link", link, LOG_ID_LINK, "lock lost");
}

static void limit(void **state)
{
	for (int i = 0; i < 100; i++) {
		chatter(2);
	}
	assert_int_equal(lines_count, LOG_BURST);
	chatter(1); /* another link has its own share */
	assert_int_equal(lines_count, LOG_BURST + 1);
	now += LOG_WINDOW_S * 1000000000ull;
	lines_length = 0;
	chatter(2);
	chatter(2);
	assert_int_equal(lines_count, LOG_BURST + 3);
	assert_non_null(strstr(lines, "lock lost (90 like it held back)\n"));
	assert_non_null(strstr(lines, "lock lost\n"));
	/* A link that does not exist shares the place of entries without one. */
	chatter(77);
	chatter(LOG_NO_LINK);
	assert_int_equal(lines_count, LOG_BURST + 5);
	/* The last of many incidents that clear together is not missing. */
	for (unsigned i = 1; i <= 3 * LOG_BURST; i++) {
		log_incident(LOG_NOTICE, "link2", "link-dark", i, "incident %u cleared", i);
	}
	assert_int_equal(lines_count, 4 * LOG_BURST + 5);
}

static void to_journal(void **state)
{
	char stream[64];
	struct stat st;

	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open(3, LOG_INFO);
	log_set_floor(2, 1, 7);
	log_event(LOG_WARNING, "link2", 2, LOG_ID_LINK, "lock lost");
	assert_int_equal(lines_count, 0);
	assert_true(has_field("MESSAGE=link2: lock lost"));
	assert_true(has_field("PRIORITY=4"));
	assert_true(has_field("FCM_BOARD=3"));
	assert_true(has_field("FCM_OBJECT=link2"));
	assert_true(has_field("MESSAGE_ID=" LOG_ID_LINK));
	assert_true(has_field("FCM_LINK=2"));
	assert_true(has_field("FCM_TOWER=1"));
	assert_true(has_field("FCM_FLOOR=7"));
	assert_int_equal(fields_count, 8);
	log_set_floor(2, 0, 0);
	log_event(LOG_WARNING, "link2", 2, LOG_ID_LINK, "lock lost");
	assert_int_equal(fields_count, 6);
	log_incident(LOG_ERR, "link2", "link-dark", 12, "incident 12 began: no light");
	assert_true(has_field("MESSAGE=link2: incident 12 began: no light"));
	assert_true(has_field("FCM_CODE=link-dark"));
	assert_true(has_field("FCM_INCIDENT=12"));
	assert_true(has_field("MESSAGE_ID=f58320b360f96c5329ca4bc2ee85c8a8"));
	assert_int_equal(fields_count, 7);
	log_info("store", "plain");
	assert_int_equal(fields_count, 4);
	/* journald is away: stderr has it. */
	journal_result = -ECONNREFUSED;
	log_info("store", "plain");
	assert_int_equal(lines_count, 1);
	/* A stream that is not our stderr's. */
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_open(3, LOG_INFO);
	log_info("store", "plain");
	assert_int_equal(lines_count, 2);
}

/* The next entry that journald takes; false: there is none. */
static bool receive(int journald, char text[4096])
{
	ssize_t n = recv(journald, text, 4095, MSG_DONTWAIT);

	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* It does not read, as its disk hangs: nobody waits for it, and what is lost is counted. */
static void journal_hangs(void **state)
{
	enum { ENTRIES = 3000 }; /* more than a socket keeps */
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int journald = socket(AF_UNIX, SOCK_DGRAM, 0);
	char text[4096], words[64];
	unsigned taken = 0;

	snprintf(address.sun_path, sizeof(address.sun_path), "/tmp/test_log.%d", (int)getpid());
	assert_int_equal(bind(journald, (struct sockaddr *)&address, sizeof(address)), 0);
	log_test_hooks(NULL, take_line, virtual_now);
	log_test_journal(address.sun_path);
	for (int i = 0; i < ENTRIES; i++) {
		now += LOG_WINDOW_S * 1000000000ull;
		log_info("store", "entry %d", i);
	}
	assert_true(receive(journald, text));
	assert_string_equal(text, "SYSLOG_IDENTIFIER=test_log\nMESSAGE=store: entry 0\nPRIORITY=6\n"
				  "FCM_BOARD=0\nFCM_OBJECT=store\n");
	for (taken = 1; receive(journald, text); taken++) {
		assert_null(strstr(text, "did not take"));
	}
	assert_in_range(taken, 1, ENTRIES - 1);
	log_info("store", "back");
	assert_true(receive(journald, text));
	snprintf(words, sizeof(words), "store: back (journald did not take %u entries before)\n",
		 ENTRIES - taken);
	assert_non_null(strstr(text, words));
	log_info("store", "on");
	assert_true(receive(journald, text));
	assert_non_null(strstr(text, "store: on\n"));
	assert_int_equal(lines_count, 0);
	close(journald);
	unlink(address.sun_path);
	log_info("store", "nobody is there"); /* then it goes to stderr */
	assert_int_equal(lines_count, 1);
	log_test_journal(NULL);
}

static void *talker(void *arg)
{
	for (int i = 0; i < 200; i++) {
		log_info("thread", "a line of its own, whole");
	}
	return NULL;
}

/* Into a pipe, as stderr is: lines of four threads never mix. */
static void threads(void **state)
{
	pthread_t thread[4];
	char line[256];
	unsigned whole = 0;
	int fds[2], saved = dup(STDERR_FILENO);
	FILE *f;

	log_test_hooks(NULL, NULL, NULL);
	assert_int_equal(pipe(fds), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	close(fds[1]);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(pthread_create(&thread[i], NULL, talker, NULL), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
	}
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	close(saved);
	f = fdopen(fds[0], "r");
	while (fgets(line, sizeof(line), f)) {
		assert_non_null(strstr(line, "Z info thread: a line of its own, whole"));
		whole++;
	}
	fclose(f);
	assert_in_range(whole, LOG_BURST, 2 * LOG_BURST + 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_line, setup, teardown),
		cmocka_unit_test_setup_teardown(levels, setup, teardown),
		cmocka_unit_test_setup_teardown(hostile_text, setup, teardown),
		cmocka_unit_test_setup_teardown(limit, setup, teardown),
		cmocka_unit_test_setup_teardown(to_journal, setup, teardown),
		cmocka_unit_test_setup_teardown(journal_hangs, setup, teardown),
		cmocka_unit_test_setup_teardown(threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The station's secret key and its allow list: what holds after a start, a reload and a mistake in either file, and
 * what the log, the events and --check-config say. The files are real; the log, the store and the doors are this
 * file's.
 */
#include <errno.h>
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
#include <zmq.h>

#include "daemon/core/log.h"
#include "daemon/station/keys.h"
#include "daemon/station/network_say.h"
#include "daemon/station/station.h"
#include "daemon/store/store.h"
#include "slowctl/access/keyfile.h"

static char directory[] = "/tmp/test_keys.XXXXXX";
static struct station station;
static struct config *const config = &station.config;
static char public_key[ACCESS_KEY_TEXT], one[ACCESS_KEY_TEXT], two[ACCESS_KEY_TEXT];
static char logged[4096], errors[4096];
static char place[200]; /* of the list, as the database has it */
static unsigned events, control_doors, data_doors;

/* --- in the place of log, store and doors --- */

void log_write(struct log_site *site, int level, const struct log_about *about, const char *format,
	       ...)
{
	size_t length = strlen(logged);
	char text[1024];
	va_list ap;

	assert_int_equal(about->link, LOG_NO_LINK);
	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	snprintf(logged + length, sizeof(logged) - length, "%s %s: %s\n",
		 level == LOG_ERR	? "error"
		 : level == LOG_WARNING ? "warning"
					: "notice",
		 about->object, text);
}

int store_put_station(struct store *s, const char *key, const char *value)
{
	assert_string_equal(key, "allow_list");
	snprintf(place, sizeof(place), "%s", value);
	return 0;
}

int store_put_event(struct store *s, const char *severity, const char *code, const char *object,
		    const char *text, const char *action, int64_t utc_ns)
{
	assert_string_equal(severity, "warning");
	assert_string_equal(code, "network-allow-list");
	assert_string_equal(object, "network");
	assert_non_null(strstr(action, "reload"));
	assert_true(utc_ns > 0);
	events++;
	return 0;
}

void network_allow_keys(struct station *s)
{
	assert_ptr_equal(s, &station);
	control_doors++;
}

void publisher_allow(struct publisher *p, const struct access_list *access)
{
	assert_ptr_equal(p, &data_doors);
	assert_ptr_equal(access, &station.access_list);
	data_doors++;
}

/* --- the files --- */

static void write_list(const char *format, ...)
{
	FILE *f = fopen(config->network.allow_list, "w");
	va_list ap;

	assert_non_null(f);
	va_start(ap, format);
	vfprintf(f, format, ap);
	va_end(ap);
	fclose(f);
}

static void say_name(char *to, size_t size, const char *name)
{
	snprintf(to, size, "%s/%s", directory, name);
}

static int begin(void **state)
{
	struct sc_error error = {0};
	char secret[ACCESS_KEY_TEXT];

	memset(&station, 0, sizeof(station));
	strcpy(directory + strlen(directory) - 6, "XXXXXX");
	assert_non_null(mkdtemp(directory));
	say_name(config->network.allow_list, sizeof(config->network.allow_list), "allowed");
	say_name(config->network.key_file, sizeof(config->network.key_file), "key");
	say_name(config->store.database, sizeof(config->store.database), "station.db");
	strcpy(config->network.endpoint, "tcp://*:5750");
	station.config_path = "board-0.conf";
	station.publisher = (struct publisher *)&data_doors;
	assert_int_equal(keyfile_make(config->network.key_file, "test", public_key, &error), 0);
	zmq_curve_keypair(one, secret);
	zmq_curve_keypair(two, secret);
	write_list("anna expert %s\n", one);
	logged[0] = '\0';
	events = control_doors = data_doors = 0;
	return 0;
}

static int end(void **state)
{
	unlink(config->network.allow_list);
	unlink(config->network.key_file);
	return rmdir(directory);
}

/* --check-config: its result; what it says is in `errors`. */
static int check(void)
{
	FILE *f = fmemopen(errors, sizeof(errors), "w");
	int r;

	assert_non_null(f);
	errors[0] = '\0';
	r = keys_check(config, f);
	fclose(f);
	return r;
}

static bool allows(const char *key)
{
	return access_list_find(&station.access_list, ACCESS_CONTROL, key) != NULL;
}

/* --- tests --- */

/* No door asks for keys: the files need not be there. */
static void test_without_keys_no_file_is_read(void **state)
{
	config->network.endpoint[0] = '\0';
	assert_int_equal(unlink(config->network.allow_list), 0);
	assert_int_equal(unlink(config->network.key_file), 0);
	assert_int_equal(keys_start(&station), 0);
	assert_int_equal(check(), 0);
	keys_reload(&station);
	assert_string_equal(errors, "");
	assert_string_equal(logged, "");
	assert_int_equal(events + control_doors + data_doors, 0);
	assert_int_equal(station.access_list.count, 0);
	config->data.curve = true; /* from now on the data do */
	assert_true(keys_start(&station) < 0);
	assert_true(check() < 0);
}

static void test_a_start_reads_the_list(void **state)
{
	assert_int_equal(keys_start(&station), 0);
	assert_int_equal(station.access_list.count, 1);
	assert_true(allows(one));
	assert_string_equal(logged, "");
}

/* All mistakes are told, and what to do where the list is not wanted. */
static void test_a_start_with_mistakes_in_the_list_fails(void **state)
{
	write_list("anna expert %s\nbert boss %s\ncarl reader x\n", one, two);
	assert_true(keys_start(&station) < 0);
	assert_int_equal(station.access_list.count, 0);
	assert_non_null(strstr(logged, "error network: "));
	assert_non_null(strstr(logged, "allowed:2: "));
	assert_non_null(strstr(logged, "allowed:3: "));
	assert_non_null(strstr(logged, "allow_list in board-0.conf: correct it"));
}

/* A key of a group that the configuration does not have is a warning, by a start, a check and a reload. */
static void test_a_group_that_there_is_not(void **state)
{
	static const char warning[] = "mine is a consumer of group nowhere";

	config->groups = 1;
	strcpy(config->group[0].name, "trigger");
	write_list("good consumer:trigger %s\nmine consumer:nowhere %s\n", one, two);
	assert_int_equal(keys_start(&station), 0);
	assert_non_null(strstr(logged, "warning network: "));
	assert_non_null(strstr(logged, warning));
	assert_null(strstr(logged, "good is"));
	assert_int_equal(check(), 0);
	assert_non_null(strstr(errors, warning));
	logged[0] = '\0';
	keys_reload(&station);
	assert_non_null(strstr(logged, warning));
	assert_int_equal(control_doors, 1);
}

/* Where fcmctl key list finds it: with the data's keys alone, too; nowhere, where no door asks. */
static void test_the_place_of_the_list(void **state)
{
	keys_put_place(&station);
	assert_string_equal(place, config->network.allow_list);
	config->network.endpoint[0] = '\0';
	keys_put_place(&station);
	assert_string_equal(place, "");
	config->data.curve = true;
	keys_put_place(&station);
	assert_string_equal(place, config->network.allow_list);
}

static void test_the_secret_and_its_public_half(void **state)
{
	char secret[ACCESS_KEY_TEXT] = "", derived[ACCESS_KEY_TEXT];

	assert_int_equal(keys_secret(&station, secret), 0);
	assert_int_equal(zmq_curve_public(derived, secret), 0);
	assert_string_equal(derived, public_key);
	assert_string_equal(station.public_key, public_key);
	assert_string_equal(logged, "");
	assert_int_equal(chmod(config->network.key_file, 0644), 0); /* anybody could have read it */
	assert_int_equal(keys_secret(&station, secret), -EACCES);
	assert_non_null(strstr(logged, "error network: "));
	assert_non_null(strstr(logged, "[network] key_file in board-0.conf"));
}

/* Each of the two files, and both. */
static void test_a_check_tells_the_mistakes_of_both_files(void **state)
{
	assert_int_equal(check(), 0);
	assert_string_equal(errors, "");
	assert_int_equal(chmod(config->network.key_file, 0644), 0);
	assert_int_equal(check(), -EACCES);
	assert_non_null(strstr(errors, "/key"));
	assert_null(strstr(errors, "allowed"));
	write_list("nonsense\n");
	assert_true(check() < 0);
	assert_non_null(strstr(errors, "/key"));
	assert_non_null(strstr(errors, "allowed:1: "));
	assert_int_equal(chmod(config->network.key_file, 0600), 0);
	assert_int_equal(check(), -EINVAL);
	assert_null(strstr(errors, "/key"));
	assert_non_null(strstr(errors, "allowed:1: "));
	assert_string_equal(logged,
			    ""); /* the daemon runs, or does not: its log is not concerned */
}

static void test_a_reload_gives_the_list_to_all_doors(void **state)
{
	assert_int_equal(keys_start(&station), 0);
	write_list("bert expert %s\n", two);
	keys_reload(&station);
	assert_false(allows(one));
	assert_true(allows(two));
	assert_int_equal(control_doors, 1);
	assert_int_equal(data_doors, 0); /* they ask for none */
	assert_non_null(strstr(logged, "notice network: 1 key in "));
	config->data.curve = true;
	write_list("anna expert %s\nbert expert %s\n", one, two);
	keys_reload(&station);
	assert_int_equal(control_doors, 2);
	assert_int_equal(data_doors, 1);
	assert_non_null(strstr(logged, "notice network: 2 keys in "));
	assert_int_equal(events, 0);
}

/* A mistake while it runs takes nobody's key, and gives nobody one. */
static void test_a_reload_with_mistakes_keeps_the_list(void **state)
{
	config->data.curve = true;
	assert_int_equal(keys_start(&station), 0);
	write_list("bert expert %s\nnonsense\n", two);
	keys_reload(&station);
	assert_true(allows(one));
	assert_false(allows(two));
	assert_int_equal(control_doors + data_doors, 0);
	assert_int_equal(events, 1);
	assert_non_null(strstr(logged, "allowed:2: "));
	assert_non_null(strstr(logged, "error network: the allow list is as before: "));
	assert_null(strstr(logged, "notice"));
}

int main(void)
{
#define TEST(t) cmocka_unit_test_setup_teardown(test_##t, begin, end)
	const struct CMUnitTest tests[] = {
		TEST(without_keys_no_file_is_read),
		TEST(a_start_reads_the_list),
		TEST(a_start_with_mistakes_in_the_list_fails),
		TEST(a_group_that_there_is_not),
		TEST(the_place_of_the_list),
		TEST(the_secret_and_its_public_half),
		TEST(a_check_tells_the_mistakes_of_both_files),
		TEST(a_reload_gives_the_list_to_all_doors),
		TEST(a_reload_with_mistakes_keeps_the_list),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}

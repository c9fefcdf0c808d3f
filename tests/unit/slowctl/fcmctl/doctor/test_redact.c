/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of slowctl/fcmctl/doctor/redact.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "slowctl/fcmctl/doctor/redact.h"

#define KEY "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"

static void is(const char *text, const char *wanted)
{
	static const char *const known[] = {"opensesame", ""};
	char *clean = redact(text, known, 2);

	assert_non_null(clean);
	assert_string_equal(clean, wanted);
	free(clean);
}

static void keeps(void **state)
{
	is("", "");
	is("link 2: 40 frames lost, see fcmctl ledger show\n",
	   "link 2: 40 frames lost, see fcmctl ledger show\n");
	is("network.key_file = /etc/fcm-server/network-0.key\n",
	   "network.key_file = /etc/fcm-server/network-0.key\n");
	is("tcp://[::1]:5730 tcp://127.0.0.1:5710", "tcp://[::1]:5730 tcp://127.0.0.1:5710");
	is("/srv/station/with/forty/characters/x.con", "/srv/station/with/forty/characters/x.con");
}

static void keys(void **state)
{
	is(KEY, REDACTED);
	is("a " KEY " b", "a " REDACTED " b");
	is("{\"public_key\": \"" KEY "\"}", "{\"public_key\": \"" REDACTED "\"}");
	is("key=" KEY "\n", "key=" REDACTED "\n");
	is("(" KEY ").", "(" REDACTED);
	is("xopensesamex", "x" REDACTED "x");
	is("-----BEGIN EC PRIVATE KEY-----\nMHc\nabc\n-----END EC PRIVATE KEY-----\nrest",
	   REDACTED "\nrest");
	is("-----BEGIN PRIVATE KEY-----\nMHc", REDACTED);
}

static void words(void **state)
{
	is("secret " KEY "\nnext\n", "secret " REDACTED "\nnext\n");
	is("password = two words ; x\nnext", "password = " REDACTED "\nnext");
	is("\"Password\": \"a\\\"b\", \"x\": 1", "\"Password\": \"" REDACTED "\", \"x\": 1");
	is("smtp_passwd=hunter2", "smtp_passwd=" REDACTED);
	is("Authorization: Bearer abc", "Authorization: " REDACTED);
	is("api_key: 7\n", "api_key: " REDACTED "\n");
	is("https://ann:pw@example.org/x", "https://" REDACTED "@example.org/x");
	is("secret", "secret");
	is("token \"unfinished", "token \"" REDACTED);
	is("token \"ends in \\", "token \"" REDACTED);
}

static void mail(void **state)
{
	is("to anna.b+x@example.org, ok", "to " REDACTED ", ok");
	is("<root@station>", "<" REDACTED ">");
	is("carl@1und1.de.", REDACTED ".");
	is("fcm-server@0: fcm-page@12.service user@1000.service getty@tty1.service",
	   "fcm-server@0: fcm-page@12.service user@1000.service getty@tty1.service");
	is("fcm-server@0.service: restarted", "fcm-server@0.service: restarted");
	is("fcm-server@%i a @ b @c d@", "fcm-server@%i a @ b @c d@");
	is("tcp://@[::1]:5730", "tcp://@[::1]:5730");
}

static void json(void **state)
{
	json_t *j = json_pack("{s:s,s:s,s:i,s:[s,{s:s}],s:n,s:b}", "name", "password x \"y",
			      "token", "q", "pin_secret", 7, "list", KEY, "deep", "opensesame",
			      "none", "secret", 1);

	redact_json(j, (const char *const[]){"opensesame"}, 1);
	assert_string_equal(json_string_value(json_object_get(j, "name")), "password " REDACTED);
	assert_string_equal(json_string_value(json_object_get(j, "token")), REDACTED);
	assert_string_equal(json_string_value(json_object_get(j, "pin_secret")), REDACTED);
	assert_string_equal(json_string_value(json_array_get(json_object_get(j, "list"), 0)),
			    REDACTED);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(json_object_get(j, "list"), 1), "deep")),
			    REDACTED);
	json_decref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps), cmocka_unit_test(keys), cmocka_unit_test(words),
		cmocka_unit_test(mail),	 cmocka_unit_test(json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

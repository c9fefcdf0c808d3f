/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The texts of the consumer protocol, see hello.h. */
#include "daemon/publish/hello.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/publish/groups.h"

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-"

/* A string member of letters that need no quoting anywhere. */
static int get_name(const json_t *root, const char *key, char *ret, size_t size, char *hint,
		    size_t hint_bytes)
{
	const char *text = json_string_value(json_object_get(root, key));
	size_t length = text ? strlen(text) : 0;

	if (length == 0 || length >= size || strspn(text, NAME_LETTERS) != length) {
		snprintf(hint, hint_bytes,
			 "\"%s\" must be a string of 1 to %zu letters, digits or ._:-", key,
			 size - 1);
		return -EBADMSG;
	}
	memcpy(ret, text, length + 1);
	return 0;
}

static int parse_object(const json_t *root, struct hello *ret_hello, char *hint, size_t hint_bytes)
{
	const json_t *protocol = json_object_get(root, "protocol");
	const json_t *credit = json_object_get(root, "credit");
	struct hello hello = {.credit = 0};
	int r;

	if (!json_is_integer(protocol) || json_integer_value(protocol) != HELLO_PROTOCOL) {
		snprintf(hint, hint_bytes, "\"protocol\" must be %d", HELLO_PROTOCOL);
		return -EBADMSG;
	}
	r = get_name(root, "name", hello.name, sizeof(hello.name), hint, hint_bytes);
	if (r == 0) {
		r = get_name(root, "group", hello.group, sizeof(hello.group), hint, hint_bytes);
	}
	if (r < 0) {
		return r;
	}
	if (!json_is_integer(credit) || json_integer_value(credit) < 1 ||
	    json_integer_value(credit) > GROUPS_CREDIT_MAX) {
		snprintf(hint, hint_bytes, "\"credit\" must be a number of blocks, 1 to %u",
			 GROUPS_CREDIT_MAX);
		return -EBADMSG;
	}
	hello.credit = (uint32_t)json_integer_value(credit);
	*ret_hello = hello;
	return 0;
}

int hello_parse(const void *bytes, size_t length, struct hello *ret_hello, char *hint,
		size_t hint_bytes)
{
	json_error_t error;
	json_t *root;
	int r;

	if (length > HELLO_BYTES_MAX) {
		snprintf(hint, hint_bytes, "HELLO is longer than %u bytes", HELLO_BYTES_MAX);
		return -EBADMSG;
	}
	root = json_loadb(bytes, length, JSON_REJECT_DUPLICATES, &error);
	if (!json_is_object(root)) {
		snprintf(hint, hint_bytes, "HELLO must carry a JSON object");
		json_decref(root);
		return -EBADMSG;
	}
	r = parse_object(root, ret_hello, hint, hint_bytes);
	json_decref(root);
	return r;
}

/* Takes over the reference. */
static size_t to_text(json_t *object, char text[HELLO_TEXT_MAX])
{
	size_t length = object ? json_dumpb(object, text, HELLO_TEXT_MAX, JSON_COMPACT) : 0;

	json_decref(object);
	if (length == 0 || length >= HELLO_TEXT_MAX) {
		memcpy(text, "{}", sizeof("{}")); /* out of memory: the verb alone has to do */
		return 2;
	}
	text[length] = '\0';
	return length;
}

size_t hello_welcome(unsigned board, const char *group, uint8_t streams, enum fcm_policy policy,
		     char text[HELLO_TEXT_MAX])
{
	json_t *names = json_array();

	for (unsigned stream = 0; stream < FCM_STREAMS; stream++) {
		if (streams & 1u << stream) {
			json_array_append_new(names, json_string(fcm_stream_name(stream)));
		}
	}
	return to_text(json_pack("{s:i, s:i, s:s, s:o, s:s}", "protocol", HELLO_PROTOCOL, "board",
				 (int)board, "group", group, "streams", names, "policy",
				 fcm_policy_name(policy)),
		       text);
}

size_t hello_error(const char *error, const char *hint, uint32_t retry_ms,
		   char text[HELLO_TEXT_MAX])
{
	json_t *object = json_pack("{s:s, s:s}", "error", error, "hint", hint);

	if (retry_ms) {
		json_object_set_new(object, "retry_ms", json_integer(retry_ms));
	}
	return to_text(object, text);
}

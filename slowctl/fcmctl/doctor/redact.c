/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets out of a text, see redact.h. */
#include "slowctl/fcmctl/doctor/redact.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define KEY_CHARACTERS 40u

/* What grows; `bad`: no memory. */
struct output {
	char *text;
	size_t used, size;
	bool bad;
};

static void make_room(struct output *o, size_t bytes)
{
	size_t size = 2 * (o->used + bytes) + 256;
	char *grown = realloc(o->text, size);

	if (grown == NULL) {
		o->bad = true;
		return;
	}
	o->text = grown;
	o->size = size;
}

static void put(struct output *o, const char *text, size_t bytes)
{
	if (!o->bad && o->used + bytes + 1 > o->size) {
		make_room(o, bytes);
	}
	if (!o->bad) {
		memcpy(o->text + o->used, text, bytes);
		o->used += bytes;
		o->text[o->used] = '\0';
	}
}

static void put_removed(struct output *o)
{
	put(o, REDACTED, sizeof(REDACTED) - 1);
}

static bool is_key_character(char c)
{
	return isalnum((unsigned char)c) ||
	       (c != '\0' && strchr(".-:+=^!/*?&<>()[]{}@%$#", c) != NULL);
}

/* One of the texts that are known to be secret begins here: its length. */
static size_t known_length(const char *at, const char *const *known, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(known[i]);

		if (length > 0 && strncmp(at, known[i], length) == 0) {
			return length;
		}
	}
	return 0;
}

static size_t pem_length(const char *at)
{
	const char *mark, *end;

	if (strncmp(at, "-----BEGIN ", 11) != 0) {
		return 0;
	}
	mark = at + strcspn(at, "\n");
	if (memmem(at, (size_t)(mark - at), "PRIVATE", 7) == NULL) {
		return 0;
	}
	end = strstr(mark, "-----END ");
	return end != NULL ? (size_t)(end - at) + strcspn(end, "\n") : strlen(at);
}

/* A word such as `password` ends at, or goes on from, here: bytes up to its value. 0: none. */
static size_t word_length(const char *at)
{
	static const char *const words[] = {
		"secret", "password", "passwd",	    "passphrase", "token",	 "api_key",
		"apikey", "api-key",  "credential", "bearer",	  "private_key", "authorization"};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t length = strlen(words[i]);

		if (strncasecmp(at, words[i], length) == 0) {
			length += strspn(at + length, "abcdefghijklmnopqrstuvwxyz_");
			return length + strspn(at + length, "\"' \t:=");
		}
	}
	return 0;
}

/* The value that follows such a word, whose last byte was `before`: to the end of its quotes, or of the line. */
static size_t value_length(const char *value, char before)
{
	size_t length = 0;

	if (before != '"' && before != '\'') {
		return strcspn(value, "\n");
	}
	while (value[length] != '\0' && value[length] != '\n' && value[length] != before) {
		length += value[length] == '\\' && value[length + 1] != '\0' ? 2 : 1;
	}
	return length;
}

/* "user:password@" that follows "://". */
static size_t login_length(const char *text, const char *at)
{
	size_t length = strcspn(at, "@/ \t\n\"'");

	return at - text >= 3 && strncmp(at - 3, "://", 3) == 0 && at[length] == '@' &&
			       memchr(at, ':', length) != NULL
		       ? length
		       : 0;
}

/* A name of a file has no capitals and few signs; 40 of these 39 among a key's 85 are rarer than 1e-13. */
static bool looks_random(const char *at)
{
	return strspn(at, "abcdefghijklmnopqrstuvwxyz0123456789.-/") < KEY_CHARACTERS;
}

/* A key may begin here, after a sign or nothing. */
static bool may_begin(const char *at, size_t begin)
{
	return (begin == 0 || strchr("=:([{<", at[begin - 1]) != NULL) && looks_random(at + begin);
}

/* A run of a key's characters begins here, of *ret_run bytes: a key is its end, or before a sign. All after *ret_before
 * is to go. */
static bool is_key(const char *at, size_t *ret_before, size_t *ret_run)
{
	size_t run = 0, begin;

	while (is_key_character(at[run])) {
		run++;
	}
	*ret_run = run;
	if (run < KEY_CHARACTERS) {
		return false;
	}
	*ret_before = run - KEY_CHARACTERS;
	if (may_begin(at, *ret_before)) {
		return true;
	}
	for (begin = 0; begin + KEY_CHARACTERS < run; begin++) {
		if (may_begin(at, begin) && strchr(")]}>.:", at[begin + KEY_CHARACTERS]) != NULL) {
			*ret_before = begin;
			return true;
		}
	}
	return false;
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS	"0123456789"
#define MAIL	LETTERS DIGITS "._%+-"

/* fcm-server@0, getty@tty1.service: a unit of systemd, by what follows the @. */
static bool is_instance(const char *name, size_t length)
{
	static const char *const kinds[] = {".service", ".socket", ".timer",
					    ".target",	".slice",  ".mount"};

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t kind = strlen(kinds[i]);

		if (length > kind && strncmp(name + length - kind, kinds[i], kind) == 0) {
			return true;
		}
	}
	return strspn(name, DIGITS) == length;
}

/* A mail address. */
static size_t mail_length(const char *at)
{
	size_t name = strspn(at, MAIL);
	const char *host = at + name + 1;
	size_t length;

	if (name == 0 || at[name] != '@') {
		return 0;
	}
	length = strspn(host, LETTERS DIGITS ".-");
	while (length > 0 && strchr(".-", host[length - 1]) != NULL) {
		length--;
	}
	return length > 0 && !is_instance(host, length) ? name + 1 + length : 0;
}

/* Something secret at `at`: copied or removed; how many bytes of the text were used. 0: nothing secret. */
static size_t take_secret(struct output *o, const char *text, const char *at,
			  const char *const *known, size_t count)
{
	size_t length = known_length(at, known, count);
	size_t before, run;

	length = length > 0 ? length : pem_length(at);
	length = length > 0 ? length : login_length(text, at);
	if (length > 0) {
		put_removed(o);
		return length;
	}
	length = word_length(at);
	if (length > 0) {
		put(o, at, length);
		run = value_length(at + length, at[length - 1]);
		if (run > 0) {
			put_removed(o);
		}
		return length + run;
	}
	if ((at == text || !is_key_character(at[-1])) && is_key(at, &before, &run)) {
		put(o, at, before);
		put_removed(o);
		return run;
	}
	length = at == text || strchr(MAIL, at[-1]) == NULL ? mail_length(at) : 0;
	if (length > 0) {
		put_removed(o);
	}
	return length;
}

char *redact(const char *text, const char *const *known, size_t count)
{
	struct output o = {.text = NULL};
	size_t used;

	put(&o, "", 0);
	for (const char *at = text; *at != '\0'; at += used) {
		used = take_secret(&o, text, at, known, count);
		if (used == 0) {
			put(&o, at, 1);
			used = 1;
		}
	}
	if (o.bad) {
		free(o.text);
		return NULL;
	}
	return o.text;
}

static bool names_secret(const char *key)
{
	for (; *key != '\0'; key++) {
		if (word_length(key) > 0) {
			return true;
		}
	}
	return false;
}

/* What a member or element becomes: a new reference. */
static json_t *redacted(const char *key, json_t *value, const char *const *known, size_t count)
{
	char *clean;
	json_t *text;

	if (key != NULL && names_secret(key) && (json_is_string(value) || json_is_number(value))) {
		return json_string(REDACTED);
	}
	if (!json_is_string(value)) {
		redact_json(value, known, count);
		return json_incref(value);
	}
	clean = redact(json_string_value(value), known, count);
	text = json_string(clean != NULL ? clean : REDACTED);
	free(clean);
	return text != NULL ? text : json_string(REDACTED);
}

void redact_json(json_t *json, const char *const *known, size_t count)
{
	json_t *value;
	const char *key;
	size_t i;

	json_object_foreach (json, key, value) {
		json_object_set_new(json, key, redacted(key, value, known, count));
	}
	json_array_foreach (json, i, value) {
		json_array_set_new(json, i, redacted(NULL, value, known, count));
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What decides who gets in, as somebody has edited or damaged it: a secret key's file (the first byte is 's'), and the
 * allow list.
 *
 * What must be true: a mistake has a text with the file's name, and nothing of the list holds; what is accepted are
 * names and keys that are such, and means the same with a comment behind it; no text has the secret in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "slowctl/access/access.h"
#include "slowctl/access/keyfile.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX 65536

static char directory[] = "/tmp/fcm-fuzz.XXXXXX", path[64];

static void clean(void)
{
	unlink(path);
	rmdir(directory);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	must(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/file", directory);
	atexit(clean);
	return 0;
}

static void put(const uint8_t *data, size_t size, const char *more)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	must(write(fd, more, strlen(more)) == (ssize_t)strlen(more));
	close(fd);
}

static void complain(void *context, const char *text)
{
	must(strncmp(text, path, strlen(path)) == 0 && text[strlen(path)] == ':');
	++*(unsigned *)context;
}

static void try_list(const uint8_t *data, size_t size)
{
	static struct access_list list, again;
	unsigned mistakes = 0;
	int r;

	memset(&list, 0xa5, sizeof(list));
	again = list;
	put(data, size, "");
	r = access_list_read(geteuid(), path, &list, complain, &mistakes);
	must(r == (mistakes ? -EINVAL : 0));
	if (r < 0) {
		must(memcmp(&list, &again, sizeof(list)) == 0);
		return;
	}
	must(list.count <= ACCESS_KEYS_MAX);
	for (unsigned n = 0; n < list.count; n++) {
		must(access_name_check(list.key[n].name) == 0);
		must(access_key_check(list.key[n].key) == 0);
	}
	put(data, size, "\n# a comment\n");
	r = access_list_read(geteuid(), path, &again, complain, &mistakes);
	must(r == 0 && again.count == list.count);
	must(memcmp(list.key, again.key, list.count * sizeof(list.key[0])) == 0);
}

/* The beginning of what is perhaps a key. */
static void must_not_tell(const uint8_t *data, size_t size, const char *message)
{
	const uint8_t *key = memmem(data, size, "secret ", 7);
	char part[17] = "";

	if (key && (size_t)(data + size - key) >= 7 + 16) {
		memcpy(part, key + 7, 16);
		must(strlen(part) < 16 || !strstr(message, part));
	}
}

static void try_secret(const uint8_t *data, size_t size)
{
	char secret[ACCESS_KEY_TEXT] = "?", public[ACCESS_KEY_TEXT] = "?", other[ACCESS_KEY_TEXT];
	struct sc_error error = {0};
	int r;

	put(data, size, "");
	r = keyfile_read(geteuid(), path, secret, public, &error);
	if (r < 0) {
		must(error.message[0] && strcmp(secret, "?") == 0);
		must_not_tell(data, size, error.message);
		return;
	}
	must(access_key_check(secret) == 0 && memmem(data, size, secret, strlen(secret)));
	must(zmq_curve_public(other, secret) == 0 && strcmp(other, public) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0 || size >= TEXT_MAX) {
		return 0;
	}
	if (data[0] == 's') {
		try_secret(data + 1, size - 1);
	} else {
		try_list(data + 1, size - 1);
	}
	return 0;
}

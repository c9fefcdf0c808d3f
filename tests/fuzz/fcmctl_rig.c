// SPDX-License-Identifier: GPL-2.0-or-later
/* Runs fcmctl inside the process of a fuzz target. See fcmctl_rig.h. */
int fcmctl_main(int argc, char **argv);
#define main fcmctl_main
#include "slowctl/fcmctl/main.c"
#undef main

#include "tests/fuzz/fcmctl_rig.h"
#include "tests/fuzz/fuzz.h"

#define WORDS	 32
#define TEXT_MAX (64u << 20)

void fcmctl_init(void)
{
	must(freopen("/dev/null", "r", stdin)); /* it asks nobody */
	unsetenv("FCM_BOARD");
	unsetenv("FCM_DIR");
	unsetenv("FCM_SOCKET");
	unsetenv("FCM_DATABASE");
	setenv("TERM", "dumb", 1);
}

/* One character of well-formed UTF-8; NULL: it is none. */
static const unsigned char *next_char(const unsigned char *p, unsigned *ret_c)
{
	unsigned more = *p < 0x80 ? 0 : *p >= 0xf0 ? 3 : *p >= 0xe0 ? 2 : *p >= 0xc2 ? 1 : 4;
	unsigned c = more ? *p & (0x3fu >> more) : *p;

	for (p++; more > 0 && more < 4; more--, p++) {
		if ((*p & 0xc0) != 0x80) {
			return NULL;
		}
		c = c << 6 | (*p & 0x3fu);
	}
	*ret_c = c;
	return more ? NULL : p;
}

static bool obeyed(unsigned c)
{
	return (c < 0x20 && c != '\n') || (c >= 0x7f && c <= 0x9f) || c == 0x061c || c == 0x200e ||
	       c == 0x200f || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static void harmless(const char *text, size_t size)
{
	const unsigned char *p = (const unsigned char *)text, *end = p + size;
	unsigned c = 0;

	must(size < TEXT_MAX && strlen(text) == size);
	while (p < end) {
		p = next_char(p, &c);
		must(p);
		must(!obeyed(c));
	}
}

void fcmctl_run(const char *const *words)
{
	FILE *out = stdout, *err = stderr;
	char *argv[WORDS + 2] = {"fcmctl"}, *text[2] = {NULL, NULL};
	size_t size[2] = {0, 0};
	int argc = 1, code;

	while (words[argc - 1]) {
		must(argc <= WORDS);
		argv[argc] = strdup(words[argc - 1]);
		must(argv[argc++]);
	}
	stdout = open_memstream(&text[0], &size[0]);
	stderr = open_memstream(&text[1], &size[1]);
	must(stdout && stderr);
	code = fcmctl_main(argc, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = out;
	stderr = err;
	must(code >= CTL_DONE && code <= CTL_UNKNOWN);
	for (unsigned n = 0; n < 2; n++) {
		harmless(text[n], size[n]);
		free(text[n]);
	}
	while (argc > 1) {
		free(argv[--argc]);
	}
}

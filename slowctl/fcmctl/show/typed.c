/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "slowctl/fcmctl/show/typed.h"

#include <stdbool.h>
#include <string.h>

/* A command of the shell begins here, with or without a path before its name. */
static bool begins_typed(const char *text)
{
	static const char *const commands[] = {"fcmctl ", "fcm-server --", "sudo ",	 "cd ",
					       "mv ",	  "systemctl ",	   "journalctl "};
	const char *end = text + strcspn(text, " ");

	while (end > text && end[-1] != '/') {
		end--;
	}
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		if (strncmp(end, commands[i], strlen(commands[i])) == 0) {
			return true;
		}
	}
	return false;
}

/* The sentence goes on here, after a command. The page has the same rule: page/www/advice.js. */
static bool goes_on(const char *text)
{
	static const char *const marks[] = {", ",      ": ",	   ". ",      "? ",
					    " (",      " brings ", " shows ", " names ",
					    " lists ", " does ",   " again"};

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		if (strncmp(text, marks[i], strlen(marks[i])) == 0) {
			return true;
		}
	}
	return false;
}

size_t typed_command(const char *text)
{
	return text[0] != '(' && begins_typed(text) ? typed_bytes(text) : 0;
}

size_t typed_bytes(const char *text)
{
	size_t bytes = text[0] == '(';

	if (begins_typed(text + bytes)) {
		for (; text[bytes] != '\0' && strchr(";)", text[bytes]) == NULL; bytes++) {
			const char *quoted =
				text[bytes] == '\'' ? strchr(text + bytes + 1, '\'') : NULL;

			if (goes_on(text + bytes)) {
				break;
			}
			bytes = quoted != NULL ? (size_t)(quoted - text) : bytes;
		}
	}
	return bytes + strcspn(text + bytes, " ");
}

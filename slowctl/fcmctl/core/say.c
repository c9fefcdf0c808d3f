/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Saying what went wrong: one sentence what, which and why, one what to do that can be typed as it stands.
 */
#include <ctype.h>
#include <grp.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "slowctl/fcmctl/core/args.h"
#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

static double clock_s(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool ctl_speaks_utf8(void)
{
	setlocale(LC_CTYPE, ""); /* numbers stay as they are */
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

double ctl_now(void)
{
	return clock_s(CLOCK_REALTIME);
}

double ctl_monotonic(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

void ctl_print_line(const char *before, const char *text)
{
	struct writer *w = writer_create_text(stderr, false);

	if (w != NULL) {
		writer_text(w, WRITER_PLAIN, "%s", before);
		writer_paragraph(w, strlen(before), WRITER_PLAIN, "%s", text);
		writer_destroy(w);
	}
}

void ctl_append_word(char *text, size_t size, const char *option, const char *word)
{
	static const char harmless[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				       "0123456789/._-+:@%";
	bool plain = *word != '\0' && strspn(word, harmless) == strlen(word);
	size_t quoted;

	value_append(text, size, "%s%s%s%s", *option != '\0' ? " --" : "", option,
		     *option != '\0' ? " " : "", plain ? word : "'");
	while (!plain) {
		quoted = strcspn(word, "'");
		value_append(text, size, "%.*s'%s", (int)quoted, word,
			     word[quoted] == '\'' ? "\\''" : "");
		plain = word[quoted] == '\0';
		word += quoted + 1;
	}
}

void ctl_append_typed(char *text, size_t size, const struct ctl *ctl, const struct ctl_args *args)
{
	value_append(text, size, "%s %s", ctl->self, ctl->doing);
	for (int i = 0; i < args->words; i++) {
		value_append(text, size, " ");
		ctl_append_word(text, size, "", args->word[i]);
	}
	for (int i = 0; i < CTL_OPTIONS; i++) {
		const struct ctl_option_row *row = ctl_option_row((enum ctl_option)i);

		if (!ctl_given(args, i) || (args->command->options & CTL_BIT(i)) == 0) {
			continue;
		}
		if (row->value != NULL) {
			ctl_append_word(text, size, row->name, args->text[i]);
		} else {
			value_append(text, size, " --%s", row->name);
		}
	}
}

static bool is_word(const char *text, const char *word)
{
	size_t length = strlen(word);

	return strncmp(text, word, length) == 0 && !isalpha((unsigned char)text[length]);
}

/* The first word of a command: a noun, or the verb of what has none. */
static bool is_command(const char *text)
{
	for (const struct ctl_command *const *table = ctl_tables; *table != NULL; table++) {
		for (const struct ctl_command *c = *table; c->verb != NULL; c++) {
			if (is_word(text, c->noun != NULL ? c->noun : c->verb)) {
				return true;
			}
		}
	}
	return false;
}

/* Something to be typed begins here, not a word of the sentence, nor of a path. */
static bool begins_command(const char *hint, const char *at)
{
	return (at == hint || strchr(" (;:\n", at[-1]) != NULL) &&
	       is_command(at + strlen("fcmctl "));
}

const char *ctl_typed(const struct ctl *ctl, const char *hint, char *buf, size_t size)
{
	const char *from = hint;
	const char *at = hint;
	size_t used = 0;

	buf[0] = '\0';
	while ((at = strstr(at, "fcmctl ")) != NULL) {
		if (ctl->self[0] != '\0' && begins_command(hint, at) && used < size) {
			snprintf(buf + used, size - used, "%.*s%s", (int)(at - from), from,
				 ctl->self);
			used += strlen(buf + used);
			from = at + strlen("fcmctl");
		}
		at += strlen("fcmctl ");
	}
	if (used < size) {
		snprintf(buf + used, size - used, "%s", from);
	}
	return buf;
}

void ctl_report_failure(struct ctl *ctl, const char *text, const char *hint, json_t *error)
{
	json_t *whole = json_pack("{s:O}", "error", error);
	char typed[4 * PATH_MAX];

	fflush(stdout);
	ctl_print_line("fcmctl: ", text);
	if (*hint != '\0') {
		ctl_print_line("        -> ",
			       ctl != NULL ? ctl_typed(ctl, hint, typed, sizeof(typed)) : hint);
	}
	if (ctl != NULL && ctl->json && whole != NULL) {
		writer_result(ctl->out, whole, NULL);
	}
	json_decref(whole);
}

int ctl_fail(struct ctl *ctl, int exit_code, const char *code, const char *hint, const char *format,
	     ...)
{
	char text[1024];
	va_list ap;
	json_t *error;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	hint = hint != NULL ? hint : "";
	error = json_pack("{s:s,s:s,s:s}", "code", code, "message", text, "hint", hint);
	ctl_report_failure(ctl, text, hint, error);
	json_decref(error);
	return exit_code;
}

void *ctl_memory(struct ctl *ctl, void *memory)
{
	if (memory == NULL) {
		exit(ctl_fail(ctl, CTL_NOT, "internal", "", "out of memory"));
	}
	return memory;
}

void ctl_remark(const char *format, ...)
{
	char *text = NULL;
	va_list ap;
	int length;

	va_start(ap, format);
	length = vasprintf(&text, format, ap);
	va_end(ap);
	fflush(stdout);
	ctl_print_line("fcmctl: ", length >= 0 ? text : format);
	free(length >= 0 ? text : NULL);
}

const char *ctl_access_action(const char *path, char *buf, size_t size)
{
	char near[PATH_MAX];
	char *slash;
	struct stat st;
	struct group *group;
	bool found;

	snprintf(near, sizeof(near), "%s", path);
	found = stat(near, &st) == 0;
	slash = strrchr(near, '/');
	if (!found && slash != NULL) {
		*slash = '\0';
		found = stat(near, &st) == 0;
	}
	group = found ? getgrgid(st.st_gid) : NULL;
	if (group != NULL && st.st_gid == 0) { /* no advice: its members may do what root may */
		snprintf(buf, size, "%s is root's: run the command with sudo", near);
	} else if (group != NULL) {
		snprintf(
			buf, size,
			"%s is for members of group %s: sudo usermod -aG %s \"$USER\", then log in "
			"again",
			near, group->gr_name, group->gr_name);
	} else {
		snprintf(buf, size, "ask the administrator for access to %s", path);
	}
	return buf;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Plans and batches as text: see job_file.h. A file is understood as a whole or not at all. */
#include "slowctl/fcmctl/jobs/job_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX  4u
#define BLANKS	   " \t\r"
#define LINES_MORE 256u /* room for so many at once */

/* Without the blanks around it. */
static char *trim(char *text)
{
	size_t length;

	text += strspn(text, BLANKS);
	length = strlen(text);
	while (length > 0 && strchr(BLANKS, text[length - 1]) != NULL) {
		text[--length] = '\0';
	}
	return text;
}

/* NAME = VALUE */
static int plan_line(char *text, struct job_line *line, struct ctl_fault *ret_fault)
{
	char *comment = strchr(text, '#');
	char *equals;

	if (comment != NULL) {
		*comment = '\0';
	}
	text = trim(text);
	if (*text == '\0') {
		return 0;
	}
	equals = strchr(text, '=');
	if (equals == NULL) {
		return ctl_fault(ret_fault, "floor3.om2.hv = 1450", "'%.60s' is not NAME = VALUE",
				 text);
	}
	*equals = '\0';
	line->name = trim(text);
	line->value = trim(equals + 1);
	if (*line->name == '\0' || *line->value == '\0' || strpbrk(line->name, BLANKS) != NULL) {
		return ctl_fault(ret_fault, "floor3.om2.hv = 1450",
				 "'%.60s = %.60s': a name and a value", line->name, line->value);
	}
	return 1;
}

/* The next word, quotes taken away; *text behind it. NULL: no more. `*ret_open`: a quote has no end. */
static char *next_word(char **text, bool *ret_open)
{
	char *from = *text + strspn(*text, BLANKS);
	char *to = from;
	char *word = from;
	char quote = '\0';

	if (*from == '\0' || *from == '#') {
		return NULL;
	}
	for (; *from != '\0' && (quote != '\0' || strchr(BLANKS, *from) == NULL); from++) {
		if (quote == '\0' && (*from == '\'' || *from == '"')) {
			quote = *from;
		} else if (quote != '\0' && *from == quote) {
			quote = '\0';
		} else {
			*to++ = *from;
		}
	}
	*ret_open = quote != '\0';
	*text = *from != '\0' ? from + 1 : from;
	*to = '\0';
	return word;
}

static int batch_words(char **word, unsigned words, struct job_line *line,
		       struct ctl_fault *ret_fault)
{
	const char *verb = word[0];
	bool set = strcmp(verb, "set") == 0;

	for (unsigned n = 1; n < words; n++) {
		if (strncmp(word[n], "--", 2) == 0) {
			return ctl_fault(ret_fault,
					 "give it to batch, for all lines: fcmctl batch --help",
					 "'%.60s': options are not allowed in a line", word[n]);
		}
	}
	if (!set && strcmp(verb, "action") != 0) {
		return ctl_fault(ret_fault, "set NAME VALUE, action NAME, or wait",
				 "'%.60s' is not a batch command", verb);
	}
	if (words != (set ? 3 : 2)) {
		return ctl_fault(
			ret_fault,
			set ? "set NAME VALUE; a value with blanks in quotes" : "action NAME",
			"'%.60s' is followed by %u word%s", verb, words - 1, words == 2 ? "" : "s");
	}
	line->name = word[1];
	line->value = set ? word[2] : NULL;
	return 1;
}

static int batch_line(char *text, struct job_line *line, struct ctl_fault *ret_fault)
{
	char *word[WORDS_MAX + 1];
	unsigned words = 0;
	unsigned first;
	bool open = false;

	while (words <= WORDS_MAX && (word[words] = next_word(&text, &open)) != NULL) {
		if (open) {
			return ctl_fault(ret_fault, "", "the closing quote is missing");
		}
		words++;
	}
	first = words > 0 && strcmp(word[0], "fcmctl") == 0; /* copied from a terminal */
	if (words == first) {
		return 0;
	}
	if (words - first == 1 && strcmp(word[first], "wait") == 0) {
		line->step++;
		return 0;
	}
	return batch_words(word + first, words - first, line, ret_fault);
}

static int add(struct job_file *file, const struct job_line *line)
{
	if (file->count % LINES_MORE == 0) {
		void *lines = reallocarray(file->lines, file->count + LINES_MORE, sizeof(*line));

		if (lines == NULL) {
			return -ENOMEM;
		}
		file->lines = lines;
	}
	file->lines[file->count++] = *line;
	return 0;
}

int job_file_parse(char *text, size_t length, bool plan, struct job_file *ret_file,
		   struct ctl_fault *ret_fault)
{
	struct job_file file = {.text = text};
	struct job_line next = {.line = 0};
	char *row;
	int r = 0;

	if (strlen(text) != length) {
		free(text);
		ret_fault->line = 0;
		return ctl_fault(ret_fault, "is it the right file?",
				 "it contains a byte with value 0");
	}
	while (r >= 0 && (row = strsep(&text, "\n")) != NULL) {
		ret_fault->line = ++next.line;
		r = (plan ? plan_line : batch_line)(row, &next, ret_fault);
		r = r > 0 ? add(&file, &next) : r;
	}
	if (r < 0) {
		job_file_free(&file);
		return r;
	}
	*ret_file = file;
	return 0;
}

int job_file_read(const char *path, char **ret_text, size_t *ret_length)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char *text;
	size_t length;
	int err;

	if (f == NULL) {
		return -errno;
	}
	text = malloc(JOB_FILE_MAX + 1); /* only what is read takes memory */
	length = text != NULL ? fread(text, 1, JOB_FILE_MAX + 1, f) : 0;
	err = text == NULL ? -ENOMEM : ferror(f) ? -EIO : length > JOB_FILE_MAX ? -EFBIG : 0;
	if (f != stdin) {
		fclose(f);
	}
	if (err != 0) {
		free(text);
		return err;
	}
	text[length] = '\0';
	*ret_text = text;
	*ret_length = length;
	return 0;
}

void job_file_free(struct job_file *file)
{
	free(file->text);
	free(file->lines);
	*file = (struct job_file){0};
}

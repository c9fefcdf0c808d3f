/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl drill: what the trainee of a `make drill` says. The drill lists its causes in DIR/drill.json and judges the
 * answers in DIR/drill.answers, a JSON object a line; DIR is the station's. The daemon has no part in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/show/value.h"

/* DIR/name. */
static void place(const struct ctl *ctl, const char *name, char *path, size_t size)
{
	const char *slash = strrchr(ctl->station.socket, '/');

	snprintf(path, size, "%.*s%s", slash ? (int)(slash + 1 - ctl->station.socket) : 0,
		 ctl->station.socket, name);
}

/* {causes:[{cause, of, about}], objects:[name]} of the drill; CTL_DONE, or the exit code after an error message. */
static int read_drill(struct ctl *ctl, json_t **ret_drill)
{
	char path[PATH_MAX];

	place(ctl, "drill.json", path, sizeof(path));
	*ret_drill = json_load_file(path, 0, NULL);
	return *ret_drill ? CTL_DONE
			  : ctl_fail(ctl, CTL_NOT, "refused", "make drill begins one",
				     "there is no drill here: no %.200s", path);
}

static void render_causes(struct writer *w, const json_t *result)
{
	static const struct value_column columns[] = {
		{"cause", "{cause}"}, {"of", "{of}"}, {"what has happened", "{about}"}, {0}};

	value_table(w, value_at(result, "causes"), columns, "none");
	writer_line(w, WRITER_DIM, "%s",
		    "to answer, as soon as you know, once for each fault: fcmctl drill answer "
		    "CAUSE OBJECT");
}

static int causes_run(struct ctl *ctl, const struct ctl_args *args)
{
	json_t *drill;
	int code = read_drill(ctl, &drill);

	if (code == CTL_DONE) {
		writer_result(ctl->out, drill, render_causes);
		json_decref(drill);
	}
	return code;
}

static bool is_listed(const json_t *list, const char *key, const char *word)
{
	size_t i;
	const json_t *item;

	json_array_foreach (list, i, item) {
		const char *text = json_string_value(key ? json_object_get(item, key) : item);

		if (text && strcmp(text, word) == 0) {
			return true;
		}
	}
	return false;
}

static int append(struct ctl *ctl, const json_t *answer)
{
	char path[PATH_MAX];
	char *line = json_dumps(answer, JSON_COMPACT);
	bool written = false;
	int fd;

	place(ctl, "drill.answers", path, sizeof(path));
	fd = line ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
	if (fd >= 0) {
		written = dprintf(fd, "%s\n", line) > 0;
		written = close(fd) == 0 && written;
	}
	free(line);
	return written ? CTL_DONE
		       : ctl_fail(ctl, CTL_NOT, "failed", NULL, "cannot write %.200s: %s", path,
				  strerror(errno));
}

static void render_answer(struct writer *w, const json_t *result)
{
	value_line(w, WRITER_PLAIN, result, "{time:time}  {cause} {object}");
}

/* The screens print tower1.floor3, the drill's list has floor3. */
static const char *without_tower(const char *object)
{
	const char *dot = strncmp(object, "tower", 5) == 0 ? strchr(object, '.') : NULL;

	return dot != NULL ? dot + 1 : object;
}

static int answer_run(struct ctl *ctl, const struct ctl_args *args)
{
	const char *cause = args->word[0], *object = without_tower(args->word[1]);
	json_t *drill, *answer;
	int code = read_drill(ctl, &drill);

	if (code != CTL_DONE) {
		return code;
	}
	if (!is_listed(json_object_get(drill, "causes"), "cause", cause)) {
		code = ctl_usage(ctl, "fcmctl drill causes lists them", "there is no cause '%s'",
				 cause);
	} else if (!is_listed(json_object_get(drill, "objects"), NULL, object)) {
		code = ctl_usage(ctl, "write floor1, link2, clock or board", "there is no '%s'",
				 args->word[1]);
	} else {
		answer = json_pack("{s:f,s:s,s:s}", "time", ctl_now(), "cause", cause, "object",
				   object);
		code = append(ctl, answer);
		if (code == CTL_DONE) {
			writer_result(ctl->out, answer, render_answer);
		}
		json_decref(answer);
	}
	json_decref(drill);
	return code;
}

const struct ctl_command ctl_drill_commands[] = {
	{"drill", "answer", "CAUSE OBJECT", "say what has happened, in a make drill",
	 .help = "As soon as you know. An answer cannot be taken back. make drill says at its end "
		 "what was right.\n\n"
		 "  fcmctl drill answer fibre-dark link2",
	 .run = answer_run},
	{"drill", "causes", "", "what may happen in it",
	 .help = "The words for the answers, and of what objects each can be: floor1, link2, "
		 "clock, board.",
	 .run = causes_run},
	{0},
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* See files.h. */
#include "slowctl/page/files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define FILE_BYTES (1u << 20) /* of one file, at most */
#define DYGRAPHS   "/usr/share/javascript/dygraphs"

struct file {
	char *name;
	const char *type;
	char *bytes;
	size_t length;
	SLIST_ENTRY(file) next;
};

struct files {
	SLIST_HEAD(, file) list;
};

/* NULL: not one that is served. */
static const char *type_of(const char *name)
{
	static const char *const types[][2] = {
		{".html", "text/html; charset=utf-8"},
		{".css", "text/css; charset=utf-8"},
		{".js", "text/javascript; charset=utf-8"},
		{".svg", "image/svg+xml"},
	};
	const char *end = strrchr(name, '.');

	for (size_t i = 0; end && i < sizeof(types) / sizeof(types[0]); i++) {
		if (strcmp(end, types[i][0]) == 0) {
			return types[i][1];
		}
	}
	return NULL;
}

static void file_free(struct file *f)
{
	free(f->name);
	free(f->bytes);
	free(f);
}

static int read_file(const char *path, struct file *f)
{
	FILE *in = fopen(path, "re");
	int r = 0;

	if (!in) {
		return -errno;
	}
	f->bytes = malloc(FILE_BYTES + 1);
	f->length = f->bytes ? fread(f->bytes, 1, FILE_BYTES + 1, in) : 0;
	if (ferror(in)) {
		r = -EIO;
	} else if (f->length > FILE_BYTES) {
		r = -EFBIG;
	} else if (!f->bytes) {
		r = -ENOMEM;
	}
	fclose(in);
	return r;
}

static int add(struct files *files, const char *directory, const char *name, struct sc_error *error)
{
	struct file *f = calloc(1, sizeof(*f));
	char path[4096];
	int r;

	if (f) {
		f->name = strdup(name);
		f->type = type_of(name);
	}
	if (!f || !f->name) {
		free(f);
		return sc_fail(error, -ENOMEM, "internal", "", "out of memory");
	}
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	r = read_file(path, f);
	if (r < 0) {
		file_free(f);
		return sc_fail(
			error, r, "failed",
			"apt-get install libjs-dygraphs, or --files DIR with the page's files",
			"cannot read %.200s: %s", path, strerror(-r));
	}
	SLIST_INSERT_HEAD(&files->list, f, next);
	return 0;
}

static const struct file *find(const struct files *files, const char *name)
{
	const struct file *f;

	SLIST_FOREACH (f, &files->list, next) {
		if (strcmp(f->name, *name ? name : "index.html") == 0) {
			return f;
		}
	}
	return NULL;
}

static int add_all(struct files *files, const char *directory, struct sc_error *error)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	int r = 0;

	if (!d) {
		return sc_fail(error, -errno, "failed", "--files DIR names the page's files",
			       "cannot read the directory %.200s: %s", directory, strerror(errno));
	}
	while (r == 0 && (e = readdir(d)) != NULL) {
		if (e->d_name[0] != '.' && type_of(e->d_name)) {
			r = add(files, directory, e->d_name, error);
		}
	}
	closedir(d);
	if (r == 0 && !find(files, "")) {
		r = sc_fail(error, -ENOENT, "failed", "--files DIR names the page's files",
			    "there is no index.html in %.200s", directory);
	}
	return r;
}

int files_open(const char *directory, struct files **ret_files, struct sc_error *error)
{
	struct files *files = calloc(1, sizeof(*files));
	int r;

	if (!files) {
		return sc_fail(error, -ENOMEM, "internal", "", "out of memory");
	}
	SLIST_INIT(&files->list);
	r = add_all(files, directory, error);
	r = r == 0 ? add(files, DYGRAPHS, "dygraph.min.js", error) : r;
	r = r == 0 ? add(files, DYGRAPHS, "dygraph.min.css", error) : r;
	if (r < 0) {
		files_close(files);
		return r;
	}
	*ret_files = files;
	return 0;
}

void files_close(struct files *files)
{
	struct file *f;

	while (files && (f = SLIST_FIRST(&files->list)) != NULL) {
		SLIST_REMOVE_HEAD(&files->list, next);
		file_free(f);
	}
	free(files);
}

void files_ask(void *context, struct server_client *c, const char *rest,
	       const struct evkeyvalq *arguments)
{
	const struct file *f = find(context, rest);

	if (f) {
		server_answer_bytes(c, f->type, f->bytes, f->length);
	} else {
		server_refuse(c, HTTP_NOTFOUND, "", "there is no such page");
	}
}

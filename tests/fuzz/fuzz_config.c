// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What an administrator edits: the configuration of an instance, and the parameter dictionary. The first
 * byte says which: 'd' the dictionary, anything else the configuration.
 *
 * What must be true: a mistake is told with file and line; what is accepted can be printed, and what is
 * printed is accepted again and means the same; every parameter of an accepted dictionary is found by its
 * name and prints its value.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/config/config.h"
#include "slowctl/param/param.h"
#include "tests/fuzz/fuzz.h"

#define TEXT_MAX 65536

static const char *file_of(int fd, const uint8_t *data, size_t size, char *path, size_t path_size)
{
	must(ftruncate(fd, 0) == 0 && pwrite(fd, data, size, 0) == (ssize_t)size);
	snprintf(path, path_size, "/proc/self/fd/%d", fd);
	return path;
}

static void say_nothing(void *context, const char *section, const char *key, bool restart)
{
	must(section[0] && key[0]);
	++*(unsigned *)context;
}

static void try_config(int fd, const uint8_t *data, size_t size)
{
	static struct config config, again;
	static char printed[TEXT_MAX];
	struct config_report *report = NULL;
	char path[64];
	unsigned differences = 0;
	FILE *out;
	long length;
	int r = config_load(file_of(fd, data, size, path, sizeof(path)), 3, NULL, &config, &report);

	must((r == 0) == (config_errors(report) == 0));
	for (size_t n = 0; n < config_errors(report); n++) {
		must(config_error(report, n)[0]);
	}
	config_report_destroy(report);
	if (r < 0) {
		return;
	}
	out = fmemopen(printed, sizeof(printed), "w");
	must(out && config_print(path, 3, NULL, out, stderr) == 0);
	fflush(out);
	length = ftell(out);
	fclose(out);
	must(length > 0 && length < TEXT_MAX);
	report = NULL;
	r = config_load(file_of(fd, (const uint8_t *)printed, (size_t)length, path, sizeof(path)),
			3, NULL, &again, &report);
	if (r < 0) {
		config_print_errors(report, stderr);
	}
	must(r == 0);
	config_report_destroy(report);
	config_diff(&config, &again, say_nothing, &differences);
	must(differences == 0);
}

static void count(void *context, struct param *p)
{
	char text[64];

	must(param_format(p, p->kind->hard_min, text, sizeof(text))[0]);
	++*(unsigned *)context;
}

static void try_dictionary(int fd, const uint8_t *data, size_t size)
{
	static const struct param_floor floors[] = {{0, 1, 7}, {3, 2, 7}};
	struct sc_error error = {0};
	struct params *params = NULL;
	struct param *found;
	char path[64];
	unsigned n = 0;

	if (params_load(file_of(fd, data, size, path, sizeof(path)), floors, 2, &params, &error) <
	    0) {
		must(error.message[0]);
		return;
	}
	for (unsigned i = 0; i < params_count(params); i++) {
		must(params_find(params, params_at(params, i)->name, &found, &error) == 0);
		must(found == params_at(params, i));
	}
	params_match(params, "*.*", count, &n);
	params_match(params, "floor7", count, &n);
	params_destroy(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;

	if (fd < 0) {
		fd = memfd_create("fuzz", MFD_CLOEXEC);
		must(fd >= 0);
	}
	if (size == 0 || size >= TEXT_MAX) {
		return 0;
	}
	if (data[0] == 'd') {
		try_dictionary(fd, data + 1, size - 1);
	} else {
		try_config(fd, data + 1, size - 1);
	}
	return 0;
}

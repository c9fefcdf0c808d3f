// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A fuzz target without libFuzzer and clang, for `make check`: runs each input of tests/fuzz/corpus/NAME once; NAME
 * stands in the program's name, test_fuzz_NAME. To be started where the tree begins, or with the inputs as arguments.
 */
#include <errno.h>
#include <glob.h>

#include "tests/fuzz/fuzz.h"

/* Not every target has one. */
extern __attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv);

static void run(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0 || fseek(f, 0, SEEK_SET)) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		exit(1);
	}
	bytes = malloc((size_t)size + 1);
	must(bytes && fread(bytes, 1, (size_t)size, f) == (size_t)size);
	fclose(f);
	LLVMFuzzerTestOneInput(bytes, (size_t)size);
	free(bytes);
}

int main(int argc, char **argv)
{
	const char *name = strstr(argv[0], "test_fuzz_");
	char pattern[128];
	glob_t found;

	must(name);
	if (LLVMFuzzerInitialize) {
		LLVMFuzzerInitialize(&argc, &argv);
	}
	for (int i = 1; i < argc; i++) {
		run(argv[i]);
	}
	if (argc > 1) {
		return 0;
	}
	snprintf(pattern, sizeof(pattern), "tests/fuzz/corpus/%s/*", name + strlen("test_fuzz_"));
	if (glob(pattern, 0, NULL, &found) != 0) {
		fprintf(stderr, "no inputs: %s\n", pattern);
		return 1;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		run(found.gl_pathv[i]);
	}
	printf("%zu inputs, no finding\n", found.gl_pathc);
	globfree(&found);
	return 0;
}

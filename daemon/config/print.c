// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Printing the configuration: --check-config, --print-config, the example, and what a reload changed.
 * All of it walks the typed table; no option is named here.
 */
#include "daemon/config/private.h"

#include <errno.h>
#include <string.h>

#define TEXT_BYTES (2 * CONFIG_STRING)

#define SECTIONS 32u

struct section {
	char name[48];
	const char *kind;
	const struct option *options; /* of its kind, and others behind them */
	const void *base;
};

static bool has(const struct section *s, const struct option *o)
{
	return o->section && !strcmp(o->section, s->kind);
}

/* All sections that `c` has, in the order of the file. Returns their number. */
static unsigned sections_of(const struct config *c, struct section sections[SECTIONS])
{
	const char *last = "";
	unsigned n = 0;

	for (const struct option *o = config_options; o->section; o++) {
		if (!strcmp(o->section, last)) {
			continue;
		}
		last = o->section;
		sections[n] = (struct section){.kind = o->section, .options = o, .base = c};
		snprintf(sections[n++].name, sizeof(sections->name), "%s", o->section);
		if (strcmp(o->section, "data") != 0) {
			continue;
		}
		for (unsigned i = 0; i < c->groups; i++, n++) {
			sections[n] = (struct section){.kind = "group",
						       .options = config_group_options,
						       .base = &c->group[i]};
			snprintf(sections[n].name, sizeof(sections->name), "group %s",
				 c->group[i].name);
		}
		for (unsigned i = 0; i < NANET3_LINKS; i++, n++) {
			sections[n] = (struct section){.kind = "link",
						       .options = config_link_options,
						       .base = &c->link[i]};
			snprintf(sections[n].name, sizeof(sections->name), "link %u", i);
		}
	}
	return n;
}

/* ------------------------------------------------------------------ --check-config, --print-config */

/* Reads the configuration and prints its mistakes, after `print` (may be NULL) has printed the values. Exit status. */
static int load(const char *path, unsigned instance, const char *const *overrides,
		void (*print)(const struct config *c, const struct config_report *report,
			      FILE *out),
		FILE *out, FILE *err)
{
	struct config_report *report = NULL;
	struct config c;
	int r = config_load(path, instance, overrides, &c, &report);

	if (r == -ENOMEM) {
		fprintf(err, "configuration: out of memory\n");
		return CONFIG_EX_CONFIG;
	}
	if (print) {
		print(&c, report, out);
	}
	config_print_errors(report, err);
	config_report_destroy(report);
	return r < 0 ? CONFIG_EX_CONFIG : 0;
}

int config_check(const char *path, unsigned instance, const char *const *overrides, FILE *out,
		 FILE *err)
{
	int r = load(path, instance, overrides, NULL, out, err);

	if (r == 0) {
		fprintf(out, "%s: valid\n", path ? path : "configuration");
	}
	return r;
}

static void print_values(const struct config *c, const struct config_report *report, FILE *out)
{
	struct section sections[SECTIONS];
	unsigned count = sections_of(c, sections);
	char text[TEXT_BYTES];

	fprintf(out, "# effective configuration of instance %u\n", c->instance);
	for (const struct section *s = sections; s < sections + count; s++) {
		size_t value = (size_t)((const char *)s->base - (const char *)c);

		fprintf(out, "\n[%s]\n", s->name);
		for (const struct option *o = s->options; has(s, o); o++) {
			config_value_format(o, s->base, text, sizeof(text));
			fprintf(out, "%s =%s%s ; %s\n", o->key, text[0] ? " " : "", text,
				config_origin(report, value + o->offset));
		}
	}
}

int config_print(const char *path, unsigned instance, const char *const *overrides, FILE *out,
		 FILE *err)
{
	return load(path, instance, overrides, print_values, out, err);
}

/* ------------------------------------------------------------------ the example */

/* Each key, with its help where the section is the first of its kind. */
static void example_section(const struct section *s, FILE *out)
{
	bool is_link = !strcmp(s->kind, "link"), is_group = !strcmp(s->kind, "group");
	unsigned link = is_link ? (unsigned)(s->name[5] - '0') : 0;
	bool first = is_group ? !strcmp(s->name, "group trigger") : link == 0;
	char text[TEXT_BYTES], range[128];

	if (first) {
		fprintf(out, "\n# %s", s->options->about);
	}
	fprintf(out, "\n[%s]\n", s->name);
	for (const struct option *o = s->options; has(s, o); o++) {
		if (first) {
			config_value_range(o, range, sizeof(range));
			fprintf(out, "# %s (%s)\n", o->help, range);
		}
		/* Strings as the table has them: with their %N. */
		if (o->type == OPTION_STRING || o->type == OPTION_ENDPOINT) {
			snprintf(text, sizeof(text), "%s", o->value);
		} else {
			config_value_format(o, s->base, text, sizeof(text));
		}
		if (is_link && !strcmp(o->key, "floor")) {
			fprintf(out, "floor = %u\n", link + 1);
		} else {
			fprintf(out, "#%s =%s%s\n", o->key, text[0] ? " " : "", text);
		}
	}
}

void config_print_example(FILE *out)
{
	struct section sections[SECTIONS];
	struct config_report *report = NULL;
	struct config c;

	if (config_load(NULL, 0, NULL, &c, &report) == -ENOMEM) {
		return;
	}
	fputs("# Configuration of fcm-server, one file per instance: /etc/fcm-server/board-N.conf, "
	      "then\n"
	      "# board-N.conf.d/*.conf in order of name. See fcm-server.conf(5). What is commented "
	      "out is\n"
	      "# the default; only the floors must be named. In texts %N stands for the instance "
	      "number,\n"
	      "# %(5710+N) for 5710 plus it, %% for a percent sign.\n"
	      "#   fcm-server --board N --check-config    says what is wrong, and where\n"
	      "#   fcm-server --board N --print-config    says what is in effect, and why\n",
	      out);
	for (unsigned n = 0, count = sections_of(&c, sections); n < count; n++) {
		example_section(&sections[n], out);
	}
	config_report_destroy(report);
}

/* ------------------------------------------------------------------ what a reload changed */

/* The section of that name; NULL: there is none. */
static const void *base_of(const char *name, const struct section *sections, unsigned count)
{
	for (unsigned n = 0; n < count; n++) {
		if (!strcmp(sections[n].name, name)) {
			return sections[n].base;
		}
	}
	return NULL;
}

unsigned config_diff(const struct config *before, const struct config *after,
		     void (*each)(void *context, const char *section, const char *key,
				  bool restart),
		     void *context)
{
	struct section old[SECTIONS], new[SECTIONS];
	unsigned old_count = sections_of(before, old), new_count = sections_of(after, new);
	unsigned restarts = 0;

	for (const struct section *s = new; s < new + new_count; s++) {
		const char *base = base_of(s->name, old, old_count), *now = s->base;

		for (const struct option *o = s->options; has(s, o); o++) {
			/* Strings are padded with zeros, so bytes decide for every type. */
			if (!base || memcmp(base + o->offset, now + o->offset, o->size) != 0) {
				each(context, s->name, o->key, !o->live);
				restarts += !o->live;
			}
		}
	}
	for (const struct section *s = old; s < old + old_count; s++) {
		if (!base_of(s->name, new, new_count)) { /* a group that is gone */
			each(context, s->name, "streams", true);
			restarts++;
		}
	}
	return restarts;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Printing the configuration: --check-config, --print-config, the example, and what a reload changed.
 * All of it walks the typed table; no option is named here.
 */
#include "daemon/config/private.h"

#include <errno.h>
#include <string.h>

#define TEXT_BYTES (2 * CONFIG_STRING)

/* Calls `each` for every section that exists in `c`, in the order of the file. */
static void each_section(const struct config *c,
			 void (*each)(void *context, const char *section, const char *kind,
				      const struct option *table, const void *base),
			 void *context)
{
	const char *last = "";
	char name[48];

	for (const struct option *o = config_options; o->section; o++) {
		if (!strcmp(o->section, last)) {
			continue;
		}
		last = o->section;
		each(context, o->section, o->section, config_options, c);
		if (strcmp(o->section, "data") != 0) {
			continue;
		}
		for (unsigned i = 0; i < c->groups; i++) {
			snprintf(name, sizeof(name), "group %s", c->group[i].name);
			each(context, name, "group", config_group_options, &c->group[i]);
		}
		for (unsigned i = 0; i < NANET3_LINKS; i++) {
			snprintf(name, sizeof(name), "link %u", i);
			each(context, name, "link", config_link_options, &c->link[i]);
		}
	}
}

static bool of_kind(const struct option *o, const char *kind)
{
	return !strcmp(o->section, kind);
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

struct printing {
	FILE *out;
	const struct config *config;
	const struct config_report *report;
};

static void print_section(void *context, const char *section, const char *kind,
			  const struct option *table, const void *base)
{
	struct printing *p = context;
	size_t value = (size_t)((const char *)base - (const char *)p->config);
	char text[TEXT_BYTES];

	fprintf(p->out, "\n[%s]\n", section);
	for (const struct option *o = table; o->section; o++) {
		if (of_kind(o, kind)) {
			config_value_format(o, base, text, sizeof(text));
			fprintf(p->out, "%s =%s%s ; %s\n", o->key, text[0] ? " " : "", text,
				config_origin(p->report, value + o->offset));
		}
	}
}

static void print_values(const struct config *c, const struct config_report *report, FILE *out)
{
	fprintf(out, "# effective configuration of instance %u\n", c->instance);
	each_section(c, print_section, &(struct printing){out, c, report});
}

int config_print(const char *path, unsigned instance, const char *const *overrides, FILE *out,
		 FILE *err)
{
	return load(path, instance, overrides, print_values, out, err);
}

/* ------------------------------------------------------------------ the example */

static void example_section(void *context, const char *section, const char *kind,
			    const struct option *table, const void *base)
{
	struct printing *p = context;
	unsigned link = (unsigned)(section[strlen(section) - 1] - '0');
	bool is_link = !strcmp(kind, "link"), is_group = !strcmp(kind, "group");
	bool told = (is_link && link > 0) || (is_group && strcmp(section, "group trigger") != 0);
	char text[TEXT_BYTES], range[128];

	fprintf(p->out, "\n");
	if (!told) {
		fprintf(p->out, "# %s\n", config_section_help(kind));
	}
	fprintf(p->out, "[%s]\n", section);
	for (const struct option *o = table; o->section; o++) {
		if (!of_kind(o, kind)) {
			continue;
		}
		if (!told) {
			config_value_range(o, range, sizeof(range));
			fprintf(p->out, "# %s (%s)\n", o->help, range);
		}
		/* Strings as the table has them: with their %N. */
		if (o->type == OPTION_STRING || o->type == OPTION_ENDPOINT) {
			snprintf(text, sizeof(text), "%s", o->value);
		} else {
			config_value_format(o, base, text, sizeof(text));
		}
		if (is_link && !strcmp(o->key, "floor")) {
			fprintf(p->out, "floor = %u\n", link + 1);
		} else {
			fprintf(p->out, "#%s =%s%s\n", o->key, text[0] ? " " : "", text);
		}
	}
}

void config_print_example(FILE *out)
{
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
	each_section(&c, example_section, &(struct printing){out, &c, report});
	config_report_destroy(report);
}

/* ------------------------------------------------------------------ what a reload changed */

struct diff {
	const struct config *before;
	void (*each)(void *context, const char *section, const char *key, bool restart);
	void *context;
	unsigned restarts;
};

/* The same section in the other configuration; NULL when it has none. */
static const void *counterpart(const struct config *c, const char *section, const char *kind)
{
	if (!strcmp(kind, "link")) {
		return &c->link[section[5] - '0'];
	}
	if (strcmp(kind, "group") != 0) {
		return c;
	}
	for (unsigned i = 0; i < c->groups; i++) {
		if (!strcmp(c->group[i].name, section + 6)) {
			return &c->group[i];
		}
	}
	return NULL;
}

static void diff_section(void *context, const char *section, const char *kind,
			 const struct option *table, const void *base)
{
	struct diff *d = context;
	const void *before = counterpart(d->before, section, kind);

	for (const struct option *o = table; o->section; o++) {
		if (of_kind(o, kind) && (!before || !config_value_equal(o, before, base))) {
			d->each(d->context, section, o->key, !o->live);
			d->restarts += !o->live;
		}
	}
}

/* Groups that are there no more; the others were compared already. */
static void diff_gone(void *context, const char *section, const char *kind,
		      const struct option *table, const void *base)
{
	struct diff *d = context;

	(void)table;
	(void)base;
	if (!counterpart(d->before, section, kind)) {
		d->each(d->context, section, "streams", true);
		d->restarts++;
	}
}

unsigned config_diff(const struct config *before, const struct config *after,
		     void (*each)(void *context, const char *section, const char *key,
				  bool restart),
		     void *context)
{
	struct diff d = {.before = before, .each = each, .context = context};

	each_section(after, diff_section, &d);
	d.before = after;
	each_section(before, diff_gone, &d);
	return d.restarts;
}

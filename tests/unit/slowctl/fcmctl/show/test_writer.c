// SPDX-License-Identifier: GPL-2.0-or-later
/* fcmctl's writer: tables, colours, foreign text, JSON; and the values it writes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/fcmctl/show/value.h"
#include "slowctl/fcmctl/show/writer.h"

/* A writer into memory. */
struct paper {
	char *text;
	size_t size;
	FILE *file;
};

static struct writer *paper_text(struct paper *p, bool colour)
{
	p->file = open_memstream(&p->text, &p->size);
	assert_non_null(p->file);
	return writer_create_text(p->file, colour);
}

/* `other`: by another release of libsmartcols; NULL: the same by all. */
static void paper_check_either(struct paper *p, struct writer *w, const char *expected,
			       const char *other)
{
	assert_int_equal(writer_flush(w), 0);
	writer_destroy(w);
	fclose(p->file);
	assert_string_equal(p->text, other && strcmp(p->text, other) == 0 ? other : expected);
	free(p->text);
}

static void paper_check(struct paper *p, struct writer *w, const char *expected)
{
	paper_check_either(p, w, expected, NULL);
}

static const char *const columns[] = {">n", "name", ">value"};

static void test_table(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_table(w, columns, 3);
	writer_cell(w, WRITER_PLAIN, "1");
	writer_cell(w, WRITER_PLAIN, "caf\u00e9");
	writer_cell(w, WRITER_PLAIN, "%.1f", 2.5);
	writer_cell(w, WRITER_PLAIN, "20");
	writer_cell(w, WRITER_PLAIN, "x");
	writer_cell(w, WRITER_BAD, "12345.6");
	writer_table_end(w, "nothing");
	writer_table(w, columns, 3);
	writer_table_end(w, "nothing");
	paper_check(&p, w,
		    " n  name    value\n"
		    " 1  caf\u00e9      2.5\n"
		    "20  x     12345.6\n"
		    "nothing\n");
}

/* A long text is broken at blanks within its column; a longer word stays whole. With libsmartcols 2.41 (Debian
 * 13) it makes the column as wide as itself. */
static void test_table_too_wide(void **state)
{
	static const char *const names[] = {"code", ">n", "text"};
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_set_width(w, 40);
	writer_table(w, names, 3);
	writer_cell(w, WRITER_PLAIN, "crc");
	writer_cell(w, WRITER_PLAIN, "5");
	writer_cell(w, WRITER_PLAIN, "damaged frames from floor 3 of this string");
	writer_cell(w, WRITER_PLAIN, "link-dark");
	writer_cell(w, WRITER_PLAIN, "12");
	writer_cell(w, WRITER_PLAIN, "abcdefghijklmnopqrstuvwxyzabcdefghijkl");
	writer_cell(w, WRITER_PLAIN, "slow");
	writer_cell(w, WRITER_PLAIN, "0");
	writer_cell(w, WRITER_PLAIN, "short");
	writer_table_end(w, "nothing");
	paper_check_either(&p, w,
			   "code        n  text\n"
			   "crc         5  damaged frames from floor\n"
			   "               3 of this string\n"
			   "link-dark  12  abcdefghijklmnopqrstuvwxyzabcdefghijkl\n"
			   "slow        0  short\n",
			   "code        n  text\n"
			   "crc         5  damaged frames from floor 3 of this\n"
			   "               string\n"
			   "link-dark  12  abcdefghijklmnopqrstuvwxyzabcdefghijkl\n"
			   "slow        0  short\n");
}

static void test_colour(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, true);

	writer_text(w, WRITER_BAD, "RED");
	writer_text(w, WRITER_PLAIN, " x");
	writer_newline(w);
	paper_check(&p, w, "\033[1;31mRED\033[0m x\n");
}

static void test_wants_colour(void **state)
{
	setenv("NO_COLOR", "1", 1);
	assert_false(writer_wants_colour(stdout));
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	assert_false(writer_wants_colour(stdout));
}

/* A run's note must not drive the terminal of the shift. */
static void test_foreign_text(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, true);

	writer_text(w, WRITER_PLAIN,
		    "a\033[2Jb\nc\x7f\xc2\x9b"
		    "d");
	paper_check(&p, w, "a?[2Jb?c???d");
}

/* Nor turn round what stands beside it: a text with U+202E reads backwards on a terminal that knows bidi. */
static void test_foreign_direction(void **state)
{
	static const char *const turns[] = {
		"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c",
		"\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069",
	};
	/* Their neighbours are letters, marks and blanks. */
	static const char harmless[] = "\u061b\u061d\u200d\u2010\u2029\u202f\u2065\u206a\u00a0";
	struct paper p;
	struct writer *w;

	for (size_t i = 0; i < sizeof(turns) / sizeof(turns[0]); i++) {
		w = paper_text(&p, false);
		writer_text(w, WRITER_PLAIN, "a%sb", turns[i]);
		paper_check(&p, w, strlen(turns[i]) == 2 ? "a??b" : "a???b");
	}
	w = paper_text(&p, false);
	writer_text(w, WRITER_PLAIN, "%s", harmless);
	paper_check(&p, w, harmless);
	w = paper_text(&p, false);
	writer_text(w, WRITER_PLAIN, "%s",
		    "\xe2\x80"); /* cut off: nothing behind it is looked at */
	paper_check(&p, w, "\xe2\x80");
}

static void test_pair_and_paragraph(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_pair(w, "state", WRITER_GOOD, "up");
	writer_pair(w, "a very long name indeed", WRITER_PLAIN, "%d", 5);
	writer_set_width(w, 40);
	writer_paragraph(
		w, 4, WRITER_PLAIN, "%s",
		"check the fibre at the patch panel, then aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		"aaaaaaaaaaaa end");
	paper_check(&p, w,
		    "state             up\n"
		    "a very long name indeed 5\n"
		    "    check the fibre at the patch panel,\n"
		    "    then\n"
		    "    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n"
		    "    end\n");
}

#define ABOVE                                                                                      \
	"  -> read it back\n"                                                                      \
	"  (fcmctl --dir /a/b get 'floor1.om 0.*'),\n"                                             \
	"  then\n"                                                                                 \
	"  /usr/bin/fcmctl set floor1.om0.hv 1450 --reason 'two words';\n"                         \
	"  it ramps\n"                                                                             \
	"n  what\n"

/* A command that is broken over lines cannot be copied. */
static void test_commands_are_whole(void **state)
{
	static const char *const two[] = {"n", "what"};
	static const char text[] =
		"read it back (fcmctl --dir /a/b get 'floor1.om 0.*'), then /usr/bin/fcmctl set "
		"floor1.om0.hv 1450 --reason 'two words'; it ramps";
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_set_width(w, 40);
	writer_paragraph(w, 2, WRITER_PLAIN, "-> %s", text);
	writer_table(w, two, 2);
	writer_cell(w, WRITER_PLAIN, "1");
	writer_cell(w, WRITER_PLAIN, "%s", text);
	writer_table_end(w, "nothing");
	paper_check_either(&p, w,
			   ABOVE "1  read it back\n"
				 "   (fcmctl --dir /a/b get 'floor1.om 0.*'),\n"
				 "   then\n"
				 "   /usr/bin/fcmctl set floor1.om0.hv 1450 --reason 'two words';\n"
				 "   it ramps\n",
			   ABOVE "1  read it back (fcmctl --dir /a/b get 'floor1.om 0.*'), then\n"
				 "   /usr/bin/fcmctl set floor1.om0.hv 1450 --reason 'two words';\n"
				 "   it ramps\n");
}

static void render_wide(struct writer *w, const json_t *result)
{
	writer_line(w, WRITER_BOLD, "%041d", 0);
	writer_line(w, WRITER_PLAIN, "%040d", 0);
	writer_newline(w);
}

static void test_rows(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, true);

	writer_set_width(w, 40);
	assert_int_equal(writer_count_rows(w, NULL, render_wide), 4);
	paper_check(&p, w, "");
}

static void test_phrases(void **state)
{
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_set_width(w, 40);
	writer_phrase(w, WRITER_GOOD, "1 of 3 done");
	writer_phrase(w, WRITER_PLAIN, ", %d with unknown outcome: fcmctl command list", 1);
	writer_phrase(w, WRITER_PLAIN, ", 1 not sent");
	writer_phrase(w, WRITER_PLAIN, " (job %s)", "20261120T151103-3fa29c01");
	writer_newline(w);
	paper_check(&p, w,
		    "1 of 3 done, 1 with unknown outcome:\n"
		    "fcmctl command list, 1 not sent (job\n"
		    "20261120T151103-3fa29c01)\n");
}

static void never(struct writer *w, const json_t *result)
{
	fail();
}

static void test_json(void **state)
{
	struct paper p;
	struct writer *w;
	json_t *result = json_pack("{s:f,s:f,s:n}", "time", 1795187523.123456, "x", 0.1, "none");

	p.file = open_memstream(&p.text, &p.size);
	w = writer_create_json(p.file, false);
	writer_text(w, WRITER_PLAIN, "silent");
	writer_table(w, columns, 3);
	writer_cell(w, WRITER_PLAIN, "silent");
	writer_table_end(w, "silent");
	writer_pair(w, "silent", WRITER_PLAIN, "silent");
	writer_result(w, result, never);
	paper_check(&p, w, "{\"v\": 2, \"time\": 1795187523.123456, \"x\": 0.1, \"none\": null}\n");
	assert_int_equal(json_object_size(result), 3); /* the caller's object is as it was */
	json_decref(result);
}

/* Whoever looks at JSON on a terminal is as safe; whoever reads it has the text as it was. */
static void test_json_controls(void **state)
{
	static const char text[] =
		"a\x7f\xc2\x80\xc2\x9b\xc2\x9f\u00a0\u061c\u200e\u202e\u2066\u2069\u00e9\033";
	json_t *result = json_pack("{s:s}", text, text), *back;
	struct paper p;
	struct writer *w;

	p.file = open_memstream(&p.text, &p.size);
	w = writer_create_json(p.file, false);
	writer_result(w, result, never);
	fflush(p.file);
	back = json_loads(p.text, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(back, text)), text);
#define ESCAPED                                                                                    \
	"\"a\\u007F\\u0080\\u009B\\u009F\u00a0\\u061C\\u200E\\u202E\\u2066\\u2069\u00e9\\u001B\""
	paper_check(&p, w, "{\"v\": 2, " ESCAPED ": " ESCAPED "}\n");
	json_decref(back);
	json_decref(result);
}

static void test_full_disk(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct writer *w;

	if (full == NULL) {
		skip();
	}
	w = writer_create_text(full, false);
	writer_text(w, WRITER_PLAIN, "something");
	assert_int_equal(writer_flush(w), -EIO);
	writer_destroy(w);
	fclose(full);
}

static void test_values(void **state)
{
	static const struct {
		const char *json;
		enum value_form form;
		const char *text;
	} rows[] = {
		{"null", VALUE_PLAIN, "-"},
		{"[]", VALUE_PLAIN, "-"},
		{"true", VALUE_PLAIN, "yes"},
		{"false", VALUE_COUNT, "no"},
		{"\"locked\"", VALUE_PLAIN, "locked"},
		{"1450.0", VALUE_PLAIN, "1450"},
		{"1449.75", VALUE_PLAIN, "1449.75"},
		{"9007199254740993", VALUE_COUNT, "9007199254740993"},
		{"9999.4", VALUE_RATE, "9999"},
		{"37512345", VALUE_RATE, "37.51 M"},
		{"301234", VALUE_RATE, "301.2 k"},
		{"2500000000", VALUE_RATE, "2.50 G"},
		{"-0.04", VALUE_PS_SIGNED, "-0.0"},
		{"12.34", VALUE_PS_SIGNED, "+12.3"},
		{"0.25", VALUE_AGE, "0.2 s"},
		{"1795187523.25", VALUE_TIME_MS, "2026-11-20 15:12:03.250"},
	};
	char buf[64];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *value = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);

		assert_non_null(value);
		assert_string_equal(value_text(value, rows[i].form, buf, sizeof(buf)),
				    rows[i].text);
		json_decref(value);
	}
	assert_string_equal(value_text(NULL, VALUE_AGE, buf, sizeof(buf)), "-");
}

static void test_paths(void **state)
{
	json_t *o = json_loads(
		"{\"a\":{\"b\":{\"c\":5},\"s\":\"x\"},\"n\":null,\"tower\":1,\"floor\":7}", 0,
		NULL);
	json_t *nobody = json_loads("{\"tower\":null,\"floor\":null}", 0, NULL);
	char buf[48];

	assert_int_equal(value_integer(o, "a.b.c", -1), 5);
	assert_int_equal(value_integer(o, "a.b.d", -1), -1);
	assert_int_equal(value_integer(o, "a.s.c", -1), -1);
	assert_int_equal(value_integer(NULL, "a", -1), -1);
	json_object_set_new(o, "most", json_integer(INT64_MAX));
	json_object_set_new(o, "least", json_integer(INT64_MIN));
	json_object_set_new(o, "real", json_real(1e300));
	json_object_set_new(o, "whole", json_real(-2.6));
	/* Whoever adds some of them up does not overflow. */
	assert_int_equal(value_integer(o, "most", -1), VALUE_INTEGER_MOST);
	assert_int_equal(value_integer(o, "least", -1), -VALUE_INTEGER_MOST);
	assert_int_equal(value_integer(o, "real", -1), -1);
	assert_int_equal(value_integer(o, "whole", -1), -3);
	assert_string_equal(value_string(o, "a.s", "?"), "x");
	assert_string_equal(value_string(o, "n", "?"), "?");
	assert_string_equal(value_fill(o, "{:floor}", buf, sizeof(buf)), "tower1.floor7");
	assert_string_equal(value_fill(nobody, "{:floor}", buf, sizeof(buf)), "-");
	assert_string_equal(value_fill(NULL, "{:floor}", buf, sizeof(buf)), "-");
	json_decref(nobody);
	json_decref(o);
}

/* Members of an object within a text, columns of a table. */
static void test_fill(void **state)
{
	static const struct value_column list[] = {
		{">link", "{link}", VALUE_AS_IS},
		{"state", "{state}", VALUE_BY_WORD},
		{">lost", "{cells:lost}", VALUE_WARN},
		{"what", "{cells:losses}", VALUE_AS_IS},
		{0},
	};
	json_t *o = json_loads(
		"{\"ring\":{\"used\":3},\"age_s\":0.25,\"tower\":1,\"floor\":7,\"x\":null,"
		"\"words\":[\"off\",\"on\"],\"power\":1,\"links\":[{\"link\":2,\"state\":\"up\","
		"\"cells\":{\"good\":5,\"crc\":13,\"alignment\":2,\"slow\":{\"blocks\":4}}},"
		"{\"link\":3,\"state\":\"dark\",\"cells\":{}}]}",
		0, NULL);
	char buf[128];
	struct paper p;
	struct writer *w;

	assert_non_null(o);
	assert_string_equal(
		value_fill(o, "{ring.used} of {ring.depth}, {age_s:age} ago", buf, sizeof(buf)),
		"3 of -, 0.2 s ago");
	assert_string_equal(value_fill(o, "{:floor} {x|?}{y|} {power:word}", buf, sizeof(buf)),
			    "tower1.floor7 ? on");
	assert_string_equal(value_fill(o, "{ring.used}{age_s:age}", buf, 4), "30."); /* cut */
	w = paper_text(&p, true);
	value_table(w, value_at(o, "links"), list, "no links");
	value_table(w, NULL, list, "no links");
	paper_check(
		&p, w,
		"\033[2mlink\033[0m  \033[2mstate\033[0m  \033[2mlost\033[0m  \033[2mwhat\033[0m\n"
		"   2  \033[32mup   \033[0m  \033[33m  19\033[0m  13 crc, 2 alignment, 4 slow\n"
		"   3  \033[1;31mdark \033[0m     0  -\n"
		"\033[2mno links\033[0m\n");
	json_decref(o);
}

/* What to do comes below its row, a command a line. */
static void test_table_advice(void **state)
{
	static const char *const two[] = {"n", "what"};
	struct paper p;
	struct writer *w = paper_text(&p, false);

	writer_set_width(w, 40);
	writer_table(w, two, 2);
	writer_cell(w, WRITER_PLAIN, "1");
	writer_advised_cell(w,
			    "when the light is out: bin/fcmctl --dir /a get 'f*.rate'. HV too "
			    "high? bin/fcmctl --dir /a/b/c set 'f[01]. hv' VOLTS; it stays off",
			    "a module has tripped");
	writer_cell(w, WRITER_PLAIN, "2");
	writer_advised_cell(w, "", "nothing to do");
	writer_cell(w, WRITER_PLAIN, "3");
	writer_advised_cell(w, "fcmctl link align 2 brings them back (fcmctl safe)",
			    "bytes slipped in");
	writer_table_end(w, "nothing");
	paper_check(&p, w,
		    "n  what\n"
		    "1  a module has tripped\n"
		    "  -> when the light is out:\n"
		    "     bin/fcmctl --dir /a get 'f*.rate'\n"
		    "     HV too high?\n"
		    "     bin/fcmctl --dir /a/b/c set 'f[01]. hv' VOLTS\n"
		    "     it stays off\n"
		    "2  nothing to do\n"
		    "3  bytes slipped in\n"
		    "  -> fcmctl link align 2\n"
		    "     brings them back (fcmctl safe)\n");
}

/* The last column comes below its row where it has no room, and then its advice; no other column is left out for it. */
static void test_table_below(void **state)
{
	static const char *const names[] = {">n", "?cost", "+cause"};
	static const struct {
		unsigned width;
		const char *page;
	} cases[] = {
		{80, " n  cost           cause\n"
		     " 1  840 frames     link2/link-dark: no light\n"
		     "12  36 mod-s dark  tower1.floor3.om2/hv-trip: a module has tripped\n"
		     "  -> fcmctl safe\n"},
		{50, " n  cost\n"
		     " 1  840 frames\n"
		     "    link2/link-dark: no light\n"
		     "12  36 mod-s dark\n"
		     "    tower1.floor3.om2/hv-trip: a module has\n"
		     "    tripped\n"
		     "  -> fcmctl safe\n"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct paper p;
		struct writer *w = paper_text(&p, false);

		writer_set_width(w, cases[i].width);
		writer_table(w, names, 3);
		writer_cell(w, WRITER_PLAIN, "1");
		writer_cell(w, WRITER_PLAIN, "840 frames");
		writer_cell(w, WRITER_PLAIN, "link2/link-dark: no light");
		writer_cell(w, WRITER_PLAIN, "12");
		writer_cell(w, WRITER_PLAIN, "36 mod-s dark");
		writer_advised_cell(w, "fcmctl safe",
				    "tower1.floor3.om2/hv-trip: a module has tripped");
		writer_table_end(w, "nothing");
		paper_check(&p, w, cases[i].page);
	}
}

/* Of many rows the advice is in the row: printing them one by one would take seconds. */
static void test_many_advised_rows(void **state)
{
	static const char *const two[] = {"n", "what"};
	struct paper p;
	struct writer *w = paper_text(&p, false);
	char expected[32 * 1000] = "n    what\n", *end = expected + strlen(expected);

	writer_set_width(w, 100);
	writer_table(w, two, 2);
	for (unsigned i = 0; i < 999; i++) {
		writer_cell(w, WRITER_PLAIN, "%u", i);
		writer_advised_cell(w, i % 2 ? "fcmctl link show 0" : "", "lost");
		end += sprintf(end, "%-3u  lost%s\n", i, i % 2 ? "  -> fcmctl link show 0" : "");
	}
	writer_table_end(w, "nothing");
	paper_check(&p, w, expected);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_too_wide),
		cmocka_unit_test(test_colour),
		cmocka_unit_test(test_wants_colour),
		cmocka_unit_test(test_foreign_text),
		cmocka_unit_test(test_foreign_direction),
		cmocka_unit_test(test_pair_and_paragraph),
		cmocka_unit_test(test_commands_are_whole),
		cmocka_unit_test(test_table_advice),
		cmocka_unit_test(test_table_below),
		cmocka_unit_test(test_many_advised_rows),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_phrases),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_json_controls),
		cmocka_unit_test(test_full_disk),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_fill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

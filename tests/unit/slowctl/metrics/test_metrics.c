/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers of the daemon as metrics: names and units, what is left out, bounds, when a station is ready. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "slowctl/metrics/metrics.h"

#define NAMED "{\"name\":\"tower1.floor3.om2."
#define LINK2 ",\"link\":2}"

static int setup(void **state)
{
	struct sc_error error = {0};

	return metrics_dictionary_load("schemas/parameters.conf",
				       (struct metrics_dictionary **)state, &error);
}

static int teardown(void **state)
{
	metrics_dictionary_free(*state);
	return 0;
}

static json_t *json_of(const char *text)
{
	json_t *json = json_loads(text, 0, NULL);

	assert_non_null(json);
	return json;
}

/* The text of these answers; "" is none. */
static char *written(const struct metrics_dictionary *d, const char *status, const char *parameters)
{
	json_t *s = *status ? json_of(status) : NULL, *p = *parameters ? json_of(parameters) : NULL;
	const struct metrics_answers a = {s, p, 0.5};
	char *text = metrics_write(d, &a);

	assert_non_null(text);
	json_decref(s);
	json_decref(p);
	return text;
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line)) {
		print_error("not there: %s\n%s", line, text ? text : "");
		fail();
	}
}

static void has_not(const char *text, const char *part)
{
	if (strstr(text, part)) {
		print_error("there: %s\n%s", part, text ? text : "");
		fail();
	}
}

static void no_daemon(void **state)
{
	char *text = written(*state, "", "");

	has(text, "\nfcm_up 0\n");
	has(text, "\nfcm_answer_age_seconds 0.5\n");
	assert_int_equal(strlen(strstr(text, "fcm_answer_age_seconds 0.5\n")),
			 strlen("fcm_answer_age_seconds 0.5\n"));
	free(text);
}

static void names_and_units(void **state)
{
	static const struct {
		const char *object, *name, *unit;
		enum param_object kind;
		bool counter, set;
		double value;
		const char *metric;
		double base;
	} cases[] = {
		{"om", "hv", "V", PARAM_OM, false, false, 1450, "fcm_om_hv_volts", 1450},
		{"om", "hv", "V", PARAM_OM, false, true, 1450, "fcm_om_hv_set_volts", 1450},
		{"om", "current", "uA", PARAM_OM, false, false, 7, "fcm_om_current_amperes", 7e-6},
		{"om", "trips", "", PARAM_OM, true, false, 3, "fcm_om_trips_total", 3},
		{"fcm", "humidity", "%", PARAM_FCM, false, false, 18, "fcm_floor_humidity_ratio",
		 0.18},
		{"link", "phase", "ps", PARAM_LINK, false, false, 4100, "fcm_link_phase_seconds",
		 4.1e-9},
		{"disk", "free", "MB", PARAM_SHORE, false, false, 500.5, "fcm_disk_free_bytes",
		 500500000},
		{"x", "y", "m/s 2", PARAM_SHORE, false, false, 5, "fcm_x_y_m_s_2", 5},
	};
	char name[METRICS_NAME_MAX];

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		struct param_kind kind = {.object = cases[n].kind, .counter = cases[n].counter};

		strcpy(kind.object_name, cases[n].object);
		strcpy(kind.name, cases[n].name);
		strcpy(kind.unit, cases[n].unit);
		assert_string_equal(metrics_name(&kind, cases[n].set, name), cases[n].metric);
		assert_true(fabs(metrics_base(&kind, cases[n].value) / cases[n].base - 1) < 1e-15);
	}
}

/* A register of 32 bits: it goes on through 2^31, and its wrap to 0 is what Prometheus knows as a reset. */
static void registers_wrap(void **state)
{
	const struct param_kind kind = {.counter = true, .type = PARAM_INT, .scale = 1};

	assert_true(metrics_base(&kind, param_from_raw(&kind, INT32_MAX)) == 2147483647.0);
	assert_true(metrics_base(&kind, param_from_raw(&kind, INT32_MIN)) == 2147483648.0);
	assert_true(metrics_base(&kind, param_from_raw(&kind, -1)) == 4294967295.0);
	assert_true(metrics_base(&kind, param_from_raw(&kind, 0)) == 0.0);
}

static void only_good_values(void **state)
{
	char *text = written(
		*state, "{}",
		"[" NAMED
		"hv\",\"value\":1400.5,\"setpoint\":1450,\"quality\":\"good\",\"age_s\":2.5" LINK2
		"," NAMED "rate\",\"value\":5000,\"quality\":\"stale\",\"age_s\":60.5" LINK2
		"," NAMED "trip\",\"value\":true,\"quality\":\"bad\",\"age_s\":3" LINK2 "," NAMED
		"trips\",\"value\":null,\"quality\":\"never\",\"age_s\":null" LINK2 "," NAMED
		"reset\",\"access\":\"action\",\"quality\":\"never\"" LINK2
		",{\"name\":\"site.own\",\"value\":1,\"quality\":\"good\",\"link\":null},{"
		"\"nothing\":1},7]");

	has(text, "\nfcm_up 1\n");
	has(text, "\nfcm_om_hv_volts{link=\"2\",tower=\"1\",floor=\"3\",module=\"om2\"} 1400.5\n");
	has(text,
	    "\nfcm_om_hv_set_volts{link=\"2\",tower=\"1\",floor=\"3\",module=\"om2\"} 1450\n");
	has_not(text, "fcm_om_rate");
	has_not(text, "fcm_om_trip");
	has(text, "fcm_parameters_age_seconds{link=\"2\",tower=\"1\",floor=\"3\",module=\"om2\","
		  "name=\"tower1.floor3.om2\"} 60.5\n");
	has(text, "fcm_parameters_left_out{link=\"2\",tower=\"1\",floor=\"3\",module=\"om2\","
		  "name=\"tower1.floor3.om2\"} 3\n");
	has(text, "\nfcm_parameters_other 3\n");
	free(text);
}

static void words_are_states(void **state)
{
	char *text = written(
		*state, "{\"links\":[{\"link\":1,\"expected\":{\"tower\":4,\"floor\":9}}]}",
		"[{\"name\":\"link1.state\",\"value\":\"dark\",\"quality\":\"good\",\"link\":1}]");

	has(text, "\nfcm_link_state{link=\"1\",tower=\"4\",floor=\"9\",state=\"dark\"} 1\n");
	has(text, "\nfcm_link_state{link=\"1\",tower=\"4\",floor=\"9\",state=\"up\"} 0\n");
	free(text);
}

static void members_of_status(void **state)
{
	char *text = written(
		*state,
		"{\"board\":3,\"name\":\"a "
		"\\\"b\\\"\",\"version\":\"1\",\"store\":{\"state\":\"failing\"},"
		"\"links\":[{\"link\":0,\"expected\":{\"tower\":1,\"floor\":2},\"age_s\":null,"
		"\"cells\":{\"good\":5,\"crc\":2}}],\"phases\":[{\"link\":0,\"mean_ps\":4100.5}],"
		"\"groups\":[{\"group\":\"g\",\"dropped\":{\"slow\":{\"blocks\":1,\"frames\":80}}}]"
		","
		"\"modules\":{\"count\":24,\"on\":22,\"off\":[\"x\",\"y\"]}}",
		"[]");

	has(text, "fcm_station_info{number=\"3\",name=\"a \\\"b\\\"\",version=\"1\"} 1\n");
	has(text, "\nfcm_store_failing 1\n");
	has(text,
	    "\nfcm_link_frames_total{link=\"0\",tower=\"1\",floor=\"2\",verdict=\"crc\"} 2\n");
	has_not(text, "fcm_link_data_age_seconds");
	has(text, "\nfcm_link_phase_mean_seconds{link=\"0\",tower=\"1\",floor=\"2\"} 4.1005e-09\n");
	has(text, "\nfcm_group_dropped_frames_total{group=\"g\",outcome=\"slow\"} 80\n");
	has(text, "\nfcm_modules{state=\"off\"} 2\n");
	has_not(text, "fcm_modules{state=\"count\"}");
	free(text);
}

#define INCIDENT(code, state)                                                                      \
	"{\"code\":\"" code "\",\"object\":\"o\",\"severity\":\"red\",\"state\":\"" state "\"}"

/* Two samples with the same labels would make Prometheus refuse the whole text. */
static void incidents(void **state)
{
	char *text = written(
		*state,
		"{\"incidents\":{\"word\":\"RED\",\"left_out\":0,\"list\":[" INCIDENT(
			"a", "active") "," INCIDENT("a", "active") "," INCIDENT("b",
										"cleared") "]}}",
		"[]");

	has(text, "\nfcm_station_state{state=\"RED\"} 1\n");
	has(text, "\nfcm_incident{code=\"a\",object=\"o\",severity=\"red\",state=\"active\"} 2\n");
	assert_null(strstr(strstr(text, "fcm_incident{") + 1, "fcm_incident{"));
	has(text, "\nfcm_incidents_left_out 0\n");
	free(text);
}

static void many_of_all(void **state)
{
	json_t *list = json_array(), *parameters = json_array(),
	       *status = json_pack("{s:{s:s,s:o}}", "incidents", "word", "RED", "list", list);
	const struct metrics_answers a = {status, parameters, 0};
	char *text;

	for (int n = 0; n < 1000; n++) {
		json_array_append_new(list, json_pack("{s:o,s:s,s:s,s:s}", "code",
						      json_sprintf("c%d", n), "object", "o",
						      "severity", "red", "state", "active"));
	}
	for (int n = 0; n < 20000; n++) {
		json_array_append_new(parameters,
				      json_pack("{s:o,s:i,s:s,s:i}", "name",
						json_sprintf("tower1.floor%d.om0.hv", n), "value",
						n, "quality", "good", "link", 0));
	}
	text = metrics_write(*state, &a);
	assert_non_null(text);
	assert_true(strlen(text) < 1u << 20);
	has(text, "\nfcm_incidents_left_out 744\n");
	free(text);
	json_decref(status);
	json_decref(parameters);
}

static void ready(void **state)
{
	static const struct {
		const char *status;
		bool ready;
		const char *why;
	} cases[] = {
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":0.1},"
		 "\"links\":[{\"age_s\":0.2},{\"age_s\":0.1}]}",
		 true, "WELL: h"},
		{"{\"incidents\":{\"word\":\"ATTENTION\",\"headline\":\"a\\nb\"},"
		 "\"capture\":{\"tick_age_s\":0.1},\"links\":[{\"age_s\":0.1}]}",
		 true, "ATTENTION: a b"},
		{"{\"incidents\":{\"word\":\"RED\",\"headline\":\"h\"},\"capture\":{\"tick_age_s\":"
		 "0.1},"
		 "\"links\":[{\"age_s\":0.1}]}",
		 false, "RED: h"},
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":9},"
		 "\"links\":[{\"age_s\":0.1}]}",
		 false, "the capture thread does not report"},
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":0.1},"
		 "\"links\":[{\"age_s\":9},{\"age_s\":null}]}",
		 false, "data are stale: no link has had a good frame for 5 s"},
		/* Its incident may be paused: the word is not red then. */
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":0.1},"
		 "\"links\":[{\"link\":0,\"state\":\"up\",\"age_s\":0.1},"
		 "{\"link\":2,\"state\":\"dark\",\"age_s\":9}]}",
		 false, "data are stale: link 2 is dark, no good frame for 9 s"},
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":0.1},"
		 "\"links\":[{\"link\":0,\"state\":\"up\",\"age_s\":0.1},"
		 "{\"link\":3,\"state\":\"dark\",\"age_s\":null}]}",
		 false, "data are stale: link 3 is dark, no good frame yet"},
		{"{\"incidents\":{\"word\":\"RED\",\"headline\":\"link2/link-dark: no light\"},"
		 "\"capture\":{\"tick_age_s\":0.1},"
		 "\"links\":[{\"link\":0,\"state\":\"up\",\"age_s\":0.1},"
		 "{\"link\":2,\"state\":\"dark\",\"age_s\":9}]}",
		 false, "RED: link2/link-dark: no light"},
		{"{\"incidents\":{\"word\":\"WELL\",\"headline\":\"h\"},\"capture\":{\"tick_age_"
		 "s\":0.1},"
		 "\"links\":[{\"link\":0,\"state\":\"up\",\"age_s\":0.1},"
		 "{\"link\":1,\"state\":\"off\",\"age_s\":null}]}",
		 true, "WELL: h"},
		{"{}", false, "the daemon has sent no status"},
	};
	char why[64];

	for (size_t n = 0; n < sizeof(cases) / sizeof(cases[0]); n++) {
		json_t *status = json_of(cases[n].status);

		assert_int_equal(metrics_ready(status, why, sizeof(why)), cases[n].ready);
		assert_string_equal(why, cases[n].why);
		json_decref(status);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_daemon),
		cmocka_unit_test(names_and_units),
		cmocka_unit_test(registers_wrap),
		cmocka_unit_test(only_good_values),
		cmocka_unit_test(words_are_states),
		cmocka_unit_test(members_of_status),
		cmocka_unit_test(incidents),
		cmocka_unit_test(many_of_all),
		cmocka_unit_test(ready),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}

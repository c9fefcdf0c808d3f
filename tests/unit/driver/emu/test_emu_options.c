/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of nanet3-emu: which host, at what speed, and what is refused. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "driver/emu/emu_options.h"

/* Parse a line of words between single blanks. The words live until the next call. */
static int parse(const char *line, struct emu_options *ret_options)
{
	static char copy[256], *argv[32];
	char *rest = copy;
	int argc = 0;

	assert_true(strlen(line) < sizeof(copy));
	memcpy(copy, line, strlen(line) + 1);
	argv[argc++] = "nanet3-emu";
	while (rest != NULL && *rest != '\0') {
		argv[argc++] = strsep(&rest, " ");
	}
	argv[argc] = NULL;
	optind = 0; /* a new line for getopt */
	opterr = 0;
	return emu_options_parse(argc, argv, ret_options);
}

static void on_a_socket(void **state)
{
	struct emu_options o;

	assert_int_equal(parse("--socket /x --board 3 --seed 7 --seconds 2.5", &o), 0);
	assert_string_equal(o.host.socket_path, "/x");
	assert_string_equal(o.host.name, "nanet3-3");
	assert_int_equal(o.host.serial, 1003);
	assert_int_equal(o.qemu.launch.memory_mib, 0);
	assert_int_equal(o.world.seed, 7);
	assert_true(o.host.duration_s == 2.5);
	assert_true(o.host.factor == 1 && o.host.speed == HOST_SPEED_REAL);
	assert_false(o.world.gps_mute);
}

/* Positions need no host; they are those of the floors that the links would have. */
static void positions(void **state)
{
	struct emu_options o;

	assert_int_equal(parse("--socket /x", &o), 0);
	assert_true(!o.geometry && o.world.beacons_hz == 0);
	assert_int_equal(parse("--socket /x --beacons 12.5", &o), 0);
	assert_true(o.world.beacons_hz == 12.5);
	assert_int_equal(parse("--geometry --tower 3 --floors 5,6,7,8 --swap 0,3", &o), 0);
	assert_true(o.geometry);
	assert_int_equal(o.world.tower, 3);
	assert_int_equal(o.world.floors[0], 8);
	assert_int_equal(o.world.floors[3], 5);
}

static void flashes(void **state)
{
	struct emu_options o;

	assert_int_equal(
		parse("--flashes --beacons 50 --seconds 2 --start 2026-11-28T10:00:00", &o), 0);
	assert_true(o.flashes);
	assert_true(o.start_utc_s == 1795860000);
	assert_true(parse("--flashes --beacons 50", &o) < 0);
	assert_true(parse("--flashes --seconds 2", &o) < 0);
}

/* Both hosts are told what both need; the rest of the line is QEMU's, options and all. */
static void in_a_guest(void **state)
{
	struct emu_options o;

	assert_int_equal(parse("--qemu 256 --slot rp0 --board 2 --seconds 9 --speed 0.25 -- "
			       "qemu -m 1 --help",
			       &o),
			 0);
	assert_null(o.host.socket_path);
	assert_int_equal(o.qemu.launch.memory_mib, 256);
	assert_string_equal(o.qemu.launch.bus, "rp0");
	assert_int_equal(o.qemu.serial, 1002);
	assert_true(o.qemu.duration_s == 9);
	assert_true(o.qemu.factor == 0.25 && o.qemu.speed == HOST_SPEED_REAL);
	assert_true(o.world.gps_mute);
	assert_string_equal(o.qemu.launch.command[0], "qemu");
	assert_string_equal(o.qemu.launch.command[3], "--help");
	assert_null(o.qemu.launch.command[4]);
}

static void speeds(void **state)
{
	static const struct {
		const char *line;
		double factor;
		enum host_speed speed;
		bool mute;
	} good[] = {
		{"--socket /x --speed realtime", 1, HOST_SPEED_REAL, false},
		{"--socket /x --speed 1", 1, HOST_SPEED_REAL, false},
		{"--socket /x --speed 0.0001", 0.0001, HOST_SPEED_REAL, true},
		{"--socket /x --speed 1000", 1000, HOST_SPEED_REAL, true},
		{"--socket /x --speed max", 1, HOST_SPEED_MAX, true},
		{"--socket /x --speed 3 --speed max", 1, HOST_SPEED_MAX, true},
	};
	struct emu_options o;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse(good[i].line, &o), 0);
		assert_true(o.host.factor == good[i].factor);
		assert_int_equal(o.host.speed, good[i].speed);
		assert_int_equal(o.qemu.speed, good[i].speed);
		assert_true(o.qemu.factor == good[i].factor);
		assert_int_equal(o.world.gps_mute, good[i].mute);
	}
}

static void in_a_guest_of_somebody_else(void **state)
{
	struct emu_options o;

	assert_int_equal(parse("--attach 5,6 --board 1", &o), 0);
	assert_null(o.host.socket_path);
	assert_null(o.qemu.launch.command);
	assert_int_equal(o.qemu.running.pid, 0);
	assert_int_equal(o.qemu.running.pid_fd, -1);
	assert_int_equal(o.qemu.running.proxy_fd, 5);
	assert_int_equal(o.qemu.running.qtest_fd, 6);
	assert_int_equal(o.qemu.serial, 1001);
}

static void refused(void **state)
{
	static const char *const lines[] = {
		"",
		"--socket",
		"--socket /x y",
		"--socket /x --qemu 256 -- qemu",
		"--socket /x --slot rp0",
		"--attach 5,6 --slot rp0",
		"--attach 5,6 --iommu",
		"--qemu 256 --slot rp0 --iommu -- qemu",
		"--attach 5,6 --socket /x",
		"--attach 5,6 --qemu 256 -- qemu",
		"--attach 5,6 -- qemu",
		"--attach 5,6 --play /rec",
		"--attach 5",
		"--attach 5,",
		"--attach 5;6",
		"--attach 2,6",
		"--attach 5,6,7",
		"--qemu 256",
		"--qemu 256 --",
		"--qemu 15 -- qemu",
		"--qemu 2.5 -- qemu",
		"--qemu 256M -- qemu",
		"--qemu -256 -- qemu",
		"--qemu 256 --slot a,b -- qemu",
		"--socket /x --speed 0",
		"--socket /x --speed -1",
		"--socket /x --speed 0.00009",
		"--socket /x --speed 1001",
		"--socket /x --speed nan",
		"--socket /x --speed inf",
		"--socket /x --speed fast",
		"--socket /x --speed 1x",
		"--socket /x --beacons 0",
		"--socket /x --beacons 101",
		"--socket /x --beacons on",
		"--geometry x",
		"--geometry --floors 1,2",
		"--socket /x --seed -1",
		"--socket /x --seed 18446744073709551616",
		"--socket /x --seed 7x",
		"--socket /x --gps-udp 0",
		"--socket /x --gps-udp 65536",
		"--socket /x --gps-udp 7 --gps-pty /t",
		"--socket /x --nonsense",
		"--socket /x --play-once",
		"--play /rec",
		"--qemu 256 --play /rec -- qemu",
	};
	struct emu_options o;

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		if (parse(lines[i], &o) != -EINVAL) {
			fail_msg("'%s' was taken", lines[i]);
		}
	}
}

static void a_recording(void **state)
{
	/* What is of the floors, the sea, or the wall's time. */
	static const char *const never[] = {
		"--gps-pty /t",
		"--gps-udp 7",
		"--scenario /s",
		"--truth /t",
		"--executed /e",
		"--seed 1",
		"--load full",
		"--rate 5",
		"--cold",
		"--tower 2",
		"--swap 0,1",
		"--floors 1,2,3,4",
		"--start 2026-01-01T00:00:00",
		"--leap-seconds /l",
		"--fifo-bytes 8192",
		"--beacons 5",
	};
	struct emu_options o;

	assert_int_equal(parse("--socket /x --play /rec --play-once --speed max --board 2 "
			       "--seconds 9 --first-epoch 4 --depth-ms 200",
			       &o),
			 0);
	assert_string_equal(o.world.play_path, "/rec");
	assert_true(o.host.play_once);
	assert_int_equal(o.host.speed, HOST_SPEED_MAX);
	for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++) {
		char line[128];

		snprintf(line, sizeof(line), "--socket /x --play /rec %s", never[i]);
		if (parse(line, &o) != -EINVAL) {
			fail_msg("'%s' was taken", line);
		}
		snprintf(line, sizeof(line), "%s --socket /x --play /rec", never[i]);
		assert_int_equal(parse(line, &o), -EINVAL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_a_socket),
		cmocka_unit_test(positions),
		cmocka_unit_test(flashes),
		cmocka_unit_test(in_a_guest),
		cmocka_unit_test(in_a_guest_of_somebody_else),
		cmocka_unit_test(speeds),
		cmocka_unit_test(refused),
		cmocka_unit_test(a_recording),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unit tests of slowctl/fcmctl/doctor/parse.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <arpa/inet.h>
#include <cmocka.h>

#include "slowctl/fcmctl/doctor/parse.h"

static const char *text_of(const json_t *values, const char *key)
{
	return json_string_value(json_object_get(values, key));
}

static void config(void **state)
{
	json_t *v = parse_config("# effective configuration of instance 0\n\n[data]\n"
				 "reserved_endpoint = tcp://[::1]:5710 ; default\n"
				 "monitor_endpoint = ; /etc/x.conf:3\n[link 0]\nfloor = 1 ; a ; b\n"
				 "[broken\nno equals\n = \n");

	assert_string_equal(text_of(v, "data.reserved_endpoint"), "tcp://[::1]:5710");
	assert_string_equal(text_of(v, "link 0.floor"), "1");
	assert_string_equal(text_of(v, "data.monitor_endpoint"), "");
	json_decref(v);
	v = parse_config("");
	assert_int_equal(json_object_size(v), 0);
	json_decref(v);
}

static void endpoints(void **state)
{
	static const char *const wrong[] = {
		"",	     "ipc:///run/x",  "tcp://127.0.0.1", "tcp://[::1]", "tcp://h:",
		"tcp://h:0", "tcp://h:65536", "tcp://h:57x",	 "tcp://*:*"};
	struct endpoint a, b;

	assert_true(parse_endpoint("tcp://[::1]:5730", &a));
	assert_int_equal(a.port, 5730);
	assert_false(a.any);
	assert_true(IN6_IS_ADDR_LOOPBACK(&a.address));
	assert_true(parse_endpoint("tcp://127.0.0.1:5730", &b));
	assert_false(b.any);
	assert_false(parse_same_place(&a, &b));
	assert_true(parse_endpoint("tcp://localhost:5730", &a));
	assert_true(parse_same_place(&a, &b));
	for (const char *const *any =
		     (const char *const[]){"tcp://*:5730", "tcp://0.0.0.0:5730", "tcp://[::]:5730",
					   "tcp://eth0:5730", NULL};
	     *any != NULL; any++) {
		assert_true(parse_endpoint(*any, &a));
		assert_true(a.any);
		assert_true(parse_same_place(&a, &b));
	}
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(parse_endpoint(wrong[i], &a));
	}
}

static void listeners(void **state)
{
	struct endpoint at;
	struct listener l;

	assert_true(parse_listener("   0: 0100007F:164E 00000000:0000 0A 00000000:00000000 "
				   "00:00000000 00000000  998        0 12345 1 0000 100 0\n",
				   &l));
	assert_true(parse_endpoint("tcp://127.0.0.1:5710", &at));
	assert_true(parse_same_place(&l.at, &at));
	assert_int_equal(l.user, 998);
	assert_int_equal(l.inode, 12345);
	assert_true(parse_listener("   1: 00000000000000000000000001000000:1662 "
				   "00000000000000000000000000000000:0000 0A 00000000:00000000 "
				   "00:00000000 00000000     0        0 77 1 0\n",
				   &l));
	assert_true(parse_endpoint("tcp://[::1]:5730", &at));
	assert_true(parse_same_place(&l.at, &at));
	assert_false(parse_listener("   0: 0100007F:164E 0100007F:9999 01 00000000:00000000 "
				    "00:00000000 00000000  998        0 12345 1\n",
				    &l));
	assert_false(parse_listener("  sl  local_address rem_address   st", &l));
	assert_false(parse_listener("", &l));
	assert_false(parse_listener("   0: 0100:164E 00000000:0000 0A 0:0 0:0 0 0 0 1 1\n", &l));
}

static void pcie(void **state)
{
	assert_int_equal((int)parse_pcie_mbps("5.0 GT/s PCIe", 8), 32000);
	assert_int_equal((int)parse_pcie_mbps("2.5 GT/s PCIe", 1), 2000);
	assert_int_equal((int)parse_pcie_mbps("8.0 GT/s PCIe", 8), 63015);
	assert_int_equal((int)parse_pcie_mbps("Unknown", 8), 0);
	assert_int_equal((int)parse_pcie_mbps("5.0 GT/s", 0), 0);
	assert_int_equal((int)parse_pcie_mbps("nan", 8), 0);
}

static void memory(void **state)
{
	static const char text[] = "MemTotal:       16384 kB\nMemAvailable:    512 kB\n"
				   "HugePages_Total:      12\nHugetlb:  x kB\nHugepagesize:";
	char chosen[16];

	assert_int_equal(parse_meminfo(text, "MemAvailable"), 512);
	assert_int_equal(parse_meminfo(text, "HugePages_Total"), 12);
	assert_int_equal(parse_meminfo(text, "Available"), -1);
	assert_int_equal(parse_meminfo(text, "Mem"), -1);
	assert_int_equal(parse_meminfo(text, "Hugetlb"), -1);
	assert_int_equal(parse_meminfo(text, "Hugepagesize"), -1);
	assert_int_equal(parse_meminfo("", "MemTotal"), -1);
	parse_chosen("always [madvise] never", chosen, sizeof(chosen));
	assert_string_equal(chosen, "madvise");
	parse_chosen("always madvise never", chosen, sizeof(chosen));
	assert_string_equal(chosen, "");
	parse_chosen("[never", chosen, sizeof(chosen));
	assert_string_equal(chosen, "");
	parse_chosen("[one that is too long for it]", chosen, sizeof(chosen));
	assert_string_equal(chosen, "one that is too");
}

static void kernel(void **state)
{
	char record[] = "3,1024,99,-;nanet3 0000:01:00.0: no board answers\n SUBSYSTEM=pci\n";
	char continued[] = " SUBSYSTEM=pci";
	unsigned level;
	char *text;

	assert_true(parse_kmsg(record, &level, &text));
	assert_int_equal(level, 3);
	assert_string_equal(text, "nanet3 0000:01:00.0: no board answers");
	assert_int_equal(parse_kernel(level, text), KERNEL_WARNING);
	assert_false(parse_kmsg(continued, &level, &text));
	assert_int_equal(parse_kernel(6, "nanet3 0000:01:00.0: recovered"), KERNEL_NOTHING);
	assert_int_equal(parse_kernel(3, "other: failed"), KERNEL_NOTHING);
	assert_int_equal(parse_kernel(3, "nanet3: link 2: DMA does not stop, its memory is lost"),
			 KERNEL_BROKEN);
	assert_int_equal(parse_kernel(4, "nanet3: loading out-of-tree module taints kernel."),
			 KERNEL_NOTHING);
	assert_int_equal(parse_kernel(3, "sda: I/O error, dev sda"), KERNEL_WARNING);
}

static void disks(void **state)
{
	static const char *const bad[] = {
		"critical medium error, dev sda, sector 8 op 0x0:(READ)",
		"nvme nvme0: I/O 123 QID 4 timeout, aborting",
		"nvme nvme0: I/O tag 3 (1003) opcode 0x2 (I/O Cmd) QID 4 timeout, aborting",
		"ata1.00: failed command: READ FPDMA QUEUED",
		"XFS (dm-0): Corruption of in-memory data (0x8) detected at xfs_trans_cancel",
		"XFS (sda1): metadata I/O error in \"xfs_buf_ioend\"",
		"BTRFS error (device sda1): bdev /dev/sda1 errs: wr 1, rd 0",
		"md/raid1:md0: Disk failure on sdb1, disabling device.",
		"mce: [Hardware Error]: Machine check events logged",
		"INFO: task jbd2/sda1-8:301 blocked for more than 120 seconds.",
		"EXT4-fs error (device sda1): ext4_find_entry:1455"};
	static const char *const good[] = {
		"SGI XFS with ACLs, security attributes, realtime, quota, no debug enabled",
		"nvme nvme0: 8/0/0 default/read/poll queues",
		"nvme nvme0: Shutdown timeout set to 8 seconds",
		"EXT4-fs (sda1): mounted filesystem with ordered data mode. Opts: "
		"errors=remount-ro",
		"ata1.00: configured for UDMA/133",
		"md/raid1:md0: active with 2 out of 2 mirrors"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		print_message("%s\n", bad[i]);
		assert_int_equal(parse_kernel(3, bad[i]), KERNEL_WARNING);
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		print_message("%s\n", good[i]);
		assert_int_equal(parse_kernel(6, good[i]), KERNEL_NOTHING);
	}
}

static bool says(const char *line, struct gpsd_said *said)
{
	return parse_gpsd(line, strlen(line), said);
}

static void gpsd(void **state)
{
	struct gpsd_said said = {.devices = -1, .mode = -1, .satellites = -1};

	assert_true(says("{\"class\":\"VERSION\",\"release\":\"3.22\"}", &said));
	assert_true(says("{\"class\":\"DEVICES\",\"devices\":[{},{}]}", &said));
	assert_true(says("{\"class\":\"TPV\",\"mode\":3}", &said));
	assert_true(says("{\"class\":\"SKY\",\"uSat\":9}", &said));
	assert_string_equal(said.release, "3.22");
	assert_int_equal(said.devices, 2);
	assert_int_equal(said.mode, 3);
	assert_int_equal(said.satellites, 9);
	assert_true(says("{\"class\":\"DEVICES\",\"devices\":7}", &said));
	assert_int_equal(said.devices, 2);
	assert_false(says("HTTP/1.1 400", &said));
	assert_false(says("[]", &said));
	assert_false(says("{\"class\":7}", &said));
	assert_false(says("", &said));
}

static void users(void **state)
{
	static const char passwd[] = "root:x:0:0::/:/bin/sh\nfcm:x:998:997::/:\nbad\nx:y\n";
	static const char group[] = "root:x:0:\nnanet3:x:996:anna,fcm\nempty:x:5\nfcm:x:997:";
	char name[32];
	uid_t uid;
	gid_t own;

	assert_true(parse_user(passwd, 998, name, sizeof(name), &own));
	assert_string_equal(name, "fcm");
	assert_int_equal(own, 997);
	assert_false(parse_user(passwd, 5, name, sizeof(name), &own));
	assert_true(parse_user_named(passwd, "fcm", &uid));
	assert_int_equal(uid, 998);
	assert_false(parse_user_named(passwd, "fc", &uid));
	assert_true(parse_member(group, 996, "fcm", 997, name, sizeof(name)));
	assert_string_equal(name, "nanet3");
	assert_false(parse_member(group, 996, "fc", 997, name, sizeof(name)));
	assert_true(parse_member(group, 997, "fcm", 997, name, sizeof(name)));
	assert_false(parse_member(group, 5, "fcm", 997, name, sizeof(name)));
	assert_string_equal(name, "empty");
	assert_false(parse_member(group, 4, "fcm", 997, name, sizeof(name)));
	assert_string_equal(name, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(config), cmocka_unit_test(endpoints), cmocka_unit_test(listeners),
		cmocka_unit_test(pcie),	  cmocka_unit_test(kernel),    cmocka_unit_test(gpsd),
		cmocka_unit_test(users),  cmocka_unit_test(disks),     cmocka_unit_test(memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

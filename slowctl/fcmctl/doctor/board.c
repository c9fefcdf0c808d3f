/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board: its node, driver and module, the bus, interrupts. */
#include <dirent.h>
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#include "driver/nanet3.h"
#include "slowctl/fcmctl/doctor/doctor.h"
#include "slowctl/fcmctl/doctor/parse.h"

#define TEXT(number)   #number
#define DIGITS(number) TEXT(number)

/* "0.3.0.4": the release, and the version of the requests. */
static void module_version(char *text, size_t size)
{
	snprintf(text, size, "%s.%u", FCM_VERSION, NANET3_ABI_VERSION);
}

/* "nanet3-0" of /dev/nanet3-0. False: said that there is no board, or that it is unknown which. */
static bool board_name(const struct doctor *d, json_t *lines, char *name, size_t size)
{
	const char *device = doctor_value(d, "board.device"), *path;

	if (doctor_is_emulator(d, &path)) {
		doctor_say(lines, DOCTOR_NONE, NULL, "emulator: no board");
		return false;
	}
	if (strncmp(device, "/dev/", 5) != 0 || strchr(device + 5, '/') != NULL) {
		doctor_needs_values(d, lines);
		if (d->values != NULL) {
			doctor_say(lines, DOCTOR_FAIL, "man fcm-server.conf",
				   "[board] device: %s is neither /dev/nanet3-N nor unix:PATH",
				   device);
		}
		return false;
	}
	snprintf(name, size, "%s", device + 5);
	return true;
}

/* The board's directory on the PCI bus, without links; "" where it has none. */
static const char *pci_directory(const struct doctor *d, const char *name, char buf[PATH_MAX])
{
	char path[PATH_MAX];

	if (realpath(doctor_path(d, path, "/sys/class/nanet3/%s/device", name), buf) == NULL) {
		buf[0] = '\0';
	}
	return buf;
}

/* "0000:01:00.0" */
static const char *address_of(const char *directory)
{
	const char *slash = strrchr(directory, '/');

	return slash != NULL ? slash + 1 : directory;
}

static bool no_driver(const char *directory, json_t *lines)
{
	if (*directory == '\0') {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: the driver has no board");
	}
	return *directory == '\0';
}

/* ------------------------------------------------------------------ device */

/* Its socket is of another kind: whoever lives is no host for us, and does not notice. */
static int reach(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = 0;

	if (strlen(path) >= sizeof(address.sun_path)) {
		err = ENAMETOOLONG;
	} else {
		strcpy(address.sun_path, path);
		err = connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? errno : 0;
	}
	if (fd >= 0) {
		close(fd);
	}
	return err == EPROTOTYPE ? 0 : err;
}

static void check_emulator(const char *path, json_t *lines)
{
	int err = reach(path);

	if (err == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "emulator: it is at %s", path);
	} else if (err == EACCES) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: no right to reach %s", path);
	} else {
		doctor_say(lines, DOCTOR_FAIL, "make run", "emulator: none at %s: %s", path,
			   strerror(err));
	}
}

/* Whether a function of the bus is a board. */
static bool is_board(const struct doctor *d, const char *function)
{
	char path[PATH_MAX], vendor[16], device[16];

	doctor_line(doctor_path(d, path, "/sys/bus/pci/devices/%s/vendor", function), vendor,
		    sizeof(vendor));
	doctor_line(doctor_path(d, path, "/sys/bus/pci/devices/%s/device", function), device,
		    sizeof(device));
	return strtoul(vendor, NULL, 16) == NANET3_PCI_VENDOR &&
	       strtoul(device, NULL, 16) == NANET3_PCI_DEVICE;
}

/* Whether it is the board of some nanet3-N. */
static bool is_named(const struct doctor *d, const char *function)
{
	char path[PATH_MAX], board[PATH_MAX];
	DIR *names = opendir(doctor_path(d, path, "/sys/class/nanet3"));
	const struct dirent *entry;
	bool named = false;

	while (names != NULL && !named && (entry = readdir(names)) != NULL) {
		named = entry->d_name[0] != '.' &&
			strcmp(address_of(pci_directory(d, entry->d_name, board)), function) == 0;
	}
	if (names != NULL) {
		closedir(names);
	}
	return named;
}

/* The board's address on the bus: its own, else one that has no name yet, whoever has its driver. */
static bool on_bus(const struct doctor *d, const char *name, char *address, size_t size)
{
	char path[PATH_MAX];
	DIR *bus;
	const struct dirent *entry;
	bool found = false;

	snprintf(address, size, "%.60s", address_of(pci_directory(d, name, path)));
	if (*address != '\0' && is_board(d, address)) {
		return true;
	}
	bus = opendir(doctor_path(d, path, "/sys/bus/pci/devices"));
	while (bus != NULL && !found && (entry = readdir(bus)) != NULL) {
		found = is_board(d, entry->d_name) && !is_named(d, entry->d_name);
		snprintf(address, size, "%.60s", entry->d_name);
	}
	if (bus != NULL) {
		closedir(bus);
	}
	return found;
}

static void check_state(const struct doctor *d, const char *name, json_t *lines)
{
	char path[PATH_MAX], state[32];
	char fix[128];

	doctor_path(d, path, "/sys/class/nanet3/%s/state", name);
	if (!doctor_line(path, state, sizeof(state))) {
		doctor_say(lines, DOCTOR_WARN, NULL,
			   "not checked: /dev/%s is there, its state is not in /sys", name);
	} else if (strcmp(state, "ready") == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "/dev/%s: the board is ready", name);
	} else {
		/* A reset only of a board that gives no data. */
		snprintf(fix, sizeof(fix),
			 strcmp(state, "gone") == 0
				 ? "sudo sh -c 'echo 1 > /sys/class/nanet3/%s/device/reset'"
				 : "sudo journalctl -k -g %s -n 50 --no-pager",
			 name);
		doctor_say(lines, DOCTOR_FAIL, fix, "/dev/%s: the board is %.20s", name, state);
	}
}

static void check_device(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], address[64];
	const char *emulator;
	struct stat st;

	if (doctor_is_emulator(d, &emulator)) {
		check_emulator(emulator, lines);
	} else if (!board_name(d, lines, name, sizeof(name))) {
		return;
	} else if (lstat(doctor_path(d, path, "/dev/%s", name), &st) == 0) {
		check_state(d, name, lines);
	} else if (on_bus(d, name, address, sizeof(address))) {
		doctor_say(lines, DOCTOR_FAIL, "sudo modprobe nanet3",
			   "no /dev/%s; a board is on the bus at %s", name, address);
	} else {
		doctor_say(
			lines, DOCTOR_FAIL, "sudo sh -c 'echo 1 > /sys/bus/pci/rescan'",
			"no /dev/%s, and no board (%04x:%04x) on the PCI bus: check firmware, slot "
			"and power",
			name, NANET3_PCI_VENDOR, NANET3_PCI_DEVICE);
	}
}

/* ------------------------------------------------------------------ driver, module */

static void check_driver(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], driver[PATH_MAX], address[64] = "", fix[128];

	if (!board_name(d, lines, name, sizeof(name))) {
		return;
	}
	if (!on_bus(d, name, address, sizeof(address))) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: no board on the PCI bus");
	} else if (realpath(doctor_path(d, path, "/sys/bus/pci/devices/%s/driver", address),
			    driver) == NULL) {
		doctor_say(lines, DOCTOR_FAIL, "sudo modprobe nanet3",
			   "no driver has the board at %s", address);
	} else if (strcmp(address_of(driver), "nanet3") == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "nanet3 has the board at %s", address);
	} else {
		snprintf(fix, sizeof(fix), "lspci -k -s %s", address);
		doctor_say(lines, DOCTOR_FAIL, fix, "the board at %s belongs to driver %s", address,
			   address_of(driver));
	}
}

/* How this release's module comes to a kernel: DKMS needs its sources, and the kernel's headers. */
static void module_fix(const struct doctor *d, const char *kernel, char *fix, size_t size)
{
	char path[PATH_MAX], version[64];

	module_version(version, sizeof(version));
	if (access(doctor_path(d, path, "/usr/src/nanet3-%s", version), F_OK) < 0) {
		snprintf(fix, size, "sudo apt-get install nanet3-dkms");
	} else if (access(doctor_path(d, path, "/lib/modules/%s/build", kernel), F_OK) < 0) {
		snprintf(fix, size, "sudo apt-get install linux-headers-%.100s", kernel);
	} else {
		snprintf(fix, size, "sudo dkms install nanet3/%s -k ", version);
		ctl_append_word(fix, size, "", kernel);
	}
}

static bool running_kernel(const struct doctor *d, char *path, char *kernel, size_t size)
{
	return doctor_line(doctor_path(d, path, "/proc/sys/kernel/osrelease"), kernel, size);
}

static void check_module(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], kernel[128] = "", is[64], wanted[64], fix[256];
	const char *dot;
	unsigned long abi;

	if (!board_name(d, lines, name, sizeof(name))) {
		return;
	}
	module_version(wanted, sizeof(wanted));
	running_kernel(d, path, kernel, sizeof(kernel));
	module_fix(d, kernel, fix, sizeof(fix));
	if (!doctor_line(doctor_path(d, path, "/sys/module/nanet3/version"), is, sizeof(is))) {
		doctor_say(lines, DOCTOR_FAIL, "sudo modprobe nanet3",
			   "the module nanet3 is not loaded");
		return;
	}
	dot = strrchr(is, '.');
	abi = dot != NULL ? strtoul(dot + 1, NULL, 10) : 0;
	if (strcmp(is, wanted) == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "nanet3 %s, of this release", is);
	} else if (abi < NANET3_ABI_VERSION_MIN) {
		doctor_say(lines, DOCTOR_FAIL, fix,
			   "nanet3 %s: libnanet3 needs requests of version %u or later; loaded at "
			   "the next start of the machine",
			   is, NANET3_ABI_VERSION_MIN);
	} else {
		doctor_say(lines, DOCTOR_WARN, fix,
			   "nanet3 %s is of another release than %s; loaded at the next start of "
			   "the machine",
			   is, wanted);
	}
}

/* Whether DKMS has built some version of the module for that kernel. */
static bool built_for(const struct doctor *d, const char *kernel, char *version, size_t size)
{
	char path[PATH_MAX];
	DIR *versions = opendir(doctor_path(d, path, "/var/lib/dkms/nanet3"));
	const struct dirent *entry;
	bool found = false;

	while (versions != NULL && !found && (entry = readdir(versions)) != NULL) {
		if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') {
			found = access(doctor_path(d, path, "/var/lib/dkms/nanet3/%s/%s",
						   entry->d_name, kernel),
				       F_OK) == 0;
			snprintf(version, size, "%.60s", entry->d_name);
		}
	}
	if (versions != NULL) {
		closedir(versions);
	}
	return found;
}

static void check_dkms(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], kernel[128], version[64] = "", fix[256];
	const struct dirent *entry;
	DIR *kernels;

	if (!board_name(d, lines, name, sizeof(name))) {
		return;
	}
	if (!running_kernel(d, path, kernel, sizeof(kernel))) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: %s cannot be read", path);
		return;
	}
	if (!built_for(d, kernel, version, sizeof(version))) {
		module_fix(d, kernel, fix, sizeof(fix));
		doctor_say(lines, DOCTOR_FAIL, fix, "no module by DKMS for the running kernel %s",
			   kernel);
		return;
	}
	doctor_say(lines, DOCTOR_PASS, NULL, "nanet3 %s is built for the running kernel %s",
		   version, kernel);
	kernels = opendir(doctor_path(d, path, "/lib/modules"));
	while (kernels != NULL && (entry = readdir(kernels)) != NULL) {
		/* What is left of a kernel that was removed has no list of its modules. */
		if (entry->d_name[0] != '.' &&
		    access(doctor_path(d, path, "/lib/modules/%s/modules.order", entry->d_name),
			   F_OK) == 0 &&
		    !built_for(d, entry->d_name, version, sizeof(version))) {
			module_fix(d, entry->d_name, fix, sizeof(fix));
			doctor_say(lines, DOCTOR_WARN, fix,
				   "no module by DKMS for kernel %s, which may be started next",
				   entry->d_name);
		}
	}
	if (kernels != NULL) {
		closedir(kernels);
	}
}

static void check_secure_boot(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], value[8], version[64];
	ssize_t n;

	if (!board_name(d, lines, name, sizeof(name))) {
		return;
	}
	if (access(doctor_path(d, path, "/sys/firmware"), F_OK) != 0) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: no %s", path);
		return;
	}
	if (access(doctor_path(d, path, "/sys/firmware/efi"), F_OK) != 0) {
		doctor_say(lines, DOCTOR_NONE, NULL, "started without UEFI");
		return;
	}
	n = doctor_read(doctor_path(d, path,
				    "/sys/firmware/efi/efivars/"
				    "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"),
			value, sizeof(value));
	if (n < 5) { /* four bytes of attributes first */
		doctor_say(lines, DOCTOR_WARN, "mokutil --sb-state",
			   "not checked: the firmware does not say");
	} else if (value[4] == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "off: modules need no signature");
	} else if (doctor_line(doctor_path(d, path, "/sys/module/nanet3/version"), version,
			       sizeof(version))) {
		doctor_say(lines, DOCTOR_PASS, NULL, "on, and the kernel has taken the module");
	} else {
		doctor_say(
			lines, DOCTOR_FAIL, "sudo mokutil --import /var/lib/dkms/mok.pub",
			"on, and the module is not loaded: its key may not be enrolled (asked at "
			"the next start of the machine)");
	}
}

/* ------------------------------------------------------------------ bus, interrupts */

static void check_iommu(const struct doctor *d, json_t *lines)
{
	char name[64], board[PATH_MAX], path[PATH_MAX + 32], type[32];

	if (!board_name(d, lines, name, sizeof(name)) ||
	    no_driver(pci_directory(d, name, board), lines)) {
		return;
	}
	snprintf(path, sizeof(path), "%s/iommu_group", board);
	if (access(path, F_OK) != 0) {
		doctor_say(lines, DOCTOR_PASS, NULL,
			   "off: the board uses bus addresses as they are");
		return;
	}
	snprintf(path, sizeof(path), "%s/iommu_group/type", board);
	if (!doctor_line(path, type, sizeof(type))) {
		doctor_say(lines, DOCTOR_WARN, NULL,
			   "not checked: on, and the kernel does not say how");
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "on (%s)", type);
	}
}

/* The slowest link from the board to the processor, Mb/s; 0: unknown. `directory` is cut on the way up to `root`. */
static double slowest(char *directory, size_t root, char *ret_where, size_t size)
{
	char path[PATH_MAX + 32], speed[64], lanes[16];
	double least = 0.0, mbps;

	for (char *slash = directory; slash != NULL && strlen(directory) > root; *slash = '\0') {
		snprintf(path, sizeof(path), "%s/current_link_width", directory);
		doctor_line(path, lanes, sizeof(lanes));
		snprintf(path, sizeof(path), "%s/current_link_speed", directory);
		mbps = doctor_line(path, speed, sizeof(speed))
			       ? parse_pcie_mbps(speed, (unsigned)strtoul(lanes, NULL, 10))
			       : 0.0;
		if (mbps > 0.0 && (least <= 0.0 || mbps < least)) {
			least = mbps;
			snprintf(ret_where, size, "%.40s x%.8s at %.40s", speed, lanes,
				 address_of(directory));
		}
		slash = strrchr(directory, '/');
		if (slash == NULL) {
			break;
		}
	}
	return least;
}

/* driver/kernel/README.md: the board is made for eight lanes of 5 GT/s and always writes 2560 Mb/s. */
#define PCIE_FULL_MBPS	32000.0
#define PCIE_LEAST_MBPS 3000.0

static void check_pcie(const struct doctor *d, json_t *lines)
{
	char name[64], board[PATH_MAX], where[160] = "", fix[128];
	double mbps;

	if (!board_name(d, lines, name, sizeof(name)) ||
	    no_driver(pci_directory(d, name, board), lines)) {
		return;
	}
	snprintf(fix, sizeof(fix), "sudo lspci -vv -s %.60s", address_of(board));
	mbps = slowest(board, strlen(d->root), where, sizeof(where));
	if (mbps <= 0.0) {
		doctor_say(lines, DOCTOR_WARN, fix, "not checked: the kernel gives no link speed");
	} else if (mbps >= PCIE_FULL_MBPS) {
		doctor_say(lines, DOCTOR_PASS, NULL, "%.0f Mb/s (%s)", mbps, where);
	} else if (mbps > PCIE_LEAST_MBPS) {
		doctor_say(lines, DOCTOR_WARN, fix,
			   "%.0f Mb/s (%s), %.0f expected: no data are lost; put the board into "
			   "another slot at the next stop",
			   mbps, where, PCIE_FULL_MBPS);
	} else {
		doctor_say(lines, DOCTOR_FAIL, fix,
			   "%.0f Mb/s (%s): data are lost below %.0f; stop the daemon, switch off, "
			   "put the board in again or into another slot",
			   mbps, where, PCIE_LEAST_MBPS);
	}
}

#define VECTORS (NANET3_LINKS + 1u)

static void check_interrupts(const struct doctor *d, json_t *lines)
{
	char name[64], board[PATH_MAX], path[PATH_MAX + 300], kind[32], cpus[64], list[160] = "";
	const struct dirent *entry;
	unsigned count = 0, others = 0;
	DIR *vectors;

	if (!board_name(d, lines, name, sizeof(name)) ||
	    no_driver(pci_directory(d, name, board), lines)) {
		return;
	}
	snprintf(path, sizeof(path), "%s/msi_irqs", board);
	vectors = opendir(path);
	while (vectors != NULL && (entry = readdir(vectors)) != NULL) {
		if (entry->d_name[0] == '.') {
			continue;
		}
		count++;
		snprintf(path, sizeof(path), "%s/msi_irqs/%s", board, entry->d_name);
		others += !doctor_line(path, kind, sizeof(kind)) || strcmp(kind, "msix") != 0;
		doctor_path(d, path, "/proc/irq/%s/effective_affinity_list", entry->d_name);
		size_t used = strlen(list);
		snprintf(list + used, sizeof(list) - used, "%s%s", used > 0 ? "," : "",
			 doctor_line(path, cpus, sizeof(cpus)) ? cpus : "?");
	}
	if (vectors != NULL) {
		closedir(vectors);
	}
	if (count >= VECTORS && others == 0) {
		doctor_say(lines, DOCTOR_PASS, NULL, "%u MSI-X vectors, on CPUs %s", count, list);
	} else {
		doctor_say(lines, DOCTOR_WARN, "sudo journalctl -k -g nanet3 -n 50 --no-pager",
			   "%u MSI-X vectors of %u: links share an interrupt", count - others,
			   VECTORS);
	}
}

/* ------------------------------------------------------------------ access */

/* Groups of the running daemon, as the kernel has them. False: they cannot be read. */
static bool daemon_in_group(const struct doctor *d, gid_t gid, bool *ret_is)
{
	long long pid = json_integer_value(json_object_get(d->info, "pid"));
	char path[PATH_MAX], status[8192], *groups;

	if (pid <= 0 ||
	    doctor_read(doctor_path(d, path, "/proc/%lld/status", pid), status, sizeof(status)) <=
		    0 ||
	    (groups = strstr(status, "\nGroups:")) == NULL) {
		return false;
	}
	groups += strlen("\nGroups:");
	groups[strcspn(groups, "\n")] = '\0';
	*ret_is = false;
	for (char *end; *groups != '\0'; groups = end) {
		unsigned long group = strtoul(groups, &end, 10);

		if (end == groups) {
			break;
		}
		*ret_is = *ret_is || group == gid;
	}
	return true;
}

/* The node's group, and whether the daemon's user is in it. */
static void check_group(const struct doctor *d, const struct stat *st, const char *name,
			json_t *lines)
{
	char path[PATH_MAX], passwd[65536] = "", groups[65536] = "", user[64] = "", group[64],
			     fix[192];
	uid_t uid = doctor_user(d, user, sizeof(user));
	gid_t own = (gid_t)-1;
	bool member, runs_with;

	doctor_read(doctor_path(d, path, "/etc/passwd"), passwd, sizeof(passwd));
	doctor_read(doctor_path(d, path, "/etc/group"), groups, sizeof(groups));
	if (!parse_user(passwd, uid, user, sizeof(user), &own)) {
		doctor_say(lines, DOCTOR_WARN, "sudo systemd-sysusers fcm-server.conf",
			   "not checked: the daemon's user (uid %u) is not in /etc/passwd",
			   (unsigned)uid);
		return;
	}
	member = parse_member(groups, st->st_gid, user, own, group, sizeof(group)) || uid == 0;
	if (strcmp(group, "nanet3") != 0) {
		snprintf(fix, sizeof(fix), "sudo udevadm trigger --name-match=%s", name);
		doctor_say(lines, DOCTOR_FAIL, fix, "/dev/%s is of group %s (gid %u), not nanet3",
			   name, *group != '\0' ? group : "?", (unsigned)st->st_gid);
	} else if (!member) {
		snprintf(fix, sizeof(fix), "sudo usermod -aG nanet3 %s", user);
		doctor_say(lines, DOCTOR_FAIL, fix,
			   "user %s is not in group nanet3 of /dev/%s; taken over at the daemon's "
			   "next start",
			   user, name);
	} else if (daemon_in_group(d, st->st_gid, &runs_with) && !runs_with && uid != 0) {
		snprintf(fix, sizeof(fix), "sudo systemctl restart fcm-server@%u",
			 d->ctl->station.board);
		doctor_say(lines, DOCTOR_WARN, d->ctl->station.installed ? fix : NULL,
			   "user %s is in group %s; the running daemon started without it", user,
			   group);
	} else {
		doctor_say(lines, DOCTOR_PASS, NULL, "user %s may open /dev/%s (group %s)", user,
			   name, *group != '\0' ? group : "?");
	}
}

static void check_access(const struct doctor *d, json_t *lines)
{
	char name[64], path[PATH_MAX], fix[128];
	struct stat st;

	if (!board_name(d, lines, name, sizeof(name))) {
		return;
	}
	if (stat(doctor_path(d, path, "/dev/%s", name), &st) != 0) {
		doctor_say(lines, DOCTOR_WARN, NULL, "not checked: no /dev/%s", name);
		return;
	}
	if ((st.st_mode & S_IWOTH) != 0) {
		snprintf(fix, sizeof(fix), "sudo chmod o-rwx /dev/%s", name);
		doctor_say(lines, DOCTOR_FAIL, fix,
			   "/dev/%s: every user may claim its links, and control the high voltage "
			   "(mode %03o)",
			   name, (unsigned)st.st_mode & 0777);
		return;
	}
	if ((st.st_mode & (S_IRGRP | S_IWGRP)) != (S_IRGRP | S_IWGRP) || st.st_gid == 0) {
		snprintf(fix, sizeof(fix), "sudo udevadm trigger --name-match=%s", name);
		doctor_say(lines, DOCTOR_FAIL, fix,
			   "/dev/%s is not for group nanet3 (gid %u, mode %03o): 60-nanet3.rules "
			   "was not applied",
			   name, (unsigned)st.st_gid, (unsigned)st.st_mode & 0777);
		return;
	}
	check_group(d, &st, name, lines);
}

#define KERNEL_LOG "sudo journalctl -k -n 50 --no-pager"

const struct doctor_check doctor_board_checks[] = {
	{"device", check_device, KERNEL_LOG, DOCTOR_FAIL},
	{"driver", check_driver, KERNEL_LOG, DOCTOR_FAIL},
	{"module", check_module, KERNEL_LOG, DOCTOR_WARN},
	{"dkms", check_dkms, "dkms status", DOCTOR_WARN},
	{"secure boot", check_secure_boot, "mokutil --sb-state", DOCTOR_WARN},
	{"iommu", check_iommu, KERNEL_LOG, DOCTOR_WARN},
	{"pcie", check_pcie, KERNEL_LOG, DOCTOR_WARN},
	{"interrupts", check_interrupts, KERNEL_LOG, DOCTOR_WARN},
	{"access", check_access, KERNEL_LOG, DOCTOR_WARN},
	{0},
};

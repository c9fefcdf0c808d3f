/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of the machine, see parse.h. */
#include "slowctl/fcmctl/doctor/parse.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "slowctl/fcmctl/show/value.h"

/* ------------------------------------------------------------------ configuration */

/* "key = value ; origin" below "[section]". No value has " ; " in it: the daemon's reader ends there, too. */
static void take_config_line(json_t *values, char *section, size_t size, char *line)
{
	char name[128];
	char *equals, *end;

	if (line[0] == '[') {
		end = strchr(line, ']');
		if (end != NULL) {
			snprintf(section, size, "%.*s", (int)(end - line - 1), line + 1);
		}
		return;
	}
	equals = strstr(line, " =");
	if (line[0] == '#' || equals == NULL) {
		return;
	}
	end = strstr(equals, " ; ");
	if (end != NULL) {
		*end = '\0';
	}
	snprintf(name, sizeof(name), "%s.%.*s", section, (int)(equals - line), line);
	equals += strlen(" =");
	json_object_set_new(values, name, json_string(equals + strspn(equals, " ")));
}

json_t *parse_config(const char *text)
{
	json_t *values = json_object();
	char *copy = strdup(text);
	char section[64] = "";
	char *save = NULL;

	for (char *line = copy != NULL ? strtok_r(copy, "\n", &save) : NULL; line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		take_config_line(values, section, sizeof(section), line);
	}
	free(copy);
	return values;
}

/* ------------------------------------------------------------------ ports */

void parse_address(const char *text, struct endpoint *ret)
{
	char mapped[128];

	bool known;

	snprintf(mapped, sizeof(mapped), "::ffff:%s", text);
	known = inet_pton(AF_INET6, text, &ret->address) == 1 ||
		inet_pton(AF_INET6, mapped, &ret->address) == 1;
	ret->any = !known || IN6_IS_ADDR_UNSPECIFIED(&ret->address) ||
		   (IN6_IS_ADDR_V4MAPPED(&ret->address) && ret->address.s6_addr32[3] == 0);
}

bool parse_endpoint(const char *text, struct endpoint *ret)
{
	char host[128];
	const char *colon;
	unsigned long port;
	size_t length;
	char *end;

	if (strncmp(text, "tcp://", 6) != 0) {
		return false;
	}
	text += 6;
	colon = strrchr(text, ':');
	if (colon == NULL || !isdigit((unsigned char)colon[1])) {
		return false;
	}
	port = strtoul(colon + 1, &end, 10);
	if (*end != '\0' || port == 0 || port > UINT16_MAX) {
		return false;
	}
	length = (size_t)(colon - text);
	if (length >= 2 && text[0] == '[' && text[length - 1] == ']') {
		text++;
		length -= 2;
	}
	snprintf(host, sizeof(host), "%.*s", (int)length, text);
	parse_address(strcmp(host, "localhost") == 0 ? "127.0.0.1" : host, ret);
	ret->port = (unsigned)port;
	return true;
}

bool parse_listener(const char *line, struct listener *ret)
{
	char hex[40] = "";
	unsigned port, state, user, word[4] = {0};
	unsigned long inode;
	size_t digits;

	if (sscanf(line,
		   " %*u: %32[0-9A-Fa-f]:%4x %*32[0-9A-Fa-f]:%*4x %2x %*x:%*x %*x:%*x %*x %u %*u "
		   "%lu",
		   hex, &port, &state, &user, &inode) != 5 ||
	    state != 0x0a) {
		return false;
	}
	digits = strlen(hex);
	if (digits != 8 && digits != 32) {
		return false;
	}
	for (size_t i = 0; i < digits / 8; i++) { /* words as the machine has them */
		sscanf(hex + 8 * i, "%8x", &word[i]);
	}
	*ret = (struct listener){.user = user, .inode = inode, .at.port = port};
	if (digits == 8) {
		ret->at.any = word[0] == 0;
		ret->at.address.s6_addr16[5] = 0xffff;
		ret->at.address.s6_addr32[3] = word[0];
	} else {
		for (size_t i = 0; i < 4; i++) {
			ret->at.address.s6_addr32[i] = word[i];
		}
		ret->at.any = IN6_IS_ADDR_UNSPECIFIED(&ret->at.address);
	}
	return true;
}

bool parse_same_place(const struct endpoint *a, const struct endpoint *b)
{
	return a->port == b->port &&
	       (a->any || b->any || memcmp(&a->address, &b->address, sizeof(a->address)) == 0);
}

/* ------------------------------------------------------------------ board and kernel */

double parse_pcie_mbps(const char *speed, unsigned lanes)
{
	char *end;
	double gt = strtod(speed, &end);

	if (end == speed || !(gt > 0.0 && gt < 1000.0) || lanes == 0 || lanes > 64) {
		return 0.0;
	}
	/* 8b10b up to 5 GT/s, then 128b130b */
	return gt * 1e3 * lanes * (gt <= 5.0 ? 0.8 : 128.0 / 130.0);
}

long long parse_meminfo(const char *text, const char *name)
{
	size_t length = strlen(name);
	long long number;

	for (const char *line = text; *line != '\0'; line += *line == '\n') {
		if (strncmp(line, name, length) == 0 && line[length] == ':') {
			return sscanf(line + length, ":%*[ ]%lld", &number) == 1 ? number : -1;
		}
		line += strcspn(line, "\n");
	}
	return -1;
}

void parse_chosen(const char *line, char *ret_word, size_t size)
{
	const char *begin = strchr(line, '['), *end = begin != NULL ? strchr(begin, ']') : NULL;

	snprintf(ret_word, size, "%.*s", end != NULL ? (int)(end - begin - 1) : 0,
		 end != NULL ? begin + 1 : "");
}

bool parse_kmsg(char *record, unsigned *ret_level, char **ret_text)
{
	char *end;
	unsigned long level = strtoul(record, &end, 10);
	char *text = strchr(record, ';');

	if (end == record || *end != ',' || text == NULL) {
		return false;
	}
	text++;
	text[strcspn(text, "\n")] = '\0';
	*ret_level = (unsigned)level & 7u;
	*ret_text = text;
	return true;
}

/* Messages of driver/kernel/README.md after which only a switch of the machine helps. */
static const char *const broken[] = {"its memory is lost", "DMA of before does not stop",
				     "cannot be kept from the bus"};
/* Words of a message, the second somewhere after the first. */
static const char *const troubles[][2] = {{"I/O error", ""},
					  {"critical medium error", ""},
					  {"nvme", "timeout, "},
					  {"ata", ": failed command"},
					  {"md/raid", ": Disk failure"},
					  {"EXT4-fs error", ""},
					  {"XFS ", "orruption"},
					  {"XFS ", "rror"},
					  {"BTRFS error", ""},
					  {"Remounting filesystem read-only", ""},
					  {"Out of memory: Killed process", ""},
					  {"soft lockup", ""},
					  {"blocked for more than", ""},
					  {"[Hardware Error]", ""},
					  {"PCIe Bus Error", ""},
					  {"DMAR: DRHD: handling fault", ""}};

static bool is_trouble(const char *text)
{
	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		const char *first = strstr(text, troubles[i][0]);

		if (first != NULL && strstr(first, troubles[i][1]) != NULL) {
			return true;
		}
	}
	return false;
}

enum kernel_word parse_kernel(unsigned level, const char *text)
{
	bool ours = strstr(text, "nanet3") != NULL;

	for (size_t i = 0; ours && i < sizeof(broken) / sizeof(broken[0]); i++) {
		if (strstr(text, broken[i]) != NULL) {
			return KERNEL_BROKEN;
		}
	}
	if (is_trouble(text)) {
		return KERNEL_WARNING;
	}
	/* That Debian has not signed it is said of every module of DKMS. */
	return ours && level <= 4 && strstr(text, "taint") == NULL ? KERNEL_WARNING
								   : KERNEL_NOTHING;
}

/* ------------------------------------------------------------------ gpsd */

static void take_devices(const json_t *message, struct gpsd_said *said)
{
	const json_t *devices = json_object_get(message, "devices");

	if (json_is_array(devices)) {
		said->devices = (int)json_array_size(devices);
	}
}

bool parse_gpsd(const char *line, size_t bytes, struct gpsd_said *said)
{
	json_error_t error;
	json_t *message = json_loadb(line, bytes, 0, &error);
	const char *kind = value_string(message, "class", "");
	bool is = *kind != '\0';

	if (strcmp(kind, "VERSION") == 0) {
		snprintf(said->release, sizeof(said->release), "%s",
			 value_string(message, "release", "?"));
	} else if (strcmp(kind, "DEVICES") == 0) {
		take_devices(message, said);
	} else if (strcmp(kind, "TPV") == 0) {
		said->mode = (int)value_integer(message, "mode", 0);
	} else if (strcmp(kind, "SKY") == 0) {
		said->satellites = (int)value_integer(message, "uSat", said->satellites);
	}
	json_decref(message);
	return is;
}

/* ------------------------------------------------------------------ users */

/* The n-th field of a line "a:b:c", up to its end; NULL: it has fewer. */
static const char *field(const char *line, unsigned n, size_t *ret_length)
{
	for (; n > 0; n--) {
		line += strcspn(line, ":\n");
		if (*line++ != ':') {
			return NULL;
		}
	}
	*ret_length = strcspn(line, ":\n");
	return line;
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

static bool field_is(const char *line, unsigned n, const char *text)
{
	size_t length;
	const char *f = field(line, n, &length);

	return f != NULL && length == strlen(text) && memcmp(f, text, length) == 0;
}

bool parse_user(const char *passwd, uid_t uid, char *ret_name, size_t size, gid_t *ret_group)
{
	char number[16];
	size_t length;
	const char *group;

	snprintf(number, sizeof(number), "%u", (unsigned)uid);
	for (const char *line = passwd; *line != '\0'; line = next_line(line)) {
		group = field(line, 3, &length);
		if (group != NULL && field_is(line, 2, number)) {
			snprintf(ret_name, size, "%.*s", (int)strcspn(line, ":"), line);
			*ret_group = (gid_t)strtoul(group, NULL, 10);
			return true;
		}
	}
	return false;
}

bool parse_user_named(const char *passwd, const char *name, uid_t *ret_uid)
{
	size_t length;

	for (const char *line = passwd; *line != '\0'; line = next_line(line)) {
		const char *uid = field(line, 2, &length);

		if (uid != NULL && field_is(line, 0, name)) {
			*ret_uid = (uid_t)strtoul(uid, NULL, 10);
			return true;
		}
	}
	return false;
}

static bool lists(const char *members, size_t length, const char *user)
{
	size_t wanted = strlen(user);

	for (size_t at = 0; at < length && wanted > 0;) {
		size_t word = strcspn(members + at, ",:\n");

		if (word == wanted && memcmp(members + at, user, word) == 0) {
			return true;
		}
		at += word + 1;
	}
	return false;
}

bool parse_member(const char *group, gid_t gid, const char *user, gid_t own, char *ret_name,
		  size_t size)
{
	char number[16];
	size_t length;
	bool is = gid == own;

	snprintf(ret_name, size, "%s", "");
	snprintf(number, sizeof(number), "%u", (unsigned)gid);
	for (const char *line = group; *line != '\0'; line = next_line(line)) {
		if (field_is(line, 2, number)) {
			const char *members = field(line, 3, &length);

			snprintf(ret_name, size, "%.*s", (int)strcspn(line, ":\n"), line);
			return is || (members != NULL && lists(members, length, user));
		}
	}
	return is;
}

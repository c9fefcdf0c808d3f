/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the machine's files and programs say, line by line. Pure; any bytes may come. */
#pragma once

#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* `fcm-server --print-config`: {"data.curve": "no", "link 0.floor": "1", ...}. A new reference. */
json_t *parse_config(const char *text);

/* An address to listen on. A name, or '*': any is taken for all of the machine's. */
struct endpoint {
	struct in6_addr address; /* IPv4 as ::ffff:a.b.c.d */
	bool any;
	unsigned port;
};
/* "tcp://127.0.0.1:5710", "tcp://[::1]:5730", "tcp://@[::]:5730". False: no TCP, or no port. */
bool parse_endpoint(const char *text, struct endpoint *ret);
/* A number, as of [feed] address. */
void parse_address(const char *text, struct endpoint *ret);

/* A line of /proc/net/tcp or tcp6. False: it is not one of a socket that listens. */
struct listener {
	struct endpoint at;
	uid_t user;
	unsigned long inode;
};
bool parse_listener(const char *line, struct listener *ret);
/* Whether both cannot listen at the same time. */
bool parse_same_place(const struct endpoint *a, const struct endpoint *b);

/* "5.0 GT/s PCIe" and lanes: usable Mb/s; 0: unreadable. */
double parse_pcie_mbps(const char *speed, unsigned lanes);

/* The number of "name:  12 kB" in the text of /proc/meminfo; -1: it has none. */
long long parse_meminfo(const char *text, const char *name);
/* "madvise" of "always [madvise] never"; "" where none is in brackets. */
void parse_chosen(const char *line, char *ret_word, size_t size);

/* A record of /dev/kmsg, "6,1024,1234567,-;text": its level (0 emergency to 7) and its text, cut at the line's end.
 * False: it is none. */
bool parse_kmsg(char *record, unsigned *ret_level, char **ret_text);
/* What a kernel's message means for the station. */
enum kernel_word { KERNEL_NOTHING, KERNEL_WARNING, KERNEL_BROKEN };
enum kernel_word parse_kernel(unsigned level, const char *text);

/* What gpsd has said so far. */
struct gpsd_said {
	char release[32]; /* "": nothing yet */
	int devices;	  /* -1: not yet */
	int mode;	  /* of the best fix: -1 not yet, 0 and 1 none, 2, 3 */
	int satellites;	  /* used; -1: not yet */
};
/* A line of its JSON socket. False: that is not gpsd. */
bool parse_gpsd(const char *line, size_t bytes, struct gpsd_said *said);

/* Of /etc/passwd and /etc/group, their text. */
bool parse_user(const char *passwd, uid_t uid, char *ret_name, size_t size, gid_t *ret_group);
bool parse_user_named(const char *passwd, const char *name, uid_t *ret_uid);
/* Whether `user`, whose own group is `own`, is in the group `gid`; *ret_name: the group's name, "" without one. */
bool parse_member(const char *group, gid_t gid, const char *user, gid_t own, char *ret_name,
		  size_t size);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Raw frames as a capture file (pcapng, link type USER0 = 147: a frame of 10 000 bytes a packet, nothing
 * around it), for Wireshark. An interface a link, named after it; times in ns.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct record_pcap;

/* A file there is replaced. Negative errno. */
int record_pcap_create(const char *path, struct record_pcap **ret_pcap);
/* A packet of `link` at a UTC time since 1970. Errors are kept for the end. */
void record_pcap_put(struct record_pcap *p, unsigned link, int64_t utc_ns, const uint8_t *bytes,
		     size_t length);
/* 0, or the first error in writing. */
int record_pcap_close(struct record_pcap *p, uint64_t *ret_packets);

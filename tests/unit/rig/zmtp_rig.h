/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ZeroMQ's protocol (ZMTP 3.0, RFC 23) spoken by hand over loopback TCP, for what libzmq would never send. Without
 * encryption.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#define ZMTP_MORE 0x01 /* flag of a frame: another one of this message follows */

int zmtp_connect(uint16_t port);
/* From this address of ours, in the host's order. */
int zmtp_connect_from(uint32_t address, uint16_t port);
/* As a socket of this type, "SUB". Reads the greeting and no more: what comes behind stays in the kernel. */
void zmtp_shake_hands_as(int fd, const char *type);
void zmtp_shake_hands(int fd); /* as a DEALER */
/* A frame of at most 255 bytes. */
void zmtp_send(int fd, uint8_t flags, const void *bytes, uint8_t length);
void zmtp_send_all(int fd, const void *bytes, size_t length);
/* What the kernel takes now: 0 when nothing; negative: the connection is over. */
ssize_t zmtp_try(int fd, const void *bytes, size_t length);
bool zmtp_is_open(int fd);
/* The descriptor of the other end, when that is in this process; -1. */
int zmtp_peer_of(int fd);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the emulator's host on a socket for each test, and sends it packets that no library sends. See socket_rig.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/rig/socket_rig.h"

struct host_config config;
char path[96], where[128];
pid_t host;
static char directory[64];

struct nanet3 *open_board(void)
{
	struct nanet3 *b = NULL;

	assert_int_equal(nanet3_open(where, &b), 0);
	return b;
}

int set_up(void **state)
{
	strcpy(directory, "/tmp/nanet3-XXXXXX");
	if (mkdtemp(directory) == NULL) {
		return -1;
	}
	snprintf(path, sizeof(path), "%s/socket", directory);
	snprintf(where, sizeof(where), "unix:%s", path);
	host_config_default(&config);
	config.socket_path = path;
	config.depth_ms = 200;
	config.linger_ms = 300;
	host = contract_host_start(&config);
	return host > 0 ? 0 : -1;
}

int tear_down(void **state)
{
	if (host > 0 && contract_host_end(host, SIGTERM) != 0) {
		return -1;
	}
	unlink(path);
	return rmdir(directory);
}

uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void restart(void)
{
	assert_int_equal(contract_host_end(host, SIGTERM), 0);
	host = contract_host_start(&config);
	assert_true(host > 0);
}

/* ------------------------------------------------------------------------ raw packets */

int raw_open(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strcpy(address.sun_path, path);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

int raw(int fd, const void *bytes, size_t length, void *answer)
{
	struct nanet3_sock_head head = {0};
	uint8_t packet[NANET3_SOCK_MAX];
	ssize_t n;

	assert_int_equal(send(fd, bytes, length, MSG_NOSIGNAL), length);
	n = recv(fd, packet, sizeof(packet), 0);
	assert_true(n >= (ssize_t)sizeof(head));
	memcpy(&head, packet, sizeof(head));
	assert_int_equal(head.size, n - (ssize_t)sizeof(head));
	if (answer != NULL) {
		memcpy(answer, packet + sizeof(head), head.size);
	}
	return head.result;
}

int raw_request(int fd, uint32_t request, const void *arg, uint32_t size, void *answer)
{
	uint8_t packet[NANET3_SOCK_MAX];
	struct nanet3_sock_head head = {.request = request, .size = size};

	memcpy(packet, &head, sizeof(head));
	memcpy(packet + sizeof(head), arg, size);
	return raw(fd, packet, sizeof(head) + size, answer);
}

void greet(int fd)
{
	struct nanet3_info info = {.version = NANET3_ABI_VERSION};

	assert_int_equal(raw_request(fd, NANET3_IOC_INFO, &info, sizeof(info), &info), 0);
}

int raw_map(int fd, uint64_t what, struct nanet3_sock_map *ret_map)
{
	struct {
		struct nanet3_sock_head head;
		struct nanet3_sock_map map;
	} packet = {{.request = NANET3_SOCK_MAP, .size = sizeof(struct nanet3_sock_map)},
		    {.what = what}};
	struct iovec iov = {&packet, sizeof(packet)};
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	int shared;

	assert_int_equal(send(fd, &packet, sizeof(packet), 0), sizeof(packet));
	assert_int_equal(recvmsg(fd, &msg, 0), sizeof(packet));
	assert_int_equal(packet.head.result, 0);
	memcpy(&shared, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(shared));
	*ret_map = packet.map;
	return shared;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* The input as it was typed: see address.h. */
#include "daemon/convert/address.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define TCP "tcp://"

bool address_is(const char *input)
{
	return strncmp(input, TCP, strlen(TCP)) == 0 || strncmp(input, "ipc://", 6) == 0;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

/* libzmq looks for the name again and again, and says nothing. */
static bool is_host(const char *host)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *found;

	if (strpbrk(host, "[];*")) { /* an IPv6 address, an interface: not for the resolver */
		return true;
	}
	if (getaddrinfo(host, NULL, &hints, &found) != 0) {
		return false;
	}
	freeaddrinfo(found);
	return true;
}

bool address_good(const char *input, char *why, size_t size)
{
	const char *rest = input + strlen(TCP), *colon = strrchr(input, ':');
	char host[256];

	if (strncmp(input, TCP, strlen(TCP)) != 0) {
		return true;
	}
	if (colon == rest) {
		snprintf(why, size, "has no host; for this one: " TCP "127.0.0.1%s", colon);
		return false;
	}
	if (colon < rest || !is_number(colon + 1)) {
		snprintf(why, size, "has no port; monitors have 5730 + board number: %.*s:5730",
			 (int)(colon < rest ? strlen(input) : (size_t)(colon - input)), input);
		return false;
	}
	snprintf(host, sizeof(host), "%.*s", (int)(colon - rest), rest);
	if (!is_host(host)) {
		snprintf(why, size, "%s: unknown host", host);
		return false;
	}
	return true;
}

void address_advice(const char *input, char *advice, size_t size)
{
	const char *scheme = strstr(input, ":/"), *at = input;
	size_t host, digits;

	if (scheme) {
		at = scheme + 1 + strspn(scheme + 1, "/");
	}
	host = strcspn(at, ":/");
	digits = at[host] == ':' ? strspn(at + host + 1, "0123456789") : 0;
	*advice = '\0';
	if (host > 0 && (scheme || digits > 0)) {
		snprintf(advice, size, "; did you mean " TCP "%.*s:%.*s?", (int)host, at,
			 digits ? (int)digits : 4, digits ? at + host + 1 : "5730");
	} else if (*input && !strpbrk(input, "/.:")) {
		snprintf(advice, size,
			 "; a recording is a folder: give its path, for example "
			 "build/run/recordings/%s",
			 input);
	}
}

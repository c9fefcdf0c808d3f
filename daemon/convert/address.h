/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The input as it was typed: whether it is a daemon's address, and what was perhaps meant when it makes no sense. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* tcp://... or ipc://... */
bool address_is(const char *input);
/* An address without a host or port, or of an unknown host: false, and why in words. Asks for the host by its name. */
bool address_good(const char *input, char *why, size_t size);
/* Of an input that is not there: "; did you mean ...?", or "". */
void address_advice(const char *input, char *advice, size_t size);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands in a text: what an operator copies is not broken over lines. */
#pragma once

#include <stddef.h>

/* Bytes of the first word of `text`, or of the command that begins it: that ends where the sentence has a mark. */
size_t typed_bytes(const char *text);
/* Bytes of the command that begins here; 0: none does. */
size_t typed_command(const char *text);

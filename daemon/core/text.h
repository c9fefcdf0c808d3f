/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text put together piece by piece in the caller's buffer, a string at all times; what has no
 * room is cut. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A text that was cut to fit, ended at the border of a character (UTF-8). */
void text_whole(char *text);
/* Behind what is there. */
void text_add(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The next item of a list: behind ", " unless the text is empty. */
void text_list(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The bits that are set: "om0, om2". Returns text. */
const char *text_bits(char *text, size_t size, const char *name, uint32_t bits);
/* "2026-11-22 18:36:54". Returns text. */
const char *text_utc(char *text, size_t size, int64_t utc_ns);

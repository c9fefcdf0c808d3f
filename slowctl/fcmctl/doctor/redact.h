/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets out of a text that leaves the house. Rather too much than too little. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define REDACTED "[removed]"

/*
 * A copy without: the texts `known` (count of them); what follows words such as secret, password, token, up to the
 * end of the line or of its quotes; user and password of an address; mail addresses; keys of CURVE, also public ones
 * (40 characters); private keys in PEM. The caller's to free; NULL: no memory.
 */
char *redact(const char *text, const char *const *known, size_t count);
/* The same of every text in `json`, in place; what such a word names is removed whole. */
void redact_json(json_t *json, const char *const *known, size_t count);

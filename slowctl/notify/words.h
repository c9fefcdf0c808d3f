/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a receiver reads. */
#pragma once

#include <jansson.h>

#include "slowctl/notify/receiver.h"

/* What one delivery carries. */
struct notify_words {
	char subject[200];
	char level[12]; /* "red", "warning", "cleared", "test": the worst in it */
	char *body;	/* lines of text; to be freed */
	char *json;	/* of a webhook; to be freed */
};

/* A notice as the book keeps it, of an Incident of schemas/control.md (NULL: a test): {kind, time, severity, number, object,
 * code, text, action, since, cost}. */
json_t *notice_make(enum notice kind, const json_t *incident, double now);
/* `count` of `notices`, oldest first, after `dropped` that were not kept. -ENOMEM. */
int notify_words(const char *station, const json_t *notices, unsigned count, unsigned dropped,
		 struct notify_words *ret);
void notify_words_free(struct notify_words *w);

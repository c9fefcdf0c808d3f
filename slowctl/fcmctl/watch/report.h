/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report as a page. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* `report`: as fcmctl report --json prints it, with `losses`. One file that needs nothing else. */
void report_html(FILE *out, const json_t *report);

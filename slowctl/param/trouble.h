/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts for an operator about errors of the database's disk and of an FCM. */
#pragma once

#include <stdint.h>

struct sc_trouble {
	const char *what, *action;
};
/* `result`: the store's negative errno. */
struct sc_trouble journal_trouble(int result);
/* `status`: of an FCM's word that refuses a command (tdm/word.h). */
struct sc_trouble fcm_trouble(uint8_t status);

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes capture's reports to store, engine, clock and runs. */
#pragma once

#include <stdint.h>

struct station;

void reports_drain(struct station *s);
/* A closed ledger row is in the database: its cookie, as given to the store. */
void reports_saved(struct station *s, uint64_t cookie);
void reports_losses_saved(struct station *s); /* s->losses_saved, which it clears */
/* Updates s->publisher_status, with what capture has dropped for the groups: it counts what the ledger does. */
void reports_groups(struct station *s);

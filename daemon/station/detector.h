/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Carries out what the command engine asks for: rows to the store, words to the board; the store's answers. */
#pragma once

struct sc_error;
struct station;

int detector_load(struct station *s, struct sc_error *error); /* the dictionary */
int detector_disk(struct station *s);  /* the thread that looks at the database's disk */
int detector_start(struct station *s); /* the engine */
void detector_stop(struct station *s);
void detector_tick(struct station *s);
/* Carry out all that the engine has put out. Once a turn of the main loop. */
void detector_drain(struct station *s);
void detector_second(struct station *s);
void detector_stored(struct station *s); /* done rows of the store */

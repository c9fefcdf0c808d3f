/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The board and its links as the main thread sees them. Ten times a second it reads the registers (watch.h) and
 * samples each link's phase, which is judged after a re-lock and for drift (phase.h). Once a second it updates
 * rates and the losses of the last minute. The board's events are passed on from here: PPS to the clock, sent
 * words to the command engine, errors to the log.
 */
#pragma once

#include "daemon/station/parts.h"

struct station;
struct store_past;

int links_start(struct station *s); /* phases, watch */
/* The references of the phase: the database's; where it has none, ours go there. */
void links_restore(struct station *s, const struct store_past *past);
void links_stop(struct station *s);
void links_tick(struct station *s);   /* 10 times a second */
void links_second(struct station *s); /* once a second: rates, loss window */
/* A command of ours interrupts the link: which, and by whom. */
void links_note_own(struct station *s, unsigned link, const char *what, const char *who);
bool links_board_present(const struct station *s);
enum link_state links_state(const struct station *s, unsigned link);
const char *link_state_name(enum link_state state); /* "off", "dark", ... */
/* Another floor than configured is on the link. */
bool links_other_floor(const struct station *s, unsigned link);
/* The link's ring was restarted, because the board's counts restarted: what is lost before its first good frame
 * is not counted as a loss, as at our start. */
void links_ring_restarted(struct station *s, unsigned link);
/* Losses of a link by name within the last LOSS_WINDOW_S seconds; their sum. */
uint64_t links_recent_losses(const struct station *s, unsigned link, uint64_t ret[TDM_LOSSES]);
/* Where frames begin in the board's cells, bytes: 0, unless bytes slipped in while it held its lock. */
uint32_t links_offset(const struct station *s, unsigned link);
/* Frames to its floor that arrived damaged there, of the last minute. */
uint64_t links_recent_downlink(const struct station *s, unsigned link);

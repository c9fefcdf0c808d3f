/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the judge (alarms/): ten times a second, and when an operator has done something that status shows. */
#pragma once

struct station;

int view_start(struct station *s);
void view_stop(struct station *s);
void view_judge(struct station *s);

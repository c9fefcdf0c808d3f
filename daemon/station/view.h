/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the judge (alarms/): ten times a second, and when an operator has done something that status shows. */
#pragma once

#include "daemon/alarms/judge.h"

struct station;

int view_start(struct station *s);
void view_stop(struct station *s);
void view_judge(struct station *s);
/* An optical module as the judge sees it. */
enum judge_module_state view_module(const struct station *s, unsigned link, unsigned module);

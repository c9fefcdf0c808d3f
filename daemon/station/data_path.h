/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Start and stop of what the data pass: queues, the TriDAS feed, publisher, recorder, capture. */
#pragma once

#include <stdint.h>

struct station;

int data_start(struct station *s);
/* What capture reported last still gets into the store. */
void data_stop(struct station *s);
/* Steps of data_start(), for tests that have no board. */
int data_open_queues(struct station *s);
int data_start_publisher(struct station *s, uint64_t ring_frames);

// SPDX-License-Identifier: GPL-2.0-or-later
/* The change of a link's block length, when the configuration differs from that of the previous
 * daemon. */
#include "daemon/capture/private.h"

uint32_t link_gap_frames(const struct link *l, uint32_t block)
{
	uint64_t cells = (uint64_t)l->depth * l->frames_per_buffer;
	uint32_t frames = ASSEMBLE_SLICE;

	while (frames > block && frames > cells / 4) {
		do {
			frames -= block;
		} while (ASSEMBLE_SLICE % frames != 0);
	}
	return frames;
}

void link_change_length(struct link *l)
{
	uint64_t in_flight = (uint64_t)l->depth * l->frames_per_buffer + TDM_FRAMES_PER_SECOND;
	uint32_t wanted = l->capture->config.block_frames;
	uint32_t now = account_block_frames(ack_tracker_account(l->settle), UINT64_MAX);
	uint64_t from = assemble_border(l->assembler);

	if (now == wanted) {
		return;
	}
	from = l->sent > from ? l->sent : from;
	/* Frames f and f x wanted / now begin blocks of the same number: both must not be in
	 * flight. */
	if (wanted > now && from < in_flight * wanted / (wanted - now)) {
		from = in_flight * wanted / (wanted - now);
	}
	from = (from + ASSEMBLE_SLICE - 1) / ASSEMBLE_SLICE * ASSEMBLE_SLICE;
	if (account_change_length(ack_tracker_change(l->settle), from, wanted)) {
		assemble_change(l->assembler, from, wanted, link_gap_frames(l, wanted));
	}
}

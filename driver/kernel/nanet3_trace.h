/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tracepoints: what a station's data path and its troubles look like in time.
 *
 *   trace-cmd record -e nanet3        or: echo 1 > /sys/kernel/tracing/events/nanet3/enable
 *
 * @board is N of nanet3-N.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM nanet3

#if !defined(NANET3_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define NANET3_TRACE_H

#include <linux/tracepoint.h>

#include "compat.h"
#include "nanet3_drv.h"

/* clang-format off */

/* Events were taken off the board's queue. */
TRACE_EVENT(nanet3_drain,
	TP_PROTO(int board, unsigned int taken, u32 read),
	TP_ARGS(board, taken, read),
	TP_STRUCT__entry(
		__field(int, board)
		__field(unsigned int, taken)
		__field(u32, read)
	),
	TP_fast_assign(
		__entry->board = board;
		__entry->taken = taken;
		__entry->read = read;
	),
	TP_printk("nanet3-%d: %u taken, %u in all", __entry->board, __entry->taken, __entry->read)
);

/* A link has got an owner: by a new DMA start, or taken over. */
TRACE_EVENT(nanet3_claim,
	TP_PROTO(int board, u32 link, u32 dma_epoch, bool takeover),
	TP_ARGS(board, link, dma_epoch, takeover),
	TP_STRUCT__entry(
		__field(int, board)
		__field(u32, link)
		__field(u32, dma_epoch)
		__field(bool, takeover)
	),
	TP_fast_assign(
		__entry->board = board;
		__entry->link = link;
		__entry->dma_epoch = dma_epoch;
		__entry->takeover = takeover;
	),
	TP_printk("nanet3-%d link %u: epoch %u%s", __entry->board, __entry->link,
		  __entry->dma_epoch, __entry->takeover ? ", taken over" : "")
);

/* The board completed a gap: NANET3_GAP_*. */
TRACE_EVENT(nanet3_gap,
	TP_PROTO(int board, u32 link, u64 frame_count, u32 frames, u8 reason),
	TP_ARGS(board, link, frame_count, frames, reason),
	TP_STRUCT__entry(
		__field(u64, frame_count)
		__field(int, board)
		__field(u32, link)
		__field(u32, frames)
		__field(u8, reason)
	),
	TP_fast_assign(
		__entry->board = board;
		__entry->link = link;
		__entry->frame_count = frame_count;
		__entry->frames = frames;
		__entry->reason = reason;
	),
	TP_printk("nanet3-%d link %u: %u frames from %llu, reason %u", __entry->board,
		  __entry->link, __entry->frames, __entry->frame_count, __entry->reason)
);

/* A put is on the TX ring. */
TRACE_EVENT(nanet3_put,
	TP_PROTO(int board, u32 source, u32 destination, u64 length, int packets),
	TP_ARGS(board, source, destination, length, packets),
	TP_STRUCT__entry(
		__field(u64, length)
		__field(int, board)
		__field(u32, source)
		__field(u32, destination)
		__field(int, packets)
	),
	TP_fast_assign(
		__entry->board = board;
		__entry->source = source;
		__entry->destination = destination;
		__entry->length = length;
		__entry->packets = packets;
	),
	TP_printk("nanet3-%d: buffer %u to %u, %llu bytes in %d packets", __entry->board,
		  __entry->source, __entry->destination, __entry->length, __entry->packets)
);

/* The board is being reset because a part of it has failed. */
TRACE_EVENT(nanet3_reset,
	TP_PROTO(int board, const char *reason),
	TP_ARGS(board, reason),
	TP_STRUCT__entry(
		__field(int, board)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->board = board;
		nanet3_assign_str(reason, reason);
	),
	TP_printk("nanet3-%d: %s", __entry->board, __get_str(reason))
);

/* A look for a board that is gone: whether it is in configuration space, and works again. */
TRACE_EVENT(nanet3_heal,
	TP_PROTO(int board, bool found, bool works),
	TP_ARGS(board, found, works),
	TP_STRUCT__entry(
		__field(int, board)
		__field(bool, found)
		__field(bool, works)
	),
	TP_fast_assign(
		__entry->board = board;
		__entry->found = found;
		__entry->works = works;
	),
	TP_printk("nanet3-%d: %s", __entry->board,
		  __entry->works ? "works again" : __entry->found ? "on the bus" : "not on the bus")
);

/* clang-format on */

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE nanet3_trace
#include <trace/define_trace.h>

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of the database: what may be written, and with which values, in order. State machines (slowctl, ledger,
 * phase, clock) build them and know no SQL; daemon/store writes them, sql.c has the statements of each row. All
 * statements of a row are in one transaction.
 *
 * A row owns its texts (an arena inside it), so it can be copied and kept. All times are UTC ns since
 * 1970. schemas/sql/ explains the columns.
 */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * The database that these rows belong to: its PRAGMA application_id ("FCM" and the edition of 0001_initial.sql, which
 * sets it) and user_version (the number of migrations). 0001 is that of version 0.2.0, 0002 that of 0.3.0, and both stay
 * as they are: to change the schema, add a file NNNN_name.sql, list it in daemon/store/migrate.c, and raise ROWS_SCHEMA.
 */
#define ROWS_APPLICATION 0x46434d01u
#define ROWS_SCHEMA	 2

enum row_id {
	ROW_NONE = 0,
	/* A command, and what it begins with. id, client_id|NULL, time, who, uid, pid, origin, reason,
	 * link, tower, floor, parameter, op, old_value|NULL, new_value|NULL, unit, sequence|NULL, boot|NULL,
	 * state, detail, ended|NULL. An id or client_id used before: result -EEXIST. */
	ROW_COMMAND,
	/* A transition, and the command as it is after it. command, time, state, frame|NULL, detail, sequence,
	 * boot|NULL, attempts, ended|NULL */
	ROW_TRANSITION,
	/* The same for a command that was sent before it was journaled: however often it is
	 * written, the table has it once. A client id that another command has is left out. */
	ROW_COMMAND_BROUGHT,
	ROW_TRANSITION_BROUGHT,
	ROW_SEQUENCE,	 /* tower, floor, reserved_until: only ever grows */
	ROW_SAMPLE,	 /* parameter, time, value, setpoint|NULL */
	ROW_PHASE_ROW,	 /* link, time, mean_ps, sigma_ps, min_ps, max_ps, samples, rtt_frames,
			      * rtt_bytes, rtt_bits */
	ROW_PHASE_EVENT, /* link, time, verdict, slip, difference_ps, mean_ps, sigma_ps, samples, who,
			      * reason */
	ROW_PHASE_REFERENCE, /* link, phase_ps, rtt_frames, rtt_bytes, rtt_bits, time, who, reason */
	ROW_DMA,	     /* session, link, dma_epoch, begun, serial, board_boot */
	ROW_DMA_OVER, /* session, link, dma_epoch: all other epochs of the link are over. What they
			      * left open is closed, what they left in flight is charged as shutdown, named
			      * as a loss (to the second: the last of its frames). */
	ROW_LEDGER_LINK, /* session, dma_epoch, link, second, tower, floor, cells, good, link_down,
			      * board_fifo, ring_full, crc, alignment, time_fault, partial, restarts,
			      * closed, time, tai_ns|NULL */
	ROW_LEDGER_STREAM, /* session, dma_epoch, link, stream, grp, second, offered, acked, no_member,
			      * slow, shutdown, pool, no_time, in_flight, closed, time */
	ROW_LOSS, /* session, kind, code, link, tower, floor, stream, grp, dma_epoch, first, frames,
			      * tai_ns|NULL, time (when it last grew), open, until|NULL */
	ROW_RUN_BEGIN, /* number, note, who, begun, begun_slice|NULL */
	/* number, begun_slice, exact: 1: where it took effect; 0: planned, or the first with a
	 * time */
	ROW_RUN_SLICE,
	ROW_RUN_END,	 /* number, ended|NULL: it is planned, ended_slice|NULL */
	ROW_CLOCK_EVENT, /* time, state, source, uncertainty_ns|NULL, time_epoch, reason */
	ROW_EVENT,	 /* time, severity, code, object, text, action */
	/* What operators have done about an observation; replaces itself. object, code, state, level, highest,
	 * latch, parts, count, since, ended|NULL, text, action, acknowledged|NULL, ack_who, ack_origin, ack_text,
	 * paused|NULL, paused_until, paused_level, pause_who, pause_origin, pause_reason */
	ROW_OBSERVATION,
	ROW_OBSERVATION_FORGET, /* object, code */
	/* Replaces itself. number, code, object, red, text, action, since, until|NULL, own, observations, frames,
	 * dropped, hits, dark_ms, acknowledged|NULL, ack_who, ack_origin, ack_text, joined */
	ROW_INCIDENT,
	ROW_INCIDENT_END, /* number, until, joined: unless it has ended before */
	ROW_DARK, /* time, incident, link, tower, floor, modules, dark_ms, hits: of a second; adds up */
	/* key, value. recordings: the directory they go to; unit.KIND (unit.om.hv): unit of
	 * such a parameter, of every kind; words.KIND (words.link.state): what its values 0, 1, ... mean, with
	 * blanks between; deadband.KIND: a change up to this is none, in its unit; tai_utc_s: TAI-UTC now, s; relabelled: the last relabelling of time, four numbers:
	 * when (UTC ns by the system clock), new minus old time in ns, the new time (UTC ns), the new time
	 * epoch. Not written by this row: copied: this file is a backup, of that time (UTC ns), and after.command, after.run,
	 * after.incident, after.session: see NUMBERS_AFTER (sql.h); restored: when, UTC ns */
	ROW_STATION,
	/* utc_ns: a sign of life. The station's last_alive is that, and settled_until (a number; none of the
	 * commands up to it is open) goes on. */
	ROW_ALIVE,
	/* snapshot (its id), then ROW_SNAPSHOT_PAIRS times parameter|NULL, value|NULL */
	ROW_SNAPSHOT_VALUES,
	/* id, name, time, who, note, pattern, parameters, unknown: when its values are there; -EEXIST: they are not
	 * all there, or the name is in use */
	ROW_SNAPSHOT,
	ROW_SNAPSHOT_REMOVE, /* id */
	ROW_IDS,
};

enum row_type { ROW_NULL = 0, ROW_INT, ROW_REAL, ROW_TEXT };

#define ROW_SNAPSHOT_PAIRS 11u

/* Limits of a command's texts in bytes (UTF-8), including the final zero; the tables check them. A
 * client's reason may have 400 bytes; "safe 17: " may go before it. */
#define ROW_CLIENT_ID_MAX 96u
#define ROW_WHO_MAX	  96u
#define ROW_ORIGIN_MAX	  128u
#define ROW_REASON_MAX	  433u

#define ROW_VALUES_MAX 24u
#define ROW_ARENA      1600u

struct row_value {
	uint8_t type;  /* enum row_type */
	uint16_t text; /* ROW_TEXT: offset in the arena, zero-terminated */
	union {
		int64_t i;
		double d;
	};
};

struct row {
	uint16_t id; /* enum row_id */
	uint16_t count;
	uint16_t used; /* of the arena */
	bool cut;      /* a text did not fit */
	struct row_value values[ROW_VALUES_MAX];
	char arena[ROW_ARENA];
};

static inline void row_begin(struct row *r, enum row_id id)
{
	r->id = (uint16_t)id;
	r->count = 0;
	r->used = 0;
	r->cut = false;
}

/* A value: ROW_VI(5), ROW_VR(0.5), ROW_VT("text" or NULL), ROW_VI_IF(is_known, 5): else NULL. */
struct row_in {
	enum row_type type;
	union {
		int64_t i;
		double d;
		const char *text;
	};
};
#define ROW_VNULL	     ((struct row_in){.type = ROW_NULL})
#define ROW_VI(value)	     ((struct row_in){.type = ROW_INT, .i = (int64_t)(value)})
#define ROW_VI_IF(is, value) ((is) ? ROW_VI(value) : ROW_VNULL)
#define ROW_VR(value)	     ((struct row_in){.type = ROW_REAL, .d = (value)})
#define ROW_VT(value)	     ((struct row_in){.type = ROW_TEXT, .text = (value)})

/* Copies the text into the arena. What does not fit is cut (never inside a UTF-8 character). Its offset. */
static inline uint16_t row_arena_put(struct row *r, const char *text)
{
	size_t room = ROW_ARENA - r->used, length = strlen(text);
	uint16_t at = r->used;

	r->cut = r->cut || length >= room;
	if (room == 0) { /* full to the last byte: its last zero is an empty text */
		return ROW_ARENA - 1;
	}
	if (length >= room) {
		length = room - 1;
		while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) {
			length--;
		}
	}
	memcpy(r->arena + at, text, length);
	r->arena[at + length] = 0;
	r->used = (uint16_t)(at + length + 1);
	return at;
}

/* The next value. NaN becomes NULL, as SQLite would make it. One too many is kept in `count` alone;
 * the store refuses such a row (-EINVAL). */
static inline void row_add(struct row *r, struct row_in in)
{
	bool is_null = in.type == ROW_TEXT ? !in.text : in.type == ROW_REAL && isnan(in.d);
	struct row_value v = {.type = (uint8_t)(is_null ? ROW_NULL : in.type)};

	if (v.type == ROW_TEXT) {
		v.text = row_arena_put(r, in.text);
	} else {
		v.i = in.i; /* or d, which lies there too */
	}
	if (r->count < ROW_VALUES_MAX) {
		r->values[r->count] = v;
	}
	r->count++;
}

/* The row with these values, in order. */
static inline void row_fill(struct row *r, enum row_id id, const struct row_in *values,
			    unsigned count)
{
	row_begin(r, id);
	for (unsigned n = 0; n < count; n++) {
		row_add(r, values[n]);
	}
}

/* row_make(&row, ROW_STATION, ROW_VT("key"), ROW_VT("value")); */
#define row_make(r, id, ...)                                                                       \
	row_fill(r, id, (const struct row_in[]){__VA_ARGS__},                                      \
		 sizeof((const struct row_in[]){__VA_ARGS__}) / sizeof(struct row_in))

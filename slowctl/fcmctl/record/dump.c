/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fcmctl record dump: what is in a recording, straight from its files. Needs no daemon, changes nothing.
 *
 *   segments --recording.h--> records --deframe.h--> verdicts --items.h--> lines, or packets
 *
 * A link's alignment is followed from segment to segment as long as the counts continue, so that a frame across
 * two of them is one. Nothing in a file is trusted.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/fcmctl/core/ctl.h"
#include "slowctl/fcmctl/record/items.h"
#include "slowctl/fcmctl/record/pcap.h"
#include "slowctl/fcmctl/show/value.h"
#include "tdm/recording.h"

#define KEEP	 64u   /* frames that a carried one must outlive here: it is shown at once */
#define RUN_UP	 64u   /* cells before --from that are read for the alignment */
#define GAP_STEP 8000u /* cells of a gap that the deframer gets at a time */

enum what { RECORDS, FRAMES, SLOTS, HITS, SAMPLES, WORDS, WHATS };

static const char *const what_names[WHATS] = {"records", "frames",  "slots",
					      "hits",	 "samples", "words"};
/* What shows the parts of a good frame. */
static void (*const show_parts[WHATS])(const struct record_sink *to, const struct record_place *at,
				       const struct tdm_verdict *v) = {
	[SLOTS] = record_show_slots, [SAMPLES] = record_show_samples, [WORDS] = record_show_words};

struct dump_link {
	struct tdm_deframe *deframe;
	uint64_t next;			   /* count behind the last record */
	struct fcm_segment_header segment; /* the last one */
	uint64_t left;			   /* cells to show */
	bool labelled;
	struct fcm_record_label label;
	struct record_hits hits;
};

struct dump {
	struct ctl *ctl;
	struct record_sink to;
	enum what what;
	int link; /* -1: all */
	uint64_t from;
	struct record_pcap *pcap;
	bool bad;
	struct dump_link links[RECORDING_LINKS];
	/* The segment and the record under way. */
	const char *name;
	struct dump_link *l;
	struct recording_file file;
	struct fcm_record_header record;
};

static void put_item(void *context, const json_t *item, writer_render_fn render, bool bad)
{
	struct dump *d = context;

	d->bad = d->bad || bad;
	if (d->pcap == NULL) {
		writer_result(d->ctl->out, item, render);
	} else if (bad && strcmp(value_string(item, "what", ""), "end") == 0) {
		ctl_remark("%s ends at byte %lld of %lld: %s", value_string(item, "segment", "?"),
			   value_integer(item, "byte", 0), value_integer(item, "size", 0),
			   value_string(item, "why", "?"));
	}
}

static struct record_place place_at(const struct dump *d, uint64_t count)
{
	return (struct record_place){
		.segment = d->name,
		.link = d->file.walk.segment.link,
		.count = count,
		.label = d->l->labelled ? &d->l->label : NULL,
	};
}

/* ---------------------------------------------------------------- frames */

/* The bytes of a cell of the record under way; NULL: they are not of it. */
static const uint8_t *cell_of(const struct dump *d, uint64_t count)
{
	const struct fcm_record_header *r = &d->record;

	if (r->kind != FCM_RECORD_DATA || count < r->count || count - r->count >= r->frames) {
		return NULL;
	}
	return d->file.data + (count - r->count) * TDM_FRAME_BYTES;
}

static void put_packet(struct dump *d, const struct tdm_verdict *v, const uint8_t *cell)
{
	const struct fcm_segment_header *s = &d->file.walk.segment;
	const uint8_t *bytes = v->loss == TDM_GOOD ? v->frame : cell;
	int64_t utc_ns = record_utc_ns(d->l->labelled ? &d->l->label : NULL,
				       v->loss == TDM_GOOD ? v->floor_frame : v->count);

	if (utc_ns == INT64_MIN) { /* by the host's clock, then */
		const uint64_t behind = v->count > s->count ? v->count - s->count : 0;

		utc_ns = (int64_t)((uint64_t)s->utc_ns + behind * TDM_FRAME_NS);
	}
	if (bytes != NULL) {
		record_pcap_put(d->pcap, s->link, utc_ns, bytes, TDM_FRAME_BYTES);
	}
}

static void on_verdict(void *context, const struct tdm_verdict *v)
{
	struct dump *d = context;
	struct record_place at = place_at(d, v->count);
	const bool show = v->count >= d->from && d->l->left > 0;
	struct tdm_verdict whole = *v;

	/* The deframer knows the board's losses only. */
	at.let_go = d->record.kind == FCM_RECORD_LET_GO && v->loss == tdm_record_loss(&d->record);
	if (v->loss != TDM_GOOD) {
		whole.frame = NULL;
	}
	if (d->what == HITS && d->pcap == NULL) {
		record_show_hits(&d->to, &at, &whole, &d->l->hits, show);
	}
	if (!show) {
		return;
	}
	d->l->left--;
	if (d->pcap != NULL) {
		put_packet(d, v, cell_of(d, v->count));
	} else if (d->what == FRAMES) {
		record_show_frame(&d->to, &at, v, cell_of(d, v->count));
	} else if (whole.frame != NULL && show_parts[d->what] != NULL) {
		show_parts[d->what](&d->to, &at, &whole);
	}
}

/* ---------------------------------------------------------------- records */

/* A gap of any length, a piece at a time, until enough is shown. */
static void push_gap(struct dump *d, uint64_t count, uint64_t frames, enum tdm_loss loss)
{
	while (frames > 0 && d->l->left > 0) {
		const uint64_t n = frames < GAP_STEP ? frames : GAP_STEP;

		/* Cells before --from are skipped; the deframer accepts the hole. */
		if (count + frames <= d->from) {
			return;
		}
		if (count + n <= d->from) {
			const uint64_t skip = (d->from - count) / GAP_STEP * GAP_STEP;

			count += skip;
			frames -= skip;
			continue;
		}
		tdm_deframe_gap(d->l->deframe, n, count, loss, on_verdict, d);
		count += n;
		frames -= n;
		/* Only frames have a line for each cell that is lost; else the first piece has cut all that a gap cuts. */
		if (d->what != FRAMES || d->pcap != NULL) {
			d->l->left -= frames < d->l->left ? frames : d->l->left;
			return;
		}
	}
}

static void push(struct dump *d)
{
	const struct fcm_record_header *r = &d->record;
	struct dump_link *l = d->l;

	if (r->count + r->frames + RUN_UP <= d->from) {
		return;
	}
	if (l->next != r->count) {
		memset(&l->hits, 0, sizeof(l->hits));
	}
	l->next = r->count + r->frames;
	if (r->kind == FCM_RECORD_DATA) {
		tdm_deframe_push(l->deframe, d->file.data, (uint32_t)r->frames, r->count,
				 on_verdict, d);
	} else {
		push_gap(d, r->count, r->frames, tdm_record_loss(r));
	}
}

static void show_record(struct dump *d, uint64_t offset)
{
	const struct record_place at = place_at(d, d->record.count);

	if (tdm_record_has_cells(&d->record)) {
		if (d->record.count + d->record.frames <= d->from) {
			return;
		}
		d->l->left -= d->record.frames < d->l->left ? d->record.frames : d->l->left;
	}
	record_show_record(&d->to, &at, &d->record, offset, d->file.data);
}

static void take_record(struct dump *d, uint64_t offset)
{
	if (d->record.kind == FCM_RECORD_LABEL) {
		d->l->label = recording_label(d->file.data);
		d->l->labelled = true;
	}
	if (d->what == RECORDS && d->pcap == NULL) {
		show_record(d, offset);
	} else if (tdm_record_has_cells(&d->record)) {
		push(d);
	}
}

/* ---------------------------------------------------------------- segments */

static void show_end(struct dump *d, uint64_t records, int error)
{
	const enum record_end end = d->file.walk.end;
	struct stat st = {0};

	fstat(d->file.fd, &st);
	if (error < 0) {
		ctl_remark("%s: %s at byte %" PRIu64, d->name, strerror(-error),
			   d->file.walk.offset);
		d->bad = true;
		return;
	}
	if (d->what == RECORDS ? end != RECORD_MORE : end == RECORD_CUT || end == RECORD_DAMAGED) {
		record_show_end(&d->to, d->name, end, d->file.walk.offset, (uint64_t)st.st_size,
				records);
	}
}

static void walk_segment(struct dump *d)
{
	uint64_t records = 0, offset = d->file.walk.offset;
	int n = 1;

	if (d->what == RECORDS) {
		record_show_segment(&d->to, d->name, &d->file.walk.segment);
	}
	while (d->l->left > 0 && writer_flush(d->ctl->out) == 0 &&
	       (n = recording_next(&d->file, &d->record)) > 0) {
		take_record(d, offset);
		offset = d->file.walk.offset;
		records++;
	}
	show_end(d, records, n);
}

/* Continues the link's state from the last segment, or resets it. 0, or -ENOMEM. */
static int take_up(struct dump *d)
{
	const struct fcm_segment_header *s = &d->file.walk.segment;
	struct dump_link *l = &d->links[s->link];

	d->l = l;
	if (l->deframe == NULL) {
		l->deframe = tdm_deframe_create(KEEP);
		return l->deframe != NULL ? 0 : -ENOMEM;
	}
	if (!tdm_segment_same_epoch(&l->segment, s) || l->next != s->count) {
		tdm_deframe_reset(l->deframe);
		memset(&l->hits, 0, sizeof(l->hits));
		l->labelled = false;
	}
	return 0;
}

static const char *open_fault(int err)
{
	switch (err) {
	case -EBADMSG:
		return "not a segment, or damaged at its beginning";
	case -ENODATA:
		return "cut off inside its header";
	case -ELOOP:
		return "a symbolic link, which is not followed here";
	case -EPROTO:
		return "a segment of another version";
	default:
		return strerror(-err);
	}
}

static void dump_segment(struct dump *d, const struct recording *r,
			 const struct recording_segment *segment)
{
	const char *path = segment->path, *slash = strrchr(path, '/');
	int err = recording_open_segment(&d->file, r, segment);
	const bool opened = err == 0;

	d->name = slash != NULL ? slash + 1 : path;
	if (opened) {
		err = d->file.walk.segment.link < RECORDING_LINKS ? take_up(d) : -EBADMSG;
	}
	if (err == 0) {
		walk_segment(d);
		d->l->segment = d->file.walk.segment;
	} else {
		ctl_remark("%s: %s", path, open_fault(err));
		d->bad = true;
	}
	if (opened) {
		recording_close(&d->file);
	}
}

/* ---------------------------------------------------------------- the command */

static void render_pcap(struct writer *w, const json_t *result)
{
	value_say(w, WRITER_PLAIN, result, "{packets} frames in {file}");
	writer_newline(w);
}

static int end_pcap(struct dump *d, const char *path)
{
	uint64_t packets;
	const int err = record_pcap_close(d->pcap, &packets);
	json_t *result;

	if (err < 0) {
		return ctl_fail(d->ctl, CTL_NOT, "failed", "is its disk full?",
				"%s could not be written: %s", path, strerror(-err));
	}
	result = json_pack("{s:s,s:s,s:I}", "what", "pcap", "file", path, "packets",
			   (json_int_t)packets);
	writer_result(d->ctl->out, result, render_pcap);
	json_decref(result);
	return CTL_DONE;
}

/* A black box has them beside its segments. */
static void show_registers(struct dump *d, const struct recording *r, const char *path)
{
	char file[2 * PATH_MAX + 16], text[4096];

	if (r->directory != NULL &&
	    recording_read_text(dirfd(r->directory), "registers.txt", text, sizeof(text)) >= 0) {
		snprintf(file, sizeof(file), "%s/registers.txt", path);
		record_show_registers(&d->to, file, text);
	}
}

static int dump_all(struct dump *d, const struct recording *r, const char *pcap_path)
{
	int code = CTL_DONE;

	for (size_t i = 0; i < r->count; i++) {
		if (d->link < 0 || r->segments[i].link == (unsigned)d->link) {
			dump_segment(d, r, &r->segments[i]);
		}
	}
	if (d->pcap != NULL) {
		code = end_pcap(d, pcap_path);
	}
	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		tdm_deframe_destroy(d->links[i].deframe);
	}
	return code == CTL_DONE && d->bad ? CTL_NOT : code;
}

/* WHATS: no such thing. */
static enum what what_of(const struct ctl_args *args)
{
	const char *name = ctl_given(args, CTL_WHAT) ? args->text[CTL_WHAT] : what_names[RECORDS];
	unsigned what = 0;

	while (what < WHATS && strcmp(name, what_names[what]) != 0) {
		what++;
	}
	return (enum what)what;
}

/* The segments of `word`, a path or the name of a recording. `path`: where they are. CTL_DONE, or the exit
 * code, everything said. */
static int find_recording(struct ctl *ctl, const char *word, char *path, size_t size,
			  struct recording *ret_recording)
{
	char place[PATH_MAX], action[PATH_MAX];
	const bool name = strchr(word, '/') == NULL;
	int err = recording_init(ret_recording, word);

	snprintf(path, size, "%s", word);
	if (err == -ENOENT && name) {
		ctl_recordings_place(ctl, place, sizeof(place));
		snprintf(path, size, "%s/%s", place, word);
		err = recording_init_in(ret_recording, place, word);
	}
	if (err == 0) {
		return CTL_DONE;
	}
	if (err == -ENOENT && name) {
		return ctl_fail(ctl, CTL_NOT, "failed", "fcmctl record list shows their names",
				"%s: there is no such file or directory here, and no recording of "
				"that name in %s",
				word, place);
	}
	return ctl_fail(ctl, CTL_NOT, "failed",
			err == -EACCES ? ctl_access_action(path, action, sizeof(action))
				       : "name a recording, its directory, or a segment in it "
					 "(*.fcmr)",
			"%s: %s", path,
			err == -ENODATA		  ? "there is no segment in it"
			: err == -ENOTDIR && name ? "not a directory, or a symbolic link, which is "
						    "not followed there"
						  : open_fault(err));
}

static int dump_run(struct ctl *ctl, const struct ctl_args *args)
{
	struct dump *d = ctl_memory(ctl, calloc(1, sizeof(*d)));
	const char *pcap_path = args->text[CTL_PCAP];
	char path[2 * PATH_MAX];
	struct recording recording;
	int code, err;

	d->ctl = ctl;
	d->to = (struct record_sink){put_item, d};
	d->what = ctl_given(args, CTL_PCAP) ? FRAMES : what_of(args);
	d->link = (int)ctl_number(args, CTL_LINK, -1);
	d->from = (uint64_t)ctl_number(args, CTL_FROM, 0);
	for (unsigned i = 0; i < RECORDING_LINKS; i++) {
		d->links[i].left = (uint64_t)ctl_number(args, CTL_FRAMES, 1e18);
	}
	if (d->what == WHATS) {
		code = ctl_usage(ctl, "records, frames, slots, hits, samples or words",
				 "there is no --what %.40s", args->text[CTL_WHAT]);
	} else {
		code = find_recording(ctl, args->word[0], path, sizeof(path), &recording);
	}
	if (code == CTL_DONE) {
		if (d->what == RECORDS) {
			show_registers(d, &recording, path);
		}
		err = pcap_path != NULL ? record_pcap_create(pcap_path, &d->pcap) : 0;
		code = err < 0 ? ctl_fail(ctl, CTL_NOT, "failed", NULL, "%s: %s", pcap_path,
					  strerror(-err))
			       : dump_all(d, &recording, pcap_path);
		recording_fini(&recording);
	}
	free(d);
	return code;
}

const struct ctl_command ctl_record_dump_commands[] = {
	{"record", "dump", "PATH", "the contents of a recording: records, frames, hits, ...",
	 .help = "PATH is a recording's name as in record list, its directory, or one of\n"
		 "its segments. Reads the files: needs no daemon and changes nothing.\n"
		 "One line an item, or with --json one object a line:\n\n"
		 "records   what was written: data, gaps, labels of time; how each segment\n"
		 "          ends (default); of a black box first the registers\n"
		 "frames    of each cell the verdict, the frame's checks and header\n"
		 "slots     what the modules and hydrophones had in each good frame\n"
		 "hits      TriDAS hits with their UTC by the recorded label\n"
		 "samples   of the hydrophones, 24 a frame\n"
		 "words     slow-control replies\n\n"
		 "--pcap FILE writes the frames for Wireshark instead. The first three\n"
		 "frames of a link only confirm the alignment: their verdict is\n"
		 "alignment. let-go: the recorder was too slow; the station has lost\n"
		 "nothing. The time of a record is that of the board's count. The time\n"
		 "of a frame, and of what is in it, is that of the floor's own number,\n"
		 "which is earlier by the round trip of the link; no cable delay is\n"
		 "added. Exit 1 when a segment is cut off or damaged, or when something\n"
		 "shown is bad.\n\n"
		 "  fcmctl record dump storm --link 2\n"
		 "  fcmctl record dump storm --what hits --from 80001600 --frames 80\n"
		 "  fcmctl record dump storm --pcap storm.pcapng --frames 8000",
	 .options = CTL_BIT(CTL_LINK) | CTL_BIT(CTL_FROM) | CTL_BIT(CTL_FRAMES) |
		    CTL_BIT(CTL_WHAT) | CTL_BIT(CTL_PCAP),
	 .run = dump_run},
	{0},
};

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A recording that somebody else has made: its segments, recording.json and a black box's registers, read by the walk and
 * by `fcmctl record dump`. The first byte 'r': the rest is one segment as it stands; 'j': recording.json and the
 * registers; else decisions make segments whose checksums are right, whatever they say, and the first byte says what is shown.
 *
 * What must be true: the walk sees the same records with and without their data, up to damaged data; it goes forward and
 * ends; what fcmctl shows drives no terminal, and its exit code is one of its own.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "slowctl/query/recordings.h"
#include "tdm/frame.h"
#include "tdm/recording.h"
#include "tests/fuzz/fcmctl_rig.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/rig/record_memory.h"

#define FILE_MAX   (400u << 10)
#define FRAMES_MAX 4u

static char top[] = "/tmp/fcm-fuzz.XXXXXX";
static char recording[64], segment_path[2][96], json_path[96], registers_path[96];

static struct {
	uint8_t bytes[FILE_MAX];
	size_t used;
	struct fcm_segment_header segment;
	uint64_t count;
	uint32_t sequence;
} file;

static void clean(void)
{
	unlink(segment_path[0]);
	unlink(segment_path[1]);
	unlink(json_path);
	unlink(registers_path);
	rmdir(recording);
	rmdir(top);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	must(mkdtemp(top));
	snprintf(recording, sizeof(recording), "%s/storm", top);
	must(mkdir(recording, 0700) == 0);
	snprintf(segment_path[0], sizeof(segment_path[0]), "%s/link0-00000.fcmr", recording);
	snprintf(segment_path[1], sizeof(segment_path[1]), "%s/link0-00001.fcmr", recording);
	snprintf(json_path, sizeof(json_path), "%s/recording.json", recording);
	snprintf(registers_path, sizeof(registers_path), "%s/registers.txt", recording);
	atexit(clean);
	fcmctl_init();
	return 0;
}

/* Old: its writer is waited for no more. */
static void put(const char *path, const void *bytes, size_t size)
{
	const struct timespec old[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	must(fd >= 0 && write(fd, bytes, size) == (ssize_t)size && futimens(fd, old) == 0);
	close(fd);
}

/* ------------------------------------------------------------------------------- making them */

static void append(const void *bytes, size_t size)
{
	size = size < sizeof(file.bytes) - file.used ? size : sizeof(file.bytes) - file.used;
	memcpy(file.bytes + file.used, bytes, size);
	file.used += size;
}

static void begin(struct fuzz_input *in, unsigned how)
{
	file.used = 0;
	file.count = 80000;
	file.sequence = 80000 - 7;
	file.segment = (struct fcm_segment_header){
		.tower = 1,
		.floor = 1,
		.dma_epoch = 1,
		.frame_bytes = TDM_FRAME_BYTES,
		.count = file.count,
		.utc_ns = 1795194010000000000ll,
		.data_bytes_max = FRAMES_MAX * TDM_FRAME_BYTES,
	};
	if (how & 1) { /* any byte of it */
		unsigned at = fuzz_take(in, 1) % sizeof(file.segment);

		((uint8_t *)&file.segment)[at] = (uint8_t)fuzz_take(in, 1);
	}
	tdm_segment_seal(&file.segment);
	append(&file.segment, sizeof(file.segment));
}

static void add_record(struct fcm_record_header h, const void *data)
{
	h.count = file.count;
	h.monotonic_ns = file.count * TDM_FRAME_NS;
	tdm_record_seal(&h, data);
	append(&h, sizeof(h));
	append(data, h.bytes);
	if (h.kind <= FCM_RECORD_LET_GO) {
		file.count += h.frames;
	}
}

/* Frames that are sound, and hold what the input says. */
static void add_data(struct fuzz_input *in, unsigned frames)
{
	static uint8_t cells[FRAMES_MAX][TDM_FRAME_BYTES];

	for (unsigned n = 0; n < frames; n++) {
		struct tdm_header h = {
			.tower = 1,
			.floor = 1,
			.sequence = file.sequence,
			.time = {.frame = (uint16_t)(file.sequence % 8000)},
			.slot_valid = 0x7ff,
		};
		unsigned at = TDM_HEADER_BYTES + fuzz_take(in, 2) % 9900u;
		unsigned length = fuzz_take(in, 1) % 64u;

		memset(cells[n], 0, sizeof(cells[n]));
		for (unsigned i = 0; i < length; i++) {
			cells[n][at + i < TDM_OFF_CRC ? at + i : at] = (uint8_t)fuzz_take(in, 1);
		}
		tdm_frame_seal(cells[n], &h);
		file.sequence++;
	}
	add_record((struct fcm_record_header){.kind = FCM_RECORD_DATA,
					      .frames = frames,
					      .bytes = frames * TDM_FRAME_BYTES},
		   cells);
}

static uint64_t take_large(struct fuzz_input *in)
{
	unsigned shift = fuzz_take(in, 1) % 64u;

	return (uint64_t)fuzz_take(in, 2) << shift;
}

static void add_label(struct fuzz_input *in)
{
	struct fcm_record_label label = {
		.time_epoch = 1,
		.source = 1,
		.state = 2,
		.tai_utc_s = 37,
		.anchor_count = 80000,
		.anchor_tai_ns = 1795194047000000000ll,
		.leap_tai_ns = INT64_MAX,
	};

	for (unsigned left = fuzz_take(in, 1) % 8u; left > 0; left--) {
		unsigned at = fuzz_take(in, 1) % sizeof(label);

		((uint8_t *)&label)[at] = (uint8_t)fuzz_take(in, 1);
	}
	add_record((struct fcm_record_header){.kind = FCM_RECORD_LABEL, .bytes = sizeof(label)},
		   &label);
}

static void add_other(struct fuzz_input *in, unsigned kind)
{
	uint64_t words[8];
	unsigned count = 1 + fuzz_take(in, 1) % 8u;

	for (unsigned n = 0; n < count; n++) {
		words[n] = take_large(in);
	}
	add_record((struct fcm_record_header){.kind = (uint8_t)kind,
					      .frames = words[0],
					      .bytes = (uint32_t)(count * sizeof(words[0]))},
		   words);
}

static void damage(struct fuzz_input *in)
{
	uint32_t at = fuzz_take(in, 3);

	if (file.used > 0) {
		file.bytes[at % file.used] ^= (uint8_t)(1 + fuzz_take(in, 1) % 255u);
	}
}

static void decide(struct fuzz_input *in)
{
	unsigned what = fuzz_take(in, 1);
	uint32_t cut;

	switch (what & 7) {
	case 0:
	case 1:
		add_data(in, 1 + (what >> 3) % FRAMES_MAX);
		break;
	case 2:
		add_record((struct fcm_record_header){.kind = what & 8 ? FCM_RECORD_LET_GO
								       : FCM_RECORD_GAP,
						      .reason = (uint8_t)(what >> 4),
						      .frames = take_large(in)},
			   "");
		break;
	case 3:
		add_label(in);
		break;
	case 4:
		add_other(in, what & 8 ? FCM_RECORD_INDEX : what >> 3);
		break;
	case 5:
		file.count += what & 8 ? take_large(in) : what >> 4;
		break;
	case 6:
		damage(in);
		break;
	default:
		cut = fuzz_take(in, 2);
		file.used -= cut < file.used ? cut : file.used;
		break;
	}
}

static void make(struct fuzz_input *in)
{
	unsigned how = fuzz_take(in, 1);

	begin(in, how);
	for (unsigned n = 0; n < 100 && in->left > 0; n++) {
		unsigned what = *in->at;

		if (what == 0xff && how & 2) { /* a second segment, behind this one */
			uint64_t count = file.count;

			put(segment_path[0], file.bytes, file.used);
			begin(in, how >> 2);
			file.segment.segment = 1;
			file.segment.count = file.count = count;
			how = 0;
		}
		decide(in);
	}
}

/* ----------------------------------------------------------------------------- reading them */

static void same_walk(void)
{
	struct record_memory memory = {file.bytes, file.used};
	struct record_walk with, without;
	struct fcm_record_header a, b;
	uint8_t *data;
	int n, m;

	if (tdm_walk_begin(&with, record_read_memory, &memory) < 0) {
		return;
	}
	must(tdm_walk_begin(&without, record_read_memory, &memory) == 0);
	data = malloc((size_t)with.segment.data_bytes_max + 1);
	must(data);
	do {
		uint64_t before = with.offset;

		n = tdm_walk_next(&with, &a, data);
		m = tdm_walk_next(&without, &b, NULL);
		must(n >= 0 && m >= n);
		must(n == 0 || (with.offset > before && with.offset <= file.used));
		must(n == 0 || (memcmp(&a, &b, sizeof(a)) == 0 && with.offset == without.offset));
		must(n == 0 || a.kind != FCM_RECORD_INDEX || with.end == RECORD_WHOLE);
		must(n == m || with.end == RECORD_DAMAGED);
	} while (n == 1);
	must(record_end_name(with.end)[0]);
	free(data);
}

static void dump(const char *path, unsigned how)
{
	static const char *const whats[] = {"records", "frames",  "slots",
					    "hits",    "samples", "words"};
	const char *words[10] = {"record", "dump", path, "--what", whats[how % 6]};
	unsigned count = 5;

	if (how & 8) {
		words[count++] = "--json";
	}
	if (how % 6 < 2) { /* each cell of a gap of a thousand years is a line */
		words[count++] = "--frames";
		words[count++] = "300";
	}
	fcmctl_run(words);
}

static void read_all(unsigned how)
{
	json_t *list = NULL;

	dump(recording, how);
	dump(segment_path[0], how + 1);
	must(recordings_list(top, 0, &list) == 0 && json_is_array(list));
	json_decref(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = {data, size};
	unsigned what = fuzz_take(&in, 1);

	unlink(segment_path[1]);
	unlink(json_path);
	unlink(registers_path);
	if (what == 'j') {
		size_t half = in.left / 2;

		put(json_path, in.at, in.left);
		put(registers_path, in.at + half, in.left - half);
		what = 0;
	} else if (what == 'r') {
		file.used = 0;
		append(in.at, in.left);
		put(segment_path[0], file.bytes, file.used);
		same_walk();
	} else {
		make(&in);
		put(file.segment.segment ? segment_path[1] : segment_path[0], file.bytes,
		    file.used);
		same_walk();
	}
	read_all(what);
	return 0;
}

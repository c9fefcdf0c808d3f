/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TriDAS hits: bit fields in and out of their bytes, and the UTC stamp. See hit.h for the layout.
 */
#include "tdm/hit.h"

#include "tdm/frame.h"

#define HIT_FIFO_FULL  (1u << 7)
#define HIT_FRAGMENT   (1u << 30)
#define HIT_ZIP	       (1u << 31)
#define DAY_S	       86400
#define DAYS_1600_1970 135140 /* days from 1600-01-01 to 1970-01-01 */
#define DAYS_400_YEARS 146097

void hit_pack(const struct hit *h, uint8_t bytes[HIT_HEADER_BYTES])
{
	struct hit_stamp stamp = {h->second, h->day_bcd, h->year_bcd};

	le32_put(bytes, (h->pmt & 0xfu) | (h->efcm & 0x1fu) << 4 | (h->tower & 0x7fu) << 9 |
				HIT_SYNC << 16);
	le64_put(bytes + HIT_TIME,
		 h->t5ns | (uint64_t)(h->frame & 0x1fffu) << 16 | hit_walk_stamp_bits(&stamp));
	le32_put(bytes + HIT_SHAPE,
		 (h->samples & HIT_SAMPLES) | (h->fifo_full ? HIT_FIFO_FULL : 0) |
			 (h->charge & 0x3fffffu) << 8 | (h->fragment ? HIT_FRAGMENT : 0) |
			 (h->zip ? HIT_ZIP : 0));
}

void hit_unpack(const uint8_t bytes[HIT_HEADER_BYTES], struct hit *ret_h)
{
	uint32_t id = le32_get(bytes), shape = le32_get(bytes + HIT_SHAPE);
	uint64_t time = le64_get(bytes + HIT_TIME);

	*ret_h = (struct hit){
		.pmt = id & 0xfu,
		.efcm = id >> 4 & 0x1fu,
		.tower = id >> 9 & 0x7fu,
		.t5ns = (uint16_t)time,
		.frame = (uint16_t)(time >> 16) & 0x1fffu,
		.second = (uint32_t)(time >> 29) & 0x1ffffu,
		.day_bcd = (uint16_t)(time >> 46) & 0x3ffu,
		.year_bcd = (uint8_t)(time >> 56),
		.samples = shape & HIT_SAMPLES,
		.fifo_full = shape & HIT_FIFO_FULL,
		.charge = shape >> 8 & 0x3fffffu,
		.fragment = shape & HIT_FRAGMENT,
		.zip = shape & HIT_ZIP,
	};
}

/* Days from 1600-01-01 to 1 January of the year 1600 + y, y >= 0. */
static int64_t days_before(int64_t y)
{
	return 365 * y + (y + 3) / 4 - (y + 99) / 100 + (y + 399) / 400;
}

static unsigned bcd3(unsigned n)
{
	return n / 100 << 8 | n / 10 % 10 << 4 | n % 10;
}

void hit_stamp_of(int64_t utc_s, enum hit_day_origin origin, struct hit_stamp *ret_stamp)
{
	int64_t second = utc_s % DAY_S, day = utc_s / DAY_S + DAYS_1600_1970, year;

	/* Our own calendar: gmtime_r() takes a lock and follows TZ into "right/" leap seconds. */
	if (second < 0) {
		second += DAY_S;
		day--;
	}
	day %= DAYS_400_YEARS;
	if (day < 0) {
		day += DAYS_400_YEARS;
	}
	year = day * 400 / DAYS_400_YEARS;
	while (days_before(year + 1) <= day) {
		year++;
	}
	while (days_before(year) > day) {
		year--;
	}
	*ret_stamp = (struct hit_stamp){
		.second = (uint32_t)second,
		.day_bcd = (uint16_t)bcd3((unsigned)(day - days_before(year)) + (unsigned)origin),
		.year_bcd = (uint8_t)bcd3((unsigned)(year % 100)),
	};
}

int hit_second_offset(unsigned born, unsigned carrier)
{
	return born <= carrier ? 0 : -1;
}

unsigned hit_age_frames(unsigned born, unsigned carrier)
{
	return born <= carrier ? carrier - born : carrier + TDM_FRAMES_PER_SECOND - born;
}

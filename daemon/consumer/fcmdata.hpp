/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libfcmdata for C++20: handles that close themselves, blocks in a range-based for, hits as std::span and std::vector,
 * errors as exceptions. Only this header; fcmdata.h is the contract, and says what each call does.
 *
 *   for (const fcm::block &b : fcm::recording("recordings/night")) {
 *           for (const fcm_hit_row &hit : b.hits()) { ... }
 *   }
 *
 *   fcm::member data({.endpoint = "tcp://127.0.0.1:5710", .name = "mine", .group = "trigger"});
 *   for (const fcm::block &b : data) { ... }        // acknowledged when the next one is asked for
 *
 * A block is valid until the next one is asked for, a hits() vector as long as it lives.
 */
#ifndef FCMDATA_HPP
#define FCMDATA_HPP

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "daemon/consumer/fcmdata.h"

namespace fcm {

/* A negative errno of the library. */
inline std::system_error error(int64_t result, const std::string &what)
{
	return std::system_error(static_cast<int>(-result), std::generic_category(), what);
}

struct waveforms {
	std::vector<uint16_t> values;
	std::vector<uint64_t> offsets; /* one more than hits */

	std::span<const uint16_t> of(size_t hit) const
	{
		return std::span(values).subspan(offsets.at(hit), offsets.at(hit + 1) - offsets.at(hit));
	}
};

/* A block in the library's hands. */
class block {
public:
	explicit block(const fcmdata_block *b) : b_(b) {}

	const fcm_block_header &header() const { return b_->header; }
	fcm_stream stream() const { return static_cast<fcm_stream>(b_->header.stream); }
	const fcmdata_block &c() const { return *b_; }
	bool repeat() const { return b_->repeat; }
	bool again() const { return b_->again; }

	std::span<const uint8_t> payload() const { return {b_->payload, b_->header.payload_bytes}; }
	/* 0 = good, else the loss; throws where there is no such frame. */
	int status(uint32_t frame) const { return checked(fcmdata_status(b_, frame), "status"); }
	std::span<const uint8_t> bytes(unsigned channel, uint32_t frame) const
	{
		const uint8_t *bytes = nullptr;
		const int n = checked(fcmdata_bytes(b_, channel, frame, &bytes), "bytes");

		return {bytes, static_cast<size_t>(n)};
	}
	/* Of one module, or of all; `number`: what `block` of each row says. Of a pmt block. */
	std::vector<fcm_hit_row> hits(int module = FCMDATA_ALL, uint32_t number = 0) const
	{
		std::vector<fcm_hit_row> rows(b_->header.items);
		const int64_t n = fcmdata_hits(b_, module, number, rows.data(), rows.size());

		if (n < 0) {
			throw error(n, "hits");
		}
		rows.resize(static_cast<size_t>(n));
		return rows;
	}
	/* Of rows that hits() gave, with `number` 0. */
	waveforms samples_of(std::span<const fcm_hit_row> rows) const
	{
		waveforms w;

		w.values.resize(fcmdata_hits_samples(rows.data(), rows.size()));
		w.offsets.resize(rows.size() + 1);
		fcmdata_hits_waveforms(rows.data(), rows.size(), &b_->payload, w.values.data(), w.offsets.data());
		return w;
	}
	/* All samples of a hydrophone, frames without any left out. Of a hydrophone block. */
	std::vector<int32_t> samples(unsigned hydrophone) const
	{
		std::vector<int32_t> all;
		int32_t some[FCMDATA_SAMPLES];

		for (uint32_t f = 0; f < b_->header.frames; f++) {
			const int n = checked(fcmdata_samples(b_, hydrophone, f, some), "samples");

			all.insert(all.end(), some, some + n);
		}
		return all;
	}

private:
	static int checked(int result, const char *what)
	{
		return result < 0 ? throw error(result, what) : result;
	}

	const fcmdata_block *b_;
};

/* Rows in time order, those of the same ns in the order given. */
inline void order(std::vector<fcm_hit_row> &rows)
{
	std::vector<fcm_hit_row> scratch(rows.size());

	fcmdata_hits_order(rows.data(), scratch.data(), rows.size());
}

/* What begin() and end() need of a source: next(), an optional block. */
template <class Source> class blocks {
public:
	class iterator {
	public:
		using value_type = block;
		using difference_type = std::ptrdiff_t;

		explicit iterator(Source *s) : source_(s), now_(s->next()) {}
		const block &operator*() const { return *now_; }
		const block *operator->() const { return &*now_; }
		iterator &operator++()
		{
			now_ = source_->next();
			return *this;
		}
		void operator++(int) { ++*this; }
		bool operator==(std::default_sentinel_t) const { return !now_; }

	private:
		Source *source_;
		std::optional<block> now_;
	};

	iterator begin() { return iterator(static_cast<Source *>(this)); }
	std::default_sentinel_t end() const { return {}; }
};

/* The blocks of a recording: a directory of segments, or one segment. */
class recording : public blocks<recording> {
public:
	explicit recording(const std::string &path, const fcmdata_recording_config &config = {}) : path_(path)
	{
		if (const int r = fcmdata_recording_open(path.c_str(), &config, &r_); r < 0) {
			throw error(r, path);
		}
	}
	recording(recording &&other) noexcept : path_(std::move(other.path_)), r_(std::exchange(other.r_, nullptr)) {}
	recording &operator=(recording &&other) noexcept
	{
		std::swap(path_, other.path_);
		std::swap(r_, other.r_);
		return *this;
	}
	~recording() { fcmdata_recording_close(r_); }

	/* Nothing: there are no more, with config.follow none now. */
	std::optional<block> next()
	{
		const fcmdata_block *b = nullptr;
		const int r = fcmdata_recording_next(r_, &b);

		if (r < 0) {
			throw error(r, path_);
		}
		return r == 1 ? std::optional<block>(block(b)) : std::nullopt;
	}
	/* Frames missing at the block's begin and at its end only because the recording begins or ends there. */
	std::pair<uint32_t, uint32_t> edges() const
	{
		std::pair<uint32_t, uint32_t> n{0, 0};

		fcmdata_recording_edges(r_, &n.first, &n.second);
		return n;
	}
	/* TAI since 1970 in ns of its begin and end. Nothing: it has no time. */
	std::optional<std::pair<int64_t, int64_t>> range() const
	{
		std::pair<int64_t, int64_t> tai{0, 0};
		const int r = fcmdata_recording_range(r_, &tai.first, &tai.second);

		if (r < 0 && r != -ENODATA) {
			throw error(r, path_);
		}
		return r == 0 ? std::optional(tai) : std::nullopt;
	}
	/* Damaged segments so far. */
	unsigned troubles() const
	{
		const char *text = nullptr;

		return fcmdata_recording_troubles(r_, &text);
	}

private:
	std::string path_;
	fcmdata_recording *r_ = nullptr;
};

/* A connection to a daemon. One block is in the caller's hands at a time. */
class member : public blocks<member> {
public:
	/* How long next() and a loop wait for a block; negative: for ever. */
	std::chrono::milliseconds patience{-1};

	explicit member(const fcmdata_config &config) : acknowledges_(config.mode == FCMDATA_RESERVED)
	{
		if (const int r = fcmdata_open(&config, &h_); r < 0) {
			throw error(r, config.endpoint ? config.endpoint : "no endpoint");
		}
	}
	member(const member &) = delete;
	member &operator=(const member &) = delete;
	~member() { fcmdata_close(h_); } /* what was not acknowledged comes again */

	/* Acknowledges the block before. Nothing: none came within `patience`. EINTR is thrown, too. */
	std::optional<block> next()
	{
		int r = acknowledge();

		if (r == 0) {
			r = fcmdata_receive(h_, static_cast<int>(patience.count()), &held_);
		}
		if (r < 0) {
			const char *refusal = fcmdata_refusal(h_);

			throw error(r, refusal ? refusal : "receive");
		}
		return r == 1 ? std::optional<block>(block(held_)) : std::nullopt;
	}
	fcmdata *c() { return h_; }

private:
	int acknowledge()
	{
		const fcmdata_block *b = held_;
		int r = b && acknowledges_ ? fcmdata_ack(h_, &b->key) : 0;

		if (r == 0) {
			held_ = nullptr;
			fcmdata_release(h_, b);
		}
		return r;
	}

	fcmdata *h_ = nullptr;
	const fcmdata_block *held_ = nullptr;
	bool acknowledges_;
};

} // namespace fcm

#endif

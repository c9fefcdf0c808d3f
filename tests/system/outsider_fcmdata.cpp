/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As outsider_fcmdata.c, in C++: of an endpoint one block, acknowledged; of a recording all, by stream. test_outsider.py
 * builds it against an installed library.
 */
#include <array>
#include <iostream>
#include <string_view>

#include <fcmdata/fcmdata.hpp>

static int one_block(const char *endpoint)
{
	fcm::member data({.endpoint = endpoint, .name = "outsider", .group = "trigger"});

	data.patience = std::chrono::seconds(20);
	for (const fcm::block &b : data) {
		std::cout << fcm_stream_name(b.header().stream) << " of floor " << int(b.header().floor) << ", "
			  << b.header().frames << " frames, " << b.hits().size() << " hits\n";
		data.patience = std::chrono::milliseconds(0);
	}
	return 0;
}

static int all_blocks(const char *path)
{
	std::array<uint64_t, FCM_STREAMS> blocks{};
	uint64_t hits = 0, values = 0, samples = 0, edge = 0;
	std::vector<fcm_hit_row> last;

	fcm::recording night(path);
	const auto range = night.range();

	for (const fcm::block &b : night) {
		const auto [begin, end] = night.edges();

		edge += begin + end;
		blocks.at(b.stream())++;
		if (b.stream() == FCM_PMT) {
			last = b.hits();
			fcm::order(last);
			hits += last.size();
			values += b.samples_of(last).values.size();
		} else if (b.stream() == FCM_HYDROPHONE && b.header().channels > 0) {
			samples += b.samples(0).size() + b.samples(1).size();
		}
	}
	std::cout << blocks[0] << " " << blocks[1] << " " << blocks[2] << " " << hits << " " << values << " " << samples
		  << " " << edge << " " << range.value().first << " " << range.value().second << "\n";
	return 0;
}

int main(int argc, char **argv)
try {
	const std::string_view where = argc == 2 ? argv[1] : "";

	return where.starts_with("tcp://") ? one_block(argv[1]) : all_blocks(argv[1]);
} catch (const std::exception &e) {
	std::cout << e.what() << "\n";
	return 1;
}

-- SPDX-License-Identifier: BSD-2-Clause
--[[
Wireshark and tshark read FCM-Server with this file, alone (one file to copy, hence its length). But for the TriDAS hit
all formats are FCM-Server's own, not the experiment's:

  - the data message (fcm_data.h) as reserved consumers and monitors get it: ZeroMQ's ZMTP 3 over TCP
  - the raw TDM frame (tdm/frame.h) in capture files of link type USER0 (147), a frame a packet

    tshark -X lua_script:fcm.lua -r FILE         or copy it to ~/.local/lib/wireshark/plugins/

Wireshark 4.0 (Lua 5.2) and later (5.4); no state between packets: a message is looked at when TCP has put all
of it together, and a capture that begins or breaks in the middle goes on with the next message that can be told.
What is here is held against fcm_data.py and real traffic by tests/system/test_dissector.py.
]]

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

-- Of the TCP bytes that may be one message: a slice of a full link has 16 MB.
local MESSAGE_MAX, PARTS_MAX = 32 * 1024 * 1024, 64

-- ------------------------------------------------------------------------------------------- names

local STREAMS = {[0] = "pmt", "hydrophone", "instrument"}
local LOSSES = {[0] = "good", "link-down", "board-fifo", "ring-full", "crc", "alignment", "time-fault"}
local CLOCK_STATES = {[0] = "no-time", "acquiring", "locked", "holdover", "fault"}
local LABEL_SOURCES = {[0] = "none", "gpsd", "floors", "system", "emulator"}
local TIME_QUALITIES = {[0] = "none", "labelled", "locked"}
local TIMINGS = {[0] = "none", "load", "arm-pps", "reset", "align"}
local WORD_OPS = {[0] = "none", "read", "write", "action", "query", [0x81] = "read reply", [0x82] = "write reply",
	[0x83] = "action reply", [0x84] = "query reply"}
local WORD_STATUS = {[0] = "ok", "unknown", "bad register", "bad value", "refused", "read-only", "busy", "duplicate"}
local BLOCK_FLAGS = {"resent", "gap", "no-time", "partial", "step", "relabel", "fifo-full", "identity", "time-fault",
	"emulated"}
local VALID_SLOTS = {"om0", "om1", "om2", "om3", "om4", "om5", "hydrophone0", "hydrophone1", "replies", "serial",
	"telemetry"}

-- ------------------------------------------------------------------------------- fields, by structure

local fcm = Proto("fcm", "FCM-Server data message")
local fcm_tdm = Proto("fcm_tdm", "FCM-Server TDM frame")
local fields, f = {}, {} -- all; those that are added by name

local function keep(field)
	fields[#fields + 1] = field
	return field
end

local function named(name, kind, label, ...)
	f[name] = keep(ProtoField[kind]("fcm." .. name, label, ...))
end

-- The single bits of a field, from the least significant.
local function bits(prefix, width, names)
	local list = {}
	for i, name in ipairs(names) do
		list[i] = keep(ProtoField.bool(prefix .. "." .. name:gsub("-", "_"), name, width, nil, 2 ^ (i - 1)))
	end
	return list
end

local BYTES = {uint8 = 1, uint16 = 2, uint32 = 4, int32 = 4, uint64 = 8, int64 = 8, bytes = 0}

-- Little-endian structures: {offset, kind, name, label, names of values or base}.
local function structure(prefix, layout)
	local list = {}
	for i, e in ipairs(layout) do
		local show, values = base.DEC, nil
		if type(e[5]) == "table" then values = e[5] elseif e[5] then show = e[5] end
		local field = e[2] == "bytes" and ProtoField.bytes(prefix .. e[3], e[4]) or
			ProtoField[e[2]](prefix .. e[3], e[4], show, values)
		list[i] = {offset = e[1], bytes = e[6] or BYTES[e[2]], field = keep(field), name = e[3]}
	end
	return list
end

local HEADER_BYTES, HEADER_MAGIC, HEADER_VERSION = 256, 0x424d4346, 1
local HEADER = structure("fcm.block.", {
	{0, "uint32", "magic", "Magic", base.HEX}, {4, "uint16", "version", "Version"},
	{6, "uint16", "header_bytes", "Header bytes"}, {8, "uint8", "stream", "Stream", STREAMS},
	{9, "uint8", "board", "Board"}, {10, "uint8", "link", "Link"}, {11, "uint8", "channels", "Channels"},
	{12, "uint8", "tower", "Tower"}, {13, "uint8", "floor", "Floor"},
	{14, "uint8", "label_source", "Label source", LABEL_SOURCES},
	{15, "uint8", "clock_state", "Clock state", CLOCK_STATES}, {16, "uint32", "flags", "Flags", base.HEX},
	{20, "uint32", "run", "Run"}, {24, "uint32", "dma_epoch", "DMA epoch"},
	{28, "uint32", "time_epoch", "Time epoch"}, {32, "uint32", "uncertainty_ns", "Uncertainty in ns"},
	{36, "uint32", "frames", "Frames"}, {40, "uint32", "frames_lost", "Frames lost"},
	{44, "uint32", "frames_bad", "Frames bad"}, {48, "uint64", "sequence", "Sequence"},
	{56, "uint64", "first_frame", "First frame"}, {64, "int64", "tai_ns", "TAI of the first frame in ns"},
	{72, "uint64", "slice_id", "Slice"}, {80, "int64", "first_item_tai_ns", "Earliest item, TAI in ns"},
	{88, "int64", "last_item_tai_ns", "Latest item, TAI in ns"},
	{96, "uint32", "cable_delay_ns", "Cable delay added to the label, in ns"}, {100, "uint32", "items", "Items"},
	{104, "uint32", "payload_bytes", "Payload bytes"}, {108, "uint32", "status_offset", "Offset of the status"},
	{112, "uint32", "index_offset", "Offset of the index"}, {116, "uint32", "data_offset", "Offset of the data"},
	{120, "uint32", "channel_offset", "Offset of channel 0"}, {124, "uint32", "channel_offset", "Offset of channel 1"},
	{128, "uint32", "channel_offset", "Offset of channel 2"}, {132, "uint32", "channel_offset", "Offset of channel 3"},
	{136, "uint32", "channel_offset", "Offset of channel 4"}, {140, "uint32", "channel_offset", "Offset of channel 5"},
	{144, "uint32", "channel_offset", "End of the last channel"},
	{148, "uint32", "item_faults", "Hits dropped as senseless"}, {152, "bytes", "reserved", "Reserved", nil, 96},
	{248, "uint32", "payload_crc", "CRC-32C of the payload", base.HEX},
	{252, "uint32", "header_crc", "CRC-32C of the header", base.HEX}})
local HEADER_FLAGS = bits("fcm.block.flags", 32, BLOCK_FLAGS)

local ACK_BYTES = 16
local ACK = structure("fcm.ack.", {
	{0, "uint64", "sequence", "Sequence"}, {8, "uint8", "stream", "Stream", STREAMS}, {9, "uint8", "link", "Link"},
	{10, "uint8", "tower", "Tower"}, {11, "uint8", "floor", "Floor"}, {12, "uint32", "block_frames", "Block length in frames"}})

local TELEMETRY_BYTES = 64
local TELEMETRY = structure("fcm.telemetry.", {
	{0, "uint32", "boot_count", "Boot count"}, {4, "uint32", "uptime_s", "Uptime in s"},
	{8, "int32", "temperature_mc", "Temperature in m-degree C"}, {12, "uint32", "humidity_ppm", "Humidity in ppm"},
	{16, "uint32", "supply_mv", "Supply in mV"}, {20, "uint32", "current_ma", "Current in mA"},
	{24, "uint32", "rx_power_nw", "Received power in nW"}, {28, "uint32", "heading_mdeg", "Heading in m-degree"},
	{32, "int32", "pitch_mdeg", "Pitch in m-degree"}, {36, "int32", "roll_mdeg", "Roll in m-degree"},
	{40, "uint32", "power_mask", "Power mask", base.HEX}, {44, "uint32", "executed", "Requests executed"},
	{48, "uint32", "rejected", "Requests rejected"}})

local WORD_BYTES = 16
local WORD = structure("fcm.word.", {
	{0, "uint8", "op", "Operation", WORD_OPS}, {1, "uint8", "module", "Module"}, {2, "uint8", "reg", "Register"},
	{3, "uint8", "status", "Status", WORD_STATUS}, {4, "int32", "value", "Value"},
	{8, "uint32", "sequence", "Sequence"}, {12, "uint16", "boot", "Boot count, low 16 bits"},
	{14, "uint16", "crc", "CRC-16", base.HEX}})

local TDM_BYTES = 10000
local TDM_HEAD = structure("fcm.tdm.", {
	{0, "bytes", "sync", "Sync", nil, 4}, {4, "uint8", "tower", "Tower"}, {5, "uint8", "floor", "Floor"},
	{6, "uint8", "flags", "Flags", base.HEX}, {7, "uint8", "slot_map", "Slot map"},
	{8, "uint32", "sequence", "Sequence"}, {12, "uint64", "time", "Time word", base.HEX},
	{20, "uint32", "echo", "Echo of the downstream sequence"}, {24, "uint16", "slot_valid", "Valid slots", base.HEX},
	{26, "uint8", "crc_errors", "CRC errors downstream"}, {27, "uint8", "code_errors", "Code errors downstream"},
	{28, "uint16", "parity", "Parity of the previous frame", base.HEX},
	{30, "uint16", "header_crc", "CRC-16 of the header", base.HEX}})
local TDM_TAIL = structure("fcm.tdm.", {
	{9992, "uint32", "crc", "CRC-32C of the frame", base.HEX}, {9996, "bytes", "end", "End mark", nil, 4}})
local TDM_FLAGS = bits("fcm.tdm.flags", 8, {"downstream", "booted"})
local TDM_VALID = bits("fcm.tdm.slot_valid", 16, VALID_SLOTS)
local SLOT = structure("fcm.slot.", {
	{0, "uint16", "length", "Bytes of the stream"}, {2, "uint16", "first", "First hit begins at"},
	{4, "uint8", "flags", "Flags", base.HEX}, {5, "uint8", "sequence", "Sequence"},
	{6, "uint16", "fill", "FIFO fill in units of 64 bytes"}})
local SLOT_FLAGS = bits("fcm.slot.flags", 8, {"fifo-full", "powered"})
local HYDRO_SLOT = structure("fcm.hydrophone.", {
	{0, "uint8", "flags", "Flags", base.HEX}, {4, "uint32", "counter", "Counter of the first sample"}})
local SERIAL = structure("fcm.serial.", {
	{0, "uint8", "length", "Length"}, {1, "uint8", "channel", "Channel"}, {2, "uint16", "sequence", "Sequence"}})
local TIMING = structure("fcm.timing.", {
	{0, "uint8", "command", "Command", TIMINGS}, {4, "uint32", "argument", "Argument"},
	{8, "uint32", "sequence", "Sequence"}})

-- ZMTP
named("zmtp.version", "string", "Version")
named("zmtp.mechanism", "string", "Mechanism")
named("zmtp.as_server", "bool", "As server")
named("zmtp.flags", "uint8", "Flags", base.HEX)
local ZMTP_FLAGS = bits("fcm.zmtp.flags", 8, {"more", "long", "command"})
named("zmtp.size", "uint64", "Body bytes")
named("zmtp.command", "string", "Command")
named("zmtp.property", "string", "Property")
named("zmtp.encrypted", "bytes", "Encrypted by CURVE")
named("zmtp.subscribe", "bool", "Subscribe")
named("zmtp.topic", "string", "Prefix of topics")
-- the protocol of consumers
named("block.extension", "bytes", "Fields of a later version")
named("verb", "string", "Verb")
named("json", "string", "JSON")
named("topic", "string", "Topic")
named("ack", "none", "Acknowledgement")
named("unknown", "bytes", "No message that is known")
-- the payload of a block
named("status", "bytes", "What became of each frame")
named("frame_status", "uint8", "Status", base.DEC, LOSSES)
named("channel", "uint8", "Channel")
named("channel.bytes", "uint32", "Bytes")
named("channel.items", "uint32", "Items")
named("sample", "int32", "Sample")
-- hits: the public TriDAS layout, tdm/hit.h
named("hit", "none", "Hit")
named("hit.pmt", "uint8", "PMT")
named("hit.efcm", "uint8", "FCM (floor)")
named("hit.tower", "uint8", "Tower")
named("hit.sync", "uint16", "Sync", base.HEX)
named("hit.t5ns", "uint16", "Time in the frame in 5 ns")
named("hit.frame", "uint16", "Frame of the second")
named("hit.second", "uint32", "Second of the day")
named("hit.day_bcd", "uint16", "Day of the year (BCD)", base.HEX)
named("hit.year_bcd", "uint8", "Year (BCD)", base.HEX)
named("hit.samples", "uint8", "Number of samples")
named("hit.fifo_full", "bool", "FIFO full")
named("hit.charge", "uint32", "Charge")
named("hit.fragment", "bool", "Goes on with the pulse of the hit before")
named("hit.zip", "bool", "Samples of one byte")
named("hit.waveform", "bytes", "Samples")
-- the TDM frame besides its structures
named("tdm.time.frame", "uint16", "Frame of the second")
named("tdm.time.second", "uint32", "Second of the day")
named("tdm.time.day", "uint16", "Day of the year, 0 = 1 January")
named("tdm.time.year", "uint16", "Year")
named("tdm.time.quality", "uint8", "Quality", base.DEC, TIME_QUALITIES)
named("tdm.time.leap", "uint8", "Leap second to come", base.DEC, {[0] = "none", "inserted", "removed"})
named("tdm.time.lock", "uint8", "Locks (1 PPS, 2 clock, 4 uplink)", base.HEX)
named("slot", "uint8", "Optical module")
named("slot.hits", "uint32", "Hits that begin here")
named("slot.continued", "bytes", "End of a hit of an earlier frame")
named("hydrophone", "uint8", "Hydrophone")
named("replies", "uint8", "Slow-control replies")
named("word", "none", "Slow-control word")
named("word.crc.good", "bool", "CRC is good")
named("telemetry", "none", "Telemetry")
named("serial", "none", "Serial tunnel")
named("serial.bytes", "bytes", "Bytes")
named("timing", "none", "Timing command")
-- checksums
named("block.header_crc.good", "bool", "Header CRC is good")
named("block.payload_crc.good", "bool", "Payload CRC is good")
named("tdm.header_crc.good", "bool", "Header CRC is good")
named("tdm.crc.good", "bool", "Frame CRC is good")
fcm.fields = fields

local e = {
	crc = ProtoExpert.new("fcm.bad_crc", "Bad checksum", expert.group.CHECKSUM, expert.severity.ERROR),
	version = ProtoExpert.new("fcm.version", "Another version", expert.group.PROTOCOL, expert.severity.ERROR),
	malformed = ProtoExpert.new("fcm.malformed", "Malformed", expert.group.MALFORMED, expert.severity.ERROR),
	truncated = ProtoExpert.new("fcm.truncated", "Truncated", expert.group.MALFORMED, expert.severity.WARN),
	unknown = ProtoExpert.new("fcm.unknown_message", "Unknown", expert.group.UNDECODED, expert.severity.WARN),
	lost = ProtoExpert.new("fcm.lost", "Frames were lost", expert.group.SEQUENCE, expert.severity.NOTE),
}
fcm.experts = {e.crc, e.version, e.malformed, e.truncated, e.unknown, e.lost}

fcm.prefs.ports = Pref.range("TCP ports", "5710-5749",
	"Ports of reserved consumers (5710 + board) and monitors (5730 + board)", 65535)
fcm.prefs.items = Pref.uint("Items shown a channel", 200,
	"Hits or frames of samples shown of each channel; all are counted")
fcm.prefs.payload_crc = Pref.bool("Check payloads", true, "Check the CRC-32C of payloads: 0.1 s for a large block")

-- ---------------------------------------------------------------------------------------- checksums

-- 256 remainders of a polynomial; reflected: the bits go out to the right.
local function crc_table(polynomial, reflected)
	local t = {}
	for i = 0, 255 do
		local r = reflected and i or i * 256
		for _ = 1, 8 do
			if reflected then
				r = band(r, 1) ~= 0 and bxor(rshift(r, 1), polynomial) or rshift(r, 1)
			else
				r = band(r, 0x8000) ~= 0 and band(bxor(r * 2, polynomial), 0xffff) or r * 2
			end
		end
		t[i] = r
	end
	return t
end

local CRC32C, CRC16 = crc_table(0x82f63b78, true), crc_table(0x8bb7, false)

-- CRC-32C (Castagnoli), as tdm_crc32c().
local function crc32c(s)
	local crc, t, byte = -1, CRC32C, string.byte
	for i = 1, #s - 7, 8 do
		local a, b, c, d, p, q, r, v = byte(s, i, i + 7)
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, a), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, b), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, c), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, d), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, p), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, q), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, r), 255)])
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, v), 255)])
	end
	for i = #s - #s % 8 + 1, #s do
		crc = bxor(rshift(crc, 8), t[band(bxor(crc, byte(s, i)), 255)])
	end
	return bxor(crc, -1) % 4294967296
end

-- CRC-16/T10-DIF, as tdm_crc16().
local function crc16(s)
	local crc = 0
	for i = 1, #s do
		crc = bxor(band(crc * 256, 0xffff), CRC16[bxor(rshift(crc, 8), s:byte(i))])
	end
	return crc
end

-- ------------------------------------------------------------------------------------------- helpers

-- Numbers in a string, little-endian, at a byte counted from 0.
local function u16(s, at)
	local a, b = s:byte(at + 1, at + 2)
	return a + b * 256
end

local function u32(s, at)
	local a, b, c, d = s:byte(at + 1, at + 4)
	return a + b * 256 + c * 65536 + d * 16777216
end

-- The fields of a structure at `at` as far as there are bytes; returns the items by name.
local function show(tree, tvb, at, layout)
	local items = {}
	for _, x in ipairs(layout) do
		if at + x.offset + x.bytes <= tvb:len() then
			items[x.name] = tree:add_le(x.field, tvb(at + x.offset, x.bytes))
		end
	end
	return items
end

local function show_bits(item, range, list)
	for _, field in ipairs(list) do
		item:add_le(field, range)
	end
end

local function complain(item, kind, text)
	item:add_proto_expert_info(kind, text)
end

-- Judge the checksum that `item` shows.
local function judge(item, range, good_field, got, wanted)
	item:append_text(got == wanted and " (good)" or string.format(" (BAD: the bytes give 0x%x)", wanted))
	item:add(good_field, range, got == wanted):set_generated()
	if got ~= wanted then
		complain(item, e.crc, string.format("Bad CRC: 0x%x, the bytes give 0x%x", got, wanted))
	end
	return got == wanted
end

local function plural(n, what)
	return string.format("%d %s%s", n, what, n == 1 and "" or "s")
end

-- ---------------------------------------------------------------------------------------------- hits

local HIT_HEADER, HIT_MAX = 16, 88

-- The hit at `at` of the string s: its fields. Its header must be there.
local function hit_unpack(s, at)
	local i0, i1, i2, i3, t0, t1, t2, t3, t4, t5, t6, t7, x0, x1, x2, x3 = s:byte(at + 1, at + 16)
	local h = {
		pmt = i0 % 16, efcm = rshift(i0, 4) + i1 % 2 * 16, tower = rshift(i1, 1), sync = i2 + i3 * 256,
		t5ns = t0 + t1 * 256, frame = t2 + t3 % 32 * 256, second = rshift(t3, 5) + t4 * 8 + t5 % 64 * 2048,
		day_bcd = rshift(t5, 6) + t6 * 4, year_bcd = t7,
		samples = x0 % 64, fifo_full = x0 >= 128, charge = x1 + x2 * 256 + x3 % 64 * 65536,
		fragment = x3 % 128 >= 64, zip = x3 >= 128,
	}
	h.bytes = HIT_HEADER + h.samples * (h.zip and 1 or 2)
	h.legal = h.sync == 0x55aa and h.t5ns < 25000 and h.frame < 8000 and h.bytes <= HIT_MAX
	return h
end

-- Which bytes of the hit a field is in: {name, first, how many}.
local HIT_PLACES = {
	{"pmt", 0, 1}, {"efcm", 0, 2}, {"tower", 1, 1}, {"sync", 2, 2}, {"t5ns", 4, 2}, {"frame", 6, 2}, {"second", 7, 3},
	{"day_bcd", 9, 2}, {"year_bcd", 11, 1}, {"samples", 12, 1}, {"fifo_full", 12, 1}, {"charge", 13, 3},
	{"fragment", 15, 1}, {"zip", 15, 1}}

-- A hit of which `have` bytes (16 and more) are at `at` of tvb.
local function show_hit(tree, tvb, at, have, h)
	local item = tree:add(f.hit, tvb(at, have))
	local ns = h.frame * 125000 + h.t5ns * 5
	item:set_text(string.format("Hit: PMT %d, %02d:%02d:%02d.%09d, charge %d, %s", h.pmt, math.floor(h.second / 3600),
		math.floor(h.second / 60) % 60, h.second % 60, ns % 1000000000, h.charge, plural(h.samples, "sample")))
	for _, p in ipairs(HIT_PLACES) do
		item:add(f["hit." .. p[1]], tvb(at + p[2], p[3]), h[p[1]])
	end
	if have > HIT_HEADER then
		item:add(f["hit.waveform"], tvb(at + HIT_HEADER, have - HIT_HEADER))
	end
	if not h.legal then
		complain(item, e.malformed, "No legal hit: sync, time or length")
	end
	return item
end

-- ------------------------------------------------------------------------------- the payload of a block

-- A walk over one channel: `tvb` and the payload as string `s` beginning at `base` of it, `bounds` the frames' borders.
local function walk_hits(tree, w)
	local hits, bad = 0, nil
	for frame = 1, #w.bounds - 1 do
		local at, finish = w.bounds[frame], w.bounds[frame + 1]
		while at < finish do
			local h = at + HIT_HEADER <= finish and hit_unpack(w.s, at)
			if not h or at + h.bytes > finish then
				bad = string.format("A hit goes beyond its frame %d at byte %d of the payload", frame - 1, at)
				break
			end
			if hits < w.most then
				show_hit(tree, w.tvb, w.base + at, h.bytes, h)
			elseif not h.legal then
				bad = string.format("No legal hit at byte %d of the payload", at)
			end
			hits, at = hits + 1, at + h.bytes
		end
	end
	return hits, "hit", bad
end

local function walk_samples(tree, w)
	local samples, shown, bad = 0, 0, nil
	for frame = 1, #w.bounds - 1 do
		local at, bytes = w.bounds[frame], w.bounds[frame + 1] - w.bounds[frame]
		if bytes % 4 ~= 0 then
			bad = string.format("%d bytes of samples in frame %d", bytes, frame - 1)
		end
		if bytes >= 4 and shown < w.most then
			local n = math.floor(bytes / 4)
			local sub = tree:add(w.tvb(w.base + at, bytes), string.format("Frame %d: %s", frame - 1, plural(n, "sample")))
			for i = 0, n - 1 do
				sub:add_le(f.sample, w.tvb(w.base + at + 4 * i, 4))
			end
			shown = shown + 1
		end
		samples = samples + math.floor(bytes / 4)
	end
	return samples, "sample", bad
end

local function walk_telemetry(tree, w)
	local records, bad = 0, nil
	for frame = 1, #w.bounds - 1 do
		local at, bytes = w.bounds[frame], w.bounds[frame + 1] - w.bounds[frame]
		if bytes == TELEMETRY_BYTES then
			if records < w.most then
				local item = tree:add(f.telemetry, w.tvb(w.base + at, bytes))
				item:append_text(string.format(" of frame %d", frame - 1))
				show(item, w.tvb, w.base + at, TELEMETRY)
			end
			records = records + 1
		elseif bytes ~= 0 then
			bad = string.format("%d bytes of telemetry in frame %d", bytes, frame - 1)
		end
	end
	return records, "record", bad
end

-- Records of u8 channel, u8 length, u16 sequence, bytes.
local function walk_serial(tree, w)
	local records, bad = 0, nil
	for frame = 1, #w.bounds - 1 do
		local at, finish = w.bounds[frame], w.bounds[frame + 1]
		while at < finish do
			local length = at + 4 <= finish and w.s:byte(at + 2)
			if not length or at + 4 + length > finish then
				bad = string.format("A record goes beyond its frame %d at byte %d of the payload", frame - 1, at)
				break
			end
			if records < w.most then
				local item = tree:add(f.serial, w.tvb(w.base + at, 4 + length))
				item:add_le(SERIAL[2].field, w.tvb(w.base + at, 1))
				item:add_le(SERIAL[1].field, w.tvb(w.base + at + 1, 1))
				item:add_le(SERIAL[3].field, w.tvb(w.base + at + 2, 2))
				if length > 0 then
					item:add(f["serial.bytes"], w.tvb(w.base + at + 4, length))
				end
			end
			records, at = records + 1, at + 4 + length
		end
	end
	return records, "record", bad
end

-- Of a stream that this version does not know.
local function walk_nothing()
	return 0, "known item", nil
end

local function walk_of(stream, channel)
	if stream == 0 then return walk_hits, "Optical module" end
	if stream == 1 then return walk_samples, "Hydrophone" end
	if stream == 2 and channel == 0 then return walk_telemetry, "Telemetry, channel" end
	if stream == 2 then return walk_serial, "Serial tunnel, channel" end
	return walk_nothing, "Channel"
end

-- index[channel][0..frames]; nil and why when it is not one.
local function read_bounds(s, at, frames, low)
	local bounds, last = {}, low
	for i = 0, frames do
		local x = u32(s, at + 4 * i)
		if x < last or x > #s then
			return nil, string.format("The index points outside: byte %d of %d, behind byte %d", x, #s, last)
		end
		bounds[i + 1], last = x, x
	end
	return bounds
end

local function show_channel(tree, tvb, base, s, h, channel)
	local bounds, why = read_bounds(s, h.index_offset + 4 * channel * (h.frames + 1), h.frames, h.data_offset)
	local walk, name = walk_of(h.stream, channel)
	local bytes = bounds and bounds[#bounds] - bounds[1] or 0
	local sub = tree:add(f.channel, bytes > 0 and tvb(base + bounds[1], bytes) or tvb(base, #s), channel)
	if not bounds then
		sub:set_text(string.format("%s %d", name, channel))
		complain(sub, e.malformed, why)
		return 0
	end
	sub:add(f["channel.bytes"], bytes):set_generated()
	local items, what, bad = walk(sub, {tvb = tvb, base = base, s = s, bounds = bounds, most = fcm.prefs.items})
	sub:add(f["channel.items"], items):set_generated()
	sub:set_text(string.format("%s %d: %s, %s", name, channel, plural(items, what), plural(bytes, "byte")))
	if what == "hit" and items > fcm.prefs.items then
		sub:append_text(string.format(" (the first %d are shown: preference fcm.items)", fcm.prefs.items))
	end
	if bad then
		complain(sub, e.malformed, bad)
	end
	return items
end

local function show_status(tree, tvb, base, s, h)
	local counts, text, run = {}, {}, 0
	local item = tree:add(f.status, tvb(base + h.status_offset, h.frames))
	for i = 0, h.frames - 1 do
		local status, after = s:byte(h.status_offset + i + 1, h.status_offset + i + 2)
		counts[status] = (counts[status] or 0) + 1
		if i + 1 == h.frames or after ~= status then
			if status ~= 0 then
				item:add(f.frame_status, tvb(base + h.status_offset + run, i + 1 - run), status):append_text(
					string.format(": frames %d to %d", run, i))
			end
			run = i + 1
		end
	end
	for status, n in pairs(counts) do
		text[#text + 1] = string.format("%d %s", n, LOSSES[status] or "status " .. status)
	end
	table.sort(text)
	text = "Frames: " .. table.concat(text, ", ")
	item:set_text(text)
	if (counts[0] or 0) < h.frames then
		complain(item, e.lost, text)
	end
end

-- Where a part is; of one without bytes, its head: behind it the capture may end.
local function range_of(tvb, part)
	return part.have > 0 and tvb(part.body, part.have) or tvb(part.head, part.body - part.head)
end

local function show_payload(tree, tvb, part, h)
	local base, bytes = part.body, part.bytes
	local sub = tree:add(range_of(tvb, part), "Payload: " .. plural(bytes, "byte"))
	local s = part.have > 0 and tvb:raw(base, part.have) or ""
	if part.have < bytes then
		return complain(sub, e.truncated, string.format("Payload cut off: %d of %d bytes are here", part.have, bytes))
	end
	if bytes ~= h.payload_bytes then
		return complain(sub, e.malformed, string.format("Payload of %d bytes, the header says %d", bytes, h.payload_bytes))
	end
	if fcm.prefs.payload_crc then
		judge(h.payload_crc_item, h.payload_crc_range, f["block.payload_crc.good"], h.payload_crc, crc32c(s))
	end
	if h.frames == 0 or h.status_offset + h.frames > bytes or h.channels > 6 or
	   h.channels > 0 and h.index_offset + 4 * h.channels * (h.frames + 1) > bytes then
		return complain(sub, e.malformed, "Status or index outside the payload")
	end
	show_status(sub, tvb, base, s, h)
	local items = 0
	for channel = 0, h.channels - 1 do
		items = items + show_channel(sub, tvb, base, s, h, channel)
	end
	if items ~= h.items and STREAMS[h.stream] then
		complain(sub, e.malformed, string.format("%d items, the header says %d", items, h.items))
	end
end

-- ------------------------------------------------------------------------------------ the block's header

-- TAI as a date, from a range of 8 bytes.
local function tai_text(range)
	local ns = range:le_int64()
	if range:le_uint64() == UInt64(0, 0x80000000) then
		return " (none)"
	end
	local second = (ns / Int64(1000000000, 0)):tonumber()
	return string.format(" (%s.%09d TAI)", os.date("!%Y-%m-%d %H:%M:%S", second), (ns % Int64(1000000000, 0)):tonumber())
end

local function flag_names(flags)
	local names = {}
	for i, name in ipairs(BLOCK_FLAGS) do
		if band(flags, 2 ^ (i - 1)) ~= 0 then
			names[#names + 1] = name
		end
	end
	local more = flags - flags % 2 ^ #BLOCK_FLAGS
	if more ~= 0 then
		names[#names + 1] = string.format("unknown 0x%x", more)
	end
	return table.concat(names, ", ")
end

local function show_header(tree, tvb, part)
	local sub = tree:add(range_of(tvb, part), "Header")
	if part.bytes < HEADER_BYTES then
		complain(sub, e.malformed, string.format("Header of %d bytes, not %d or more", part.bytes, HEADER_BYTES))
		return nil
	end
	if part.have == 0 then
		complain(sub, e.truncated, "Header cut off: nothing of it is here")
		return nil
	end
	local view = tvb(part.body, part.have):tvb()
	local items = show(sub, view, 0, HEADER)
	if items.flags then
		show_bits(items.flags, view(16, 4), HEADER_FLAGS)
		items.flags:append_text(" (" .. flag_names(view(16, 4):le_uint()) .. ")")
	end
	if part.have < part.bytes then
		complain(sub, e.truncated, string.format("Header cut off: %d of %d bytes are here", part.have, part.bytes))
		return nil
	end
	local s, h = view:raw(), {}
	for _, x in ipairs(HEADER) do
		h[x.name] = x.bytes == 4 and u32(s, x.offset) or x.bytes == 2 and u16(s, x.offset) or s:byte(x.offset + 1)
	end
	if h.magic ~= HEADER_MAGIC or h.version ~= HEADER_VERSION or h.header_bytes ~= part.bytes then
		complain(sub, e.version, string.format("No block header of version %d: magic 0x%x, version %d, %d bytes",
			HEADER_VERSION, h.magic, h.version, h.header_bytes))
		return nil
	end
	if part.bytes > HEADER_BYTES then
		sub:add(f["block.extension"], view(HEADER_BYTES, part.bytes - HEADER_BYTES))
	end
	for _, name in ipairs({"tai_ns", "first_item_tai_ns", "last_item_tai_ns"}) do
		local at = name == "tai_ns" and 64 or name == "first_item_tai_ns" and 80 or 88
		items[name]:append_text(tai_text(view(at, 8)))
	end
	judge(items.header_crc, view(252, 4), f["block.header_crc.good"], h.header_crc, crc32c(s:sub(1, 252)))
	h.payload_crc_item, h.payload_crc_range = items.payload_crc, view(248, 4)
	h.sequence_text = tostring(view(48, 8):le_uint64())
	return h
end

-- Topic, header and payload: parts[i] and the two behind it. Returns a line for the list of packets.
local function show_block(tree, tvb, parts, i)
	local topic = tvb:raw(parts[i].body, parts[i].have)
	tree:add(f.topic, tvb(parts[i].body, parts[i].have))
	if #parts ~= i + 2 and not parts.cut then
		complain(tree, e.malformed, string.format("A block of %d parts behind its topic, not 2", #parts - i))
	end
	local h = parts[i + 1] and show_header(tree, tvb, parts[i + 1])
	if not h then
		return topic .. ": no good header"
	end
	if parts[i + 2] then
		show_payload(tree, tvb, parts[i + 2], h)
	end
	local flags = flag_names(h.flags)
	return string.format("%s sequence %s: %s, %s%s", topic, h.sequence_text, plural(h.frames, "frame"),
		plural(h.items, "item"), flags ~= "" and " [" .. flags .. "]" or "")
end

-- -------------------------------------------------------------------------- the protocol of consumers

local function show_json(tree, tvb, pinfo, part)
	if part and part.have > 0 then
		local range = tvb(part.body, part.have)
		tree:add(f.json, range)
		Dissector.get("json"):call(range:tvb(), pinfo, tree)
		return " " .. range:string():sub(1, 100)
	end
	return ""
end

local function show_acks(tree, tvb, _, part)
	if not part or part.have == 0 or part.bytes % ACK_BYTES ~= 0 then
		complain(tree, e.malformed, "No whole number of acknowledgements")
	end
	local n = part and math.floor(part.have / ACK_BYTES) or 0
	for i = 0, n - 1 do
		local at = part.body + i * ACK_BYTES
		show(tree:add(f.ack, tvb(at, ACK_BYTES)), tvb, at, ACK)
	end
	return " " .. plural(n, "block")
end

-- What follows each verb: parts behind it, and who shows them.
local VERBS = {
	HELLO = {1, show_json}, WELCOME = {1, show_json}, ERROR = {1, show_json}, ACK = {1, show_acks},
	ALIVE = {0}, BYE = {0}, BLOCK = {3},
}

local TOPIC = "^[a-z]+%.T%d+%.F%d+$"

local function show_verb(tree, tvb, pinfo, parts, verb)
	local known = VERBS[verb]
	tree:add(f.verb, tvb(parts[1].body, parts[1].have))
	if not known then
		complain(tree, e.unknown, "No verb of the protocol of consumers")
		return verb .. "?"
	end
	if #parts ~= known[1] + 1 and not parts.cut then
		complain(tree, e.malformed, string.format("%s with %s behind it, not %d", verb, plural(#parts - 1, "part"), known[1]))
	end
	if verb == "BLOCK" then
		return parts[2] and parts[2].have > 0 and "BLOCK " .. show_block(tree, tvb, parts, 2) or verb
	end
	return verb .. (known[2] and known[2](tree, tvb, pinfo, parts[2]) or "")
end

-- ---------------------------------------------------------------------------------------------- ZMTP

local MORE, LONG, COMMAND = 1, 2, 4
local GREETING = 64
local COMMANDS = {READY = true, ERROR = true, PING = true, PONG = true, SUBSCRIBE = true, CANCEL = true,
	HELLO = true, WELCOME = true, INITIATE = true}
-- ZeroMQ's CURVE (RFC 26): the commands that only it has, and how each encrypted message begins, with a nonce of 8 bytes
-- and a box of 16 and its flags behind it.
local CURVE = {HELLO = true, WELCOME = true, INITIATE = true}
local MESSAGE, MESSAGE_LEAST = "\7MESSAGE", 33

-- A frame at `at`: its flags, where its body is, how long it is; nil and how many bytes its head lacks.
local function frame_head(tvb, at)
	local left = tvb:len() - at
	local flags = left > 0 and tvb(at, 1):uint() or 0
	local head = band(flags, LONG) ~= 0 and 9 or 2
	if left < head then
		return nil, head - left
	end
	if head == 2 then
		return flags, at + 2, tvb(at + 1, 1):uint()
	end
	return flags, at + 9, tvb(at + 1, 4):uint() * 4294967296 + tvb(at + 5, 4):uint()
end

-- Whether an encrypted message may begin with these bytes: a short frame, or a long one; as may_begin.
local function may_be_encrypted(s)
	local flags, size = s:byte(1, 2)
	local head = flags == LONG and 9 or 2
	local plausible = flags == 0 and (size or MESSAGE_LEAST) >= MESSAGE_LEAST or
		flags == LONG and ("\0\0\0\0"):sub(1, #s - 1) == s:sub(2, 5)
	local name = s:sub(head + 1, head + #MESSAGE)
	if not plausible or name ~= MESSAGE:sub(1, #name) or #s < 2 and flags == 0 then
		return false
	end
	return true, #name < #MESSAGE and head + #MESSAGE - #s or nil
end

-- Whether a message may begin with these bytes, and if too few are there to tell, how many more are needed. Strict, so
-- that the middle of a payload is not taken for one. `alone`: they are all that has come.
local function may_begin(s, alone)
	local flags, size = s:byte(1, 2)
	if flags == 0xff then
		if #s < 10 then
			return s:find("^\255\0*\1?$") ~= nil, GREETING - #s
		end
		return s:byte(10) == 0x7f, #s < GREETING and GREETING - #s or nil
	end
	if flags == COMMAND or flags == COMMAND + LONG then
		local name = flags == COMMAND and 3 or 10
		local length = s:byte(name) or 0
		if #s < name + length then
			return length <= 9, name + length - #s
		end
		return COMMANDS[s:sub(name + 1, name + length)] or false
	end
	if may_be_encrypted(s) then
		return may_be_encrypted(s)
	end
	if flags > MORE or size and (size == 0 or size > 64) then
		return false
	end
	if not size or #s < 2 + size then
		return #s <= 2 or s:find("^[%w%.-]*$", 3) ~= nil, 2 + (size or 0) - #s
	end
	local body = s:sub(3, 2 + size)
	return VERBS[body] ~= nil or body:find(TOPIC) ~= nil or size <= 16 and body:find("^[A-Z][A-Z-]+$") ~= nil or
		flags == 0 and body:find("^[\0\1][%w%.]*$") ~= nil and (size > 1 or alone)
end

-- Where, behind `at`, a block begins: nil, none does.
local function next_block(tvb, at)
	local s = at + 1 < tvb:len() and tvb:raw(at + 1) or ""
	local reserved = s:find("\1\5BLOCK\1", 1, true)
	local monitor = s:find("\1[\9-\31][a-z]+%.T%d+%.F%d+\3")
	local found = reserved and monitor and math.min(reserved, monitor) or reserved or monitor
	return found and at + found
end

-- The parts of the message at `at`, and where it ends. When its end is not there: nil, and how many bytes its last part
-- lacks, parts.cut set. When it is none: nil, nil, and parts.wrong. Always asking for exactly what is lacking lets TCP
-- start again at a message's border, and keeps in step when a segment was not captured.
local function read_message(tvb, at)
	local parts, flags, body, bytes = {}, nil, nil, nil
	repeat
		flags, body, bytes = frame_head(tvb, at)
		if not flags then
			parts.cut = true
			return parts, nil, body
		end
		if flags > MORE + LONG + COMMAND or bytes > MESSAGE_MAX or #parts == PARTS_MAX then
			parts.wrong = at
			return parts
		end
		local have = math.min(bytes, tvb:len() - body)
		parts[#parts + 1] = {head = at, flags = flags, body = body, bytes = bytes, have = have}
		if have < bytes then
			parts.cut = true
			return parts, nil, bytes - have
		end
		at = body + bytes
	until band(flags, MORE) == 0
	return parts, at
end

local function show_greeting(tree, tvb, at)
	local version = tvb(at + 10, 2)
	local mechanism = tvb(at + 12, 20):stringz()
	tree:add(f["zmtp.version"], version, string.format("%d.%d", version:bytes():get_index(0), version:bytes():get_index(1)))
	tree:add(f["zmtp.mechanism"], tvb(at + 12, 20), mechanism)
	tree:add(f["zmtp.as_server"], tvb(at + 32, 1))
	if version:bytes():get_index(0) < 3 then
		complain(tree, e.version, "A peer of ZMTP before 3: what follows is not understood")
	end
	return "greeting, " .. mechanism
end

-- Properties of READY: u8 length, name, u32 length (big-endian), value.
local function show_properties(tree, tvb, at, finish)
	while at < finish do
		local length = tvb(at, 1):uint()
		local value = at + 1 + length + 4
		local bytes = value <= finish and tvb(value - 4, 4):uint()
		if not bytes or length == 0 or value + bytes > finish then
			return complain(tree, e.malformed, "A property goes beyond its command")
		end
		tree:add(f["zmtp.property"], tvb(at, value + bytes - at), tvb(at + 1, length):string() .. " = " ..
			(bytes > 0 and tvb(value, bytes):string() or ""))
		at = value + bytes
	end
end

local function show_command(tree, tvb, part)
	local length = part.have > 0 and tvb(part.body, 1):uint() or 0
	if length == 0 or length >= part.have + (part.cut and 0 or 1) or 1 + length > part.have then
		complain(tree, e.malformed, "A command without its name")
		return "command"
	end
	local name = tvb(part.body + 1, length):string()
	local at, finish = part.body + 1 + length, part.body + part.have
	tree:add(f["zmtp.command"], tvb(part.body + 1, length))
	if finish > at and (CURVE[name] or name == "READY" and not tvb:raw(at, finish - at):find("^.[%a-]+")) then
		tree:add(f["zmtp.encrypted"], tvb(at, finish - at))
		name = name .. ", CURVE"
	elseif name == "READY" then
		show_properties(tree, tvb, at, finish)
	elseif (name == "SUBSCRIBE" or name == "CANCEL") then
		tree:add(f["zmtp.subscribe"], name == "SUBSCRIBE")
		tree:add(f["zmtp.topic"], finish > at and tvb(at, finish - at) or tvb(part.body, part.have),
			finish > at and tvb(at, finish - at):string() or "")
	end
	return name
end

local function show_subscription(tree, tvb, part)
	local on = tvb(part.body, 1):uint() == 1
	local prefix = part.have > 1 and tvb(part.body + 1, part.have - 1):string() or ""
	tree:add(f["zmtp.subscribe"], tvb(part.body, 1), on)
	tree:add(f["zmtp.topic"], tvb(part.body, part.have), prefix)
	return (on and "subscribe " or "unsubscribe ") .. '"' .. prefix .. '"'
end

local function show_parts(tree, tvb, parts)
	for i, part in ipairs(parts) do
		local head = tree:add(tvb(part.head, part.body - part.head), string.format("ZMTP frame %d: %s", i,
			plural(part.bytes, "byte")))
		show_bits(head:add(f["zmtp.flags"], tvb(part.head, 1)), tvb(part.head, 1), ZMTP_FLAGS)
		head:add(f["zmtp.size"], tvb(part.head + 1, part.body - part.head - 1))
	end
end

-- One message, or what there is of it. Returns a line for the list of packets.
local function show_message(tree, tvb, pinfo, parts)
	show_parts(tree, tvb, parts)
	local first = parts[1]
	if not first or first.have == 0 then
		return "a message without content"
	end
	if band(first.flags, COMMAND) ~= 0 then
		return show_command(tree, tvb, first)
	end
	local body = tvb:raw(first.body, first.have)
	if body:sub(1, #MESSAGE) == MESSAGE then
		if first.have > #MESSAGE then
			tree:add(f["zmtp.encrypted"], tvb(first.body + #MESSAGE, first.have - #MESSAGE))
		end
		return "encrypted, " .. plural(first.bytes, "byte")
	end
	if body:find(TOPIC) then
		return show_block(tree, tvb, parts, 1)
	end
	if body:find("^[\0\1]") then
		return show_subscription(tree, tvb, first)
	end
	return show_verb(tree, tvb, pinfo, parts, body)
end

-- ---------------------------------------------------------------------------------------- the TCP stream

-- Ask TCP for the rest: true. False when it cannot give more.
local function wait_for(pinfo, at, missing)
	if pinfo.can_desegment == 0 then
		return false
	end
	pinfo.desegment_offset = at
	pinfo.desegment_len = missing
	return true
end

local function show_unknown(tree, tvb, at, finish)
	local item = tree:add(fcm, tvb(at, finish - at), "FCM-Server: " .. plural(finish - at, "byte") .. " of no known message")
	item:add(f.unknown, tvb(at, finish - at))
	complain(item, e.unknown, "The capture began or broke inside a message, or this is none of the protocol")
	return "unknown: " .. plural(finish - at, "byte")
end

-- What begins at `at`. Returns where it ends and a line about it; nil: TCP brings more.
local function step(tree, tvb, pinfo, at)
	local left = tvb:len() - at
	local s = tvb:raw(at, math.min(left, 80))
	local good, lacking = may_begin(s, left == 3)
	if good and lacking and wait_for(pinfo, at, lacking) then
		return nil
	end
	if not good or lacking then
		local finish = next_block(tvb, at) or tvb:len()
		return finish, show_unknown(tree, tvb, at, finish)
	end
	if s:byte(1) == 0xff then
		local item = tree:add(fcm, tvb(at, GREETING), "FCM-Server: ZMTP greeting")
		return at + GREETING, show_greeting(item, tvb, at)
	end
	local parts, finish, missing = read_message(tvb, at)
	if not finish and missing and wait_for(pinfo, at, missing) then
		return nil
	end
	finish = finish or parts.wrong or tvb:len()
	local item = tree:add(fcm, tvb(at, finish - at), "FCM-Server: ")
	local line = show_message(item, tvb, pinfo, parts)
	item:append_text(line)
	if parts.cut then
		complain(item, e.truncated, "The rest of the message is not in the capture")
	elseif parts.wrong then
		complain(item, e.malformed, "No ZMTP frame where the message goes on")
	end
	return finish, line
end

function fcm.dissector(tvb, pinfo, tree)
	local at, lines = 0, {}
	while at < tvb:len() do
		local finish, line = step(tree, tvb, pinfo, at)
		if not finish then
			break
		end
		at, lines[#lines + 1] = finish, line
	end
	pinfo.cols.protocol = "FCM"
	if #lines > 0 then
		pinfo.cols.info:clear()
		pinfo.cols.info:append((#lines > 4 and #lines .. " messages: " or "") .. table.concat(lines, "; ", 1,
			math.min(#lines, 4)) .. " ")
		pinfo.cols.info:fence()
	end
	return tvb:len()
end

local tcp_ports, taken = DissectorTable.get("tcp.port"), fcm.prefs.ports
tcp_ports:add(taken, fcm)
tcp_ports:add_for_decode_as(fcm)

function fcm.prefs_changed()
	if fcm.prefs.ports ~= taken then
		if taken ~= "" then
			tcp_ports:remove(taken, fcm)
		end
		taken = fcm.prefs.ports
		if taken ~= "" then
			tcp_ports:add(taken, fcm)
		end
	end
end

-- ------------------------------------------------------------------------------------------ the TDM frame

local SYNC, END = "\188\246\40\1", "\253\9\215\254"
local MODULES, SLOT_BYTES, SLOT_HEAD = 6, 1536, 8

-- Bits of the time word, a string of 8 bytes: from `first`, so many.
local function time_bits(s, first, many)
	local at = math.floor(first / 8)
	return math.floor(((s:byte(at + 1) or 0) + (s:byte(at + 2) or 0) * 256 + (s:byte(at + 3) or 0) * 65536 +
		(s:byte(at + 4) or 0) * 16777216) / 2 ^ (first % 8)) % 2 ^ many
end

local TIME_FIELDS = {{"frame", 0, 13}, {"second", 13, 17}, {"day", 30, 9}, {"year", 39, 7}, {"quality", 46, 4},
	{"leap", 50, 2}, {"lock", 52, 4}}

local function show_time(item, range)
	local s = range:raw()
	for _, x in ipairs(TIME_FIELDS) do
		local value = time_bits(s, x[2], x[3]) + (x[1] == "year" and 2000 or 0)
		item:add(f["tdm.time." .. x[1]], range, value)
	end
end

local function show_slot(tree, tvb, module)
	local at = 32 + module * SLOT_BYTES
	local sub = tree:add(f.slot, tvb(at, SLOT_BYTES), module)
	local items = show(sub, tvb, at, SLOT)
	local s = tvb:raw(at, SLOT_BYTES)
	local length, first = u16(s, 0), u16(s, 2)
	show_bits(items.flags, tvb(at + 4, 1), SLOT_FLAGS)
	if length > SLOT_BYTES - SLOT_HEAD or first > length then
		return complain(sub, e.malformed, string.format("A stream of %d bytes whose first hit begins at %d", length, first))
	end
	if first > 0 then
		sub:add(f["slot.continued"], tvb(at + SLOT_HEAD, first))
	end
	local hits, x, finish = 0, SLOT_HEAD + first, SLOT_HEAD + length
	while x < finish do
		local h = x + HIT_HEADER <= finish and hit_unpack(s, x)
		local have = h and math.min(h.bytes, finish - x) or finish - x
		if hits < fcm.prefs.items then
			local item = h and show_hit(sub, tvb, at + x, have, h) or sub:add(f.hit, tvb(at + x, have))
			if not h or have < h.bytes then
				item:append_text(" (goes on in the next frame)")
			end
		end
		if h and not h.legal then
			complain(sub, e.malformed, string.format("No legal hit at byte %d of the slot", x))
			break
		end
		hits, x = hits + 1, x + have
	end
	sub:add(f["slot.hits"], tvb(at, 2), hits):set_generated()
	sub:set_text(string.format("Optical module %d: %s, %s", module, plural(length, "byte"), plural(hits, "hit")))
end

local function show_hydrophone(tree, tvb, hydrophone)
	local at = 9248 + hydrophone * 104
	local sub = tree:add(f.hydrophone, tvb(at, 104), hydrophone)
	show(sub, tvb, at, HYDRO_SLOT)
	for i = 0, 23 do
		sub:add_le(f.sample, tvb(at + 8 + 4 * i, 4))
	end
end

local function show_word(tree, tvb, at)
	local item = tree:add(f.word, tvb(at, WORD_BYTES))
	local items = show(item, tvb, at, WORD)
	local s = tvb:raw(at, WORD_BYTES)
	item:append_text(string.format(": %s module %d register %d", WORD_OPS[s:byte(1)] or "?", s:byte(2), s:byte(3)))
	judge(items.crc, tvb(at + 14, 2), f["word.crc.good"], u16(s, 14), crc16(s:sub(1, 14)))
end

local function show_serial(tree, tvb, at)
	local item = tree:add(f.serial, tvb(at, 136))
	local length = tvb(at, 1):uint()
	show(item, tvb, at, SERIAL)
	if length > 128 then
		complain(item, e.malformed, "A serial tunnel of more than 128 bytes")
	elseif length > 0 then
		item:add(f["serial.bytes"], tvb(at + 8, length))
	end
end

local function show_upstream(tree, tvb, valid)
	for module = 0, MODULES - 1 do
		if band(valid, 2 ^ module) ~= 0 then
			show_slot(tree, tvb, module)
		end
	end
	for hydrophone = 0, 1 do
		if band(valid, 2 ^ (6 + hydrophone)) ~= 0 then
			show_hydrophone(tree, tvb, hydrophone)
		end
	end
	if band(valid, 0x100) ~= 0 then
		local sub = tree:add(f.replies, tvb(9456, 1))
		if tvb(9456, 1):uint() > 8 then
			complain(sub, e.malformed, "More replies than the frame has room for")
		end
		for i = 0, math.min(tvb(9456, 1):uint(), 8) - 1 do
			show_word(sub, tvb, 9464 + i * WORD_BYTES)
		end
	end
	if band(valid, 0x200) ~= 0 then
		show_serial(tree, tvb, 9592)
	end
	if band(valid, 0x400) ~= 0 then
		show(tree:add(f.telemetry, tvb(9728, TELEMETRY_BYTES)), tvb, 9728, TELEMETRY)
	end
end

local function show_downstream(tree, tvb)
	for i = 0, 15 do
		if tvb(32 + i * WORD_BYTES, 1):uint() ~= 0 then
			show_word(tree, tvb, 32 + i * WORD_BYTES)
		end
	end
	show(tree:add(f.timing, tvb(288, 32)), tvb, 288, TIMING)
	show_serial(tree, tvb, 320)
end

-- A cell in which no frame begins at byte 0.
local function show_no_frame(tree, tvb)
	local found = tvb:raw():find(SYNC, 1, true)
	complain(tree, e.malformed, found and string.format("The frame begins at byte %d: the link's bytes have slipped", found - 1)
		or "No sync word: nothing that is a frame begins here")
	return "no frame"
end

function fcm_tdm.dissector(tvb, pinfo, tree)
	pinfo.cols.protocol = "FCM TDM"
	local top = tree:add(fcm_tdm, tvb())
	if tvb:len() < 32 or tvb:raw(0, 4) ~= SYNC then
		pinfo.cols.info = show_no_frame(top, tvb)
		return tvb:len()
	end
	local items, s = show(top, tvb, 0, TDM_HEAD), tvb:raw()
	local flags, valid = s:byte(7), u16(s, 24)
	local down = band(flags, 1) ~= 0
	show_bits(items.flags, tvb(6, 1), TDM_FLAGS)
	show_time(items.time, tvb(12, 8))
	show_bits(items.slot_valid, tvb(24, 2), TDM_VALID)
	local good = judge(items.header_crc, tvb(30, 2), f["tdm.header_crc.good"], u16(s, 30), crc16(s:sub(5, 30)))
	if #s < TDM_BYTES then
		complain(top, e.truncated, string.format("Frame cut off: %d of %d bytes are here", #s, TDM_BYTES))
	else
		local tail = show(top, tvb, 0, TDM_TAIL)
		if s:sub(9997, 10000) ~= END then
			complain(tail["end"], e.malformed, "Another end mark")
		end
		good = judge(tail.crc, tvb(9992, 4), f["tdm.crc.good"], u32(s, 9992), crc32c(s:sub(1, 9992))) and good
		if down then
			show_downstream(top, tvb)
		else
			show_upstream(top, tvb, valid)
		end
	end
	pinfo.cols.info = string.format("%s T%02d F%02d sequence %u, frame %d of second %d%s", down and "down" or "up",
		s:byte(5), s:byte(6), u32(s, 8), time_bits(s:sub(13, 20), 0, 13), time_bits(s:sub(13, 20), 13, 17),
		good and "" or " (BAD CRC)")
	return tvb:len()
end

DissectorTable.get("wtap_encap"):add((wtap_encaps or wtap).USER0, fcm_tdm)

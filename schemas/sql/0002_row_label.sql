-- SPDX-License-Identifier: BSD-2-Clause
-- Version 2: when a second of the board was, by the label that its data carry. A stream's row of the same
-- second has the same.

ALTER TABLE ledger_link ADD COLUMN tai_ns INTEGER; -- TAI of its first frame; NULL: no label

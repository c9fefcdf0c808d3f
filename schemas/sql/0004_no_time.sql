-- SPDX-License-Identifier: BSD-2-Clause
-- Version 4: frames that the TriDAS feed withheld because their block had no label.

ALTER TABLE ledger_stream ADD COLUMN no_time INTEGER NOT NULL DEFAULT 0;

-- SPDX-License-Identifier: GPL-2.0-or-later
-- Version 4: frames that the TriDAS feed withheld because their block had no label.

ALTER TABLE ledger_stream ADD COLUMN no_time INTEGER NOT NULL DEFAULT 0;

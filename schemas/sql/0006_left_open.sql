-- SPDX-License-Identifier: BSD-2-Clause
-- Version 6: what is open is found at once, so that a daemon can close what one before it left behind.

CREATE INDEX ledger_link_open ON ledger_link(link) WHERE NOT closed;
CREATE INDEX ledger_stream_open ON ledger_stream(link) WHERE NOT closed;
CREATE INDEX loss_open ON loss(link) WHERE open;

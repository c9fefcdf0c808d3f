-- SPDX-License-Identifier: BSD-2-Clause
-- Version 3: where a loss ends that was joined from several, because they began too fast for a row each.

ALTER TABLE loss ADD COLUMN until INTEGER; -- behind its last lost frame; NULL: first + frames, without holes

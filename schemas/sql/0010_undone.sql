-- SPDX-License-Identifier: BSD-2-Clause
-- Version 10: commands that ended, but not as they were to, are found at once: some of them are a reason until a later
-- command on their parameter is done, over any number of restarts.

CREATE INDEX command_undone ON command(id) WHERE ended IS NOT NULL AND state <> 'DONE' AND sequence IS NOT NULL;

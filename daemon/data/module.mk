# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks on their way, both balances, what is out and what came back. No I/O.
$(eval $(call room,schemas tdm tdm/blocks driver daemon/core))

# SPDX-License-Identifier: GPL-2.0-or-later
# A link's phase: statistics, reference, verdicts, TDEV and MTIE. No I/O.
$(eval $(call room,))

# SPDX-License-Identifier: GPL-2.0-or-later
# A module with a use after free on purpose: the runner wants to see it reported.
load depth_ms=200
run 60 step_seeded

# SPDX-License-Identifier: GPL-2.0-or-later
# The world on the board's fibres: floors, fibres, receiver on the roof, scenario, truth.
$(eval $(call room,tdm driver $(addprefix driver/emu/,common floor play)))

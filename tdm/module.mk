# SPDX-License-Identifier: GPL-2.0-or-later
# Every byte on the fibre. Links with -lisal: programs name the pkg-config package libisal.
$(eval $(call library,tdm,$(addprefix tdm/,frame.c hit.c hit_run.c word.c deframe.c record.c recording.c),libisal))

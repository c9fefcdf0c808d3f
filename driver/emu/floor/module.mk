# SPDX-License-Identifier: GPL-2.0-or-later
# A floor under the sea: its modules, hydrophones, FCM; the light and sound that reach them.
$(eval $(call room,tdm driver/emu/common,libxxhash))

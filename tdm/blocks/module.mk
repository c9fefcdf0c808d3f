# SPDX-License-Identifier: LGPL-2.1-or-later
# The blocks that are made of the frames.
$(eval $(call room,schemas tdm))

# SPDX-License-Identifier: GPL-2.0-or-later
# Blocks to the consumers: groups, monitors, the publisher's thread.
$(eval $(call room,schemas tdm driver slowctl/access $(addprefix daemon/,core data net feed),jansson libzmq))

# SPDX-License-Identifier: GPL-2.0-or-later
# Listening sockets: limits of connections, keys at the handshake.
$(eval $(call room,slowctl/access,libsystemd libzmq))

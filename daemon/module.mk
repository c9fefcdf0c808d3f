# SPDX-License-Identifier: GPL-2.0-or-later
# The daemon, one block a part. Blocks are independent of each other.

# publisher: blocks to the consumers. Wants block.c, tdm.
$(eval $(call library,publisher,$(addprefix daemon/,publisher.c groups.c hello.c),libzmq jansson))

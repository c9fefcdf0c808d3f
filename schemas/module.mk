# SPDX-License-Identifier: BSD-2-Clause
# What goes over a wire or into a file: headers only.
$(eval $(call room,))

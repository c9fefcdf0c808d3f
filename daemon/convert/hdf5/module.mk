# SPDX-License-Identifier: GPL-2.0-or-later
# The output as HDF5.
$(eval $(call room,daemon/convert/output,hdf5 libisal))

# SPDX-License-Identifier: GPL-2.0-or-later
# fcm-convert: recordings and live data as HDF5, numpy, CSV, sound.
$(eval $(call room,schemas daemon/consumer $(addprefix daemon/convert/,output hdf5),libisal))
$(eval $(call program,fcm-convert,daemon/convert/main.c,daemon/convert))

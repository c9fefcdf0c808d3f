# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_column,,daemon/convert/hdf5,libisal))

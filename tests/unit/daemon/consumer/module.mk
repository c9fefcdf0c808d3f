# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_consumer,\
    tests/system/consumer_check.c tests/system/truth_book.c,\
    daemon/consumer daemon/data driver/emu/floor,\
    libxxhash sqlite3))
$(eval $(call tests,test_fcmdata test_fcmdata_wait,fcmdata_rig.c,daemon/consumer tdm,libzmq))
$(eval $(call tests,test_fcmdata_block,,daemon/consumer tdm))
$(eval $(call tests,test_fcmdata_track,daemon/consumer/track.c,))
$(eval $(call tests,test_fcmdata_recording,tests/unit/rig/floor_rig.c tests/unit/rig/record_rig.c,daemon/consumer tdm))

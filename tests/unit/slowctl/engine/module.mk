# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_engine test_engine_journal test_engine_emergency test_engine_sequence test_engine_trip \
    test_engine_readback test_engine_silence test_engine_random test_engine_rules test_engine_end \
    test_engine_view test_engine_words,\
    engine_rig.c,\
    slowctl/engine))

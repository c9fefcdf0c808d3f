# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_store test_store_journal test_store_life test_store_away test_store_migrate \
    test_store_archive test_store_copied test_store_whole test_sample_keep test_ledger_keep,\
    tests/unit/rig/store_rig.c,\
    daemon/store,\
    sqlite3))

# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_recordings,,slowctl/query))
$(eval $(call tests,test_query test_query_job test_query_at test_query_ledger test_query_golden test_query_incidents test_query_picture,\
    tests/unit/rig/store_rig.c,\
    daemon/store,\
    sqlite3))

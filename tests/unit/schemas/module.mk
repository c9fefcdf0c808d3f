# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_golden,,daemon/publish daemon/data daemon/consumer,libzmq))

golden: ## write the golden files of the formats again (tests/data/golden)
	$(PYTHON) tests/data/golden/make.py

.PHONY: golden

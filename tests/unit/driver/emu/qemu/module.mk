# SPDX-License-Identifier: GPL-2.0-or-later
$(eval $(call tests,test_qemu_iommu test_qemu_pci test_qemu_wire,,driver/emu/qemu))
$(eval $(call tests,test_qemu_host,tests/unit/rig/fake_world.c,driver/emu/qemu))

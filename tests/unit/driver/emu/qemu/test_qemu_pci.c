/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board's PCI face: configuration space as a BIOS and a kernel go through it, and MSI-X. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/pci_regs.h>

#include "driver/emu/qemu/msix.h"
#include "driver/emu/qemu/pci.h"

/* ------------------------------------------------------------------------ configuration */

static uint32_t get(const struct pci_function *p, uint32_t address, unsigned length)
{
	return pci_config_read(p, address, length);
}

static bool set(struct pci_function *p, uint32_t address, uint32_t value, unsigned length)
{
	return pci_config_write(p, address, value, length);
}

static uint32_t capability(const struct pci_function *p, uint8_t id)
{
	uint32_t at = get(p, PCI_CAPABILITY_LIST, 1);

	for (unsigned n = 0; at != 0; at = get(p, at + PCI_CAP_LIST_NEXT, 1), n++) {
		assert_true(at >= 0x40 && at % 4 == 0 && n < 48);
		if (get(p, at, 1) == id) {
			return at;
		}
	}
	return 0;
}

static void identity(void **state)
{
	struct pci_function p = {0};

	pci_reset(&p);
	assert_int_equal(get(&p, 0, 4), 0xe0031172);
	assert_int_equal(get(&p, PCI_CLASS_REVISION, 4), PCI_CLASS_DAQ << 8 | PCI_REVISION);
	assert_int_equal(get(&p, PCI_SUBSYSTEM_VENDOR_ID, 4), PCI_SUBSYSTEM << 16 | 0x1172);
	assert_int_equal(get(&p, PCI_HEADER_TYPE, 1), 0);
	assert_int_equal(get(&p, PCI_INTERRUPT_PIN, 1), 0);
	assert_true(get(&p, PCI_STATUS, 2) & PCI_STATUS_CAP_LIST);
	assert_int_not_equal(capability(&p, PCI_CAP_ID_PM), 0);
	assert_int_not_equal(capability(&p, PCI_CAP_ID_MSIX), 0);
	assert_int_not_equal(capability(&p, PCI_CAP_ID_EXP), 0);
	assert_int_equal(capability(&p, PCI_CAP_ID_VPD), 0);
}

/* Every dword is sized, also those that are no BARs of ours. */
static void sizing(void **state)
{
	static const struct {
		uint32_t at, mask;
	} bars[] = {
		{PCI_BASE_ADDRESS_0, 0xffff0000},
		{PCI_BASE_ADDRESS_1, 0},
		{PCI_BASE_ADDRESS_2, 0xfffff000},
		{PCI_BASE_ADDRESS_3, 0},
		{PCI_BASE_ADDRESS_4, 0},
		{PCI_BASE_ADDRESS_5, 0},
		{PCI_CARDBUS_CIS, 0},
		{PCI_ROM_ADDRESS, 0},
	};
	struct pci_function p = {0};

	pci_reset(&p);
	for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++) {
		assert_int_equal(get(&p, bars[i].at, 4), 0);
		assert_false(set(&p, bars[i].at, 0xffffffff, 4));
		assert_int_equal(get(&p, bars[i].at, 4), bars[i].mask);
		set(&p, bars[i].at, 0, 4);
		assert_int_equal(get(&p, bars[i].at, 4), 0);
	}
	/* By bytes and halves, too. */
	set(&p, PCI_BASE_ADDRESS_0 + 3, 0xfe, 1);
	set(&p, PCI_BASE_ADDRESS_0 + 1, 0xff, 1);
	set(&p, PCI_BASE_ADDRESS_0 + 2, 0xbd, 1);
	assert_int_equal(get(&p, PCI_BASE_ADDRESS_0, 4), 0xfebd0000);
	assert_int_equal(get(&p, PCI_BASE_ADDRESS_0 + 2, 2), 0xfebd);
}

/* What is read-only stays, whatever is written, wherever it begins. */
static void read_only(void **state)
{
	static const uint8_t fixed[] = {PCI_VENDOR_ID,	    PCI_DEVICE_ID,    PCI_STATUS,
					PCI_CLASS_REVISION, PCI_CLASS_DEVICE, PCI_HEADER_TYPE,
					PCI_BIST,	    PCI_SUBSYSTEM_ID, PCI_CAPABILITY_LIST,
					PCI_MIN_GNT,	    PCI_MAX_LAT};
	struct pci_function p, before;

	pci_reset(&p);
	before = p;
	for (uint32_t at = 0; at < PCI_SPACE; at++) {
		set(&p, at, 0x7fffffff & ~((uint32_t)PCI_EXP_DEVCTL_BCR_FLR), 1);
	}
	for (size_t i = 0; i < sizeof(fixed); i++) {
		assert_int_equal(get(&p, fixed[i], 1), get(&before, fixed[i], 1));
	}
	for (uint32_t at = 0; at < PCI_SPACE; at++) {
		uint8_t free = before.writable[at];

		assert_int_equal(get(&p, at, 1) & ~free & 0xff, get(&before, at, 1) & ~free & 0xff);
	}
	assert_int_equal(capability(&p, PCI_CAP_ID_MSIX), capability(&before, PCI_CAP_ID_MSIX));
}

static void beyond(void **state)
{
	static const uint32_t addresses[] = {253, 256, 0x100, 4096, 0xfffffffd, 0xffffffff};
	struct pci_function p, before;

	pci_reset(&p);
	before = p;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		assert_int_equal(get(&p, addresses[i], 4), 0xffffffff);
		assert_false(set(&p, addresses[i], 0x12345678, 4));
	}
	assert_int_equal(get(&p, 256, 1), 0xff);
	assert_int_equal(get(&p, 255, 2), 0xffff);
	assert_memory_equal(&p, &before, sizeof(p));
}

static void decode(void **state)
{
	struct pci_function p = {0};
	uint32_t offset = 0;

	pci_reset(&p);
	set(&p, PCI_BASE_ADDRESS_0, 0xfeb00000, 4);
	set(&p, PCI_BASE_ADDRESS_2, 0xfec00000, 4);
	assert_int_equal(pci_decode(&p, 0xfeb00010, 4, &offset), PCI_BAR_NONE); /* memory is off */
	set(&p, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_int_equal(pci_decode(&p, 0xfeb00010, 4, &offset), PCI_BAR_REGISTERS);
	assert_int_equal(offset, 0x10);
	assert_int_equal(pci_decode(&p, 0xfeb0fffc, 4, &offset), PCI_BAR_REGISTERS);
	assert_int_equal(offset, 0xfffc);
	assert_int_equal(pci_decode(&p, 0xfeb0fffc, 8, &offset), PCI_BAR_NONE);
	assert_int_equal(pci_decode(&p, 0xfeb10000, 4, &offset), PCI_BAR_NONE);
	assert_int_equal(pci_decode(&p, 0xfeafffff, 1, &offset), PCI_BAR_NONE);
	assert_int_equal(pci_decode(&p, 0xfec00ff8, 8, &offset), PCI_BAR_MSIX);
	assert_int_equal(offset, 0xff8);
	assert_int_equal(pci_decode(&p, 0xfec01000, 4, &offset), PCI_BAR_NONE);
	assert_int_equal(pci_decode(&p, UINT64_MAX - 3, 4, &offset), PCI_BAR_NONE);
	assert_int_equal(pci_decode(&p, 0x1feb00010, 4, &offset), PCI_BAR_NONE);
}

static void power(void **state)
{
	struct pci_function p = {0};
	uint32_t offset, pm;

	pci_reset(&p);
	pm = capability(&p, PCI_CAP_ID_PM) + PCI_PM_CTRL;
	set(&p, PCI_BASE_ADDRESS_0, 0xfeb00000, 4);
	set(&p, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	assert_false(pci_may_speak(&p));
	set(&p, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_true(pci_may_speak(&p));
	for (uint32_t no_state = 1; no_state <= 2; no_state++) { /* D1 and D2 */
		assert_false(set(&p, pm, no_state, 2));
		assert_int_equal(get(&p, pm, 2) & PCI_PM_CTRL_STATE_MASK, 0);
	}
	assert_false(set(&p, pm, 3, 2));
	assert_int_equal(get(&p, pm, 2) & PCI_PM_CTRL_STATE_MASK, 3);
	assert_false(pci_may_speak(&p));
	assert_int_equal(pci_decode(&p, 0xfeb00000, 4, &offset), PCI_BAR_NONE);
	assert_int_equal(get(&p, 0, 4), 0xe0031172); /* configuration goes on */
	assert_false(set(&p, pm, 1, 2));
	assert_int_equal(get(&p, pm, 2) & PCI_PM_CTRL_STATE_MASK, 3);
	assert_true(set(&p, pm, 0, 2)); /* waking is a reset */
	assert_false(set(&p, pm, 0, 2));
}

static void function_level_reset(void **state)
{
	struct pci_function p = {0};
	uint32_t exp;

	pci_reset(&p);
	exp = capability(&p, PCI_CAP_ID_EXP);
	assert_true(get(&p, exp + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR);
	assert_false(set(&p, exp + PCI_EXP_DEVCTL, 0x2810, 2));
	assert_true(set(&p, exp + PCI_EXP_DEVCTL, 0x2810 | PCI_EXP_DEVCTL_BCR_FLR, 2));
	assert_true(set(&p, exp + PCI_EXP_DEVCTL + 1, PCI_EXP_DEVCTL_BCR_FLR >> 8, 1));
	assert_false(get(&p, exp + PCI_EXP_DEVCTL, 2) & PCI_EXP_DEVCTL_BCR_FLR);
	assert_false(set(&p, exp + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR >> 8, 1));
}

/* ------------------------------------------------------------------------ MSI-X */

struct sent {
	struct msix m;
	bool busy;
	unsigned count[NANET3_VECTORS];
	uint64_t address;
	uint32_t data;
};

static bool send(void *context, unsigned vector, uint64_t address, uint32_t data)
{
	struct sent *s = context;

	if (s->busy) {
		return false;
	}
	s->count[vector]++;
	s->address = address;
	s->data = data;
	return true;
}

static int msix_set_up(void **state)
{
	struct sent *s = calloc(1, sizeof(*s));

	*state = s;
	s->m.send = send;
	s->m.context = s;
	msix_reset(&s->m);
	for (unsigned v = 0; v < NANET3_VECTORS; v++) {
		msix_write(&s->m, v * 16, 0xfee00000 | v << 12);
		msix_write(&s->m, v * 16 + 4, v);
		msix_write(&s->m, v * 16 + 8, 0x4000 + v);
	}
	return 0;
}

static int msix_tear_down(void **state)
{
	free(*state);
	return 0;
}

static void mask(struct sent *s, unsigned vector, bool masked)
{
	msix_write(&s->m, vector * 16 + 12, masked);
}

static uint32_t pending(const struct sent *s)
{
	return msix_read(&s->m, PCI_MSIX_PENDING);
}

static void disabled_forgets(void **state)
{
	struct sent *s = *state;

	mask(s, 1, false);
	msix_raise(&s->m, 1);
	assert_int_equal(pending(s), 0);
	msix_configure(&s->m, true, false);
	assert_int_equal(s->count[1], 0);
	msix_raise(&s->m, 1);
	assert_int_equal(s->count[1], 1);
	assert_true(s->address == ((uint64_t)1 << 32 | 0xfee01000));
	assert_int_equal(s->data, 0x4001);
}

static void vector_mask(void **state)
{
	struct sent *s = *state;

	msix_configure(&s->m, true, false);
	msix_raise(&s->m, 2); /* masked since reset */
	msix_raise(&s->m, 2);
	msix_raise(&s->m, 4);
	assert_int_equal(pending(s), 1u << 2 | 1u << 4);
	msix_write(&s->m, PCI_MSIX_PENDING, 0); /* read-only */
	assert_int_equal(pending(s), 1u << 2 | 1u << 4);
	mask(s, 2, false);
	assert_int_equal(s->count[2], 1); /* two became one */
	assert_int_equal(s->count[4], 0);
	assert_int_equal(pending(s), 1u << 4);
	mask(s, 2, true);
	mask(s, 2, false);
	assert_int_equal(s->count[2], 1);
}

static void all_held(void **state)
{
	struct sent *s = *state;

	mask(s, 0, false);
	mask(s, 3, false);
	msix_configure(&s->m, true, true); /* function mask, or no bus master */
	msix_raise(&s->m, 0);
	msix_raise(&s->m, 1);
	msix_raise(&s->m, 3);
	assert_int_equal(pending(s), 0xb);
	assert_int_equal(s->count[0] + s->count[1] + s->count[3], 0);
	msix_configure(&s->m, true, false);
	assert_int_equal(pending(s), 0x2); /* that one has its own mask */
	assert_int_equal(s->count[0] + s->count[3], 2);
	msix_configure(&s->m, false, false);
	msix_configure(&s->m, true, false);
	assert_int_equal(pending(s), 0);
}

/* While a message is under way the next one waits, with the address of when it goes. */
static void busy(void **state)
{
	struct sent *s = *state;

	mask(s, 0, false);
	msix_configure(&s->m, true, false);
	s->busy = true;
	msix_raise(&s->m, 0);
	msix_raise(&s->m, 0);
	assert_int_equal(pending(s), 1);
	msix_write(&s->m, 8, 0x4099);
	msix_retry(&s->m);
	assert_int_equal(s->count[0], 0);
	s->busy = false;
	msix_retry(&s->m);
	msix_retry(&s->m);
	assert_int_equal(s->count[0], 1);
	assert_int_equal(s->data, 0x4099);
	assert_int_equal(pending(s), 0);
}

static void table(void **state)
{
	struct sent *s = *state;

	for (unsigned v = 0; v < NANET3_VECTORS; v++) {
		assert_int_equal(msix_read(&s->m, v * 16), 0xfee00000 | v << 12);
		assert_int_equal(msix_read(&s->m, v * 16 + 12), 1);
	}
	msix_write(&s->m, 0, 0xffffffff);
	assert_int_equal(msix_read(&s->m, 0), 0xfffffffc);
	msix_write(&s->m, 12, 0xfffffffe);
	assert_int_equal(msix_read(&s->m, 12), 0);
	/* There is nothing else. */
	for (uint32_t at = NANET3_VECTORS * 16; at < PCI_MSIX_BAR_BYTES; at += 4) {
		msix_write(&s->m, at, 0xffffffff);
		assert_int_equal(msix_read(&s->m, at), 0);
	}
	msix_raise(&s->m, NANET3_VECTORS); /* no such vector */
	msix_reset(&s->m);
	assert_int_equal(msix_read(&s->m, 12), 1);
	assert_int_equal(msix_read(&s->m, 0), 0);
}

/* The slot's, so that no reset of the function changes it. */
static void trained_link(void **state)
{
	struct pci_function p = {0};
	uint32_t at;

	pci_reset(&p);
	at = capability(&p, PCI_CAP_ID_EXP) + PCI_EXP_LNKSTA;
	assert_int_equal(get(&p, at, 2) & 0x3ff, 0x82); /* x8, 5 GT/s */
	pci_train(&p, 4, 1);
	assert_int_equal(get(&p, at, 2) & 0x3ff, 0x41);
	pci_reset(&p);
	assert_int_equal(get(&p, at, 2) & 0x3ff, 0x41);
	pci_train(&p, 8, 2);
	assert_int_equal(get(&p, at, 2) & 0x3ff, 0x82);
}

static void relaxed_ordering(void **state)
{
	struct pci_function p = {0};
	uint32_t at, control;

	pci_reset(&p);
	at = capability(&p, PCI_CAP_ID_EXP) + PCI_EXP_DEVCTL;
	control = get(&p, at, 2);
	assert_true(pci_relaxed(&p)); /* as of any function after a reset */
	set(&p, at, control & ~(uint32_t)PCI_EXP_DEVCTL_RELAX_EN, 2);
	assert_false(pci_relaxed(&p));
	set(&p, at, control, 2);
	assert_true(pci_relaxed(&p));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identity),
		cmocka_unit_test(sizing),
		cmocka_unit_test(read_only),
		cmocka_unit_test(beyond),
		cmocka_unit_test(decode),
		cmocka_unit_test(power),
		cmocka_unit_test(function_level_reset),
		cmocka_unit_test(trained_link),
		cmocka_unit_test(relaxed_ordering),
		cmocka_unit_test_setup_teardown(disabled_forgets, msix_set_up, msix_tear_down),
		cmocka_unit_test_setup_teardown(vector_mask, msix_set_up, msix_tear_down),
		cmocka_unit_test_setup_teardown(all_held, msix_set_up, msix_tear_down),
		cmocka_unit_test_setup_teardown(busy, msix_set_up, msix_tear_down),
		cmocka_unit_test_setup_teardown(table, msix_set_up, msix_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

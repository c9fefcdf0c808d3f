/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU host with this test as QEMU and guest: it asks over the wire, serves the host by hand, and
 * finds the board's writes in its memory and its interrupts on the qtest socket.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>
#include <linux/pci_regs.h>

#include "driver/emu/common/model_fault.h"
#include "driver/emu/qemu/private.h"
#include "tests/unit/rig/fake_world.h"

#define BAR0   0xfeb00000u
#define BAR2   0xfec00000u
#define RAM    (4u << 20)
#define HIGH   ((uint64_t)5 << 30) /* where the second half of it lies */
#define AT_EVQ (HIGH + 0x10000)	   /* in guest and, less HIGH plus RAM / 2, in memory */

struct rig {
	struct world world;
	struct qemu_host *q;
	int proxy, qtest, file;
	uint8_t *ram;
	uint32_t taken; /* of the event queue */
};

/* ------------------------------------------------------------------------ this is QEMU */

static uint64_t ask(struct rig *r, int command, const void *body, size_t size)
{
	uint8_t bytes[256] = {0};
	const struct proxy_header h = {.command = command, .bytes = size};
	struct {
		struct proxy_header h;
		uint64_t value;
	} ret;

	memcpy(bytes, &h, sizeof(h));
	memcpy(bytes + sizeof(h), body, size);
	assert_int_equal(send(r->proxy, bytes, sizeof(h) + size, 0), sizeof(h) + size);
	assert_int_equal(qemu_serve_now(r->q), 0);
	assert_int_equal(recv(r->proxy, &ret, sizeof(ret), MSG_DONTWAIT), sizeof(ret));
	assert_int_equal(ret.h.command, PROXY_RET);
	return ret.value;
}

static uint32_t config(struct rig *r, uint32_t address, int length)
{
	const struct proxy_config c = {.address = address, .length = length};

	return (uint32_t)ask(r, PROXY_CONFIG_READ, &c, sizeof(c));
}

static void config_set(struct rig *r, uint32_t address, uint32_t value, int length)
{
	const struct proxy_config c = {.address = address, .value = value, .length = length};

	ask(r, PROXY_CONFIG_WRITE, &c, sizeof(c));
}

static uint64_t load(struct rig *r, uint64_t address, uint32_t length)
{
	const struct proxy_bar b = {.address = address, .length = length, .memory = 1};

	return ask(r, PROXY_BAR_READ, &b, sizeof(b));
}

static void store(struct rig *r, uint64_t address, uint64_t value, uint32_t length)
{
	const struct proxy_bar b = {
		.address = address, .value = value, .length = length, .memory = 1};

	ask(r, PROXY_BAR_WRITE, &b, sizeof(b));
}

static uint32_t rd(struct rig *r, uint32_t offset)
{
	return (uint32_t)load(r, BAR0 + offset, 4);
}

static void wr(struct rig *r, uint32_t offset, uint32_t value)
{
	store(r, BAR0 + offset, value, 4);
}

/* Two regions of one file, as a guest with more than fits below 4 GiB has them. */
static void share_memory(struct rig *r)
{
	const struct {
		struct proxy_header h;
		struct proxy_memory m;
	} message = {{.command = PROXY_SYNC_SYSMEM, .bytes = sizeof(struct proxy_memory)},
		     {{0, HIGH}, {RAM / 2, RAM / 2}, {0, RAM / 2}}};
	char control[CMSG_SPACE(2 * sizeof(int))] = {0};
	struct iovec iov = {(void *)&message, sizeof(message)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control,
			     .msg_controllen = sizeof(control)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(2 * sizeof(int));
	memcpy(CMSG_DATA(c), (int[]){r->file, r->file}, 2 * sizeof(int));
	assert_int_equal(sendmsg(r->proxy, &msg, 0), sizeof(message));
	assert_int_equal(qemu_serve_now(r->q), 0);
}

/* MSI written since last asked; all are answered. */
static unsigned interrupts(struct rig *r)
{
	char text[1024];
	unsigned lines = 0;
	ssize_t got = recv(r->qtest, text, sizeof(text), MSG_DONTWAIT);

	for (ssize_t i = 0; i < got; i++) {
		lines += text[i] == '\n';
	}
	for (unsigned i = 0; i < lines; i++) {
		assert_int_equal(send(r->qtest, "OK\n", 3, 0), 3);
	}
	assert_int_equal(qemu_serve_now(r->q), 0);
	return lines;
}

/* ------------------------------------------------------------------------ this is the guest */

/* BARs, memory, bus master, all vectors. */
static void enable(struct rig *r)
{
	config_set(r, PCI_BASE_ADDRESS_0, BAR0, 4);
	config_set(r, PCI_BASE_ADDRESS_2, BAR2, 4);
	config_set(r, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	for (uint32_t at = config(r, PCI_CAPABILITY_LIST, 1); at != 0;
	     at = config(r, at + PCI_CAP_LIST_NEXT, 1)) {
		if (config(r, at, 1) == PCI_CAP_ID_MSIX) {
			config_set(r, at + PCI_MSIX_FLAGS, PCI_MSIX_FLAGS_ENABLE, 2);
		}
	}
	for (uint32_t v = 0; v < NANET3_VECTORS; v++) {
		store(r, BAR2 + v * 16, 0xfee00000, 8);
		store(r, BAR2 + v * 16 + 8, v, 8);
	}
}

static void events_on(struct rig *r)
{
	wr(r, NANET3_REG_EVQ_BASE + 4, (uint32_t)(AT_EVQ >> 32));
	wr(r, NANET3_REG_EVQ_BASE, (uint32_t)AT_EVQ);
	wr(r, NANET3_REG_EVQ_SIZE, 256);
	wr(r, NANET3_REG_IRQ_MASK, 0x1f);
	wr(r, NANET3_REG_CONTROL, NANET3_CONTROL_EVENTS);
}

static const struct nanet3_event *event(const struct rig *r, uint32_t n)
{
	return (const struct nanet3_event *)(r->ram + (AT_EVQ - HIGH) + RAM / 2) + n;
}

static void steps(struct rig *r, unsigned n)
{
	while (n-- > 0) {
		qemu_step(r->q);
	}
}

static int set_up(void **state)
{
	const struct qemu_config c = {.serial = 9, .speed = HOST_SPEED_REAL, .factor = 1};
	struct rig *r = calloc(1, sizeof(*r));
	int proxy[2], qtest[2];

	*state = r;
	fake_world_init(&r->world);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, proxy), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, qtest), 0);
	r->proxy = proxy[1];
	r->qtest = qtest[1];
	assert_int_equal(
		qemu_attach(&c, &r->world, &(struct qemu_child){0, -1, proxy[0], qtest[0]}, &r->q),
		0);
	r->file = memfd_create("guest", 0);
	assert_int_equal(ftruncate(r->file, RAM), 0);
	r->ram = mmap(NULL, RAM, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
	assert_ptr_not_equal(r->ram, MAP_FAILED);
	share_memory(r);
	return 0;
}

static int tear_down(void **state)
{
	struct rig *r = *state;

	assert_int_equal(qemu_destroy(r->q), 0);
	munmap(r->ram, RAM);
	close(r->file);
	close(r->proxy);
	close(r->qtest);
	free(r);
	return 0;
}

/* ------------------------------------------------------------------------ tests */

static void registers(void **state)
{
	struct rig *r = *state;

	assert_int_equal(config(r, 0, 4), 0xe0031172);
	assert_int_equal(rd(r, NANET3_REG_ID), 0xffffffff); /* memory is not enabled */
	enable(r);
	assert_int_equal(rd(r, NANET3_REG_ID), 0x00334e4e);
	assert_int_equal(rd(r, NANET3_REG_SERIAL), 9);
	assert_int_equal(rd(r, NANET3_REG_MODEL), NANET3_EMULATED_REAL_TIME);
	assert_true(load(r, BAR0, 8) == ((uint64_t)NANET3_HW_VERSION << 32 | 0x00334e4e));
	assert_int_equal(load(r, BAR0 + 2, 2), 0x33);
	assert_int_equal(load(r, BAR0 + 1, 1), 0x4e);
	assert_int_equal(load(r, BAR0 + 3, 4), 0xffffffff); /* not aligned */
	assert_true(load(r, BAR0 - 8, 8) == UINT64_MAX);
	wr(r, NANET3_REG_SCRATCH, 0x12345678);
	store(r, BAR0 + NANET3_REG_SCRATCH, 0xff, 1); /* fewer than 32 bits write nothing */
	store(r, BAR0 + NANET3_REG_SCRATCH + 2, 0xffff, 2);
	assert_int_equal(rd(r, NANET3_REG_SCRATCH), 0x12345678);
	store(r, BAR0 + NANET3_REG_EVQ_BASE, 0x1122334455667788, 8);
	assert_true(load(r, BAR0 + NANET3_REG_EVQ_BASE, 8) == 0x1122334455667788);
}

static void memory_and_interrupts(void **state)
{
	struct rig *r = *state;

	enable(r);
	events_on(r);
	steps(r, 1); /* PPS, locks */
	assert_true(rd(r, NANET3_REG_EVQ_WRITE) > 0);
	assert_int_equal(event(r, 0)->type, NANET3_EVENT_PPS);
	assert_int_equal(event(r, 0)->sequence, 1);
	assert_int_equal(interrupts(r), 1); /* several events, one message */
	assert_int_equal(interrupts(r), 1); /* and what came while it was under way */
	assert_int_equal(interrupts(r), 0);
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_SPURIOUS, 2, 1));
	assert_int_equal(interrupts(r), 1);
	store(r, BAR2 + 2 * 16 + 12, 1, 4);
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_SPURIOUS, 2, 1));
	assert_int_equal(interrupts(r), 0);
	assert_int_equal(load(r, BAR2 + PCI_MSIX_PENDING, 8), 1u << 2);
	store(r, BAR2 + 2 * 16 + 12, 0, 4);
	assert_int_equal(interrupts(r), 1);
	assert_int_equal(load(r, BAR2 + PCI_MSIX_PENDING, 4), 0);
}

/* Without bus master neither memory nor messages. */
static void no_bus_master(void **state)
{
	struct rig *r = *state;
	uint32_t misses;

	enable(r);
	events_on(r);
	config_set(r, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	misses = rd(r, NANET3_REG_TLB_MISSES);
	steps(r, 1);
	assert_int_equal(event(r, 0)->type, NANET3_EVENT_NONE);
	assert_true(rd(r, NANET3_REG_TLB_MISSES) > misses);
	assert_int_equal(interrupts(r), 0);
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_SPURIOUS, 0, 1));
	assert_int_equal(interrupts(r), 0);
	config_set(r, PCI_COMMAND, PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER, 2);
	assert_int_not_equal(interrupts(r), 0);
}

static void gone_and_back(void **state)
{
	struct rig *r = *state;

	enable(r);
	events_on(r);
	steps(r, 1);
	wr(r, NANET3_REG_MODEL_FAULT, MODEL_FAULT(MODEL_FAULT_GONE, 0, 10));
	interrupts(r);
	assert_int_equal(rd(r, NANET3_REG_ID), 0xffffffff);
	assert_int_equal(config(r, 0, 4), 0xffffffff);
	assert_int_equal(config(r, 0, 2), 0xffff);
	assert_int_equal(config(r, PCI_HEADER_TYPE, 1), 0xff);
	assert_int_equal(load(r, BAR2, 4), 0xffffffff);
	config_set(r, PCI_COMMAND, PCI_COMMAND_MEMORY, 2);
	store(r, BAR2, 1, 4);
	wr(r, NANET3_REG_SCRATCH, 1);
	steps(r, 79);
	assert_int_equal(config(r, 0, 4), 0xffffffff);
	assert_int_equal(interrupts(r), 0);
	steps(r, 2);
	assert_int_equal(config(r, 0, 4), 0xe0031172); /* as after power-up */
	assert_int_equal(config(r, PCI_BASE_ADDRESS_0, 4), 0);
	assert_int_equal(config(r, PCI_COMMAND, 2), 0);
	enable(r);
	assert_int_equal(rd(r, NANET3_REG_ID), 0x00334e4e);
	assert_int_equal(rd(r, NANET3_REG_BOOT_COUNT), 2);
	assert_int_equal(rd(r, NANET3_REG_SCRATCH), 0);
	events_on(r);
	steps(r, 8000);
	assert_int_not_equal(interrupts(r), 0);
}

static void resets(void **state)
{
	struct rig *r = *state;
	uint32_t exp;

	enable(r);
	events_on(r);
	ask(r, PROXY_DEVICE_RESET, "", 0);
	assert_int_equal(config(r, PCI_BASE_ADDRESS_0, 4), 0);
	enable(r);
	assert_int_equal(rd(r, NANET3_REG_CONTROL), 0);
	events_on(r);
	for (exp = config(r, PCI_CAPABILITY_LIST, 1); config(r, exp, 1) != PCI_CAP_ID_EXP;) {
		exp = config(r, exp + PCI_CAP_LIST_NEXT, 1);
	}
	config_set(r, exp + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_BCR_FLR, 2);
	assert_int_equal(config(r, PCI_COMMAND, 2), 0);
	enable(r);
	assert_int_equal(rd(r, NANET3_REG_CONTROL), 0);
	assert_int_equal(load(r, BAR2 + 12, 4), 0);
}

/* The device is taken out of the guest: the board lives on with nobody to talk to. */
static void unplugged(void **state)
{
	struct rig *r = *state;

	enable(r);
	events_on(r);
	shutdown(r->proxy, SHUT_RDWR);
	assert_int_equal(qemu_serve_now(r->q), 0);
	steps(r, 100);
	assert_int_equal(qemu_serve_now(r->q), 0);
	assert_int_equal(event(r, 0)->type, NANET3_EVENT_NONE);
}

/* A QEMU that another process has started: its end shows as a closed socket. */
static void end_of_anothers_qemu(void **state)
{
	struct rig *r = *state;

	assert_int_equal(qemu_wait(r->q, 0), 0);
	shutdown(r->proxy, SHUT_RDWR);
	assert_int_equal(qemu_wait(r->q, 0), 0);
	assert_int_equal(qemu_wait(r->q, 0), -ECHILD);
}

static void garbage(void **state)
{
	struct rig *r = *state;

	assert_int_equal(send(r->proxy, "no QEMU speaks like this", 24, 0), 24);
	assert_int_equal(qemu_serve_now(r->q), -EPROTO);
}

/* ------------------------------------------------------------------------ QEMU as a child */

static void arguments(void **state)
{
	char *const plain[] = {"qemu", "-machine", "q35", NULL};
	char *const own[] = {"qemu", "--accel", "kvm", NULL};
	struct qemu_launch l = {plain, 256, NULL};
	char *text, **argv = qemu_arguments(&l, 7, 9, &text), line[1024] = "";

	for (unsigned i = 0; argv[i] != NULL; i++) {
		strcat(strcat(line, argv[i]), " ");
	}
	assert_string_equal(line, "qemu -machine q35 -accel tcg,thread=single -m 256M "
				  "-object memory-backend-memfd,id=nanet3-ram,size=256M,share=on "
				  "-machine memory-backend=nanet3-ram "
				  "-chardev socket,id=nanet3-qtest,fd=9 "
				  "-object qtest,id=nanet3-msi,chardev=nanet3-qtest,log=none "
				  "-device x-pci-proxy-dev,id=nanet3,fd=7 ");
	free(argv);
	free(text);
	l = (struct qemu_launch){own, 256, "rp0", false};
	argv = qemu_arguments(&l, 7, 9, &text);
	assert_string_equal(argv[3], "-m");
	assert_string_equal(argv[14], "x-pci-proxy-dev,id=nanet3,fd=7,bus=rp0");
	assert_null(argv[15]);
	free(argv);
	free(text);
	l = (struct qemu_launch){own, 256, "rp0:0.1", false};
	argv = qemu_arguments(&l, 7, 9, &text);
	assert_string_equal(argv[14], "x-pci-proxy-dev,id=nanet3,fd=7,bus=rp0,addr=0.1");
	free(argv);
	free(text);
	l = (struct qemu_launch){own, 256, NULL, true};
	argv = qemu_arguments(&l, 7, 9, &text);
	assert_string_equal(argv[14], "intel-iommu,intremap=off");
	assert_string_equal(argv[16], "x-pci-proxy-dev,id=nanet3,fd=7,addr=1e");
	assert_null(argv[17]);
	free(argv);
	free(text);
}

static int run(char *const *command, unsigned wait_ms, bool *ret_ended)
{
	struct qemu_config c = {.launch = {command, 16, NULL}, .factor = 1};
	struct world *world = calloc(1, sizeof(*world));
	struct qemu_host *q;
	int r;

	fake_world_init(world);
	assert_int_equal(qemu_create(&c, world, &q), 0);
	do {
		r = qemu_wait(q, wait_ms * 1000000ull);
	} while (r == 0 && wait_ms > 100);
	*ret_ended = r == -ECHILD;
	r = qemu_destroy(q);
	free(world);
	return r;
}

static void children(void **state)
{
	char *const seven[] = {"sh", "-c", "exit 7", NULL};
	char *const missing[] = {"/nonexistent/qemu", NULL};
	char *const dies[] = {"sh", "-c", "kill -9 $$", NULL};
	char *const stays[] = {"sh", "-c", "exec sleep 60", NULL};
	bool ended;

	assert_int_equal(run(seven, 5000, &ended), 7);
	assert_true(ended);
	assert_int_equal(run(missing, 5000, &ended), 127);
	assert_int_equal(run(dies, 5000, &ended), 128 + 9);
	assert_int_equal(run(stays, 100, &ended), 128 + 15); /* asked to end */
	assert_false(ended);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(registers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(memory_and_interrupts, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_bus_master, set_up, tear_down),
		cmocka_unit_test_setup_teardown(gone_and_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(resets, set_up, tear_down),
		cmocka_unit_test_setup_teardown(unplugged, set_up, tear_down),
		cmocka_unit_test_setup_teardown(end_of_anothers_qemu, set_up, tear_down),
		cmocka_unit_test_setup_teardown(garbage, set_up, tear_down),
		cmocka_unit_test(arguments),
		cmocka_unit_test(children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

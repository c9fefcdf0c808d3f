/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU host: see qemu.h. A guest's access to the board is a message that its vCPU waits for:
 *
 *   config read, write; BAR read   done, then answered
 *   BAR write                      answered, then done: posted, as on the bus; a read flushes it
 *
 * A board that is off the bus, or asleep, reads all ones; one that comes back has forgotten everything,
 * its configuration too.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <time.h>

#include "driver/emu/qemu/private.h"

#define NOTHING_THERE 0xffffffffu /* what a read of a missing board gives */
#define IOMMU_STEPS   8u	  /* between two reads of a register of the guest's IOMMU */
#define SERVE_AT_ONCE 16u	  /* requests, before the board gets a step in again */

/* ------------------------------------------------------------------------ the function */

static void follow_configuration(struct qemu_host *q)
{
	msix_configure(&q->msix, pci_msix_enabled(&q->pci),
		       pci_msix_masked(&q->pci) || !pci_may_speak(&q->pci));
}

static void function_reset(struct qemu_host *q)
{
	pci_reset(&q->pci);
	msix_reset(&q->msix);
	board_reg_write(q->board, NANET3_REG_CONTROL, NANET3_CONTROL_RESET);
	q->stats.resets += !q->unplugged;
}

/* Has it left the bus, or come back? */
static void look_at_board(struct qemu_host *q)
{
	const bool gone = board_gone(q->board);

	if (gone != q->gone) {
		q->gone = gone;
		function_reset(q);
	}
}

/* ------------------------------------------------------------------------ what the board asks for */

static void *board_map(void *context, uint64_t bus, uint32_t length, bool write)
{
	struct qemu_host *q = context;

	return pci_may_speak(&q->pci) ? iommu_at(&q->iommu, &q->memory, bus, length, write) : NULL;
}

static void board_irq(void *context, unsigned vector)
{
	struct qemu_host *q = context;

	msix_raise(&q->msix, vector);
}

static bool bus_reorders(void *context)
{
	const struct qemu_host *q = context;

	return pci_relaxed(&q->pci);
}

static void bus_train(void *context, unsigned lanes, unsigned generation)
{
	struct qemu_host *q = context;

	pci_train(&q->pci, lanes, generation);
}

static bool send_msi(void *context, unsigned vector, uint64_t address, uint32_t data)
{
	struct qemu_host *q = context;
	bool sent = qtest_send(&q->qtest, vector, address, data);

	q->stats.interrupts += sent;
	return sent;
}

/* ------------------------------------------------------------------------ what QEMU asks for */

static uint32_t word_read(struct qemu_host *q, enum pci_bar bar, uint32_t offset)
{
	return bar == PCI_BAR_REGISTERS ? board_reg_read(q->board, offset)
					: msix_read(&q->msix, offset);
}

static void word_write(struct qemu_host *q, enum pci_bar bar, uint32_t offset, uint32_t value)
{
	if (bar == PCI_BAR_REGISTERS) {
		board_reg_write(q->board, offset, value);
	} else {
		msix_write(&q->msix, offset, value);
	}
}

/* Where an access goes: nowhere when the board is gone, or it is not aligned. */
static enum pci_bar target(const struct qemu_host *q, const struct proxy_bar *a,
			   uint32_t *ret_offset)
{
	if (q->gone || !a->memory || a->address % a->length != 0) {
		return PCI_BAR_NONE;
	}
	return pci_decode(&q->pci, a->address, a->length, ret_offset);
}

/* Registers have 32 bits: 64 are two of them, low word first; fewer are a part of one. */
static uint64_t bar_read(struct qemu_host *q, const struct proxy_bar *a)
{
	const uint64_t ones = UINT64_MAX >> (64 - 8 * a->length);
	uint32_t offset;
	enum pci_bar bar = target(q, a, &offset);
	uint64_t value;

	if (bar == PCI_BAR_NONE) {
		return ones;
	}
	value = word_read(q, bar, offset & ~3u);
	if (a->length == 8) {
		return value | (uint64_t)word_read(q, bar, offset + 4) << 32;
	}
	return value >> 8 * (offset & 3u) & ones;
}

/* 64 bits are a pair of registers, whose low word does it, or half of a vector, whose mask comes last.
 * Fewer than 32 write nothing. */
static void bar_write(struct qemu_host *q, const struct proxy_bar *a)
{
	const uint32_t low = (uint32_t)a->value, high = (uint32_t)(a->value >> 32);
	uint32_t offset;
	enum pci_bar bar = target(q, a, &offset);

	if (bar == PCI_BAR_NONE || a->length < 4) {
		return;
	}
	if (a->length == 8 && bar == PCI_BAR_REGISTERS) {
		word_write(q, bar, offset + 4, high);
	}
	word_write(q, bar, offset, low);
	if (a->length == 8 && bar == PCI_BAR_MSIX) {
		word_write(q, bar, offset + 4, high);
	}
	look_at_board(q);
}

static uint64_t config_read(const struct qemu_host *q, const struct proxy_config *a)
{
	const unsigned length = (unsigned)a->length;

	return q->gone ? NOTHING_THERE >> (32 - 8 * length)
		       : pci_config_read(&q->pci, a->address, length);
}

static void config_write(struct qemu_host *q, const struct proxy_config *a)
{
	if (q->gone) {
		return;
	}
	if (pci_config_write(&q->pci, a->address, a->value, (unsigned)a->length)) {
		function_reset(q);
	}
	follow_configuration(q);
}

static int handle(struct qemu_host *q, const struct proxy_message *m)
{
	uint64_t answer = 0;
	int r;

	switch (m->command) {
	case PROXY_SYNC_SYSMEM:
		q->stats.memory_maps++;
		q->stats.not_reached +=
			guest_memory_set(&q->memory, &m->memory, m->fds, m->fd_count);
		return 0;
	case PROXY_CONFIG_READ:
		answer = config_read(q, &m->config);
		break;
	case PROXY_CONFIG_WRITE:
		config_write(q, &m->config);
		break;
	case PROXY_BAR_READ:
		answer = bar_read(q, &m->bar);
		break;
	case PROXY_BAR_WRITE:
		q->stats.accesses++;
		r = proxy_answer(&q->proxy, 0);
		bar_write(q, &m->bar);
		return r;
	case PROXY_DEVICE_RESET:
		function_reset(q);
		break;
	default: /* SET_IRQFD, and an answer to nothing */
		return 0;
	}
	q->stats.accesses++;
	return proxy_answer(&q->proxy, answer);
}

/* ------------------------------------------------------------------------ serving */

/* The device was taken out of the guest, or QEMU is ending. */
static void unplug(struct qemu_host *q)
{
	q->unplugged = true;
	q->memory.count = 0;
	function_reset(q);
}

static int serve_proxy(struct qemu_host *q)
{
	struct proxy_message m;
	int r = 0;

	for (unsigned i = 0; i < SERVE_AT_ONCE && r == 0 && !q->unplugged; i++) {
		r = proxy_receive(&q->proxy, &m);
		if (r == 0) {
			break;
		}
		if (r > 0) {
			r = handle(q, &m);
			proxy_close_fds(&m);
		}
	}
	if (r == -EPIPE) {
		unplug(q);
		return 0;
	}
	return r;
}

static int serve_qtest(struct qemu_host *q)
{
	int r = q->qtest.count > 0 ? qtest_receive(&q->qtest) : 0;

	if (q->qtest.has_read) {
		q->qtest.has_read = false;
		iommu_take(&q->iommu, q->qtest.value);
	}
	if (r > 0) {
		msix_retry(&q->msix);
	}
	return r == -EPIPE || r > 0 ? 0 : r;
}

int qemu_serve_now(struct qemu_host *q)
{
	int r = serve_proxy(q);

	board_work(q->board);
	return r == 0 ? serve_qtest(q) : r;
}

int qemu_wait(struct qemu_host *q, uint64_t timeout_ns)
{
	const struct timespec timeout = {(time_t)(timeout_ns / 1000000000u),
					 (long)(timeout_ns % 1000000000u)};
	struct pollfd fds[] = {
		{.fd = q->child.pid_fd, .events = POLLIN},
		{.fd = q->unplugged ? -1 : q->child.proxy_fd, .events = POLLIN},
		{.fd = q->qtest.count > 0 ? q->child.qtest_fd : -1, .events = POLLIN},
	};

	if (ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL) < 0) {
		return errno == EINTR ? 0 : -errno;
	}
	if (fds[0].revents != 0) {
		return -ECHILD;
	}
	/* A QEMU that is not our child: the closed socket is all we see of its end. */
	return q->child.pid == 0 && q->unplugged ? -ECHILD : qemu_serve_now(q);
}

void qemu_step(struct qemu_host *q)
{
	board_step(q->board);
	look_at_board(q);
	if (q->iommu.devfn != 0 && q->stats.steps % IOMMU_STEPS == 0) {
		iommu_tidy(&q->iommu);
		qtest_read(&q->qtest, iommu_register(&q->iommu));
	}
	q->stats.steps++;
}

/* ------------------------------------------------------------------------ life */

int qemu_attach(const struct qemu_config *config, struct world *world,
		const struct qemu_child *child, struct qemu_host **ret_host)
{
	struct qemu_host *q = calloc(1, sizeof(*q));
	static const struct board_bus bus = {.reorders = bus_reorders, .train = bus_train};
	const struct board_host host = {
		.map = board_map, .irq = board_irq, .delay = emu_spin, .bus = &bus, .context = q};

	if (q == NULL) {
		return -ENOMEM;
	}
	q->board = board_create(&host, world, config->serial);
	if (q->board == NULL || (config->launch.iommu && iommu_init(&q->iommu, QEMU_DEVFN) < 0)) {
		board_destroy(q->board);
		free(q);
		return -ENOMEM;
	}
	if (config->speed != HOST_SPEED_REAL || config->factor != 1) {
		board_unpaced(q->board);
	}
	q->config = *config;
	q->child = *child;
	q->msix.send = send_msi;
	q->msix.context = q;
	pci_reset(&q->pci);
	msix_reset(&q->msix);
	q->proxy.fd = child->proxy_fd;
	q->qtest.fd = child->qtest_fd;
	*ret_host = q;
	return 0;
}

int qemu_create(const struct qemu_config *config, struct world *world, struct qemu_host **ret_host)
{
	struct qemu_child child = config->running;
	int err = config->launch.command != NULL ? qemu_start(&config->launch, &child) : 0;

	if (err < 0) {
		return err;
	}
	err = qemu_attach(config, world, &child, ret_host);
	if (err < 0) {
		qemu_finish(&child);
	}
	return err;
}

int qemu_destroy(struct qemu_host *q)
{
	int status;

	if (q == NULL) {
		return 0;
	}
	status = qemu_finish(&q->child);
	proxy_close_fds(&q->proxy.message);
	board_destroy(q->board);
	iommu_fini(&q->iommu);
	guest_memory_clear(&q->memory);
	free(q);
	return status;
}

void qemu_stats(const struct qemu_host *q, struct qemu_stats *ret_stats)
{
	*ret_stats = q->stats;
}

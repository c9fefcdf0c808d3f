/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside nanet3.ko. The contract with board and user space is nanet3.h; this is what the files
 * of the module share:
 *
 *   nanet3_pci.c     the module, probe and remove, PCI errors, suspend: the device's state machine
 *   nanet3_board.c   registers, the board's set-up and reset, is it still there
 *   nanet3_irq.c     interrupts, the board's event queue, the tick that finds what they missed
 *   nanet3_ring.c    link rings: memory, claim, yield, linger, DMA start and stop
 *   nanet3_client.c  a client's own event queue, waiting
 *   nanet3_chrdev.c  the device node: open, requests, poll, close
 *   nanet3_mmap.c    what user space may map, and what becomes of it when the board goes
 *   nanet3_buffer.c  registered user buffers
 *   nanet3_tx.c      the TX ring: words and puts
 *   nanet3_sysfs.c   attributes, debugfs, PPS source; nanet3_hwmon.c sensors
 *
 * Locks, outermost first:
 *
 *   life (rwsem)          read: the registers may be touched. Write: error recovery and removal
 *     mutex               who owns what: links, buffers, polling; DMA start and stop, set-up
 *       mmap_lock         (the kernel's, of whoever maps or pins)
 *         map_lock (rwsem) what a page fault looks at: owners, DMA memory is there
 *       tx_mutex          the TX ring's write end; registers that latch (64-bit pairs)
 *         event_lock      the event queue's read end, ring positions, client list, TX slots
 *           client.lock   a client's queue (also from a timer: bottom halves off)
 *           stamp_lock (raw) times of PPS interrupts (also from the hard handler: interrupts off)
 *
 * A page fault comes with mmap_lock held and takes map_lock, so nobody touches user memory under
 * map_lock. Requests copy to and from user space outside of all of these.
 *
 * Memory shared with the board is little-endian, and so is what of it is handed to user space as
 * it is (events): the module is for little-endian machines only.
 */
#ifndef NANET3_DRV_H
#define NANET3_DRV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pps_kernel.h>
#include <linux/rwsem.h>
#include <linux/scatterlist.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "nanet3.h"

#ifdef __BIG_ENDIAN
#error "nanet3: little-endian machines only, see nanet3_drv.h"
#endif
#if !IS_ENABLED(CONFIG_PPS)
#error "nanet3: needs CONFIG_PPS"
#endif
static_assert(BITS_PER_LONG == 64, "nanet3: 64-bit machines only");
static_assert(PAGE_SIZE == NANET3_PAGE, "a doorbell page and a page of a put are pages of ours");

#define NANET3_NAME	    "nanet3"
#define NANET3_ID	    0x00334e4eu /* NANET3_REG_ID of a board that is there */
#define NANET3_ALL_ONES	    0xffffffffu /* any register of one that is not */
#define NANET3_BOARDS	    16u
#define NANET3_CLIENTS	    64u	  /* open files of a board: each has a queue of 68 KiB */
#define NANET3_QUEUE_SIZE   1024u /* events of a client's queue */
#define NANET3_TX_SIZE	    1024u /* descriptors; a chunk of 4 MiB */
#define NANET3_SLOTS	    NANET3_TX_SIZE
#define NANET3_PUTS_MAX	    (NANET3_TX_SIZE - NANET3_TX_WORDS) /* their packets; and on their way */
#define NANET3_DEPTH_MIN    8u				       /* buffers in a ring */
#define NANET3_EVQ_CONTROL  1024u /* places for control events, beside one a buffer */
#define NANET3_EVQ_SIZE_MAX (NANET3_CHUNK_MAX / sizeof(struct nanet3_event))
#define NANET3_CHUNKS_MAX   4096u   /* as many as NANET3_MAP_CHUNK can name */
#define NANET3_ANNOUNCE_NS  900000u /* an owner is woken for data once a millisecond, less jitter */
#define NANET3_STOP_US	    200000u /* from the end of DMA to giving up on BUSY */

struct nanet3_client;
struct nanet3_dev;

/**
 * struct nanet3_area - coherent memory that user space may map
 * @cpu: where the kernel sees it; NULL: there is none
 * @dma: where the board sees it
 * @bytes: its length, whole pages
 * @sgt: its pages, for page faults
 * @kept: once the memory has gone with the board: copies of pages that had not been released yet,
 *	  NULL where there is none; a page each
 */
struct nanet3_area {
	void *cpu;
	dma_addr_t dma;
	size_t bytes;
	struct sg_table sgt;
	struct page **kept;
};

/**
 * struct nanet3_link - one of the board's links and its ring
 * @dev: the board
 * @index: 0..3
 * @ring: the state that user space maps, in vmalloc_user() memory; positions by event_lock
 * @completions: the completions, in the same memory
 * @chunks: the buffers, @ring->chunks areas of @ring->chunk_buffers each
 * @table: bus addresses of the buffers, for the board
 * @table_dma: bus address of @table
 * @owner_page: the owner's page; mappings hold references of their own, so that a new DMA
 *		start gives a new page. By map_lock
 * @owner: who has claimed the link, or NULL; by mutex, map_lock and event_lock: hold all three to
 *	   change it, any to read it
 * @lost: the last owner lost it with the board, and may still read what it has mapped; by mutex
 * @delegate: other client that acts for the link, by the owner's grant, or NULL; by mutex and event_lock:
 *	      hold both to change it, either to read it
 * @words: on their way to the link; by event_lock
 * @others_words: of them, those whose senders did not act for the link
 * @linger_until: jiffies at which a lingering ring stops
 * @broken: the board has told what cannot be; by event_lock
 * @quarantined: the board would not stop writing here: the memory is never given back or used again
 * @stats: counters for NANET3_IOC_STATS; by event_lock, interrupts by its own vector's handler
 */
struct nanet3_link {
	struct nanet3_dev *dev;
	u32 index;
	struct nanet3_ring *ring;
	struct nanet3_event *completions;
	struct nanet3_area *chunks;
	__le64 *table;
	dma_addr_t table_dma;
	struct page *owner_page;
	struct nanet3_client *owner;
	struct nanet3_client *delegate;
	u32 words;
	u32 others_words;
	unsigned long linger_until;
	bool lost;
	bool broken;
	bool quarantined;
	struct nanet3_link_stats stats;
};

/**
 * struct nanet3_pin - pinned user memory
 * @next: of those that wait for nanet3_unpin()
 * @mm: whose locked memory it counts as
 * @count: how many pages
 * @pages: the pages
 */
struct nanet3_pin {
	struct nanet3_pin *next;
	struct mm_struct *mm;
	unsigned long count;
	struct page *pages[];
};

/**
 * struct nanet3_buffer - a registered user buffer
 * @client: its registrant; NULL: nobody's. By mutex and tx_mutex and
 *	    event_lock: hold all three to change it, any to read it
 * @pin: its memory; NULL: this number is free
 * @mapped: pages of @table that are mapped for DMA
 * @offset: of the first byte in the first page
 * @length: bytes
 * @table: bus addresses of the pages, for the board
 * @table_dma: bus address of @table
 * @need_sync: the pages are bounced, or may be as far as we are told: copy before and
 *	       after a put
 * @stuck: the board was stopped and would not let go of it
 * @parked: given back by its registrant, but packets on the TX ring still name it
 * @quarantined: the board would not let go of it: memory and number are never used again
 */
struct nanet3_buffer {
	struct nanet3_client *client;
	struct nanet3_pin *pin;
	unsigned long mapped;
	u32 offset;
	u64 length;
	__le64 *table;
	dma_addr_t table_dma;
	bool need_sync;
	bool stuck;
	bool parked;
	bool quarantined;
};

/**
 * struct nanet3_page - a page that is mapped for DMA
 * @bus: its bus address
 * @users: how often it lies in a registered buffer, by mutex
 */
struct nanet3_page {
	dma_addr_t bus;
	u32 users;
};

/**
 * struct nanet3_slot - a word or a put on its way to its completion
 * @client: who sent it; NULL: has closed since
 * @cookie: the sender's
 * @generation: makes the board's cookie differ from the slot's last one
 * @link: where to, for the event of one that a reset swallowed
 * @put: a put: two events come, TX and PUT
 * @others: a word whose sender did not act for the link
 * @told: the TX event of a put has come
 * @buffer: where a put goes, for its PUT event if a reset swallows it
 * @length: of a put
 * @position: in @buffer
 */
struct nanet3_slot {
	struct nanet3_client *client;
	u64 cookie;
	u32 generation;
	u8 link;
	bool put;
	bool others;
	bool told;
	u32 buffer;
	u32 length;
	u64 position;
};

/**
 * struct nanet3_tx_use - which buffers a descriptor on the TX ring names
 * @source: a number, or NANET3_BUFFERS for none
 * @destination: likewise
 */
struct nanet3_tx_use {
	u8 source;
	u8 destination;
};

/**
 * struct nanet3_client - one open file
 * @dev: the board
 * @file: the file, for its mappings
 * @list: among dev->clients, by event_lock
 * @number: of the handle, for NANET3_IOC_GRANT
 * @greeted: INFO has been answered
 * @dead: the board has gone, or has been reset under it: every request gets ENODEV. By event_lock
 * @polling: NANET3_IOC_POLLING is on; by mutex and event_lock: hold both to change it
 * @subscribed: mask of event types, by event_lock
 * @sink: where a doorbell leads that is not its owner's any more
 * @lock: the queue's write end, and what is below
 * @queue: header of the event queue that user space maps, in vmalloc_user() memory
 * @events: the events, in the same memory
 * @write: events written; the mapped one is for the client to read
 * @rx: latest RX event of each link, not announced yet
 * @rx_pending: bit per link in @rx
 * @announced: when data was last announced
 * @announce: timer for what has to wait until a millisecond has passed since
 * @wait: for the queue to be not empty
 */
struct nanet3_client {
	struct nanet3_dev *dev;
	struct file *file;
	struct list_head list;
	u64 number;
	bool greeted;
	bool dead;
	bool polling;
	u32 subscribed;
	struct page *sink;

	spinlock_t lock; /* the queue's write end, see above */
	struct nanet3_queue *queue;
	struct nanet3_event *events;
	u64 write;
	struct nanet3_event rx[NANET3_LINKS];
	u32 rx_pending;
	ktime_t announced;
	struct hrtimer announce;
	wait_queue_head_t wait;
};

/**
 * enum nanet3_state - of the device; drawn in nanet3_pci.c
 * @NANET3_READY: set up, answering
 * @NANET3_FROZEN: the bus is being recovered, or the machine sleeps
 * @NANET3_GONE: off the bus, until it is recovered; or removed
 */
enum nanet3_state {
	NANET3_READY,
	NANET3_FROZEN,
	NANET3_GONE,
};

/**
 * struct nanet3_vector - one interrupt vector
 * @dev: the board
 * @index: of the vector: a link's, or NANET3_LINKS for control
 * @irq: Linux' number; 0: not requested
 * @name: as in /proc/interrupts
 * @taken_ns: when an event of this vector was last taken, by event_lock
 * @interrupts: handled, by its own handler
 */
struct nanet3_vector {
	struct nanet3_dev *dev;
	u32 index;
	int irq;
	char name[24];
	u64 taken_ns;
	u64 interrupts;
};

/**
 * struct nanet3_pps_stamp - when a PPS interrupt came
 * @number: of the PPS
 * @time_ns: CLOCK_MONOTONIC then; 0: none has come
 * @ts: taken in the interrupt itself
 */
struct nanet3_pps_stamp {
	u32 number;
	u64 time_ns;
	struct pps_event_time ts;
};

/**
 * struct nanet3_dev - a board
 * @device: in class nanet3; everything here lives as long as it
 * @cdev: the node
 * @pdev: the PCI function
 * @config: its configuration at probe, to be restored whatever has happened to it since
 * @index: N of nanet3-N
 * @bar: the registers
 * @bar_start: their bus address, for doorbells
 * @life: see above
 * @mutex: see above
 * @map_lock: see above
 * @tx_mutex: see above
 * @event_lock: see above
 * @state: enum nanet3_state; changed under event_lock
 * @dma_present: DMA memory is there; by map_lock
 * @links: the links
 * @vectors: the interrupt vectors
 * @evq: the board's event queue
 * @evq_size: events, a power of two
 * @evq_read: events taken
 * @evq_live: the queue is the board's to write
 * @stamp_lock: the two below; the hard interrupt handler's
 * @peeked: events that it has looked at, for the PPS
 * @stamps: times of the last PPS, by number
 * @pps: the PPS source, or NULL
 * @pps_taken_ns: when a PPS was taken whose interrupt had not come yet, or 0; by event_lock
 * @pps_waiting: its number
 * @tx: the TX ring
 * @tx_dma: its bus address
 * @tx_write: descriptors written, by tx_mutex
 * @tx_rung: descriptors that the doorbell has told
 * @tx_read: descriptors that the board was last seen to have taken
 * @tx_uses: buffers that the descriptors name, by tx_mutex
 * @slots: what is on its way, by event_lock
 * @slots_busy: which of them
 * @puts: how many of these are puts
 * @buffers: registered buffers by number
 * @parked: buffers that wait for the TX ring, by mutex
 * @pages: struct nanet3_page by page frame number, of all buffers; by mutex
 * @clients: open files
 * @last_number: of a handle that was given
 * @wq: for the tick
 * @tick: finds events whose interrupt was lost, follows polled links, ends lingering
 * @tick_head: @evq_read at the last tick if an event waited there, or ~0
 * @check_at: jiffies at which the tick looks whether the board is still there
 * @boot_count: of the board that has been set up
 * @stats: counters for NANET3_IOC_STATS, by event_lock
 * @hwmon: sensors, or NULL
 * @debugfs: directory
 */
struct nanet3_dev {
	struct device device;
	struct cdev cdev;
	struct pci_dev *pdev;
	struct pci_saved_state *config;
	int index;
	void __iomem *bar;
	resource_size_t bar_start;

	struct rw_semaphore life;
	struct mutex mutex; /* who owns what, see above */
	struct rw_semaphore map_lock;
	struct mutex tx_mutex; /* the TX ring's write end, see above */
	spinlock_t event_lock; /* the event queue's read end, see above */
	enum nanet3_state state;
	bool dma_present;

	struct nanet3_link links[NANET3_LINKS];
	struct nanet3_vector vectors[NANET3_VECTORS];

	struct nanet3_area evq;
	u32 evq_size;
	u32 evq_read;
	bool evq_live;
	raw_spinlock_t stamp_lock; /* the two below, see above */
	u32 peeked;
	struct nanet3_pps_stamp stamps[4];
	struct pps_device *pps;
	u64 pps_taken_ns;
	u32 pps_waiting;

	u8 *tx;
	dma_addr_t tx_dma;
	u32 tx_write;
	u32 tx_rung;
	u32 tx_read;
	struct nanet3_tx_use tx_uses[NANET3_TX_SIZE];
	struct nanet3_slot slots[NANET3_SLOTS];
	DECLARE_BITMAP(slots_busy, NANET3_SLOTS);
	u32 puts;

	struct nanet3_buffer buffers[NANET3_BUFFERS];
	u32 parked;
	struct xarray pages;
	struct list_head clients;
	u64 last_number;

	struct workqueue_struct *wq;
	struct delayed_work tick;
	u64 tick_head;
	unsigned long check_at;
	u32 boot_count;
	struct nanet3_stats stats;
	struct device *hwmon;
	struct dentry *debugfs;
};

/* nanet3_pci.c: module parameters */
extern unsigned int nanet3_depth_ms;
extern unsigned int nanet3_frames_per_buffer;
extern unsigned int nanet3_deadline_us;
extern unsigned int nanet3_linger_ms;

/* nanet3_board.c */

/**
 * nanet3_read() - read a register
 * @dev: the board; life held, or the caller is probe
 * @offset: NANET3_REG_*
 *
 * Return: its value; all ones of a board that is gone
 */
static inline u32 nanet3_read(struct nanet3_dev *dev, u32 offset)
{
	return ioread32(dev->bar + offset);
}

/**
 * nanet3_write() - write a register
 * @dev: the board; life held, or the caller is probe
 * @offset: NANET3_REG_*
 * @value: to write
 */
static inline void nanet3_write(struct nanet3_dev *dev, u32 offset, u32 value)
{
	iowrite32(value, dev->bar + offset);
}

u64 nanet3_read_pair(struct nanet3_dev *dev, u32 offset);
void nanet3_write_pair(struct nanet3_dev *dev, u32 offset, u64 value);
bool nanet3_answers(struct nanet3_dev *dev);
void nanet3_check(struct nanet3_dev *dev);
int nanet3_board_setup(struct nanet3_dev *dev);
void nanet3_board_stop(struct nanet3_dev *dev);
void nanet3_board_reset(struct nanet3_dev *dev);
void nanet3_irq_mask(struct nanet3_dev *dev);
void nanet3_set_state(struct nanet3_dev *dev, enum nanet3_state state);
void nanet3_set_gone(struct nanet3_dev *dev);

/* nanet3_irq.c */
int nanet3_irqs_request(struct nanet3_dev *dev);
void nanet3_irqs_free(struct nanet3_dev *dev);
void nanet3_stamps_reset(struct nanet3_dev *dev);
unsigned int nanet3_drain(struct nanet3_dev *dev);
void nanet3_tick_start(struct nanet3_dev *dev);
void nanet3_tick_stop(struct nanet3_dev *dev);
void nanet3_tick_work(struct work_struct *work);

/* nanet3_ring.c */
int nanet3_rings_create(struct nanet3_dev *dev);
void nanet3_rings_free_dma(struct nanet3_dev *dev);
void nanet3_rings_free(struct nanet3_dev *dev);
int nanet3_claim(struct nanet3_client *c, struct nanet3_claim *claim);
int nanet3_yield(struct nanet3_client *c, u32 link);
int nanet3_release(struct nanet3_client *c, const struct nanet3_release *release);
int nanet3_grant(struct nanet3_client *c, const struct nanet3_grant *grant);
bool nanet3_acts_for(struct nanet3_client *c, u32 link);
void nanet3_delegate_drop(struct nanet3_client *c);
int nanet3_polling(struct nanet3_client *c, struct nanet3_polling *polling);
void nanet3_link_linger(struct nanet3_link *l);
void nanet3_link_disown(struct nanet3_link *l, enum nanet3_ring_status status);
void nanet3_link_lose(struct nanet3_link *l);
unsigned int nanet3_link_follow(struct nanet3_link *l);
bool nanet3_link_wait_idle(struct nanet3_link *l);
void nanet3_link_quarantine(struct nanet3_link *l);
void nanet3_linger_check(struct nanet3_dev *dev);
void nanet3_broken_check(struct nanet3_dev *dev);

/* nanet3_client.c */
struct nanet3_client *nanet3_client_create(struct nanet3_dev *dev, struct file *file);
void nanet3_client_destroy(struct nanet3_client *c);
void nanet3_client_post(struct nanet3_client *c, const struct nanet3_event *ev);
void nanet3_client_data(struct nanet3_client *c, const struct nanet3_event *ev);
void nanet3_client_announce(struct nanet3_client *c);
void nanet3_client_hang_up(struct nanet3_client *c);
bool nanet3_client_has_events(struct nanet3_client *c);
int nanet3_client_wait(struct nanet3_client *c, u32 timeout_ms);

/* nanet3_chrdev.c */
extern const struct file_operations nanet3_fops;
int nanet3_enter(struct nanet3_client *c);
void nanet3_leave(struct nanet3_client *c);

/* nanet3_mmap.c */
int nanet3_area_alloc(struct nanet3_dev *dev, struct nanet3_area *area, size_t bytes);
void nanet3_area_free(struct nanet3_dev *dev, struct nanet3_area *area);
void nanet3_area_keep(struct nanet3_area *area, size_t from, size_t to);
void nanet3_area_forget(struct nanet3_area *area);
int nanet3_mmap(struct file *file, struct vm_area_struct *vma);
void nanet3_revoke_doorbell(struct nanet3_client *c, u32 link);
void nanet3_revoke_dma(struct nanet3_dev *dev);

/* nanet3_buffer.c */
int nanet3_register(struct nanet3_client *c, struct nanet3_register *r);
int nanet3_unregister(struct nanet3_client *c, u32 number);
void nanet3_buffers_stop(struct nanet3_dev *dev, bool was_reset);
void nanet3_buffers_drop(struct nanet3_dev *dev, struct nanet3_client *c,
			 struct nanet3_pin **freed);
void nanet3_unpin(struct nanet3_pin *pin);
void nanet3_buffers_unpark(struct nanet3_dev *dev, struct nanet3_pin **freed);
void nanet3_buffers_free(struct nanet3_dev *dev);
void nanet3_buffers_restore(struct nanet3_dev *dev);
void nanet3_buffer_sync_for_board(struct nanet3_dev *dev, struct nanet3_buffer *b, u64 offset,
				  u64 length);
void nanet3_buffer_sync_for_cpu(struct nanet3_dev *dev, struct nanet3_buffer *b, u64 offset,
				u64 length);

/* nanet3_tx.c */
int nanet3_tx_create(struct nanet3_dev *dev);
void nanet3_tx_free(struct nanet3_dev *dev);
int nanet3_send(struct nanet3_client *c, const struct nanet3_tx *tx);
int nanet3_put(struct nanet3_client *c, const struct nanet3_put *put);
void nanet3_tx_flush(struct nanet3_dev *dev);
bool nanet3_tx_uses(struct nanet3_dev *dev, u32 buffer);
void nanet3_tx_event(struct nanet3_dev *dev, struct nanet3_event *ev);
void nanet3_tx_abort(struct nanet3_dev *dev);
void nanet3_tx_forget(struct nanet3_client *c);

/* nanet3_sysfs.c */
extern const struct attribute_group *nanet3_groups[];
extern atomic64_t nanet3_quarantined;
void nanet3_stats_get(struct nanet3_dev *dev, struct nanet3_stats *ret_stats);
void nanet3_extras_create(struct nanet3_dev *dev);
void nanet3_extras_destroy(struct nanet3_dev *dev);
void nanet3_debugfs_init(void);
void nanet3_debugfs_exit(void);

/* nanet3_hwmon.c */
#if IS_ENABLED(CONFIG_HWMON)
int nanet3_hwmon_create(struct nanet3_dev *dev);
void nanet3_hwmon_destroy(struct nanet3_dev *dev);
#else
static inline int nanet3_hwmon_create(struct nanet3_dev *dev)
{
	return 0;
}

static inline void nanet3_hwmon_destroy(struct nanet3_dev *dev)
{
}
#endif

#endif

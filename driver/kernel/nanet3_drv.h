/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside nanet3.ko: what its files share; README.md lists them. The contract with board and user
 * space is nanet3.h.
 *
 * Locks, outermost first:
 *
 *   life (rwsem)          read: the registers may be touched. Write: error recovery and removal
 *     mutex               who owns what: links, buffers, polling; DMA start and stop, set-up
 *       mmap_lock         (the kernel's, of the process that maps or pins)
 *         map_lock (rwsem) what a page fault looks at: owners, DMA memory is there
 *       tx_mutex          the TX ring's write end; registers that latch (64-bit pairs)
 *         event_lock      the event queue's read end, ring positions, client list, TX slots
 *           client.lock   a client's queue (also from a timer: bottom halves off)
 *           stamp_lock (raw) times of PPS interrupts (also from the hard handler: interrupts off)
 *
 * A page fault comes with mmap_lock held and takes map_lock, so user memory must not be touched
 * under map_lock. Requests copy to and from user space outside of all of these.
 *
 * Memory shared with the board is little-endian, and so is what of it is handed to user space as
 * it is (events). Coherent memory is mapped as cached memory. Both are as on x86.
 */
#ifndef NANET3_DRV_H
#define NANET3_DRV_H

#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/hrtimer.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
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
#include "nanet3_rules.h"

#if !IS_ENABLED(CONFIG_X86_64)
#error "nanet3: x86-64 only, see nanet3_drv.h"
#endif
#if !IS_ENABLED(CONFIG_PPS)
#error "nanet3: needs CONFIG_PPS"
#endif
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
#define NANET3_OVERDUE_S    30u	    /* from SEND or PUT to its last event; a word may wait 10 s */
#define NANET3_LATE_NS	    (5 * NSEC_PER_MSEC) /* from an event taken to its interrupt */
#define NANET3_HEAL_MS	    20u /* from the loss of a board to the first look for it */

struct nanet3_client;
struct nanet3_dev;

/* Coherent memory that user space may map. */
struct nanet3_area {
	void *cpu;	     /* NULL: there is none */
	dma_addr_t dma;	     /* where the board sees it */
	size_t bytes;	     /* whole pages */
	struct sg_table sgt; /* its pages, for page faults */
	/* When the memory is gone with the board: a copy of each page not yet released, or NULL. */
	struct page **kept;
};

/* A link of the board and its ring. */
struct nanet3_link {
	struct nanet3_dev *dev;
	u32 index;
	struct nanet3_ring *ring; /* for user space, vmalloc_user(); positions by event_lock */
	struct nanet3_event *completions; /* in the same memory */
	struct nanet3_area *chunks;	  /* ring->chunks areas of ring->chunk_buffers buffers */
	__le64 *table;			  /* bus addresses of the buffers, for the board */
	dma_addr_t table_dma;
	/* By map_lock. Mappings hold references of their own: a new DMA start gives a new page. */
	struct page *owner_page;
	/* By mutex, map_lock and event_lock: hold all three to change it, any to read. */
	struct nanet3_client *owner;
	/* Acts for the link by the owner's grant. By mutex and event_lock: hold both to change. */
	struct nanet3_client *delegate;
	u32 words;		    /* on their way to the link; by event_lock */
	u32 others_words;	    /* of them, from senders that did not act for the link */
	unsigned long linger_until; /* jiffies at which a lingering ring stops */
	bool lost;		    /* with the board; the last owner may still read. By mutex */
	bool broken;		    /* the board completed what cannot be; by event_lock */
	bool quarantined; /* the board would not stop: the memory is never freed or reused */
	struct nanet3_link_stats stats; /* by event_lock */
};

/* Pinned user memory. */
struct nanet3_pin {
	struct nanet3_pin *next; /* of those that wait for nanet3_unpin() */
	struct mm_struct *mm;	 /* whose locked memory it counts as */
	unsigned long count;
	struct page *pages[];
};

/* A registered user buffer. */
struct nanet3_buffer {
	/* By mutex, tx_mutex and event_lock: hold all three to change it, any to read. */
	struct nanet3_client *client;
	struct nanet3_pin *pin; /* NULL: this number is free */
	unsigned long mapped;	/* pages of the table that are mapped for DMA */
	u32 offset;		/* of the first byte in the first page */
	u64 length;
	__le64 *table; /* bus addresses of the pages, for the board */
	dma_addr_t table_dma;
	bool need_sync;	  /* pages are or may be bounced: copy before and after a put */
	bool stuck;	  /* the board was stopped and did not let go of it */
	bool parked;	  /* unregistered, but a put on its way still names it */
	bool quarantined; /* the board never let go of it: memory and number are not used again */
};

/* A page that is mapped for DMA. */
struct nanet3_page {
	dma_addr_t bus;
	u32 users; /* how often it lies in a registered buffer; by mutex */
};

/* A word or a put on its way to its completion. */
struct nanet3_slot {
	struct nanet3_client *client; /* the sender; NULL: has closed since */
	u64 cookie;		      /* the sender's */
	u32 generation;		      /* of the slot: makes the board's cookies differ */
	u8 link;
	bool put;	       /* two events come, TX and PUT */
	bool others;	       /* a word whose sender did not act for the link */
	bool tx_sent;	       /* the TX event of a put has come */
	bool faulted;	       /* the board has not read a packet of the put, or not taken it */
	unsigned long overdue; /* jiffies at which its last event should have come */
	/* Of a put: the board may use both buffers until its last event. */
	u32 source;
	/* Likewise, and for its PUT event if a reset discards it. */
	u32 buffer;
	u32 length;
	u64 position;
};

/* A descriptor on the TX ring: whose it is. */
struct nanet3_tx_place {
	u32 number; /* descriptors posted before */
	u16 slot;
	bool last; /* no other of its slot follows */
};

/* An open file. */
struct nanet3_client {
	struct nanet3_dev *dev;
	struct file *file;     /* for its mappings */
	struct list_head list; /* in dev->clients, by event_lock */
	u64 number;	       /* of the handle, for NANET3_IOC_GRANT */
	bool greeted;	       /* INFO has been answered */
	bool dead;    /* the board is gone or was reset: every request gets ENODEV. By event_lock */
	bool polling; /* by mutex and event_lock: hold both to change it */
	u32 subscribed;	   /* mask of event types, by event_lock */
	struct page *sink; /* where a doorbell leads that is no longer its owner's */

	spinlock_t lock;	     /* of all below: the queue's write end */
	struct nanet3_queue *queue;  /* what user space maps, vmalloc_user() */
	struct nanet3_event *events; /* in the same memory */
	u64 write;		     /* events written; the mapped index is only for the client */
	struct nanet3_event rx[NANET3_LINKS]; /* latest of each link, not announced yet */
	u32 rx_pending;			      /* bit per link in rx */
	ktime_t announced;
	struct hrtimer announce; /* for what has to wait until a millisecond has passed since */
	wait_queue_head_t wait;	 /* for the queue to be not empty */
};

/* Of the device; drawn in nanet3_pci.c. */
enum nanet3_state {
	NANET3_READY,  /* set up, answers */
	NANET3_FROZEN, /* the bus is being recovered, or the machine sleeps */
	NANET3_GONE,   /* it does not answer: looked for until it does; or removed */
};

/* An interrupt vector. */
struct nanet3_vector {
	struct nanet3_dev *dev;
	u32 index; /* a link's, or NANET3_LINKS for control */
	int irq;   /* Linux' number; 0: not requested */
	char name[24];
	u64 taken_ns;	/* when an event of this vector was last taken, by event_lock */
	u64 interrupts; /* counted by its own handler */
};

/* When a PPS interrupt came. */
struct nanet3_pps_stamp {
	u32 number;
	u64 time_ns;		  /* CLOCK_MONOTONIC then; 0: none has come */
	struct pps_event_time ts; /* taken in the interrupt itself */
};

/* A board. Lives as long as its struct device. */
struct nanet3_dev {
	struct device device;
	struct cdev cdev;
	struct pci_dev *pdev;
	struct pci_saved_state *config; /* as at probe, restored whatever has happened since */
	int index;			/* N of nanet3-N */
	void __iomem *bar;
	resource_size_t bar_start; /* bus address of bar, for doorbells */

	/* What each lock is for: see the head of this file. */
	struct rw_semaphore life;
	struct mutex mutex; /* who owns what */
	struct rw_semaphore map_lock;
	struct mutex tx_mutex;	 /* the TX ring's write end */
	spinlock_t event_lock;	 /* the event queue's read end */
	enum nanet3_state state; /* changed under event_lock */
	bool dma_present;	 /* DMA memory is there; by map_lock */

	struct nanet3_link links[NANET3_LINKS];
	struct nanet3_vector vectors[NANET3_VECTORS];

	struct nanet3_area evq;	   /* the board's event queue */
	u32 evq_size;		   /* events, a power of two */
	u32 evq_read;		   /* events taken */
	bool evq_live;		   /* the board may write to the queue */
	raw_spinlock_t stamp_lock; /* of the two below, shared with the hard interrupt handler */
	u32 peeked;		   /* events that it has looked at, for the PPS */
	struct nanet3_pps_stamp stamps[4]; /* of the last PPS, by number */
	struct pps_device *pps;		   /* or NULL */
	u64 pps_taken_ns; /* when a PPS was taken before its interrupt came, or 0; by event_lock */
	u32 pps_waiting;  /* its number */

	u8 *tx; /* the TX ring */
	dma_addr_t tx_dma;
	/* Descriptors written, announced by the doorbell, last seen taken, written at the last look at
	 * what is held back; by tx_mutex. */
	u32 tx_write;
	u32 tx_rung;
	u32 tx_read;
	u32 tx_seen;
	struct nanet3_tx_place tx_places[NANET3_TX_SIZE]; /* by event_lock */
	struct nanet3_slot slots[NANET3_SLOTS];		  /* what is on its way, by event_lock */
	DECLARE_BITMAP(slots_busy, NANET3_SLOTS);
	u32 puts; /* how many of them are puts */

	struct nanet3_buffer buffers[NANET3_BUFFERS]; /* registered, by number */
	u32 parked;				      /* buffers that wait for puts, by mutex */
	struct xarray pages; /* struct nanet3_page by page frame number, of all buffers; by mutex */
	struct list_head clients;
	u64 last_number; /* the last handle's */

	struct workqueue_struct *wq; /* for the tick */
	/* Takes events whose interrupt was lost, follows polled links, ends lingering. */
	struct delayed_work tick;
	u64 tick_head;		/* evq_read at the last tick if an event waited, or ~0 */
	unsigned long check_at; /* jiffies at which the tick next checks that the board is there */
	u32 boot_count;		/* of the board that has been set up */
	u32 version;		/* as last read */
	bool unsettled;		/* its DMA did not stop at the last set-up, which has been logged */
	u32 caps;		/* NANET3_CAP_* of it */
	u32 missing;		/* event that had not come at the last check, plus 1; or 0 */
	/* Looks for a board that is gone. Cancelled at removal only. */
	struct delayed_work heal;
	bool erring; /* FROZEN by an error on the bus, which the core is recovering from */
	unsigned long given_up_at; /* jiffies, while erring: after that the core has given up */
	u32 heal_ms;		   /* from look to look */
	atomic64_t lost_reads;	   /* that had an answer when they were repeated */
	struct nanet3_stats stats; /* by event_lock */
	struct device *hwmon;	   /* or NULL */
	struct dentry *debugfs;
};

/* ---------------------------------------------------------------------- registers */

/* nanet3_reg.c */
u32 nanet3_read(struct nanet3_dev *dev, u32 offset);
bool nanet3_there(struct nanet3_dev *dev);

/* Write a register. Life held, or the caller is probe. */
static inline void nanet3_write(struct nanet3_dev *dev, u32 offset, u32 value)
{
	iowrite32(value, dev->bar + offset);
}

/*
 * A 64-bit register by the offset of its low half, whose reading latches the high one: tx_mutex
 * held.
 */
static inline u64 nanet3_read_pair(struct nanet3_dev *dev, u32 offset)
{
	u32 low = nanet3_read(dev, offset);

	return (u64)nanet3_read(dev, offset + 4) << 32 | low;
}

/* Write a 64-bit register, by the offset of its low half: the high half first. */
static inline void nanet3_write_pair(struct nanet3_dev *dev, u32 offset, u64 value)
{
	nanet3_write(dev, offset + 4, upper_32_bits(value));
	nanet3_write(dev, offset, lower_32_bits(value));
}

/* Run the tick now. The board is ready. */
static inline void nanet3_tick_start(struct nanet3_dev *dev)
{
	mod_delayed_work(dev->wq, &dev->tick, 0); /* a later one could be put off for ever */
}

/* Look for the board, which is gone, in a while. */
static inline void nanet3_heal_start(struct nanet3_dev *dev)
{
	mod_delayed_work(dev->wq, &dev->heal, msecs_to_jiffies(dev->heal_ms));
}

/* A link by its number, below NANET3_LINKS, also where the processor only guesses that it is. */
static inline struct nanet3_link *nanet3_link_at(struct nanet3_dev *dev, u32 link)
{
	return &dev->links[array_index_nospec(link, NANET3_LINKS)];
}

/*
 * The files, lowest first: each calls only those above it. nanet3_put() and the other functions of
 * (client, arg) are requests, called by the table of nanet3_chrdev.c: @arg is the request's struct
 * in nanet3.h.
 */

/* nanet3_client.c */
struct nanet3_client *nanet3_client_create(struct nanet3_dev *dev, struct file *file);
void nanet3_client_destroy(struct nanet3_client *c);
void nanet3_client_post(struct nanet3_client *c, const struct nanet3_event *ev);
void nanet3_client_data(struct nanet3_client *c, const struct nanet3_event *ev);
void nanet3_client_announce(struct nanet3_client *c);
void nanet3_client_hang_up(struct nanet3_client *c);
bool nanet3_client_has_events(struct nanet3_client *c);
int nanet3_wait(struct nanet3_client *c, void *arg);
int nanet3_enter(struct nanet3_client *c);
void nanet3_leave(struct nanet3_client *c);
bool nanet3_acts_for(struct nanet3_client *c, u32 link);
bool nanet3_owns_any(const struct nanet3_client *c);

/* nanet3_mmap.c */
int nanet3_area_alloc(struct nanet3_dev *dev, struct nanet3_area *area, size_t bytes);
void nanet3_area_free(struct nanet3_dev *dev, struct nanet3_area *area);
void nanet3_area_keep(struct nanet3_area *area, size_t from, size_t to);
void nanet3_area_forget(struct nanet3_area *area);
int nanet3_mmap(struct file *file, struct vm_area_struct *vma);
void nanet3_revoke_doorbell(struct nanet3_client *c, u32 link);
void nanet3_revoke_doorbells(struct nanet3_dev *dev);
void nanet3_revoke_dma(struct nanet3_dev *dev);

/* nanet3_buffer_regs.c */
void nanet3_buffer_program(struct nanet3_dev *dev, u32 n, const struct nanet3_buffer *b);
bool nanet3_buffer_may_be_busy(struct nanet3_dev *dev, u32 n);
bool nanet3_buffer_stop(struct nanet3_dev *dev, u32 n);
void nanet3_buffers_stop(struct nanet3_dev *dev, bool was_reset);
void nanet3_buffers_restore(struct nanet3_dev *dev);
void nanet3_buffer_sync(struct nanet3_dev *dev, struct nanet3_buffer *b, u64 offset, u64 length,
			bool for_board);

/* nanet3_slot.c */
u32 nanet3_slot_get(struct nanet3_dev *dev, const struct nanet3_slot *like);
u64 nanet3_slot_cookie(const struct nanet3_dev *dev, u32 n);
void nanet3_slot_event(struct nanet3_dev *dev, struct nanet3_event *ev);
void nanet3_slot_not_read(struct nanet3_dev *dev, u32 number);
bool nanet3_slots_use(struct nanet3_dev *dev, u32 buffer);
bool nanet3_slots_overdue(struct nanet3_dev *dev);
void nanet3_slots_abort(struct nanet3_dev *dev);

/* nanet3_event.c */
unsigned int nanet3_drain(struct nanet3_dev *dev);
unsigned int nanet3_drain_locked(struct nanet3_dev *dev);
bool nanet3_event_waits(struct nanet3_dev *dev);
u32 nanet3_event_missing(struct nanet3_dev *dev);
void nanet3_pps_peek(struct nanet3_dev *dev);
void nanet3_pps_follow(struct nanet3_dev *dev);
void nanet3_stamps_reset(struct nanet3_dev *dev);

/* nanet3_ring.c */
extern atomic64_t nanet3_quarantined;
int nanet3_rings_create(struct nanet3_dev *dev);
void nanet3_rings_free_dma(struct nanet3_dev *dev);
void nanet3_rings_free(struct nanet3_dev *dev);
void nanet3_irq_mask(struct nanet3_dev *dev);
void nanet3_link_own(struct nanet3_link *l, struct nanet3_client *owner,
		     enum nanet3_ring_status status);
void nanet3_link_disown(struct nanet3_link *l, enum nanet3_ring_status status);
void nanet3_link_lose(struct nanet3_link *l);
bool nanet3_link_wait_idle(struct nanet3_link *l);
bool nanet3_link_may_be_busy(struct nanet3_link *l);
void nanet3_link_quarantine(struct nanet3_link *l);
unsigned int nanet3_link_follow(struct nanet3_link *l);
void nanet3_link_linger(struct nanet3_link *l);

/* nanet3_board.c */
void nanet3_end_mastering(struct nanet3_dev *dev);
bool nanet3_answers(struct nanet3_dev *dev);
void nanet3_check(struct nanet3_dev *dev);
bool nanet3_version_known(struct nanet3_dev *dev);
int nanet3_board_setup(struct nanet3_dev *dev, bool start);
void nanet3_board_stop(struct nanet3_dev *dev);
void nanet3_board_reset(struct nanet3_dev *dev, const char *reason);
void nanet3_set_state(struct nanet3_dev *dev, enum nanet3_state state);

/* nanet3_claim.c */
int nanet3_claim(struct nanet3_client *c, void *arg);
int nanet3_yield(struct nanet3_client *c, void *arg);
int nanet3_grant(struct nanet3_client *c, void *arg);
int nanet3_release(struct nanet3_client *c, void *arg);
int nanet3_polling(struct nanet3_client *c, void *arg);
void nanet3_links_check(struct nanet3_dev *dev);

/* nanet3_tx.c */
int nanet3_tx_create(struct nanet3_dev *dev);
void nanet3_tx_free(struct nanet3_dev *dev);
void nanet3_tx_flush(struct nanet3_dev *dev);
void nanet3_tx_flush_old(struct nanet3_dev *dev);
void nanet3_tx_forget(struct nanet3_client *c);
int nanet3_send(struct nanet3_client *c, void *arg);
int nanet3_put(struct nanet3_client *c, void *arg);

/* nanet3_buffer.c */
int nanet3_register(struct nanet3_client *c, void *arg);
int nanet3_unregister(struct nanet3_client *c, void *arg);
void nanet3_buffers_drop(struct nanet3_dev *dev, struct nanet3_client *c,
			 struct nanet3_pin **freed);
void nanet3_buffers_unpark(struct nanet3_dev *dev, struct nanet3_pin **freed);
void nanet3_unpin(struct nanet3_pin *pin);
void nanet3_buffers_free(struct nanet3_dev *dev);

/* nanet3_irq.c */
int nanet3_irqs_request(struct nanet3_dev *dev);
void nanet3_irqs_free(struct nanet3_dev *dev);
void nanet3_tick_work(struct work_struct *work);

/* nanet3_hwmon.c */
void nanet3_hwmon_create(struct nanet3_dev *dev);
void nanet3_hwmon_destroy(struct nanet3_dev *dev);

/* nanet3_sysfs.c */
extern const struct attribute_group *nanet3_groups[];
extern struct dentry *nanet3_debugfs;
void nanet3_stats_get(struct nanet3_dev *dev, struct nanet3_stats *ret_stats);
void nanet3_extras_create(struct nanet3_dev *dev);
void nanet3_extras_destroy(struct nanet3_dev *dev);

/* nanet3_chrdev.c */
extern const struct file_operations nanet3_fops;

#endif

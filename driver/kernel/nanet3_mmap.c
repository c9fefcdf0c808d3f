// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mappings for user space, and what happens to them when the board is gone.
 *
 *   queue, ring state    vmalloc_user() pages, mapped at once: pages live as long as their mappings
 *   owner page           one page, likewise
 *   chunks, event queue  coherent DMA memory, mapped by page faults
 *   doorbell             a page of the BAR, mapped by page faults
 *
 * DMA memory and BAR must go with the board, even if they are mapped. Mappings are revoked then.
 * Later faults find copies of what was handed over and not released, so that a reader can finish
 * its buffer; any other fault gets SIGBUS. A doorbell that is no longer its owner's leads to a
 * page that is never read.
 *
 * dma_mmap_coherent() is not used because it maps at once: between its return and the kernel's
 * linking of the area, unmap_mapping_range() does not find it, and memory that is being freed
 * would stay mapped. A fault that comes after the revocation sees it.
 */
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/vmalloc.h>

#include "compat.h"
#include "nanet3_drv.h"

#define MAP_KIND(offset)  ((offset) & (0xfull << 40))
#define MAP_LINK(offset)  ((u32)((offset) >> 36) & 0xf)
#define MAP_CHUNK(offset) ((u32)((offset) >> 24) & 0xfff)
#define KIND_SPACE	  BIT_ULL(40) /* offsets from kind to kind */

/* A request for too much memory fails with ENOMEM, and no process is killed for it. */
#define AREA_GFP (GFP_KERNEL | __GFP_NOWARN | __GFP_RETRY_MAYFAIL)

/* ------------------------------------------------------------------------ areas */

/*
 * Allocate coherent memory that can be mapped, up to NANET3_CHUNK_MAX, rounded up to pages: 0 or
 * -ENOMEM.
 */
int nanet3_area_alloc(struct nanet3_dev *dev, struct nanet3_area *area, size_t bytes)
{
	struct device *parent = &dev->pdev->dev;
	int r;

	bytes = PAGE_ALIGN(bytes);
	area->cpu = dma_alloc_coherent(parent, bytes, &area->dma, AREA_GFP);
	if (!area->cpu)
		return -ENOMEM;
	r = dma_get_sgtable(parent, &area->sgt, area->cpu, area->dma, bytes);
	if (r < 0) {
		dma_free_coherent(parent, bytes, area->cpu, area->dma);
		area->cpu = NULL;
		return r;
	}
	area->bytes = bytes;
	return 0;
}

/* Free the DMA memory of an area, if any; copies stay. */
void nanet3_area_free(struct nanet3_dev *dev, struct nanet3_area *area)
{
	if (!area->cpu)
		return;
	sg_free_table(&area->sgt);
	dma_free_coherent(&dev->pdev->dev, area->bytes, area->cpu, area->dma);
	area->cpu = NULL;
}

/*
 * Copy [from, to) for those who map it: the memory is about to be freed, its mappings are revoked.
 * Without memory for a copy the reader gets SIGBUS: no data is better than wrong data.
 */
void nanet3_area_keep(struct nanet3_area *area, size_t from, size_t to)
{
	size_t i;

	if (!area->cpu)
		return;
	if (!area->kept)
		area->kept = kvcalloc(area->bytes >> PAGE_SHIFT, sizeof(*area->kept), GFP_KERNEL);
	if (!area->kept)
		return;
	for (i = from >> PAGE_SHIFT; i < DIV_ROUND_UP(to, PAGE_SIZE); i++) {
		if (!area->kept[i])
			area->kept[i] = alloc_page(GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
		if (area->kept[i])
			memcpy(page_address(area->kept[i]), area->cpu + (i << PAGE_SHIFT),
			       PAGE_SIZE);
	}
}

/* Drop the copies, which are not mapped any more. */
void nanet3_area_forget(struct nanet3_area *area)
{
	size_t i;

	for (i = 0; area->kept && i < area->bytes >> PAGE_SHIFT; i++) {
		if (area->kept[i])
			put_page(area->kept[i]);
	}
	kvfree(area->kept);
	area->kept = NULL;
}

/* ------------------------------------------------------------------------ page faults */

/*
 * All of the area that the mapping covers, at the first touch: a page at a time would cost a fault
 * for each. @first: the area's page at the mapping's start.
 */
static vm_fault_t nanet3_area_insert(struct vm_area_struct *vma, const struct nanet3_area *area,
				     unsigned long first)
{
	unsigned long address = vma->vm_start;
	vm_fault_t fault = VM_FAULT_SIGBUS;
	struct sg_page_iter iter;

	for_each_sgtable_page(&area->sgt, &iter, first) {
		if (address >= vma->vm_end)
			break;
		fault = vmf_insert_pfn(vma, address, page_to_pfn(sg_page_iter_page(&iter)));
		if (fault & VM_FAULT_ERROR)
			break;
		address += PAGE_SIZE;
	}
	return fault;
}

static vm_fault_t nanet3_kept_insert(struct vm_fault *vmf, const struct nanet3_area *area,
				     unsigned long page)
{
	if (!area->kept || !area->kept[page])
		return VM_FAULT_SIGBUS;
	return vmf_insert_pfn(vmf->vma, vmf->address, page_to_pfn(area->kept[page]));
}

/* map_lock held. */
static vm_fault_t nanet3_area_fault(struct vm_fault *vmf, struct nanet3_dev *dev,
				    const struct nanet3_area *area, u64 base)
{
	struct vm_area_struct *vma = vmf->vma;
	unsigned long first = base >> PAGE_SHIFT;

	lockdep_assert_held(&dev->map_lock);
	if (dev->dma_present)
		return nanet3_area_insert(vma, area, vma->vm_pgoff - first);
	return nanet3_kept_insert(vmf, area, vmf->pgoff - first);
}

/* map_lock held. */
static vm_fault_t nanet3_doorbell_fault(struct vm_fault *vmf, struct nanet3_client *c, u32 link)
{
	struct nanet3_dev *dev = c->dev;
	pgprot_t prot = vmf->vma->vm_page_prot;
	unsigned long pfn = page_to_pfn(c->sink);

	lockdep_assert_held(&dev->map_lock);
	if (dev->dma_present && dev->links[link].owner == c &&
	    READ_ONCE(dev->state) == NANET3_READY) {
		pfn = (dev->bar_start + NANET3_REG_DOORBELL(link)) >> PAGE_SHIFT;
		prot = pgprot_decrypted(prot); /* the sink is memory, which may be encrypted */
	}
	return vmf_insert_pfn_prot(vmf->vma, vmf->address, pfn, prot);
}

static vm_fault_t nanet3_dma_fault(struct vm_fault *vmf)
{
	struct nanet3_client *c = vmf->vma->vm_file->private_data;
	struct nanet3_dev *dev = c->dev;
	u64 offset = (u64)vmf->pgoff << PAGE_SHIFT;
	u32 link = MAP_LINK(offset);
	vm_fault_t fault;

	down_read(&dev->map_lock);
	switch (MAP_KIND(offset)) {
	case NANET3_MAP_CHUNK(0, 0):
		fault = nanet3_area_fault(vmf, dev, &dev->links[link].chunks[MAP_CHUNK(offset)],
					  NANET3_MAP_CHUNK(link, MAP_CHUNK(offset)));
		break;
	case NANET3_MAP_EVENTS:
		fault = nanet3_area_fault(vmf, dev, &dev->evq, NANET3_MAP_EVENTS);
		break;
	default:
		fault = nanet3_doorbell_fault(vmf, c, link);
		break;
	}
	up_read(&dev->map_lock);
	return fault;
}

static const struct vm_operations_struct dma_vm_ops = {
	.fault = nanet3_dma_fault,
};

/* ------------------------------------------------------------------------ mapping */

/* A read-only mapping stays one. */
static int nanet3_only_read(struct vm_area_struct *vma)
{
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	nanet3_vm_flags_mod(vma, 0, VM_MAYWRITE);
	return 0;
}

static int nanet3_map_by_fault(struct vm_area_struct *vma)
{
	nanet3_vm_flags_mod(vma, VM_PFNMAP | VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, 0);
	vma->vm_ops = &dma_vm_ops;
	return 0;
}

static int nanet3_map_area(struct vm_area_struct *vma, const struct nanet3_area *area)
{
	int r = nanet3_only_read(vma);

	if (r < 0)
		return r;
	if (vma->vm_end - vma->vm_start > area->bytes)
		return -EINVAL;
	return nanet3_map_by_fault(vma);
}

static int nanet3_map_vmalloc(struct vm_area_struct *vma, void *memory)
{
	nanet3_vm_flags_mod(vma, VM_DONTCOPY, 0);
	return remap_vmalloc_range(vma, memory, 0);
}

static int nanet3_map_owner_page(struct vm_area_struct *vma, struct nanet3_link *l)
{
	if (vma->vm_end - vma->vm_start > PAGE_SIZE)
		return -EINVAL;
	nanet3_vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTDUMP | VM_DONTCOPY, 0);
	return vm_insert_page(vma, vma->vm_start, l->owner_page);
}

/* Its bytes cannot be read back by design, but memory that can be written can be read. */
static int nanet3_map_doorbell(struct vm_area_struct *vma)
{
	if (vma->vm_end - vma->vm_start > PAGE_SIZE)
		return -EINVAL;
	nanet3_vm_flags_mod(vma, VM_IO, 0);
	vma->vm_page_prot = pgprot_noncached(vma->vm_page_prot);
	return nanet3_map_by_fault(vma);
}

/* map_lock held. */
static int nanet3_map_link(struct nanet3_client *c, struct vm_area_struct *vma, u64 offset)
{
	u32 n = MAP_CHUNK(offset);
	struct nanet3_link *l;
	int r;

	lockdep_assert_held(&c->dev->map_lock);
	if (MAP_LINK(offset) >= NANET3_LINKS)
		return -EINVAL;
	l = nanet3_link_at(c->dev, MAP_LINK(offset));
	if (offset == NANET3_MAP_RING(l->index)) {
		r = nanet3_only_read(vma);
		return r < 0 ? r : nanet3_map_vmalloc(vma, l->ring);
	}
	if (offset != NANET3_MAP_OWNER(l->index) && offset != NANET3_MAP_DOORBELL(l->index) &&
	    (offset != NANET3_MAP_CHUNK(l->index, n) || n >= l->ring->chunks))
		return -EINVAL;
	if (l->owner != c)
		return -EPERM;
	if (offset == NANET3_MAP_OWNER(l->index))
		return nanet3_map_owner_page(vma, l);
	if (offset == NANET3_MAP_DOORBELL(l->index))
		return nanet3_map_doorbell(vma);
	return nanet3_map_area(vma, &l->chunks[array_index_nospec(n, l->ring->chunks)]);
}

/**
 * nanet3_mmap() - map one of NANET3_MAP_*
 * @file: an open node
 * @vma: where, and which by its offset
 *
 * Mappings are shared ones and are not inherited by a child: it is no owner.
 *
 * Return: 0; -EPROTO before INFO, -ENODEV, -EINVAL no such mapping, or too long, -EPERM not the
 * owner or not for writing
 */
int nanet3_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct nanet3_client *c = file->private_data;
	u64 offset = (u64)vma->vm_pgoff << PAGE_SHIFT;
	int r;

	if (!READ_ONCE(c->greeted))
		return -EPROTO;
	if (READ_ONCE(c->dead))
		return -ENODEV;
	if (!(vma->vm_flags & VM_MAYSHARE)) /* VM_SHARED is for files that may be written */
		return -EINVAL;
	if (offset == NANET3_MAP_QUEUE)
		return nanet3_map_vmalloc(vma, c->queue);
	down_read(&c->dev->map_lock);
	if (!c->dev->dma_present)
		r = -ENODEV;
	else if (offset == NANET3_MAP_EVENTS)
		r = nanet3_owns_any(c) ? nanet3_map_area(vma, &c->dev->evq) : -EPERM;
	else
		r = nanet3_map_link(c, vma, offset);
	up_read(&c->dev->map_lock);
	return r;
}

/* ------------------------------------------------------------------------ revocation */

/*
 * The link's doorbell is no longer this client's. Other clients may lose pages that they may have:
 * they fault them in again. map_lock not held.
 */
void nanet3_revoke_doorbell(struct nanet3_client *c, u32 link)
{
	unmap_mapping_range(c->file->f_mapping, NANET3_MAP_DOORBELL(link), PAGE_SIZE, 1);
}

/* The board has left READY: no doorbell leads to it any more. map_lock not held. */
void nanet3_revoke_doorbells(struct nanet3_dev *dev)
{
	struct nanet3_client *c;

	mutex_lock(&dev->mutex);
	/* A fault that has seen it ready ends first. */
	down_write(&dev->map_lock);
	list_for_each_entry(c, &dev->clients, list)
		unmap_mapping_range(c->file->f_mapping, NANET3_MAP_DOORBELL(0), KIND_SPACE, 1);
	up_write(&dev->map_lock);
	mutex_unlock(&dev->mutex);
}

/* Has the buffer been handed over and not been released? */
static bool nanet3_unread(const struct nanet3_ring *ring, u32 buffer)
{
	u32 oldest = ring->release_position % ring->depth;
	u32 ahead = (buffer + ring->depth - oldest) % ring->depth;

	return ring->release_position + ahead < ring->write_position;
}

/* Chunk by chunk, so that copies never take much more memory than is given back. */
static void nanet3_replace_chunks(struct nanet3_link *l)
{
	const struct nanet3_ring *ring = l->ring;
	bool reader = l->owner || l->lost;
	u32 i, b;

	for (i = 0; i < ring->chunks; i++) {
		u32 first = i * ring->chunk_buffers;
		u32 end = min(first + ring->chunk_buffers, ring->depth);

		for (b = first; reader && b < end; b++) {
			size_t from = (size_t)(b - first) * ring->buffer_stride;

			if (nanet3_unread(ring, b))
				nanet3_area_keep(&l->chunks[i], from,
						 from + l->completions[b].length);
		}
		if (!l->quarantined)
			nanet3_area_free(l->dev, &l->chunks[i]);
	}
}

/*
 * Revoke all mappings of DMA memory and doorbells, and free the rings' memory. The board is stopped
 * and not ready, mutex held.
 */
void nanet3_revoke_dma(struct nanet3_dev *dev)
{
	struct nanet3_client *c;
	unsigned int i;

	lockdep_assert_held(&dev->mutex);
	down_write(&dev->map_lock);
	dev->dma_present = false;
	list_for_each_entry(c, &dev->clients, list)
		unmap_mapping_range(c->file->f_mapping, NANET3_MAP_CHUNK(0, 0), 3 * KIND_SPACE, 1);
	/* A fault from here on waits for map_lock, and finds the copies. */
	for (i = 0; i < NANET3_LINKS; i++)
		nanet3_replace_chunks(&dev->links[i]);
	nanet3_area_keep(&dev->evq, 0, dev->evq.bytes);
	up_write(&dev->map_lock);
}

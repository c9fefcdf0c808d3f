// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * /dev/nanet3-N: open, requests, poll, close. One function a request, one table of them; sizes
 * are in the request codes, everything inside a struct is checked by its function.
 *
 * A handle may outlive the board: requests are refused with ENODEV then, memory stays mapped.
 */
#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/security.h>
#include <linux/uaccess.h>

#include "nanet3_drv.h"

/* ------------------------------------------------------------------------ requests */

static int nanet3_do_info(struct nanet3_client *c, void *arg)
{
	struct nanet3_dev *dev = c->dev;
	struct nanet3_info *info = arg;

	u32 version = nanet3_version_agreed(info);

	if (info->reserved)
		return -EINVAL;
	if (!version)
		return -EPROTO;
	memset(info, 0, sizeof(*info));
	info->version = version;
	info->links = NANET3_LINKS;
	info->serial = nanet3_read(dev, NANET3_REG_SERIAL);
	info->boot_count = nanet3_read(dev, NANET3_REG_BOOT_COUNT);
	info->handle = c->number;
	info->queue_size = NANET3_QUEUE_SIZE;
	info->emulated = nanet3_read(dev, NANET3_REG_MODEL);
	info->hw_version = nanet3_read(dev, NANET3_REG_VERSION);
	info->caps = dev->caps;
	if (!nanet3_answers(dev))
		return -ENODEV;
	strscpy(info->name, dev_name(&dev->device), sizeof(info->name));
	WRITE_ONCE(c->greeted, true);
	return 0;
}

static int nanet3_do_reg_read(struct nanet3_client *c, void *arg)
{
	struct nanet3_regs *r = arg;
	bool gone = false;
	u32 i;

	if (!nanet3_regs_sound(r))
		return -EINVAL;
	mutex_lock(&c->dev->tx_mutex);
	for (i = 0; i < r->count && !gone; i++) {
		r->values[i] = nanet3_read(c->dev, r->offset + i * 4);
		gone = r->values[i] == NANET3_ALL_ONES && !nanet3_answers(c->dev);
	}
	mutex_unlock(&c->dev->tx_mutex);
	if (gone)
		return -ENODEV;
	if (!ns_capable_noaudit(&init_user_ns, CAP_SYS_RAWIO)) {
		for (i = 0; i < r->count; i++) {
			if (nanet3_reg_is_address(r->offset + i * 4))
				r->values[i] = 0;
		}
	}
	return 0;
}

/* The register has been written: is it one that ring states show, too? mutex held. */
static void nanet3_follow_deadline(struct nanet3_dev *dev, u32 offset)
{
	u32 i;

	lockdep_assert_held(&dev->mutex);
	for (i = 0; i < NANET3_LINKS; i++) {
		u32 deadline;

		if (offset != NANET3_REG_LINK(i, NANET3_LREG_DEADLINE))
			continue;
		deadline = nanet3_read(dev, offset);
		if (deadline != NANET3_ALL_ONES)
			WRITE_ONCE(dev->links[i].ring->deadline_us, deadline);
	}
}

/* mutex held. */
static bool nanet3_may_write(struct nanet3_client *c, const struct nanet3_regs *r)
{
	u32 i;

	lockdep_assert_held(&c->dev->mutex);
	for (i = 0; i < r->count; i++) {
		u32 link = NANET3_LINKS;
		bool harmless = nanet3_reg_harmless(r->offset + i * 4, r->values[i], &link) &&
				(link == NANET3_LINKS || nanet3_acts_for(c, link));

		if (!harmless &&
		    (!capable(CAP_SYS_RAWIO) || security_locked_down(LOCKDOWN_PCI_ACCESS)))
			return false;
	}
	return true;
}

static int nanet3_do_reg_write(struct nanet3_client *c, void *arg)
{
	struct nanet3_dev *dev = c->dev;
	const struct nanet3_regs *r = arg;
	bool allowed;
	u32 i;

	if (!nanet3_regs_sound(r))
		return -EINVAL;
	mutex_lock(&dev->mutex); /* who acts for a link does so until it is written */
	allowed = nanet3_may_write(c, r);
	for (i = 0; allowed && i < r->count; i++)
		nanet3_write(dev, r->offset + i * 4, r->values[i]);
	for (i = 0; allowed && i < r->count; i++)
		nanet3_follow_deadline(dev, r->offset + i * 4);
	mutex_unlock(&dev->mutex);
	return allowed ? 0 : -EPERM;
}

static int nanet3_do_link_command(struct nanet3_client *c, void *arg)
{
	struct nanet3_dev *dev = c->dev;
	const struct nanet3_link_command *r = arg;
	u32 offset, control;

	if (!nanet3_link_command_sound(r))
		return -EINVAL;
	offset = NANET3_REG_LINK(r->link, NANET3_LREG_CONTROL);
	mutex_lock(&dev->mutex);
	if (!nanet3_acts_for(c, r->link) && !capable(CAP_SYS_ADMIN)) {
		mutex_unlock(&dev->mutex);
		return -EPERM;
	}
	control = nanet3_read(dev, offset);
	if (control != NANET3_ALL_ONES)
		nanet3_write(dev, offset, (control & NANET3_LINK_ENABLE) | r->command);
	mutex_unlock(&dev->mutex);
	return control == NANET3_ALL_ONES && !nanet3_answers(dev) ? -ENODEV : 0;
}

static int nanet3_do_subscribe(struct nanet3_client *c, void *arg)
{
	const struct nanet3_subscribe *r = arg;

	if (!nanet3_subscribe_sound(r))
		return -EINVAL;
	spin_lock(&c->dev->event_lock);
	c->subscribed = r->mask;
	spin_unlock(&c->dev->event_lock);
	return 0;
}

static int nanet3_do_stats(struct nanet3_client *c, void *arg)
{
	nanet3_stats_get(c->dev, arg);
	return 0;
}

/* Large enough for every request's struct. */
union request_arg {
	struct nanet3_info info;
	struct nanet3_claim claim;
	struct nanet3_grant grant;
	struct nanet3_release release;
	struct nanet3_tx tx;
	struct nanet3_regs regs;
	struct nanet3_link_command command;
	struct nanet3_subscribe subscribe;
	struct nanet3_wait wait;
	struct nanet3_polling polling;
	struct nanet3_register reg;
	struct nanet3_put put;
	struct nanet3_stats stats;
	u32 number;
};

/* Who never got the answer to a claim does not know that it owns the link. */
static void nanet3_undo_claim(struct nanet3_client *c, void *arg)
{
	struct nanet3_dev *dev = c->dev;
	struct nanet3_link *l = &dev->links[((const struct nanet3_claim *)arg)->link];

	if (nanet3_enter(c) < 0)
		return;
	mutex_lock(&dev->mutex);
	if (l->owner == c)
		nanet3_link_linger(l);
	mutex_unlock(&dev->mutex);
	nanet3_leave(c);
}

static void nanet3_undo_register(struct nanet3_client *c, void *arg)
{
	nanet3_unregister(c, &((struct nanet3_register *)arg)->buffer);
}

/**
 * struct request - one row of the table
 * @code: NANET3_IOC_*
 * @execute: on the request's struct, which is copied back if the code says so; 0 or -errno
 * @outside: life is not held: it waits, or takes it itself
 * @undo: when the answer could not be copied back; life is not held
 * @reads: it changes nothing, and needs no handle that is open for writing
 */
struct request {
	u32 code;
	int (*execute)(struct nanet3_client *c, void *arg);
	bool outside;
	void (*undo)(struct nanet3_client *c, void *arg);
	bool reads;
};

static const struct request requests[] = {
	{NANET3_IOC_RELEASE, nanet3_release},
	{NANET3_IOC_REG_READ, nanet3_do_reg_read, .reads = true},
	{NANET3_IOC_SEND, nanet3_send},
	{NANET3_IOC_PUT, nanet3_put},
	{NANET3_IOC_WAIT, nanet3_wait, .outside = true, .reads = true},
	{NANET3_IOC_INFO, nanet3_do_info, .reads = true},
	{NANET3_IOC_CLAIM, nanet3_claim, .undo = nanet3_undo_claim},
	{NANET3_IOC_YIELD, nanet3_yield},
	{NANET3_IOC_GRANT, nanet3_grant},
	{NANET3_IOC_REG_WRITE, nanet3_do_reg_write},
	{NANET3_IOC_LINK_CMD, nanet3_do_link_command},
	{NANET3_IOC_SUBSCRIBE, nanet3_do_subscribe},
	{NANET3_IOC_POLLING, nanet3_polling},
	{NANET3_IOC_REGISTER, nanet3_register, .outside = true, .undo = nanet3_undo_register},
	{NANET3_IOC_UNREGISTER, nanet3_unregister, .outside = true},
	{NANET3_IOC_STATS, nanet3_do_stats, .reads = true},
};

static const struct request *nanet3_request_find(unsigned int code)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(requests); i++) {
		if (NANET3_REQUEST(requests[i].code) == NANET3_REQUEST(code))
			return &requests[i];
	}
	return NULL;
}

static long nanet3_ioctl(struct file *file, unsigned int code, unsigned long user)
{
	const struct request *request = nanet3_request_find(code);
	struct nanet3_client *c = file->private_data;
	void __user *p = (void __user *)user;
	u32 size = _IOC_SIZE(code), known;
	union request_arg arg;
	int r;

	if (!request)
		return -ENOTTY;
	known = _IOC_SIZE(request->code);
	if (size < nanet3_request_least(request->code))
		return -EINVAL;
	if (!request->reads && !(file->f_mode & FMODE_WRITE))
		return -EBADF;
	memset(&arg, 0, sizeof(arg));
	if (_IOC_DIR(code) & _IOC_WRITE) {
		r = copy_struct_from_user(&arg, known, p, size);
		if (r < 0)
			return r;
	}
	if (!READ_ONCE(c->greeted) && request->code != NANET3_IOC_INFO)
		return -EPROTO;
	if (request->outside) {
		r = request->execute(c, &arg);
	} else {
		r = nanet3_enter(c);
		if (r < 0)
			return r;
		r = request->execute(c, &arg);
		nanet3_leave(c);
	}
	/* Of a longer struct the rest is as it came: 0. */
	if (!r && _IOC_DIR(code) & _IOC_READ && copy_to_user(p, &arg, min(size, known))) {
		if (request->undo)
			request->undo(c, &arg);
		return -EFAULT;
	}
	return r;
}

static __poll_t nanet3_poll(struct file *file, poll_table *wait)
{
	struct nanet3_client *c = file->private_data;
	__poll_t mask = 0;

	poll_wait(file, &c->wait, wait);
	if (nanet3_client_has_events(c))
		mask |= EPOLLIN | EPOLLRDNORM;
	if (READ_ONCE(c->dead))
		mask |= EPOLLHUP | EPOLLERR;
	return mask;
}

/* ------------------------------------------------------------------------ open and close */

static int nanet3_open(struct inode *inode, struct file *file)
{
	struct nanet3_dev *dev = container_of(inode->i_cdev, struct nanet3_dev, cdev);
	struct nanet3_client *c = nanet3_client_create(dev, file);
	u32 limit = file->f_mode & FMODE_WRITE ? NANET3_CLIENTS : NANET3_READ_HANDLES;
	int r = -ENODEV;

	if (IS_ERR(c))
		return PTR_ERR(c);
	mutex_lock(&dev->mutex);
	spin_lock(&dev->event_lock);
	if (dev->state == NANET3_READY && dev->stats.clients < limit) {
		/* Higher than in an earlier life of the board: old grants name no new handle. */
		dev->last_number = max_t(u64, dev->last_number + 1, ktime_get_boottime_ns());
		c->number = dev->last_number;
		list_add_tail(&c->list, &dev->clients);
		dev->stats.clients++;
		r = 0;
	} else if (dev->state == NANET3_READY) {
		r = -EMFILE;
	}
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->mutex);
	if (r < 0) {
		nanet3_client_destroy(c);
		return r;
	}
	file->private_data = c;
	return nonseekable_open(inode, file);
}

/* The owner has gone: its running links linger, what it had registered is let go. */
static int nanet3_close(struct inode *inode, struct file *file)
{
	struct nanet3_client *c = file->private_data;
	struct nanet3_dev *dev = c->dev;
	struct nanet3_pin *freed = NULL;
	unsigned int i;

	down_read(&dev->life);
	mutex_lock(&dev->mutex);
	for (i = 0; i < NANET3_LINKS; i++) {
		struct nanet3_link *l = &dev->links[i];

		if (l->owner != c)
			continue;
		if (l->ring->status == NANET3_RING_OWNED && dev->state == NANET3_READY)
			nanet3_link_linger(l);
		else
			nanet3_link_disown(l, NANET3_RING_STOPPED);
	}
	nanet3_buffers_drop(dev, c, &freed);
	nanet3_tx_forget(c);
	spin_lock(&dev->event_lock);
	for (i = 0; i < NANET3_LINKS; i++) {
		if (dev->links[i].delegate == c)
			dev->links[i].delegate = NULL;
	}
	list_del(&c->list);
	dev->stats.clients--;
	spin_unlock(&dev->event_lock);
	mutex_unlock(&dev->mutex);
	up_read(&dev->life);
	nanet3_unpin(freed);
	nanet3_client_destroy(c);
	return 0;
}

/* The node's operations; open handles hold the module. */
const struct file_operations nanet3_fops = {
	.owner = THIS_MODULE,
	.open = nanet3_open,
	.release = nanet3_close,
	.unlocked_ioctl = nanet3_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.mmap = nanet3_mmap,
	.poll = nanet3_poll,
};

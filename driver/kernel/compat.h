/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between the kernels this module builds for (6.1 and later). All such code is in this
 * file.
 */
#ifndef NANET3_COMPAT_H
#define NANET3_COMPAT_H

#include <linux/device/class.h>
#include <linux/hrtimer.h>
#include <linux/mm.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
/* The kernel's vm_flags_mod() since 6.3. The mm of the area is locked for writing. */
static inline void nanet3_vm_flags_mod(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
	vma->vm_flags = (vma->vm_flags & ~clear) | set;
}
#else
#define nanet3_vm_flags_mod vm_flags_mod
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 4, 0)
#define nanet3_class_create(name) class_create(THIS_MODULE, name)
#else
#define nanet3_class_create(name) class_create(name)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define nanet3_assign_str(field, text) __assign_str(field, text)
#else
#define nanet3_assign_str(field, text) __assign_str(field)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/* The kernel's hrtimer_setup() since 6.13. */
static inline void nanet3_hrtimer_setup(struct hrtimer *timer,
					enum hrtimer_restart (*function)(struct hrtimer *timer),
					clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#else
#define nanet3_hrtimer_setup hrtimer_setup
#endif

#endif

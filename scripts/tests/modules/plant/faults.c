// SPDX-License-Identifier: GPL-2.0
/*
 * The faults of plant.rs that only C can do, or whose means Rust has no safe way to.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/preempt.h>
#include <linux/sched/clock.h>
#include <linux/timer.h>
#include "faults.h"

/* UBSAN_SHIFT: further than the type is wide. */
int plant_shift(int by)
{
	return 1 << by;
}

/* UBSAN_BOUNDS: an element that the array does not have. */
int plant_index(int at)
{
	static int table[8];

	return table[at];
}

static void nothing(struct timer_list *timer)
{
}

/* DEBUG_OBJECTS: a timer on the stack that is not told to be there. */
void plant_object(void)
{
	struct timer_list timer;

	timer_setup(&timer, nothing, 0);
}

/* SOFTLOCKUP_DETECTOR: nobody else gets the processor. Its patience has to be short. */
void plant_lockup(void)
{
	u64 end = local_clock() + 8ull * NSEC_PER_SEC;

	preempt_disable();
	while (local_clock() < end)
		cpu_relax();
	preempt_enable();
}

/* DETECT_HUNG_TASK: a sleep that no signal ends. Its patience has to be short. */
void plant_hang(void)
{
	msleep(12000);
}

static int again(void *data)
{
	void (*step)(void) = data;

	while (!kthread_should_stop()) {
		step();
		cond_resched();
	}
	return 0;
}

/* Does a step again and again for two seconds, in this task and in another. */
int plant_side_by_side(void (*step)(void))
{
	struct task_struct *other = kthread_run(again, step, "plant");
	u64 end = local_clock() + 2ull * NSEC_PER_SEC;

	if (IS_ERR(other))
		return PTR_ERR(other);
	while (local_clock() < end) {
		step();
		cond_resched();
	}
	return kthread_stop(other);
}

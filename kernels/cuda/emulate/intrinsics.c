/* The functions that a kernel calls (kernels/cuda/kernel/device.h), on the CPU. */
#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/emulate/inner.h"

static void wait_as(enum hc_thread_state state, const char *file, int line)
{
    struct hc_emulated_thread *me = &hc_running->thread[hc_running->current];
    me->state = state;
    me->fiber = hc_running->fiber;
    me->site = (struct hc_site){file, line};
    hc_fiber_pause(me->fiber);
}

static int has_fault(enum hc_emulated_fault_kind kind)
{
    return hc_emulated_fault_is(hc_running->grid->name, kind);
}

int hc_thread(void)
{
    return hc_running->current + has_fault(HC_WRONG_THREAD);
}

int hc_threads(void)
{
    return hc_running->grid->threads;
}

int hc_block(void)
{
    return hc_running->block + has_fault(HC_WRONG_BLOCK);
}

int hc_blocks(void)
{
    return hc_running->grid->blocks + has_fault(HC_WRONG_BLOCKS);
}

void *hc_shared(void)
{
    if (hc_running->grid->shared == 0)
        hc_emulator_die("uses shared memory that the launch did not ask for");
    return hc_running->shared.memory + HC_SHARED_GUARD;
}

void hc_vector_at(const void *at, size_t bytes)
{
    if (hc_running->watcher)
        hc_running->watcher->vector(hc_running->watcher, at, bytes, __builtin_return_address(0));
    else if ((uintptr_t)at % bytes != 0)
        hc_emulator_die("a vector of %zu bytes is not aligned to them", bytes);
}

void hc_sync_at(const char *file, int line)
{
    if (!hc_emulated_fault_skips(hc_running->grid->name, (struct hc_site){file, line}))
        wait_as(HC_AT_SYNC, file, line);
}

/* One thread runs at a time, and sees what the others wrote. */
void hc_fence(void)
{
    if (hc_running->watcher)
        hc_running->watcher->fence(hc_running->watcher, __builtin_return_address(0));
}

float hc_shuffle_down_at(float x, int delta, const char *file, int line)
{
    struct hc_emulated_thread *me = &hc_running->thread[hc_running->current];
    me->value = x;
    me->delta = delta == 1 && has_fault(HC_WRONG_SHUFFLE) ? 2 : delta;
    wait_as(HC_AT_SHUFFLE, file, line);
    return me->value;
}

static void see_atomic(const void *at, const void *from)
{
    if (hc_running->watcher)
        hc_running->watcher->atomic(hc_running->watcher, at, from);
}

unsigned hc_atomic_or(unsigned *to, unsigned bits)
{
    see_atomic(to, __builtin_return_address(0));
    unsigned before = *to;
    *to |= bits;
    return before;
}

unsigned hc_atomic_max(unsigned *to, unsigned value)
{
    see_atomic(to, __builtin_return_address(0));
    unsigned before = *to;
    *to = before > value ? before : value;
    return before;
}

unsigned hc_atomic_add(unsigned *to, unsigned value)
{
    see_atomic(to, __builtin_return_address(0));
    unsigned before = *to;
    *to += value;
    return before;
}

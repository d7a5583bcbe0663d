/* What orders blocks within a launch: a block hands over what it did, and a later one takes it
   over.

   A block hands over by an atomic operation at some place, say a counter, if all that its threads
   wrote to the device's memory lies behind a fence: the writer's own one, with a barrier between it
   and the thread of the operation; or one of that thread, with a barrier before it. What the block
   touches afterwards is not handed over; it counts as if nothing were.

   A block takes over by an atomic operation at the same place. A thread may rely on it after a
   fence: its own one, with a barrier between the operation and the fence; or one of the operation's
   thread, with a barrier after it. (CUDA C++ Programming Guide, Memory Fence Functions, whose
   example is a sum that the last block ends.) The place itself may be relied on at once. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/shadow/inner.h"

static struct hc_thread_order *me(struct hc_shadow *s)
{
    return &s->order.thread[hc_running->current];
}

static uint32_t *handed_over(struct hc_shadow *s)
{
    return &s->order.handed_over[s->now.block - s->now.first_block];
}

bool hc_order_launch(struct hc_shadow *s, int blocks)
{
    size_t begun = s->now.block + 1 - s->now.first_block;
    size_t room = begun + (size_t)blocks;
    if (room > s->order.room) {
        uint32_t *larger = realloc(s->order.handed_over, room * sizeof *larger);
        if (!larger)
            return false;
        s->order.handed_over = larger;
        s->order.room = room;
    }
    memset(s->order.handed_over + begun, 0, (size_t)blocks * sizeof(uint32_t));
    s->now.handed_over = s->order.handed_over;
    return true;
}

void hc_order_block(struct hc_shadow *s)
{
    s->order.time = 1;
    s->order.barrier = s->order.place = s->order.taken = 0;
    memset(s->order.thread, 0, (size_t)s->grid->threads * sizeof s->order.thread[0]);
}

void hc_order_barrier(struct hc_shadow *s)
{
    s->order.barrier = ++s->order.time;
}

void hc_order_fence(struct hc_shadow *s)
{
    me(s)->fenced = ++s->order.time;
    me(s)->covers = s->order.barrier;
}

static bool is_fenced(struct hc_shadow *s, const struct hc_thread_order *t)
{
    bool seen = t == me(s) || t->fenced <= s->order.barrier;
    return (t->wrote < t->fenced && seen) || t->wrote < me(s)->covers;
}

void hc_order_atomic(struct hc_shadow *s, uintptr_t at)
{
    struct hc_order *o = &s->order;
    bool all = true;
    for (int t = 0; t < s->grid->threads; t++)
        all &= o->thread[t].wrote == 0 || is_fenced(s, &o->thread[t]);
    o->place = (uint32_t)at;
    o->taken = ++o->time;
    o->taker = hc_running->current;
    *handed_over(s) = all ? o->place : 0;
    me(s)->wrote = o->time;
}

void hc_order_access(struct hc_shadow *s, bool writes)
{
    *handed_over(s) = 0;
    if (writes)
        me(s)->wrote = s->order.time;
}

uint32_t hc_order_taken(const struct hc_shadow *s, uintptr_t at)
{
    const struct hc_order *o = &s->order;
    const struct hc_thread_order *t = &o->thread[hc_running->current];
    const struct hc_thread_order *taker = &o->thread[o->taker];
    bool itself = hc_running->current == o->taker;
    bool own = itself ? t->fenced > o->taken : t->covers > o->taken;
    bool other = taker->fenced > o->taken && taker->fenced <= o->barrier;
    bool relies = own || other || (itself && (uint32_t)at - o->place < sizeof(unsigned));
    return o->place && relies ? o->place : 0;
}

#include "kernels/cuda/emulate/emulator.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/device.h"
#include "kernels/cuda/emulate/fiber.h"
#include "kernels/cuda/launch.h"

enum state { FRESH, READY, AT_SYNC, AT_SHUFFLE, ENDED };

static const char *const state_names[] = {"has not begun", "runs", "waits at hc_sync",
                                          "waits at a shuffle", "has ended"};

struct thread {
    enum state state;
    struct hc_fiber *fiber; /* where it waits */
    float value;            /* handed to a shuffle, then what came back */
    int delta;
};

enum { GUARD = 1024, GUARD_BYTE = 0xfe, NAN_BYTE = 0xff };

struct hc_emulator {
    const struct hc_grid *grid;
    const void *args;
    int block;
    int current; /* the thread that runs */
    int started;
    uint32_t order; /* changes with each launch, block and barrier */
    ucontext_t home;
    struct hc_fiber *fiber; /* the one that runs */
    struct hc_fiber *idle;
    struct thread thread[HC_MAX_THREADS];
    _Alignas(16) unsigned char memory[GUARD + HC_MAX_SHARED + GUARD];
};

static _Thread_local struct hc_emulator *running;

static _Noreturn void die(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "cuda-emulated: kernel %s, block %d: ", running->grid->name,
                  running->block);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    abort();
}

/* The i-th of n in the present order: forwards or backwards from any of them on. */
static int nth(uint32_t order, int i, int n)
{
    uint32_t start = (order >> 1) % (uint32_t)n;
    uint32_t step = order & 1 ? (uint32_t)i : (uint32_t)(n - 1 - i);
    return (int)((start + step) % (uint32_t)n);
}

static void next_order(struct hc_emulator *e)
{
    e->order = (e->order * 1664525u + 1013904223u) ^ e->order >> 15;
}

/* A fiber runs threads from their beginning as long as there are some that have not begun: those that
   never wait cost no switch. */
static void run_threads(void)
{
    for (;;) {
        struct hc_emulator *e = running;
        while (e->started < e->grid->threads) {
            int me = nth(e->order, e->started++, e->grid->threads);
            e->current = me;
            e->thread[me].state = READY;
            e->grid->entry(e->args);
            e->thread[me].state = ENDED;
        }
        struct hc_fiber *fiber = e->fiber;
        fiber->next = e->idle;
        e->idle = fiber;
        hc_fiber_pause(fiber);
    }
}

static void resume(struct hc_emulator *e, struct hc_fiber *fiber)
{
    e->fiber = fiber;
    if (!hc_fiber_resume(fiber, &e->home))
        die("thread %d ran over its stack", e->current);
}

static void start_all(struct hc_emulator *e)
{
    for (int t = 0; t < e->grid->threads; t++)
        e->thread[t].state = FRESH;
    e->started = 0;
    while (e->started < e->grid->threads) {
        struct hc_fiber *fiber = e->idle;
        if (fiber)
            e->idle = fiber->next;
        else
            fiber = hc_fiber_new(run_threads);
        if (!fiber)
            die("no memory for another thread");
        resume(e, fiber);
    }
}

static int count(const struct hc_emulator *e, int from, int to, enum state state)
{
    int n = 0;
    for (int t = from; t < to; t++)
        n += e->thread[t].state == state;
    return n;
}

/* Lets the warps shuffle in which all 32 lanes have come. Whether there were any. */
static bool shuffle_warps(struct hc_emulator *e)
{
    bool any = false;
    for (int first = 0; first + HC_WARP <= e->grid->threads; first += HC_WARP) {
        struct thread *lane = &e->thread[first];
        float value[HC_WARP];
        if (count(e, first, first + HC_WARP, AT_SHUFFLE) < HC_WARP)
            continue;
        for (int i = 0; i < HC_WARP; i++) {
            int from = i + lane[i].delta;
            value[i] = lane[from >= 0 && from < HC_WARP ? from : i].value;
        }
        for (int i = 0; i < HC_WARP; i++) {
            lane[i].value = value[i];
            lane[i].state = READY;
        }
        any = true;
    }
    return any;
}

static _Noreturn void diverged(const struct hc_emulator *e)
{
    int one = 0;
    while (e->thread[one].state == ENDED)
        one++;
    int other = 0;
    while (other < e->grid->threads - 1 && e->thread[other].state == e->thread[one].state)
        other++;
    if (e->thread[one].state == e->thread[other].state)
        die("the threads wait at a shuffle, and %d of them make no whole warp", e->grid->threads);
    die("threads diverge: %d %s, %d %s", one, state_names[e->thread[one].state], other,
        state_names[e->thread[other].state]);
}

/* When no thread can run: lets those go on that have met. Whether there are any. */
static bool release_some(struct hc_emulator *e)
{
    int n = e->grid->threads;
    if (count(e, 0, n, ENDED) == n)
        return false;
    if (shuffle_warps(e))
        return true;
    if (count(e, 0, n, AT_SYNC) < n)
        diverged(e);
    for (int t = 0; t < n; t++)
        e->thread[t].state = READY;
    return true;
}

static void check_guards(const struct hc_emulator *e)
{
    const unsigned char *after = e->memory + GUARD + e->grid->shared;
    for (int i = 0; i < GUARD; i++) {
        if (e->memory[i] != GUARD_BYTE)
            die("wrote %d bytes before its shared memory", GUARD - i);
        if (after[i] != GUARD_BYTE)
            die("wrote byte %zu of its %zu bytes of shared memory", e->grid->shared + (size_t)i,
                e->grid->shared);
    }
}

static void run_block(struct hc_emulator *e)
{
    memset(e->memory, GUARD_BYTE, GUARD);
    memset(e->memory + GUARD, NAN_BYTE, e->grid->shared);
    memset(e->memory + GUARD + e->grid->shared, GUARD_BYTE, GUARD);
    next_order(e);
    start_all(e);
    while (release_some(e)) {
        next_order(e);
        for (int i = 0; i < e->grid->threads; i++) {
            int t = nth(e->order, i, e->grid->threads);
            if (e->thread[t].state != READY)
                continue;
            e->current = t;
            resume(e, e->thread[t].fiber);
        }
    }
    check_guards(e);
}

void hc_emulate(struct hc_emulator *e, const struct hc_grid *grid, const void *args)
{
    assert(!running);
    assert(grid->threads >= 1 && grid->threads <= HC_MAX_THREADS && grid->shared <= HC_MAX_SHARED);
    running = e;
    e->grid = grid;
    e->args = args;
    next_order(e);
    uint32_t order = e->order;
    for (int i = 0; i < grid->blocks; i++) {
        e->block = nth(order, i, grid->blocks);
        run_block(e);
    }
    running = NULL;
}

struct hc_emulator *hc_emulator_new(void)
{
    struct hc_emulator *e = calloc(1, sizeof *e);
    if (e)
        e->order = 1;
    return e;
}

void hc_emulator_free(struct hc_emulator *e)
{
    while (e->idle) {
        struct hc_fiber *fiber = e->idle;
        e->idle = fiber->next;
        hc_fiber_free(fiber);
    }
    free(e);
}

static void wait_as(enum state state)
{
    struct thread *me = &running->thread[running->current];
    me->state = state;
    me->fiber = running->fiber;
    hc_fiber_pause(me->fiber);
}

int hc_thread(void)
{
    return running->current;
}

int hc_threads(void)
{
    return running->grid->threads;
}

int hc_block(void)
{
    return running->block;
}

int hc_blocks(void)
{
    return running->grid->blocks;
}

void *hc_shared(void)
{
    if (running->grid->shared == 0)
        die("uses shared memory that the launch did not ask for");
    return running->memory + GUARD;
}

void hc_sync(void)
{
    wait_as(AT_SYNC);
}

float hc_shuffle_down(float x, int delta)
{
    struct thread *me = &running->thread[running->current];
    me->value = x;
    me->delta = delta;
    wait_as(AT_SHUFFLE);
    return me->value;
}

unsigned hc_atomic_or(unsigned *to, unsigned bits)
{
    unsigned before = *to;
    *to |= bits;
    return before;
}

unsigned hc_atomic_max(unsigned *to, unsigned value)
{
    unsigned before = *to;
    *to = before > value ? before : value;
    return before;
}

unsigned hc_atomic_add(unsigned *to, unsigned value)
{
    unsigned before = *to;
    *to += value;
    return before;
}

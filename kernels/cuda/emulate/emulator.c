#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulate/inner.h"

static const char *const state_names[] = {"has not begun", "runs", "waits at hc_sync",
                                          "waits at a shuffle", "has ended"};

_Thread_local struct hc_emulator *hc_running;

void hc_emulator_die(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "cuda-emulated: kernel %s, block %d: ", hc_running->grid->name,
                  hc_running->block);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    abort();
}

bool hc_same_site(struct hc_site a, struct hc_site b)
{
    return a.line == b.line && strcmp(a.file, b.file) == 0;
}

/* The i-th of n in the current order: forwards or backwards from any of them on. */
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

/* What a fiber runs: one thread after the other, as long as there are threads that have not begun.
   The next one begins on the same fiber, so that threads that never wait cost no switch. */
static void run_threads(void)
{
    for (;;) {
        struct hc_emulator *e = hc_running;
        while (e->started < e->grid->threads) {
            int me = nth(e->order, e->started++, e->grid->threads);
            e->current = me;
            e->thread[me].state = HC_READY;
            e->grid->entry(e->args);
            e->thread[me].state = HC_ENDED;
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
    if (!hc_fiber_resume(fiber, &e->caller))
        hc_emulator_die("thread %d ran over its stack", e->current);
}

_Noreturn void hc_emulator_stop(void)
{
    hc_running->stopped = true;
    for (;;)
        hc_fiber_pause(hc_running->fiber);
}

/* Frees the fibers of threads that have not ended. The one that stopped the launch runs on the
   last; the others wait, or may go on, where they came to. */
static void abandon(struct hc_emulator *e)
{
    for (int t = 0; t < e->grid->threads; t++) {
        enum hc_thread_state state = e->thread[t].state;
        if (t != e->current && state != HC_FRESH && state != HC_ENDED)
            hc_fiber_free(e->thread[t].fiber);
    }
    hc_fiber_free(e->fiber);
    e->stopped = false;
}

static void start_all(struct hc_emulator *e)
{
    for (int t = 0; t < e->grid->threads; t++)
        e->thread[t].state = HC_FRESH;
    e->started = 0;
    while (e->started < e->grid->threads && !e->stopped) {
        struct hc_fiber *fiber = e->idle;
        if (fiber)
            e->idle = fiber->next;
        else
            fiber = hc_fiber_new(run_threads);
        if (!fiber)
            hc_emulator_die("no memory for another thread");
        resume(e, fiber);
    }
}

static int count(const struct hc_emulator *e, int from, int to, enum hc_thread_state state)
{
    int n = 0;
    for (int t = from; t < to; t++)
        n += e->thread[t].state == state;
    return n;
}

/* Ends the program unless threads that wait together wait in the same call of the source. */
static void same_site(const struct hc_emulator *e, int from, int to)
{
    for (int t = from + 1; t < to; t++) {
        struct hc_site a = e->thread[from].site;
        struct hc_site b = e->thread[t].site;
        if (!hc_same_site(a, b))
            hc_emulator_die("threads diverge: %d waits at %s:%d, %d at %s:%d", from, a.file, a.line,
                            t, b.file, b.line);
    }
}

/* Performs the shuffle of every warp whose 32 lanes have all come to it. Returns whether there was
   one. */
static bool shuffle_warps(struct hc_emulator *e)
{
    bool any = false;
    for (int first = 0; first + HC_WARP <= e->grid->threads; first += HC_WARP) {
        struct hc_emulated_thread *lane = &e->thread[first];
        float value[HC_WARP];
        if (count(e, first, first + HC_WARP, HC_AT_SHUFFLE) < HC_WARP)
            continue;
        same_site(e, first, first + HC_WARP);
        for (int i = 0; i < HC_WARP; i++) {
            int from = i + lane[i].delta;
            value[i] = lane[from >= 0 && from < HC_WARP ? from : i].value;
        }
        for (int i = 0; i < HC_WARP; i++) {
            lane[i].value = value[i];
            lane[i].state = HC_READY;
        }
        any = true;
    }
    return any;
}

static _Noreturn void diverged(const struct hc_emulator *e)
{
    int one = 0;
    while (e->thread[one].state == HC_ENDED)
        one++;
    int other = 0;
    while (other < e->grid->threads - 1 && e->thread[other].state == e->thread[one].state)
        other++;
    if (e->thread[one].state == e->thread[other].state)
        hc_emulator_die("the threads wait at a shuffle, and %d of them make no whole warp",
                        e->grid->threads);
    hc_emulator_die("threads diverge: %d %s, %d %s", one, state_names[e->thread[one].state], other,
                    state_names[e->thread[other].state]);
}

/* Called when no thread can run: lets those go on that have met. Returns whether there are any;
   there are none when all have ended. */
static bool release_some(struct hc_emulator *e)
{
    int n = e->grid->threads;
    if (count(e, 0, n, HC_ENDED) == n)
        return false;
    if (shuffle_warps(e))
        return true;
    if (count(e, 0, n, HC_AT_SYNC) < n)
        diverged(e);
    same_site(e, 0, n);
    for (int t = 0; t < n; t++)
        e->thread[t].state = HC_READY;
    if (e->watcher)
        e->watcher->barrier(e->watcher);
    return true;
}

static void run_block(struct hc_emulator *e)
{
    char text[96];
    hc_shared_memory_fill(&e->shared, e->grid->shared);
    next_order(e);
    if (e->watcher)
        e->watcher->block(e->watcher);
    start_all(e);
    while (!e->stopped && release_some(e)) {
        next_order(e);
        for (int i = 0; i < e->grid->threads && !e->stopped; i++) {
            int t = nth(e->order, i, e->grid->threads);
            if (e->thread[t].state != HC_READY)
                continue;
            e->current = t;
            resume(e, e->thread[t].fiber);
        }
    }
    if (hc_shared_memory_error(&e->shared, text))
        hc_emulator_die("%s", text);
}

void hc_emulate(struct hc_emulator *e, const struct hc_grid *grid, const void *args)
{
    assert(!hc_running);
    assert(grid->threads >= 1 && grid->threads <= HC_MAX_THREADS && grid->shared <= HC_MAX_SHARED);
    if (e->watcher && !e->watcher->launch(e->watcher, grid))
        return;
    hc_running = e;
    e->grid = grid;
    e->args = args;
    for (e->block = 0; e->block < grid->blocks && !e->stopped; e->block++)
        run_block(e);
    if (e->stopped)
        abandon(e);
    hc_running = NULL;
}

struct hc_emulator *hc_emulator_new(void)
{
    struct hc_emulator *e = calloc(1, sizeof *e);
    if (e)
        e->order = 1;
    return e;
}

void hc_emulator_watch(struct hc_emulator *e, struct hc_watcher *watcher)
{
    e->watcher = watcher;
}

struct hc_watcher *hc_emulator_watcher(const struct hc_emulator *e)
{
    return e->watcher;
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

#include "kernels/cuda/emulate/emulator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cuda/kernel/device.h"
#include "kernels/cuda/launch.h"

static struct hc_emulator *emulator;

static void open_emulator(void)
{
    emulator = hc_emulator_new();
    cr_assert_not_null(emulator);
}

static void close_emulator(void)
{
    hc_emulator_free(emulator);
}

TestSuite(emulator, .init = open_emulator, .fini = close_emulator);

static void launch(void (*entry)(const void *), int blocks, int threads, size_t shared,
                   const void *args)
{
    struct hc_grid grid = {"test", entry, blocks, threads, shared, 0};
    hc_emulate(emulator, &grid, args);
}

static void count_me(const void *args)
{
    int *counts = *(int *const *)args;
    counts[hc_block() * hc_threads() + hc_thread()] += 1 + (hc_blocks() != 7);
}

Test(emulator, runs_every_thread_of_every_block_once)
{
    int counts[7 * 33] = {0};
    int *args = counts;
    launch(count_me, 7, 33, 0, &args);
    for (int i = 0; i < 7 * 33; i++)
        cr_assert_eq(counts[i], 1, "%d", i);
}

/* Each thread reads what its neighbours wrote, again and again. */
static void rotate(const void *args)
{
    int *out = *(int *const *)args;
    int *room = hc_shared();
    int n = hc_threads();
    room[hc_thread()] = hc_thread();
    for (int i = 0; i < 5; i++) {
        hc_sync();
        int next = room[(hc_thread() + 1) % n];
        hc_sync();
        room[hc_thread()] = next;
    }
    out[hc_thread()] = room[hc_thread()];
}

Test(emulator, a_barrier_makes_writes_before_it_seen_after_it)
{
    int out[1000];
    int *args = out;
    for (int launches = 0; launches < 3; launches++) {
        launch(rotate, 2, 1000, sizeof out, &args);
        for (int t = 0; t < 1000; t++)
            cr_assert_eq(out[t], (t + 5) % 1000);
    }
}

static void neighbour_without_barrier(const void *args)
{
    float *out = *(float *const *)args;
    float *room = hc_shared();
    room[hc_thread()] = 1;
    out[hc_thread()] = room[hc_thread() ^ 1];
}

Test(emulator, a_missing_barrier_reads_what_is_not_there_yet)
{
    float out[64];
    float *args = out;
    int missed[2] = {0};
    for (int launches = 0; launches < 50; launches++) {
        launch(neighbour_without_barrier, 1, 64, sizeof out, &args);
        for (int t = 0; t < 64; t++)
            missed[t & 1] += isnan(out[t]);
    }
    cr_expect_gt(missed[0], 0);
    cr_expect_gt(missed[1], 0, "threads also run backwards");
}

static void warp_sum(const void *args)
{
    float *out = *(float *const *)args;
    float x = (float)(hc_block() * hc_threads() + hc_thread());
    for (int delta = 16; delta > 0; delta /= 2)
        x += hc_shuffle_down(x, delta);
    if (hc_thread() % 32 == 0)
        out[(hc_block() * hc_threads() + hc_thread()) / 32] = x;
}

Test(emulator, shuffles_add_up_a_warp)
{
    float out[6];
    float *args = out;
    launch(warp_sum, 2, 96, 0, &args);
    for (int w = 0; w < 6; w++)
        cr_assert_eq(out[w], (float)(32 * 32 * w + 31 * 16));
}

static void shift_by_three(const void *args)
{
    float *out = *(float *const *)args;
    out[hc_thread()] = hc_shuffle_down((float)hc_thread(), 3);
}

Test(emulator, a_lane_without_a_partner_keeps_its_own)
{
    float out[64];
    float *args = out;
    launch(shift_by_three, 1, 64, 0, &args);
    for (int t = 0; t < 64; t++)
        cr_assert_eq(out[t], (float)(t % 32 < 29 ? t + 3 : t));
}

static void atomics(const void *args)
{
    unsigned *to = *(unsigned *const *)args;
    (void)hc_atomic_or(&to[0], 1u << hc_thread());
    (void)hc_atomic_max(&to[1], (unsigned)(hc_thread() * 7 % 31));
    unsigned ticket = hc_atomic_add(&to[2], 1);
    to[3 + ticket] += 1;
}

Test(emulator, atomics_see_every_thread_and_give_what_was_there)
{
    unsigned to[3 + 32] = {0};
    unsigned *args = to;
    launch(atomics, 1, 32, 0, &args);
    cr_assert_eq(to[0], 0xffffffffu);
    cr_assert_eq(to[1], 30);
    cr_assert_eq(to[2], 32);
    for (int i = 0; i < 32; i++)
        cr_assert_eq(to[3 + i], 1);
}

static void half_the_block_waits(const void *args)
{
    (void)args;
    if (hc_thread() < 40)
        hc_sync();
}

Test(emulator, aborts_when_a_thread_ends_while_others_wait, .signal = SIGABRT)
{
    launch(half_the_block_waits, 1, 64, 0, NULL);
}

static void some_shuffle_some_wait(const void *args)
{
    (void)args;
    if (hc_thread() < 40)
        hc_sync();
    else
        (void)hc_shuffle_down(0, 1);
}

Test(emulator, aborts_when_a_warp_is_split_between_a_barrier_and_a_shuffle, .signal = SIGABRT)
{
    launch(some_shuffle_some_wait, 1, 64, 0, NULL);
}

static void two_barriers(const void *args)
{
    (void)args;
    if (hc_thread() < 40)
        hc_sync();
    else
        hc_sync();
}

Test(emulator, aborts_when_threads_wait_at_different_barriers, .signal = SIGABRT)
{
    launch(two_barriers, 1, 64, 0, NULL);
}

static void two_shuffles(const void *args)
{
    (void)args;
    if (hc_thread() % 32 < 7)
        (void)hc_shuffle_down(1, 1);
    else
        (void)hc_shuffle_down(2, 1);
}

Test(emulator, aborts_when_a_warp_waits_at_different_shuffles, .signal = SIGABRT)
{
    launch(two_shuffles, 1, 64, 0, NULL);
}

Test(emulator, aborts_on_a_shuffle_in_a_warp_that_is_not_whole, .signal = SIGABRT)
{
    launch(warp_sum, 1, 33, 0, &(float *){(float[2]){0}});
}

static void write_shared(const void *args)
{
    unsigned char *room = hc_shared();
    room[*(const int *)args] = 1;
}

Test(emulator, aborts_on_a_write_behind_the_shared_memory, .signal = SIGABRT)
{
    launch(write_shared, 1, 1, 100, &(int){100});
}

Test(emulator, aborts_on_a_write_before_the_shared_memory, .signal = SIGABRT)
{
    launch(write_shared, 1, 1, 100, &(int){-1});
}

Test(emulator, aborts_on_shared_memory_that_was_not_asked_for, .signal = SIGABRT)
{
    launch(write_shared, 1, 1, 0, &(int){0});
}

Test(emulator, lets_the_whole_shared_memory_be_written)
{
    launch(write_shared, 1, 1, 100, &(int){99});
    launch(write_shared, 1, 1, HC_MAX_SHARED, &(int){HC_MAX_SHARED - 1});
}

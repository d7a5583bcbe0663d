#include "kernels/cuda/shadow/testing.h"

TestSuite(races, .init = begin, .fini = end);

static void neighbour(const void *args)
{
    const struct arguments *a = args;
    unsigned *room = hc_shared();
    room[hc_thread()] = 0;
    hc_sync();
    room[hc_thread()] = 1;
    a->to[hc_thread()] = room[(hc_thread() + 1) % THREADS];
}

static void neighbour_after_a_barrier(const void *args)
{
    const struct arguments *a = args;
    unsigned *room = hc_shared();
    room[hc_thread()] = 1;
    hc_sync();
    a->to[hc_thread()] = room[(hc_thread() + 1) % THREADS];
}

static void neighbour_after_a_shuffle(const void *args)
{
    const struct arguments *a = args;
    float *room = hc_shared();
    room[hc_thread()] = 0;
    hc_sync();
    room[hc_thread()] = 1;
    float x = hc_shuffle_down(1, 1);
    a->to[hc_thread()] = room[hc_thread() ^ 1] == x;
}

static void same_value(const void *args)
{
    const struct arguments *a = args;
    a->to[0] = 1;
}

static void bytes(const void *args)
{
    const struct arguments *a = args;
    ((unsigned char *)a->to)[hc_block() * hc_threads() + hc_thread()] = 1;
}

static void all_read(const void *args)
{
    const struct arguments *a = args;
    unsigned *own = a->to + 8 + hc_block() * hc_threads() + hc_thread();
    *own = a->to[0] + a->to[1];
}

static void all_count(const void *args)
{
    const struct arguments *a = args;
    (void)hc_atomic_add(a->to, 1);
}

static void counts_and_reads(const void *args)
{
    const struct arguments *a = args;
    if (hc_atomic_add(a->to, 1) % 8 == 5)
        a->to[2 + hc_block()] = a->to[0];
}

Test(races, finds_races_of_threads_in_every_order)
{
    assert_found(neighbour, 1, THREADS, "and no barrier between");
    assert_found(neighbour_after_a_shuffle, 1, THREADS, "and no barrier between");
    assert_found(same_value, 1, 2, "also written by thread ");
    assert_found(counts_and_reads, 1, 32, "and no barrier between");
}

Test(races, finds_races_of_blocks)
{
    assert_found(same_value, 2, 1, "also written by block 0, and no launch between");
    assert_found(counts_and_reads, 32, 1, "and no launch between");
}

Test(races, finds_no_race_where_there_is_none)
{
    assert_clean(neighbour_after_a_barrier, 1, THREADS);
    assert_clean(neighbour_after_a_barrier, 1, THREADS);
    assert_clean(same_value, 1, 1); /* launches follow each other */
    assert_clean(bytes, 4, THREADS);
    assert_clean(all_read, 2, 16);
    assert_clean(all_count, 4, 32);
}

/* Each block writes its element; the last that comes to the counter adds them up. */
enum { SOUND, NO_RELEASE, NO_ACQUIRE, NO_BARRIER, TOO_EARLY, LATE_WRITE };
static void last_block_adds(const void *args)
{
    const struct arguments *a = args;
    unsigned *last = hc_shared();
    if (hc_thread() == 1 && a->variant != LATE_WRITE)
        a->other[hc_block()] = 1;
    if (a->variant != NO_RELEASE)
        hc_fence();
    if (a->variant != NO_BARRIER)
        hc_sync();
    if (hc_thread() == 0)
        *last = hc_atomic_add(a->to, 1) % (unsigned)hc_blocks() ==
                (unsigned)hc_blocks() - (a->variant == TOO_EARLY ? 2 : 1);
    hc_sync();
    if (hc_thread() == 1 && a->variant == LATE_WRITE)
        a->other[hc_block()] = 1;
    if (a->variant != NO_ACQUIRE)
        hc_fence();
    for (int i = 0; *last && hc_thread() == 0 && i < hc_blocks(); i++)
        a->to[1] += a->other[i];
}

Test(races, knows_that_the_last_block_sees_what_the_others_handed_over)
{
    assert_clean(last_block_adds, 5, 32);
    for (variant = NO_RELEASE; variant <= LATE_WRITE; variant++) {
        const char *got = run(last_block_adds, 5, 32);
        cr_expect(strstr(got, "also "), "%d: %s", variant, got);
    }
}

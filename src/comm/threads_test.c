#include "comm/comm.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "comm/testing.h"

static void expect_ok(enum hc_status status)
{
    cr_expect_eq(status, HC_OK, "%s", hc_message());
}

static void rest(int milliseconds)
{
    const struct timespec time = {0, milliseconds * 1000000L};
    (void)nanosleep(&time, NULL);
}

Test(self, sends_gathers_and_broadcasts_to_itself)
{
    struct hc_comm *self = hc_comm_self();
    cr_expect_eq(self->rank, 0);
    cr_expect_eq(self->size, 1);
    expect_ok(comm_works(self, NULL));
}

Test(threads, send_gather_and_broadcast_in_any_number)
{
    static const int sizes[] = {1, 2, 3, 5, 8, 16};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        expect_ok(hc_comm_threads(sizes[i], comm_works, NULL));
}

static enum hc_status short_ones(struct hc_comm *comm, void *context)
{
    (void)context;
    return letters_arrive(comm, 100);
}

Test(threads, may_be_as_many_as_promised)
{
    expect_ok(hc_comm_threads(HC_MAX_THREAD_RANKS, short_ones, NULL));
}

/* Ranks come to a barrier at other times; none leaves it before the last has come. */
static enum hc_status barriers_hold(struct hc_comm *comm, void *context)
{
    atomic_int *come = context;
    for (int round = 1; round <= 20; round++) {
        rest((comm->rank * 5 + round) % 4);
        atomic_fetch_add(come, 1);
        enum hc_status status = hc_comm_barrier(comm);
        if (status != HC_OK)
            return status;
        HC_EXPECT(atomic_load(come) >= round * comm->size, "a barrier opened too early");
    }
    return HC_OK;
}

Test(threads, wait_for_each_other_at_a_barrier)
{
    atomic_int come = 0;
    expect_ok(hc_comm_threads(5, barriers_hold, &come));
}

/* In which call the others are when one fails. */
struct failure {
    enum { IN_BARRIER, IN_GATHER, IN_RECEIVE, IN_SEND, CALLS } call;
    enum { FAILS, ABORTS, LEAVES, WAYS } way;
    int rank;
    atomic_int returned; /* how many of the others */
};

/* One that aborts works on; the others must not wait for its end. */
static enum hc_status abort_and_work_on(struct hc_comm *comm, struct failure *failure)
{
    comm->kind->abort(comm, 2);
    for (int i = 0; i < 1000 && atomic_load(&failure->returned) < comm->size - 1; i++)
        rest(2);
    HC_EXPECT(atomic_load(&failure->returned) == comm->size - 1, "the others wait on");
    HC_EXPECT(hc_comm_barrier(comm) == HC_DEVICE, "who has aborted can go on");
    return hc_fail(HC_IO, "its disk is full");
}

static enum hc_status waits(struct hc_comm *comm, const struct failure *failure);

static enum hc_status fails(struct hc_comm *comm, void *context)
{
    struct failure *failure = context;
    if (comm->rank != failure->rank) {
        enum hc_status status = waits(comm, failure);
        (void)atomic_fetch_add(&failure->returned, 1);
        return status;
    }
    rest(2);
    if (failure->way == ABORTS)
        return abort_and_work_on(comm, failure);
    return failure->way == LEAVES ? HC_OK : hc_fail(HC_IO, "its disk is full");
}

static enum hc_status waits(struct hc_comm *comm, const struct failure *failure)
{
    int64_t number = comm->rank;
    int64_t all[8];
    switch (failure->call) {
    case IN_BARRIER:
        return hc_comm_barrier(comm);
    case IN_GATHER:
        return hc_comm_all_gather(comm, &number, sizeof number, all);
    case IN_RECEIVE:
        return hc_comm_send_receive(comm, -1, NULL, 0, failure->rank, &number, sizeof number);
    default:
        return hc_comm_send_receive(comm, failure->rank, &number, sizeof number, -1, NULL, 0);
    }
}

Test(threads, that_wait_for_a_rank_that_fails_fail_with_it, .timeout = 20)
{
    for (int i = 0; i < (int)CALLS * WAYS * 4; i++) {
        struct failure failure = {i % CALLS, i / CALLS % WAYS, i / CALLS / WAYS, 0};
        enum hc_status status = hc_comm_threads(4, fails, &failure);
        char line[64];
        (void)snprintf(line, sizeof line, "rank %d: its disk is full", failure.rank);
        if (failure.way == LEAVES) {
            cr_expect_eq(status, HC_DEVICE);
            cr_expect_not_null(strstr(hc_message(), "has ended while another waits for it"));
        } else {
            cr_expect_eq(status, HC_IO, "%d", i);
            cr_expect_str_eq(hc_message(), line);
        }
    }
}

/* What is sent is copied from the sender's memory, which is gone when its call has returned: a
   failure in the middle must not let it return before. The sanitizer sees it if it does. */
static enum hc_status fails_in_the_middle(struct hc_comm *comm, void *context)
{
    unsigned *seed = context;
    enum { BYTES = 1 << 16 };
    for (unsigned round = 0; round < 8; round++) {
        enum hc_status status = letters_arrive(comm, BYTES);
        if (status == HC_OK)
            status = gathers_and_broadcasts(comm, BYTES / 16);
        if (status != HC_OK)
            return status;
        if (comm->rank == (int)(*seed % 5) && round == *seed / 5 % 8)
            return hc_fail(HC_IO, "its disk is full");
    }
    return HC_OK;
}

Test(threads, may_fail_at_any_moment, .timeout = 60)
{
    for (unsigned seed = 0; seed < 40; seed++)
        cr_expect_eq(hc_comm_threads(5, fails_in_the_middle, &seed), HC_IO, "%u: %s", seed,
                     hc_message());
}

static enum hc_status sizes_differ(struct hc_comm *comm, void *context)
{
    char bytes[8] = {0};
    (void)context;
    return hc_comm_send_receive(comm, 1 - comm->rank, bytes, 4, 1 - comm->rank, bytes + 4,
                                comm->rank ? 4 : 3);
}

Test(threads, letters_of_other_sizes_are_a_programmers_error, .signal = SIGABRT)
{
    (void)hc_comm_threads(2, sizes_differ, NULL);
}

static enum hc_status calls_differ(struct hc_comm *comm, void *context)
{
    char byte = 0;
    (void)context;
    return comm->rank ? hc_comm_barrier(comm) : hc_comm_broadcast(comm, 0, &byte, 0);
}

Test(threads, other_calls_at_the_same_time_are_a_programmers_error, .signal = SIGABRT)
{
    (void)hc_comm_threads(2, calls_differ, NULL);
}

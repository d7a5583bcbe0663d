#include "check/ranks.h"

#include <criterion/criterion.h>
#include <string.h>

#include "check/check_inner.h"

enum { RANKS = 3 };

struct heard {
    int rank[RANKS];
    int received[RANKS];
    int gathered[RANKS];
    int announced[RANKS];
};

/* Each rank says its number, plus one. */
static enum hc_status say(struct hc_comm *comm, void *context)
{
    struct heard *heard = context;
    int r = comm->rank;
    int mine = r + 1;
    int all[RANKS];
    int announced = mine;
    heard->rank[r] = hc_check_rank();
    enum hc_status status =
        hc_comm_send_receive(comm, (r + 1) % RANKS, &mine, sizeof mine, (r + RANKS - 1) % RANKS,
                             &heard->received[r], sizeof(int));
    if (status == HC_OK)
        status = hc_comm_all_gather(comm, &mine, sizeof mine, all);
    if (status == HC_OK)
        status = hc_comm_broadcast(comm, 2, &announced, sizeof announced);
    heard->gathered[r] = all[0] + all[1] + all[2];
    heard->announced[r] = announced;
    return status == HC_OK ? hc_comm_barrier(comm) : status;
}

static void double_it(const struct hc_comm *comm, int from, void *data, size_t bytes)
{
    int x;
    cr_assert(bytes == sizeof x && from >= 0 && from != comm->rank);
    memcpy(&x, data, sizeof x);
    x *= comm->rank == 1 ? 2 : 1;
    memcpy(data, &x, sizeof x);
}

static void forget_the_first(const struct hc_comm *comm, void *all, size_t bytes)
{
    if (comm->rank == 1)
        memset(all, 0, bytes);
}

static uint64_t another_seed(const struct hc_comm *comm, uint64_t seed)
{
    return seed + (uint64_t)comm->rank;
}

static const struct hc_wire wire = {.received = double_it,
                                    .gathered = forget_the_first,
                                    .announced = double_it,
                                    .seed = another_seed};

Test(ranks, hear_what_was_said_and_know_their_numbers)
{
    struct hc_backend backend = {.name = "sound"};
    struct hc_check check = {.backend = &backend};
    struct heard heard;
    cr_assert_eq(hc_check_ranks(&check, RANKS, say, &heard), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_check_rank(), -1);
    for (int r = 0; r < RANKS; r++) {
        cr_expect_eq(heard.rank[r], r);
        cr_expect_eq(heard.received[r], r == 0 ? RANKS : r);
        cr_expect_eq(heard.gathered[r], 6);
        cr_expect_eq(heard.announced[r], 3);
    }
}

Test(ranks, hear_something_else_on_the_backend_with_the_faulty_wire_alone)
{
    struct hc_backend backend = {.name = "faulty"};
    struct hc_backend other = {.name = "sound"};
    struct hc_check check = {.backend = &backend};
    struct hc_comm second = {.rank = 1, .size = RANKS};
    struct heard heard;
    hc_ranks_wire(&backend, &wire);
    cr_assert_eq(hc_check_ranks(&check, RANKS, say, &heard), HC_OK, "%s", hc_message());
    cr_expect_eq(heard.received[0], 3);
    cr_expect_eq(heard.received[1], 2, "rank 0 said 1");
    cr_expect_eq(heard.gathered[0], 6);
    cr_expect_eq(heard.gathered[1], 5);
    cr_expect_eq(heard.announced[0], 3);
    cr_expect_eq(heard.announced[1], 6);
    cr_expect_eq(hc_check_rank_seed(&check, &second, 7), 8);
    check.backend = &other;
    cr_assert_eq(hc_check_ranks(&check, RANKS, say, &heard), HC_OK, "%s", hc_message());
    cr_expect_eq(heard.received[1], 1);
    cr_expect_eq(heard.gathered[1], 6);
    cr_expect_eq(heard.announced[1], 3);
    cr_expect_eq(hc_check_rank_seed(&check, &second, 7), 7);
}

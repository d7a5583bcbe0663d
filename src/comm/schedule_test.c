/* A schedule is one: who is sent to receives, and nobody sends more than the algorithm needs. */
#include "comm/schedule.h"

#include <criterion/criterion.h>

static const enum hc_collective algorithms[] = {HC_COLLECTIVE_TREE, HC_COLLECTIVE_RING,
                                                HC_COLLECTIVE_HALVING};

static struct hc_move move_of(int a, int ranks, int rank, int64_t count, int i)
{
    return hc_schedule_move(algorithms[a], ranks, rank, count, i);
}

Test(schedule, every_message_has_one_who_sends_and_one_who_receives_it)
{
    static const int64_t counts[] = {0, 1, 5, 64, 1000};
    for (int ranks = 1; ranks <= 20; ranks++)
        for (int a = 0; a < 3; a++)
            for (int c = 0; c < 5; c++)
                for (int i = 0; i < hc_schedule_moves(algorithms[a], ranks); i++)
                    for (int r = 0; r < ranks; r++) {
                        struct hc_move m = move_of(a, ranks, r, counts[c], i);
                        cr_assert(m.to != r && m.from != r && m.to < ranks && m.from < ranks);
                        cr_assert_eq(m.to < 0, m.out.count == 0);
                        cr_assert_eq(m.from < 0, m.in.count == 0);
                        if (m.to < 0)
                            continue;
                        struct hc_move other = move_of(a, ranks, m.to, counts[c], i);
                        cr_assert_eq(other.from, r);
                        cr_assert_eq(other.in.first, m.out.first);
                        cr_assert_eq(other.in.count, m.out.count);
                        cr_assert_eq(other.adds, m.adds);
                    }
}

/* In each move no stretch is sent while it is overwritten: what arrives goes elsewhere. */
Test(schedule, what_is_copied_in_lies_apart_from_what_is_sent)
{
    for (int ranks = 2; ranks <= 17; ranks++)
        for (int a = 0; a < 3; a++)
            for (int i = 0; i < hc_schedule_moves(algorithms[a], ranks); i++)
                for (int r = 0; r < ranks; r++) {
                    struct hc_move m = move_of(a, ranks, r, 100, i);
                    bool apart = m.out.first >= m.in.first + m.in.count ||
                                 m.in.first >= m.out.first + m.out.count;
                    cr_expect(m.to < 0 || m.from < 0 || apart, "%d ranks, rank %d", ranks, r);
                }
}

/* Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009:
   no rank can send less than 2 (R - 1) / R of the vector, and a ring sends as much. */
Test(schedule, rings_and_halvings_send_as_little_as_can_be)
{
    enum { COUNT = 64 * 9, BYTES = 4 };
    for (int ranks = 2; ranks <= 64; ranks *= 2)
        for (int a = 0; a < 3; a++)
            for (int r = 0; r < ranks; r++) {
                struct hc_sent sent = hc_schedule_sent(algorithms[a], ranks, r, COUNT, BYTES);
                cr_expect_eq(sent.bytes, 2 * COUNT * BYTES / ranks * (ranks - 1));
                int k = 0;
                while (1 << k < ranks)
                    k++;
                cr_expect_eq(sent.messages,
                             algorithms[a] == HC_COLLECTIVE_RING ? 2 * (ranks - 1) : 2 * k);
            }
}

Test(schedule, a_tree_over_another_number_of_ranks_sends_whole_vectors_down_and_up)
{
    int64_t sent = 0;
    for (int r = 0; r < 6; r++)
        sent += hc_schedule_sent(HC_COLLECTIVE_TREE, 6, r, 10, 2).bytes;
    cr_expect_eq(sent, 2 * 5 * 10 * 2); /* each of five edges, there and back */
    cr_expect_eq(hc_schedule_sent(HC_COLLECTIVE_TREE, 6, 5, 10, 2).messages, 1);
    cr_expect_eq(hc_schedule_moves(HC_COLLECTIVE_TREE, 6), 6);
    cr_expect_eq(hc_schedule_moves(HC_COLLECTIVE_TREE, 1), 0);
    cr_expect_eq(hc_schedule_moves(HC_COLLECTIVE_HALVING, 6), 6);
}

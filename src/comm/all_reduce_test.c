/* Ranks that average their vectors by messages get the bits of the op all_reduce, which has all
   vectors before it and writes its orders down by itself. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "comm/all_reduce.h"
#include "comm/partial.h"
#include "comm/schedule.h"
#include "comm/testing.h"

static void try(struct hc_all_reduce how, enum hc_format format, int ranks, int64_t count)
{
    struct trial t = trial_of(how, format, ranks, count);
    enum hc_status status = hc_comm_threads(ranks, average, &t);
    cr_expect_eq(status, HC_OK, "%s", hc_message());
    free_trial(&t);
}

static const enum hc_collective algorithms[] = {HC_COLLECTIVE_TREE, HC_COLLECTIVE_RING,
                                                HC_COLLECTIVE_HALVING};

Test(all_reduce, gives_the_bits_of_the_op_on_1_to_16_ranks_in_each_order)
{
    static const int64_t counts[] = {0, 1, 2, 7, 16, 1031};
    for (int ranks = 1; ranks <= 16; ranks++)
        for (int a = 0; a < 3; a++)
            for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
                try((struct hc_all_reduce){algorithms[a], HC_FP32, 1, ranks, false}, HC_FP32, ranks,
                    counts[c]);
}

Test(all_reduce, gives_the_bits_of_the_op_in_all_formats_with_all_divisions)
{
    static const enum hc_format formats[] = {HC_FP32, HC_BF16, HC_FP16};
    for (int a = 0; a < 3; a++)
        for (int f = 0; f < 9; f++)
            for (int d = 0; d < 4; d++) {
                struct hc_all_reduce how = {algorithms[a], formats[f / 3], d & 1 ? 3 : 1,
                                            d & 2 ? 2.5 : 1, f % 2};
                try(how, formats[f % 3], 3 + a, 517);
                try(how, formats[f % 3], 8, 517);
            }
    for (int a = 0; a < 3; a++)
        for (int m = 0; m < 2; m++)
            try((struct hc_all_reduce){algorithms[a], HC_FP64, 3, 5, m}, HC_FP64, 6 + m, 33);
}

Test(all_reduce, gives_the_bits_of_the_op_on_64_ranks)
{
    for (int a = 0; a < 3; a++) {
        try((struct hc_all_reduce){algorithms[a], HC_BF16, 1, 64, false}, HC_BF16, 64, 100);
        try((struct hc_all_reduce){algorithms[a], HC_FP32, 1, 61, false}, HC_FP32, 61, 100);
    }
}

/* What a tree promises: whoever sums which leaves, the bits are the same. */
struct shared {
    int leaves;
    float x[16][5];
    float want[5];
};

static enum hc_status share_leaves(struct hc_comm *comm, void *context)
{
    const struct shared *s = context;
    int own = s->leaves / comm->size;
    float sums[5];
    float room[10];
    struct hc_call local = {.op = HC_OP_all_reduce,
                            .params.all_reduce = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false}};
    local.in[HC_ALL_REDUCE_X] = hc_tensor2(HC_FP32, own, 5, (void *)s->x[own * comm->rank]);
    local.out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP32, 5, sums);
    enum hc_status status = hc_backend_by_name("exact")->kernel[local.op](NULL, &local);
    struct hc_all_reduce how = {HC_COLLECTIVE_TREE, HC_FP32, 1, s->leaves, false};
    if (status == HC_OK)
        status = hc_comm_all_reduce(comm, &how, HC_FP32, sums, 5, room, NULL);
    if (status == HC_OK && memcmp(sums, s->want, sizeof sums) != 0)
        status = hc_fail(HC_INVALID, "%d ranks get other bits", comm->size);
    return status;
}

Test(all_reduce, a_tree_over_the_same_leaves_gives_the_same_bits_on_any_number_of_ranks)
{
    struct shared s = {.leaves = 16};
    for (int64_t i = 0; i < 80; i++)
        s.x[i / 5][i % 5] = (float)hc_random_normal(3, 0, (uint64_t)i);
    struct hc_call whole = {.op = HC_OP_all_reduce,
                            .params.all_reduce = {HC_COLLECTIVE_TREE, HC_FP32, 1, 16, false}};
    whole.in[HC_ALL_REDUCE_X] = hc_tensor2(HC_FP32, 16, 5, s.x);
    whole.out[HC_ALL_REDUCE_OUT] = hc_tensor1(HC_FP32, 5, s.want);
    cr_assert_eq(hc_backend_by_name("exact")->kernel[whole.op](NULL, &whole), HC_OK);
    for (int ranks = 1; ranks <= 16; ranks *= 2)
        cr_expect_eq(hc_comm_threads(ranks, share_leaves, &s), HC_OK, "%s", hc_message());
}

Test(all_reduce, a_comm_without_a_sum_of_its_own_says_so)
{
    struct trial t =
        trial_of((struct hc_all_reduce){HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false}, HC_FP32, 2, 3);
    t.how.algorithm = HC_COLLECTIVE_LIBRARY;
    cr_expect_eq(hc_comm_threads(2, average, &t), HC_UNSUPPORTED);
    cr_expect(strstr(hc_message(), "no sum over ranks comes with threads of one process"), "%s",
              hc_message());
    free_trial(&t);
}

/* Partial sums in 16 bits are rounded as the formats say, on every code and beside every
   midpoint. */

static const enum hc_format halves[] = {HC_FP16, HC_BF16};

static bool same(enum hc_format format, uint64_t want, uint64_t got)
{
    return want == got || (isnan(hc_decode(format, want)) && isnan(hc_decode(format, got)));
}

/* Each code is taken for fp32, rounded into the other format, and back. */
Test(partial, every_code_is_converted_as_hc_encode_does)
{
    static uint16_t codes[65536];
    static float wide[65536];
    static uint16_t back[65536];
    for (int i = 0; i < 65536; i++)
        codes[i] = (uint16_t)i;
    for (int f = 0; f < 4; f++) {
        enum hc_format from = halves[f % 2];
        enum hc_format to = halves[f / 2];
        struct hc_all_reduce in_fp32 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};
        struct hc_all_reduce in_half = {HC_COLLECTIVE_TREE, to, 1, 1, false};
        hc_partial_begin(&in_fp32, from, codes, 65536, wide);
        hc_partial_begin(&in_half, from, codes, 65536, back);
        for (int i = 0; i < 65536; i++) {
            double value = hc_decode(from, (uint64_t)i);
            cr_assert(isnan(value) ? isnan(wide[i]) : (double)wide[i] == value, "%x", i);
            cr_assert(same(to, hc_encode(to, value, 0, HC_NEAREST), back[i]), "%x", i);
        }
        hc_partial_end(&in_fp32, to, wide, 65536, back);
        for (int i = 0; i < 65536; i++)
            cr_assert(same(to, hc_encode(to, (double)wide[i], 0, HC_NEAREST), back[i]), "%x", i);
    }
}

/* Between two neighbours: the midpoint, and the fp32 numbers on both sides of it. */
Test(partial, what_lies_beside_a_midpoint_goes_to_the_nearer_one)
{
    for (int f = 0; f < 2; f++) {
        enum hc_format to = halves[f];
        struct hc_all_reduce how = {HC_COLLECTIVE_TREE, to, 1, 1, false};
        for (uint64_t code = 0; code < 65536; code++) {
            double x = hc_decode(to, code);
            double next = hc_decode(to, code + 1 < 65536 ? code + 1 : code);
            float x3[3];
            uint16_t got[3];
            if (!isfinite(x) || !isfinite(next))
                continue;
            float middle = (float)(x / 2 + next / 2);
            x3[0] = nextafterf(middle, -INFINITY);
            x3[1] = middle;
            x3[2] = nextafterf(middle, INFINITY);
            hc_partial_begin(&how, HC_FP32, x3, 3, got);
            for (int k = 0; k < 3; k++)
                cr_assert(same(to, hc_encode(to, (double)x3[k], 0, HC_NEAREST), got[k]), "%a",
                          (double)x3[k]);
        }
    }
}

/* Any two codes that stand a stride apart, added: the exact sum, rounded once. */
Test(partial, sums_of_two_codes_are_rounded_once)
{
    static uint16_t x[65536];
    static uint16_t y[65536];
    static uint16_t sums[65536];
    for (int f = 0; f < 2; f++)
        for (int stride = 1; stride < 65536; stride = 3 * stride + 7) {
            for (int i = 0; i < 65536; i++) {
                sums[i] = x[i] = (uint16_t)i;
                y[i] = (uint16_t)(i * 5 + stride);
            }
            hc_partial_add(halves[f], sums, y, 65536);
            for (int i = 0; i < 65536; i++) {
                double a = hc_decode(halves[f], x[i]);
                double b = hc_decode(halves[f], y[i]);
                double sum = a + b;
                double share = sum - a;
                double rest = isfinite(sum) ? (a - (sum - share)) + (b - share) : 0;
                cr_assert(same(halves[f], hc_encode(halves[f], sum, rest, HC_NEAREST), sums[i]),
                          "%x + %x", x[i], y[i]);
            }
        }
}

/* A schedule is one: who is sent to receives, and nobody sends more than the algorithm needs. */

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

/* Ranks that average their vectors by messages get the bits of the op all_reduce, which has all
   vectors before it and writes its orders down by itself. */
#include "comm/all_reduce.h"

#include <criterion/criterion.h>
#include <string.h>

#include "comm/testing_averages.h"

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

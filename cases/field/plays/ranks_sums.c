/* One sum over ranks in two orders.

   In bf16 the order of a sum is seen in its bits: of 256, 1, 1 and 1 a tree makes 256 + 2, and a
   ring, which adds one after the other, anything from 256 to 260, by where it begins. NCCL has both
   and chooses by the size of the message and the kind of the call: an all-reduce may be a tree
   where a reduce-scatter is a ring. Two ranks have one order alone, so that a test with two sees
   nothing.

   The rule of thumb: compare with four ranks or more, and by a bound; or with the same algorithm.
*/
#include "cases/fixture/bug.h"
#include "cases/fixture/ranks.h"

#include <math.h>

enum { N = 4 };

/* The largest distance between the two sums over so many ranks, of which the first brings 256. */
static double apart(struct hc_check *check, enum hc_collective baseline, int ranks)
{
    struct hc_all_reduce ring = {HC_COLLECTIVE_RING, HC_BF16, 1, 1, false};
    struct hc_all_reduce other = {baseline, HC_BF16, 1, 1, false};
    struct hc_tensor rows = hc_ranks_rows(check, HC_BF16, ranks, N, NULL);
    struct hc_tensor sum[2];
    double most = 0;
    for (int i = 0; i < ranks * N; i++)
        hc_tensor_set(&rows, i, i < N ? 256 : 1);
    if (hc_ranks_average(check, "reduce-scatter", &ring, rows, &sum[0]) != HC_OK ||
        hc_ranks_average(check, "all-reduce", &other, rows, &sum[1]) != HC_OK)
        return (double)NAN;
    for (int i = 0; i < N; i++)
        most = fmax(most, fabs(hc_tensor_get(&sum[0], i) - hc_tensor_get(&sum[1], i)));
    return most;
}

static void orders(struct hc_check *check, struct hc_exhibits *shown)
{
    for (int ranks = 2; ranks <= 4; ranks += 2)
        hc_exhibits_add(shown, ranks == 2 ? "apart on 2 ranks" : "apart on 4 ranks", HC_BF16,
                        apart(check, HC_COLLECTIVE_TREE, ranks),
                        apart(check, HC_COLLECTIVE_RING, ranks), 0, 0);
}

static const struct hc_case cases[] = {
    HC_BUG("field/rank-sums/all-reduce-is-no-reduce-scatter",
           "A bf16 gradient differs from the one of a test's baseline: not on 2 GPUs, but on 4.",
           "pytorch/pytorch PR 125190, '[FSDP2] Fixed fp32 param dtype/bf16 reduce dtype test', "
           "https://github.com/pytorch/pytorch/pull/125190; NVIDIA/nccl issue 1055",
           .play = orders, .fault = "rank-left-out",
           .lesson = "Take the baseline's sum in the same order, or compare within a bound; two "
                     "ranks show nothing."),
};

HC_CASES(field_plays_ranks_sums, cases);

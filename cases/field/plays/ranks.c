/* Trainings on ranks that go wrong. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/amp.h"
#include "cases/fixture/bug.h"
#include "cases/fixture/training/ranks.h"
#include "cases/fixture/training/update_fixture.h"

/* Averages over ranks with the wrong count.

   What data parallel training computes is one mean, over all that the loss is taken of: images,
   tokens, labels. A rank knows only its own. If each takes the mean of its own and ranks average
   these, the result is right as long as all have as many; with 1 token here and 3 there, each of
   the three counts a third of the one. If each divides by a count over all ranks, ranks must add,
   not average, or multiply by their number beforehand; and who multiplies a mean of his own by the
   number of ranks has gradients that many times too large. Adam hides that, since it divides by
   the gradient's size; clipping and the loss scale do not.

   The rule of thumb: train one step with one rank and with several, on the same images. The
   gradients must be the same. Nothing of this needs 16 bits, but in half a gradient that is 8 times
   too large overflows 8 times earlier. */

static const struct hc_all_reduce over4 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 4, false};
static const struct hc_all_reduce over2 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 2, false};
static const struct hc_all_reduce sum_averages = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};

/* The report's 4 ranks, of which each accumulates 2 batches of 2 labels. Labels have the gradients
   0 to 15, whose mean is 7.5. All numbers are sums of few powers of two. */
enum { RANKS = 4, STEPS = 2, LABELS = 2, ALL = RANKS * STEPS * LABELS };

/* Each rank accumulates the means of its batches times `factor`, and ranks average. */
static double accumulated(struct hc_check *check, double factor)
{
    double g[RANKS] = {0};
    for (int i = 0; i < ALL; i++)
        g[i / (STEPS * LABELS)] += factor * i / LABELS;
    return hc_ranks_average1(check, "gradients", &over4, HC_FP32, RANKS, g);
}

static void times_ranks(struct hc_check *check, struct hc_exhibits *shown)
{
    double buggy = accumulated(check, RANKS);
    double fixed = accumulated(check, (double)RANKS * LABELS / ALL);
    hc_exhibits_add(shown, "gradient", HC_FP32, buggy, fixed, 7.5, 0);
    hc_exhibits_add(shown, "times the mean", HC_FP32, buggy / 7.5, fixed / 7.5, 1, 0);
    hc_claim_value(check, "buggy: times the mean", 8, buggy / 7.5);
    hc_claim_value(check, "half fixed, / batches: times the mean", 4,
                   accumulated(check, (double)RANKS / STEPS) / 7.5);
}

/* Rank 0 has one token with the gradient 4, rank 1 three with the gradient 0.5 each. Counts go over
   ranks as gradients do. */
static void mean_of_means(struct hc_check *check, struct hc_exhibits *shown)
{
    static const double sums[] = {4, 1.5};
    static const double counts[] = {1, 3};
    double tokens = hc_ranks_average1(check, "tokens", &sum_averages, HC_FP32, 2, counts);
    double own[2];
    double shared[2];
    for (int r = 0; r < 2; r++) {
        own[r] = sums[r] / counts[r];
        shared[r] = sums[r] * 2 / tokens;
    }
    hc_exhibits_add(shown, "gradient", HC_FP32,
                    hc_ranks_average1(check, "means", &over2, HC_FP32, 2, own),
                    hc_ranks_average1(check, "sums", &over2, HC_FP32, 2, shared), 5.5 / 4, 0);
}

/* Both batches of two ranks have gradients of 1. The base adds up what ranks have, after each batch
   anew; ranks keep what they had before. */
static void again(struct hc_check *check, struct hc_exhibits *shown)
{
    double base[2];
    for (int cleared = 0; cleared < 2; cleared++) {
        double rank[2] = {0, 0};
        for (int batch = 0; batch < 2; batch++) {
            rank[0] += 1;
            rank[1] = cleared ? 1 : rank[1] + 1;
            rank[0] = hc_ranks_average1(check, "gradients", &sum_averages, HC_FP32, 2, rank);
        }
        base[cleared] = rank[0];
    }
    hc_exhibits_add(shown, "gradient of both", HC_FP32, base[0], base[1], 4, 0);
}

/* An infinity that one rank alone hears of.

   Whether a step is skipped is decided by all ranks together: the largest of what each has found.
   A rank that reads the result before it has arrived reads its own. The rank with the infinity
   skips its step and halves its scale, and all others step and keep theirs: the replicas part, and
   with different scales they never meet again.

   The rule of thumb: let rank 0 alone overflow, and read every rank's scale. The scaler is the op
   table's under torch's rule; what ranks found goes over ranks that are threads. */

enum { RANKS_FOUND = 8 };

/* A step in which rank 0 overflows, by what each rank copied before the ranks agreed, or after. */
static bool step(struct hc_check *check, bool before, struct hc_amp rank[RANKS_FOUND])
{
    double found[RANKS_FOUND];
    double agreed[RANKS_FOUND];
    for (int r = 0; r < RANKS_FOUND; r++) {
        hc_amp_open(&rank[r], check, 2, 2000);
        hc_amp_backward(&rank[r], 0, 0, r == 0 ? 65504 : 0.5);
        (void)hc_amp_unscale(&rank[r], 0);
        found[r] = agreed[r] = (double)rank[r].optimizer[0].found;
    }
    if (hc_ranks_largest(check, RANKS_FOUND, found, agreed) != HC_OK)
        return false;
    for (int r = 0; r < RANKS_FOUND; r++) {
        rank[r].optimizer[0].found = (float)(before ? found[r] : agreed[r]);
        (void)hc_amp_step(&rank[r], 0);
        (void)hc_amp_update(&rank[r]);
    }
    return !rank[0].failed;
}

static void read_early(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_amp *rank = hc_check_memory(check, 2 * RANKS_FOUND * sizeof *rank);
    if (!step(check, true, rank) || !step(check, false, rank + RANKS_FOUND))
        return;
    for (int r = 0; r < RANKS_FOUND; r += r ? RANKS_FOUND - 2 : 1) {
        char name[40];
        (void)snprintf(name, sizeof name, "scale of rank %d", r);
        hc_exhibits_add(shown, name, HC_FP32, (double)rank[r].scale,
                        (double)rank[RANKS_FOUND + r].scale, 1, 0);
    }
    hc_exhibits_add(shown, "rank 1 moved by", HC_FP32, hc_amp_moved(&rank[1], 0, 0),
                    hc_amp_moved(&rank[RANKS_FOUND + 1], 0, 0), 0, 0);
    hc_claim_value(check, "buggy: scale of rank 0", 1, (double)rank[0].scale);
    hc_claim_value(check, "buggy: scale of rank 1", 2, (double)rank[1].scale);
}

/* A norm over ranks that counts a weight as often as there are ranks that have it.

   The norm of all gradients is the root of a sum of squares over ranks, each of which brings those
   of its own weights. A weight that two ranks have, as the embedding that a pipeline's first stage
   reads and its last one writes with, has the same gradient on both once it is synchronised. Its
   squares belong into the sum once. Counted by each rank, the norm is up to the root of the number
   of ranks too large, and clipping takes so much from every gradient.

   The rule of thumb: the norm must not depend on the number of ranks. */

enum { RANKS_NORMS = 2, ELEMENTS = 8 };

static float sum_of_squares(struct hc_check *check, double g)
{
    float sum = 0;
    struct hc_call call = {.op = HC_OP_sum_squares,
                           .in = {[HC_REDUCE_X] = hc_check_vector(check, HC_FP32, ELEMENTS),
                                  [HC_SUM_SQUARES_PARTIAL] = hc_tensor1(HC_FP32, 1, &sum)},
                           .out = {[HC_REDUCE_OUT] = hc_tensor1(HC_FP32, 1, &sum)},
                           .params.reduce = {HC_FP32}};
    for (int i = 0; i < ELEMENTS; i++)
        hc_tensor_set(&call.in[HC_REDUCE_X], i, g);
    return hc_do(check, &call) == HC_OK ? sum : NAN;
}

/* `owners` ranks bring the squares of the weight that all have, the others bring nothing. */
static double norm(struct hc_check *check, int owners)
{
    static const struct hc_all_reduce sum = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};
    double squares[RANKS_NORMS] = {0};
    for (int r = 0; r < owners; r++)
        squares[r] = (double)sum_of_squares(check, 10);
    return sqrt(hc_ranks_average1(check, "squares", &sum, HC_FP32, RANKS_NORMS, squares));
}

/* Squares and sums are whole numbers; the root here is one rounding of fp64, far within fp32's. */
static void counted(struct hc_check *check, struct hc_exhibits *shown)
{
    double buggy = norm(check, RANKS_NORMS);
    double fixed = norm(check, 1);
    hc_exhibits_add(shown, "gradient norm", HC_FP32, hc_round(HC_FP32, buggy),
                    hc_round(HC_FP32, fixed), sqrt(800), 0x1p-20);
    hc_claim_value(check, "buggy: the norm, sqrt(1600)", 40, buggy);
}

/* One sum over ranks in two orders.

   In bf16 the order of a sum is seen in its bits: of 256, 1, 1 and 1 a tree makes 256 + 2, and a
   ring, which adds one after the other, anything from 256 to 260, by where it begins. NCCL has both
   and chooses by the size of the message and the kind of the call: an all-reduce may be a tree
   where a reduce-scatter is a ring. Two ranks have one order alone, so that a test with two sees
   nothing.

   The rule of thumb: compare with four ranks or more, and by a bound; or with the same algorithm.
*/

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

/* A skipped step that takes more with it than the update.

   Local SGD lets every rank train by itself and averages the parameters every few steps. Where the
   averaging is part of optimizer.step(), a gradient scaler that finds an infinity on one rank skips
   it together with the update: the ranks stay apart until the next round, and those that wait for
   the missing rank get nothing at all. What belongs to all ranks, or to the calendar (averaging,
   moving averages of weights, schedules), must not hang on whether one rank's gradients are finite.

   The rule of thumb: skip the update, and only the update. Both arms run two updates of the trainer
   under torch's rule as two ranks, with an SGD whose numbers are exact in fp32; ranks that are
   threads average. Nothing of this needs 16 bits but the overflow. */

enum { AVERAGING_RANKS = 2, AVERAGING_STEPS = 6, ROUND = 4, OVERFLOW = 4 };

static const double lr = 0.125;
static const double g[AVERAGING_RANKS] = {0x1p-4, 0x1p-6};

struct rank {
    double w;
    struct hc_counters counters;
};

static void average(struct hc_check *check, struct hc_fixture fixture[AVERAGING_RANKS])
{
    static const struct hc_all_reduce how = {HC_COLLECTIVE_TREE, HC_FP32, 1, AVERAGING_RANKS,
                                             false};
    double w[AVERAGING_RANKS];
    for (int r = 0; r < AVERAGING_RANKS; r++)
        w[r] = hc_fixture_get(&fixture[r], HC_STATE_MASTER, 1, 0);
    double mean = hc_ranks_average1(check, "weights", &how, HC_FP32, AVERAGING_RANKS, w);
    for (int r = 0; r < AVERAGING_RANKS; r++)
        hc_fixture_set(&fixture[r], HC_STATE_MASTER, 1, 0, mean);
}

/* Rank 0 overflows at the step that ends a round of averaging, in a parameter beside the one that
   is looked at. */
static bool train(struct hc_check *check, bool inside, struct rank rank[AVERAGING_RANKS])
{
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_fixture fixture[AVERAGING_RANKS];
    bool done = true;
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    for (int r = 0; r < AVERAGING_RANKS; r++) {
        hc_fixture_open(&fixture[r], check);
        hc_fixture_add(&fixture[r], "overflows", HC_ROLE_WEIGHT, 1, 1);
        hc_fixture_add(&fixture[r], "w", HC_ROLE_BIAS, 1, 1);
        hc_fixture_start(&fixture[r], &recipe);
    }
    for (int step = 1; step <= AVERAGING_STEPS; step++) {
        bool skipped = false;
        for (int r = 0; r < AVERAGING_RANKS; r++) {
            int32_t before = hc_fixture_counters(&fixture[r]).skipped;
            hc_fixture_gradients(&fixture[r], g[r]);
            if (r == 0 && step == OVERFLOW)
                hc_fixture_set(&fixture[r], HC_STATE_GRADIENT, 0, 0, (double)INFINITY);
            hc_fixture_step(&fixture[r], lr, 0);
            skipped |= hc_fixture_counters(&fixture[r]).skipped > before;
        }
        if (step % ROUND == 0 && !(inside && skipped))
            average(check, fixture);
    }
    for (int r = 0; r < AVERAGING_RANKS; r++) {
        rank[r] = (struct rank){hc_fixture_get(&fixture[r], HC_STATE_MASTER, 1, 0),
                                hc_fixture_counters(&fixture[r])};
        done = hc_fixture_close(&fixture[r]) && done;
    }
    return done;
}

/* Steps taken are 3 and 4 of the first round and two of the next, from the mean or from where each
   rank is. All numbers are multiples of 2^-9. */
static void skips(struct hc_check *check, struct hc_exhibits *shown)
{
    struct rank buggy[AVERAGING_RANKS];
    struct rank fixed[AVERAGING_RANKS];
    if (!train(check, true, buggy) || !train(check, false, fixed))
        return;
    double mean = 1 - lr * (3 * g[0] + 4 * g[1]) / AVERAGING_RANKS;
    double after = AVERAGING_STEPS - ROUND;
    hc_exhibits_add(shown, "weight on rank 0", HC_FP32, buggy[0].w, fixed[0].w,
                    mean - after * lr * g[0], 0);
    hc_exhibits_add(shown, "weight on rank 1", HC_FP32, buggy[1].w, fixed[1].w,
                    mean - after * lr * g[1], 0);
    hc_exhibits_add(shown, "between the ranks", HC_FP32, fabs(buggy[0].w - buggy[1].w),
                    fabs(fixed[0].w - fixed[1].w), after * lr * (g[0] - g[1]), 0);
    hc_claim_value(check, "buggy: weight on rank 0", 1 - lr * 5 * g[0], buggy[0].w);
    hc_claim_value(check, "buggy: weight on rank 1", 1 - lr * 6 * g[1], buggy[1].w);
    hc_claim_value(check, "fixed: steps skipped on rank 0", 1, fixed[0].counters.skipped);
    hc_claim_value(check, "fixed: steps skipped on rank 1", 0, fixed[1].counters.skipped);
}

static const struct hc_case cases[] = {
    HC_BUG("field/rank-counts/mean-times-ranks",
           "With more GPUs and more accumulated batches the gradients grow: 8 times the mean with "
           "4 ranks and 2 batches.",
           "NVIDIA-NeMo/Automodel PR 3830, 'fix(recipes): normalize seq-cls loss and gradients by "
           "a global label count', https://github.com/NVIDIA-NeMo/Automodel/pull/3830; "
           "NVIDIA/makani PR 103",
           .play = times_ranks, .fault = "rank-left-out",
           .lesson = "Divide by a count over all ranks before you multiply by their number; test "
                     "it with one rank and with several."),
    HC_BUG("field/rank-counts/mean-of-means",
           "Training on several GPUs differs from training on one where batches have different "
           "numbers of tokens.",
           "huggingface/transformers issue 34242, 'Add DDP token averaging for equivalent "
           "non-parallel training similar to #34191', "
           "https://github.com/huggingface/transformers/issues/34242; pytorch/pytorch issue 67253",
           .play = mean_of_means, .fault = "rank-left-out",
           .lesson = "Sum the counts over ranks first: a token on a rank with few counts no more "
                     "than one on a rank with many."),
    HC_BUG("field/rank-counts/reduced-after-each-batch",
           "Gradients that are accumulated over batches are too large on several GPUs.",
           "torch/cunn issue 209, 'Reduce gradients problem of "
           "DataParallelTable:accGradParameters()', https://github.com/torch/cunn/issues/209; "
           "NVIDIA/Megatron-LM issue 775, https://github.com/NVIDIA/Megatron-LM/issues/775",
           .play = again, .fault = "rank-counted-twice",
           .lesson = "Sum over ranks once for each step, after the last batch, or clear what has "
                     "been summed."),
    HC_BUG("field/rank-infinities/found-inf-read-too-early",
           "With sharded gradients on the CPU only the rank with the infinity backs its scale off: "
           "1 there, and 2 on the others.",
           "pytorch/pytorch PR 115710, '[FSDP] sharded grad scaler: copy found_inf after waiting "
           "on async reduce_all', https://github.com/pytorch/pytorch/pull/115710; "
           "ecmwf/WeatherGenerator issue 2724 (the decision of rank 0 alone)",
           .play = read_early, .fault = "rank-deaf",
           .lesson = "Wait for the ranks' agreement before anything reads it, and test with an "
                     "infinity on one rank."),
    HC_BUG("field/rank-norms/shared-weight-counted-twice",
           "With an embedding that two pipeline stages share the gradient norm is too large, and "
           "clipping takes too much.",
           "NVIDIA/Megatron-LM PR 7227, 'Fix MFSDP v2 shared gradient norms', "
           "https://github.com/NVIDIA/Megatron-LM/pull/7227 (40 in the place of 28.284); "
           "NVIDIA-NeMo/RL PR 3788; ROCm/TransformerEngine PR 715 (1.52 and 1.36 times)",
           .play = counted, .fault = "rank-left-out",
           .lesson = "Let one rank bring the squares of a weight that several have, and compare "
                     "the norm with that of one rank."),
    HC_BUG("field/rank-sums/all-reduce-is-no-reduce-scatter",
           "A bf16 gradient differs from the one of a test's baseline: not on 2 GPUs, but on 4.",
           "pytorch/pytorch PR 125190, '[FSDP2] Fixed fp32 param dtype/bf16 reduce dtype test', "
           "https://github.com/pytorch/pytorch/pull/125190; NVIDIA/nccl issue 1055",
           .play = orders, .fault = "rank-left-out",
           .lesson = "Take the baseline's sum in the same order, or compare within a bound; two "
                     "ranks show nothing."),
    HC_BUG("field/parameter-averaging/rank-skip-averaging",
           "With a GradScaler and post-local SGD the replicas drift apart: a rank whose gradients "
           "overflow skips the averaging of parameters, too.",
           "pytorch/pytorch issue 76282, '`torch.cuda.amp.GradScaler` may skip parameter "
           "synchronization required by post localSGD optimizer', "
           "https://github.com/pytorch/pytorch/issues/76282",
           .play = skips, .fault = "sgd-ignores-found",
           .lesson = "Skip the update and only the update: what all ranks do together must not "
                     "hang on one rank's gradients."),
};

HC_CASES(field_plays_ranks, cases);

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
#include "cases/fixture/bug.h"
#include "cases/fixture/ranks.h"

static const struct hc_all_reduce over4 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 4, false};
static const struct hc_all_reduce over2 = {HC_COLLECTIVE_TREE, HC_FP32, 1, 2, false};
static const struct hc_all_reduce sum = {HC_COLLECTIVE_TREE, HC_FP32, 1, 1, false};

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
    double tokens = hc_ranks_average1(check, "tokens", &sum, HC_FP32, 2, counts);
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
            rank[0] = hc_ranks_average1(check, "gradients", &sum, HC_FP32, 2, rank);
        }
        base[cleared] = rank[0];
    }
    hc_exhibits_add(shown, "gradient of both", HC_FP32, base[0], base[1], 4, 0);
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
};

HC_CASES(field_plays_ranks_averages, cases);

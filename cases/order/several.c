/* One scaler with several optimizers, passes or ranks. */
#include <math.h>

#include "cases/fixture/amp.h"
#include "cases/fixture/training/ranks.h"

/* One scaler with two optimizers, and gradients that are added up over several passes. */

/* Optimizer 1 has an infinity. It alone is skipped, and the one update halves the scale once. */
static void two_optimizers(struct hc_check *check)
{
    struct hc_amp amp;
    double g = hc_amp_rounded(1024, 0.7);
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, 0.7);
    hc_amp_backward(&amp, 1, 0, 100);
    hc_amp_backward(&amp, 1, 1, 0.7);
    hc_amp_holds(&amp, "both step, one update",
                 hc_amp_step(&amp, 0) == HC_OK && hc_amp_step(&amp, 1) == HC_OK &&
                     hc_amp_update(&amp) == HC_OK);
    hc_amp_claim_moved(&amp, "the sound one has stepped", 0, 0, g, 0);
    hc_amp_claim(&amp, "the other has not", 0, hc_amp_moved(&amp, 1, 0));
    hc_amp_claim(&amp, "nor its sound parameter", 0, hc_amp_moved(&amp, 1, 1));
    hc_amp_claim(&amp, "the scale is halved once", 512, (double)amp.scale);
    hc_amp_claim(&amp, "one step is counted", 1, (double)amp.counts[HC_COUNT_STEPS]);
}

/* An update after each optimizer's step. The second optimizer's gradients came back at the old
   scale. */
static void update_for_each(struct hc_check *check)
{
    static const struct {
        const char *what;
        double first; /* optimizer 0's gradient at scale 1024; 100 is infinite there */
        double factor;
    } rows[] = {{"the first overflows: the second goes twice its way", 100, 2},
                {"the first grows the scale: the second goes half its way", 0.7, 0.5}};
    double g = hc_amp_rounded(1024, 0.7);
    for (int r = 0; r < 2; r++) {
        struct hc_amp amp;
        hc_amp_open(&amp, check, 1024, 1);
        hc_amp_backward(&amp, 0, 0, rows[r].first);
        hc_amp_backward(&amp, 1, 0, 0.7);
        (void)hc_amp_step(&amp, 0);
        (void)hc_amp_update(&amp);
        (void)hc_amp_step(&amp, 1);
        hc_say(check, "%s:\n      %.4g instead of %.4g", rows[r].what, hc_amp_moved(&amp, 1, 0),
               amp.lr * g);
        hc_amp_claim_moved(&amp, rows[r].what, 1, 0, rows[r].factor * g, 0);
        (void)hc_amp_update(&amp);
        hc_amp_claim(&amp, "two steps are counted", 2, (double)amp.counts[HC_COUNT_STEPS]);

        hc_amp_open(&amp, check, 1024, 1);
        hc_amp_backward(&amp, 0, 0, rows[r].first);
        hc_amp_backward(&amp, 1, 0, 0.7);
        (void)hc_amp_step(&amp, 0);
        (void)hc_amp_step(&amp, 1);
        (void)hc_amp_update(&amp);
        hc_amp_claim_moved(&amp, "one update after both: its way", 1, 0, g, 0);
    }
}

/* Four micro-batches, then one step. The fp32 sums take three roundings. */
static void accumulates(struct hc_check *check)
{
    static const double parts[] = {0.7, -0.1, 0.3, 0.05};
    struct hc_amp amp;
    double sum = 0;
    hc_amp_open(&amp, check, 1024, 1);
    for (int i = 0; i < 4; i++) {
        sum += hc_amp_rounded(1024, parts[i]);
        hc_amp_backward(&amp, 0, 0, parts[i]);
    }
    hc_amp_holds(&amp, "step and update",
                 hc_amp_step(&amp, 0) == HC_OK && hc_amp_update(&amp) == HC_OK);
    hc_amp_claim_moved(&amp, "four passes, one step", 0, 0, sum, 4);
    hc_amp_claim(&amp, "the scale grows once", 2048, (double)amp.scale);

    hc_amp_open(&amp, check, 1024, 2000);
    for (int i = 0; i < 4; i++)
        hc_amp_backward(&amp, 0, 0, i == 1 ? 100 : parts[i]);
    (void)hc_amp_step(&amp, 0);
    hc_amp_claim(&amp, "an infinity in one pass skips all four", 0, hc_amp_moved(&amp, 0, 0));
}

/* g at S = 1024, g at 2048, over 2048: 1.5 g instead of 2 g. */
static void micro_updates(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 1024, 1);
    amp.guarded = false;
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_update(&amp);
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_step(&amp, 0);
    hc_say(check, "an update in between: the sum is %g instead of 1", hc_amp_gradient(&amp, 0, 0));
    hc_amp_claim_moved(&amp, "an update between two passes: 3/4 of the way", 0, 0, 0.75, 0);

    hc_amp_open(&amp, check, 1024, 1);
    hc_amp_backward(&amp, 0, 0, 0.5);
    hc_amp_claim_refused(&amp, "an update that nothing was unscaled for", hc_amp_update(&amp),
                         "update: no gradient was looked at");
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_step(&amp, 0);
    hc_amp_claim_moved(&amp, "none in between: the whole", 0, 0, 1, 0);
}

/* unscale after the first pass, and then another pass: g + S g. */
static void unscale_between(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 4, 2000);
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_unscale(&amp, 0);
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_step(&amp, 0);
    hc_say(check, "unscaled after the first of two passes, at S = 4: %g instead of 1",
           hc_amp_gradient(&amp, 0, 0));
    hc_amp_claim_moved(&amp, "(1 + S) g instead of 2 g", 0, 0, 2.5, 0);
}

/* A skipped step whose gradients are still scaled and not set to zero: the next pass adds to
   them. */
static void not_zeroed(struct hc_check *check)
{
    struct hc_amp amp;
    hc_amp_open(&amp, check, 4, 2000);
    hc_amp_backward(&amp, 0, 0, 0.5);
    hc_amp_backward(&amp, 0, 1, (double)INFINITY);
    (void)hc_amp_step(&amp, 0);
    (void)hc_amp_update(&amp);
    hc_amp_claim(&amp, "the step is skipped, the sound gradient unscaled", 0.5,
                 hc_amp_gradient(&amp, 0, 0));
    hc_amp_backward(&amp, 0, 0, 0.5);
    hc_say(check, "skipped, not zeroed, another pass at S = 2: %g instead of 1",
           hc_amp_gradient(&amp, 0, 0));
    hc_amp_claim(&amp, "another pass adds S g to g", 1.5, hc_amp_gradient(&amp, 0, 0));
    (void)hc_amp_step(&amp, 0);
    hc_amp_claim(&amp, "and the infinity is still there: skipped again", 0,
                 hc_amp_moved(&amp, 0, 0));
    hc_amp_zero(&amp, 0);
    (void)hc_amp_update(&amp);
    hc_amp_backward(&amp, 0, 0, 0.5);
    (void)hc_amp_step(&amp, 0);
    hc_amp_claim_moved(&amp, "zeroed: the step is made", 0, 0, 0.5, 0);
}

/* 1e-3 added 4096 times, one by one in 16 bits, stops where half an ulp is no less than the
   addend. */
static void narrow_sum(struct hc_check *check)
{
    static const struct {
        enum hc_format format;
        double stops;
    } rows[] = {{HC_BF16, 0.5}, {HC_FP16, 4}, {HC_FP32, 0}};
    for (int r = 0; r < 3; r++) {
        enum hc_format format = rows[r].format;
        struct hc_tensor many = hc_check_vector(check, format, 4096);
        struct hc_tensor sum = hc_check_vector(check, format, 1);
        for (int i = 0; i < 4096; i++)
            hc_tensor_set(&many, i, 1e-3);
        struct hc_call call = {.op = HC_OP_sum,
                               .in = {[HC_REDUCE_X] = many},
                               .out = {[HC_REDUCE_OUT] = sum},
                               .params.reduce = {format}};
        if (hc_do(check, &call) != HC_OK)
            return;
        double real = 4096 * hc_tensor_get(&many, 0);
        hc_say(check, "4096 gradients of 1e-3 in %s: %g", hc_formats[format].name,
               hc_tensor_get(&sum, 0));
        if (rows[r].stops != 0)
            hc_claim_value(check, hc_formats[format].name, rows[r].stops, hc_tensor_get(&sum, 0));
        else
            hc_claim_within(check, "fp32", real, hc_tensor_get(&sum, 0), 4096 * 0x1p-24 * real);
    }
}

/* Several ranks: how their half gradients are averaged, and how they share what they found. */

/* Division before the sum, after it, or in two parts. */
enum { WAYS = 3 };

struct way {
    const char *name;
    double before; /* divisors of each rank's gradient, and of the sum */
    double after;
};

/* As many ranks, a power of two with a whole root, bring equal gradients. */
struct ranks {
    int ranks;
    int root;
    double g[3];
};

/* N equal numbers, each addition rounded into half: one after the other, as round a ring, or in
   pairs. */
static double added(enum hc_collective algorithm, int ranks, double part)
{
    double sum = part;
    for (int n = 1; n < ranks; n = algorithm == HC_COLLECTIVE_RING ? n + 1 : 2 * n)
        sum = hc_round(HC_FP16, sum + (algorithm == HC_COLLECTIVE_RING ? part : sum));
    return sum;
}

/* In exact arithmetic, each step a real number rounded to half. */
static double defined(const struct way *way, enum hc_collective algorithm, int ranks, double g)
{
    double part = hc_round(HC_FP16, hc_round(HC_FP16, g) / way->before);
    return hc_round(HC_FP16, added(algorithm, ranks, part) / way->after);
}

static double average(struct hc_check *check, const struct way *way, enum hc_collective algorithm,
                      int ranks, double g)
{
    struct hc_all_reduce how = {algorithm, HC_FP16, way->before, way->after, false};
    double *x = hc_check_memory(check, (size_t)ranks * sizeof *x);
    for (int r = 0; r < ranks; r++)
        x[r] = g;
    return hc_ranks_average1(check, way->name, &how, HC_FP16, ranks, x);
}

/* Powers of two divide exactly except for underflow. If nothing overflows or becomes 0, a part
   below 2^-14 is within 2^-25, a tenth of 1e-5 / 32; 1023 additions, each within 2^-11, leave
   between a half and three halves: 0.45 to 1.65. Of 4e-7 / 4 it is within 0.3, after half has made
   it 4.2e-7, and 15 additions take or add a hundredth: 0.7 to 1.4. */
static void orders(struct hc_check *check)
{
    static const struct ranks all[] = {{1024, 32, {100, 1, 1e-5}}, {16, 4, {6400, 1, 4e-7}}};
    static const enum hc_collective algorithms[] = {HC_COLLECTIVE_RING, HC_COLLECTIVE_TREE};
    for (int i = 0; i < 12; i++) {
        const struct ranks *r = &all[i / 6];
        enum hc_collective algorithm = algorithms[i / 3 % 2];
        double g = r->g[i % 3];
        const struct way ways[WAYS] = {{"sum, / N", 1, r->ranks},
                                       {"/ N, sum", r->ranks, 1},
                                       {"/ root N, sum, / root N", r->root, r->root}};
        for (int w = 0; w < WAYS; w++) {
            double got = average(check, &ways[w], algorithm, r->ranks, g);
            bool over = w == 0 && i % 3 == 0;
            bool under = w == 1 && i % 3 == 2;
            if (hc_check_is_cut(check))
                return;
            if (r == all)
                hc_say(check, "%d ranks with %-5g %-24s %-5s %g", r->ranks, g, ways[w].name,
                       hc_collective_names[algorithm], got);
            hc_claim_value(check, ways[w].name, defined(&ways[w], algorithm, r->ranks, g), got);
            hc_claim_true(check, "what is left of it",
                          over    ? isinf(got)
                          : under ? got == 0
                                  : got >= 0.45 * g && got <= 1.65 * g);
        }
    }
}

/* Two ranks, each with a shard of its own (parameter 0) and a replica (parameter 1), whose gradient
   is the same on both. The shard of rank 0 overflows. */
static void ranks_step(struct hc_check *check, bool shared, struct hc_amp rank[2])
{
    for (int r = 0; r < 2; r++) {
        hc_amp_open(&rank[r], check, 1024, 1);
        hc_amp_backward(&rank[r], 0, 0, r == 0 ? 100 : 0.5);
        hc_amp_backward(&rank[r], 0, 1, 0.5);
        (void)hc_amp_unscale(&rank[r], 0);
    }
    double found[2] = {(double)rank[0].optimizer[0].found, (double)rank[1].optimizer[0].found};
    if (shared && hc_ranks_largest(check, 2, found, found) != HC_OK)
        return;
    for (int r = 0; r < 2; r++) {
        rank[r].optimizer[0].found = (float)found[r];
        (void)hc_amp_step(&rank[r], 0);
        (void)hc_amp_update(&rank[r]);
        hc_say(check, "%s, rank %d: the replica has gone %g, the scale is %g",
               shared ? "found shared" : "found alone", r, hc_amp_moved(&rank[r], 0, 1),
               (double)rank[r].scale);
    }
}

static void disagree(struct hc_check *check)
{
    struct hc_amp rank[2];
    ranks_step(check, false, rank);
    hc_amp_claim(&rank[0], "buggy arm: rank 0 skips", 0, hc_amp_moved(&rank[0], 0, 1));
    hc_amp_claim_moved(&rank[1], "buggy arm: rank 1 steps", 0, 1, 0.5, 0);
    hc_amp_claim(&rank[0], "buggy arm: rank 0 halves", 512, (double)rank[0].scale);
    hc_amp_claim(&rank[1], "buggy arm: rank 1 doubles", 2048, (double)rank[1].scale);
    ranks_step(check, true, rank);
    for (int r = 0; r < 2; r++) {
        hc_amp_claim(&rank[r], "fixed arm: skipped", 0, hc_amp_moved(&rank[r], 0, 1));
        hc_amp_claim(&rank[r], "fixed arm: halved", 512, (double)rank[r].scale);
    }
}

static const struct hc_case cases[] = {
    {"order/two-optimizers",
     "one scaler, two optimizers, one update: an overflow skips its own optimizer alone and halves "
     "the scale once",
     "pytorch docs, Automatic Mixed Precision examples, 'Working with Multiple Models, Losses, and "
     "Optimizers'",
     .run = two_optimizers},
    {"order/update-for-each-optimizer",
     "an update between two optimizers' steps makes the second's step twice or half as long",
     "https://github.com/huggingface/accelerate/issues/439, 'Potential bugs caused by "
     "AcceleratedOptimizer'",
     .run = update_for_each},
    {"order/accumulate",
     "gradients of several passes at one scale, then one step and update: their sum",
     "pytorch docs, Automatic Mixed Precision examples, 'Gradient accumulation'",
     .run = accumulates},
    {"order/update-between-passes", "an update between two passes mixes two scales: 3/4 of the sum",
     "pytorch docs, Automatic Mixed Precision examples, 'Gradient accumulation': scale updates "
     "should occur at effective-batch granularity",
     .run = micro_updates},
    {"order/unscale-between-passes",
     "a pass after unscale adds a scaled gradient to an unscaled one",
     "pytorch docs, Automatic Mixed Precision examples, 'Gradient accumulation': if grads are "
     "unscaled before accumulation is complete, the next backward pass will add scaled grads to "
     "unscaled grads",
     .run = unscale_between},
    {"order/skipped-not-zeroed",
     "gradients of a skipped step that are not set to zero go on into the next",
     "https://github.com/pytorch/pytorch/pull/97415", .run = not_zeroed},
    {"order/accumulate-narrow",
     "4096 gradients of 1e-3 added up in bf16 are 0.5, in half 4, in fp32 4.096",
     "https://github.com/deepspeedai/DeepSpeed/issues/2768", .run = narrow_sum},
    {"order/average-over-ranks",
     "gradients of 1024 ranks and of 16 in half, added round a ring and in pairs: sum then divide "
     "makes the largest infinite, divide then sum makes the smallest zero, the root twice keeps "
     "both",
     "https://github.com/horovod/horovod/issues/1699; "
     "https://github.com/facebookresearch/fairscale/pull/565; NVIDIA/apex @e13873de "
     "apex/parallel/distributed.py, gradient_predivide_factor",
     .run = orders},
    {"order/ranks-disagree",
     "ranks that do not share what they found step apart and scale apart; sharing it skips the "
     "step on all",
     "https://github.com/facebookresearch/fairseq2/pull/1374, 'Fix fp16 scaling when used with TP'",
     .run = disagree},
};

HC_CASES(order_several, cases);

/* Several ranks: how their half gradients are averaged, and how they share what they found. */
#include "cases/fixture/amp.h"

#include <math.h>

/* Division before the sum, after it, or in two parts. Every addition and product is rounded into
   half, in the ranks' order. */
struct way {
    const char *name;
    double before; /* divisors of each rank's gradient, and of the sum */
    double after;
};

/* The average of N equal gradients g by the op `sum` in half, as a ring adds one element. */
static enum hc_status average(struct hc_check *check, const struct way *way, int ranks, double g,
                              double *got)
{
    float factor[2] = {(float)(1 / way->before), (float)(1 / way->after)};
    struct hc_tensor part = hc_check_vector(check, HC_FP16, ranks);
    struct hc_tensor sum = hc_check_vector(check, HC_FP16, 1);
    for (int r = 0; r < ranks; r++)
        hc_tensor_set(&part, r, g);
    struct hc_call before = {
        .op = HC_OP_scale,
        .in = {[HC_SCALE_X] = part, [HC_SCALE_S] = hc_tensor1(HC_FP32, 1, &factor[0])},
        .out = {[HC_SCALE_OUT] = part}};
    struct hc_call add = {.op = HC_OP_sum,
                          .in = {[HC_REDUCE_X] = part},
                          .out = {[HC_REDUCE_OUT] = sum},
                          .params.reduce = {HC_FP16}};
    struct hc_call after = {
        .op = HC_OP_scale,
        .in = {[HC_SCALE_X] = sum, [HC_SCALE_S] = hc_tensor1(HC_FP32, 1, &factor[1])},
        .out = {[HC_SCALE_OUT] = sum}};
    enum hc_status status = hc_do(check, &before);
    if (status == HC_OK)
        status = hc_do(check, &add);
    if (status == HC_OK)
        status = hc_do(check, &after);
    *got = hc_tensor_get(&sum, 0);
    return status;
}

/* The same in exact arithmetic, each step a real number rounded to half. */
static double defined(const struct way *way, int ranks, double g)
{
    double part = hc_round(HC_FP16, hc_round(HC_FP16, g) / way->before);
    double sum = 0;
    for (int r = 0; r < ranks; r++)
        sum = hc_round(HC_FP16, sum + part);
    return hc_round(HC_FP16, sum / way->after);
}

/* 1024 ranks; powers of two divide exactly except for underflow. If nothing overflows or becomes 0,
   a part below 2^-14 is within 2^-25, a tenth of 1e-5 / 32, and 1023 additions, each within 2^-11,
   leave between a half and three halves: 0.45 to 1.65 of it. */
static void orders(struct hc_check *check)
{
    enum { RANKS = 1024, WAYS = 3 };
    static const struct way ways[WAYS] = {
        {"sum, / 1024", 1, RANKS}, {"/ 1024, sum", RANKS, 1}, {"/ 32, sum, / 32", 32, 32}};
    static const struct {
        double g;
        double
            least[WAYS]; /* share of the gradient that is left; infinite stands for an overflow */
        double most[WAYS];
    } rows[] = {
        {100, {(double)INFINITY, 0.45, 0.45}, {(double)INFINITY, 1.65, 1.65}},
        {1, {0.45, 0.45, 0.45}, {1.65, 1.65, 1.65}},
        {1e-5, {0.45, 0, 0.45}, {1.65, 0, 1.65}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int w = 0; w < WAYS; w++) {
            double got;
            if (average(check, &ways[w], RANKS, rows[i].g, &got) != HC_OK)
                return;
            hc_say(check, "1024 ranks with %-6g %-16s %g", rows[i].g, ways[w].name, got);
            hc_claim_value(check, ways[w].name, defined(&ways[w], RANKS, rows[i].g), got);
            hc_claim_true(check, "what is left of it",
                          got >= rows[i].least[w] * rows[i].g &&
                              got <= rows[i].most[w] * rows[i].g);
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
    float found = fmaxf(rank[0].optimizer[0].found, rank[1].optimizer[0].found);
    for (int r = 0; r < 2; r++) {
        if (shared)
            rank[r].optimizer[0].found = found;
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
    {.name = "order/average-over-ranks",
     .title = "1024 ranks' gradients in half: sum then divide makes 100 infinite, divide then sum "
              "makes 1e-5 zero, by 32 twice keeps both",
     .source = "https://github.com/horovod/horovod/issues/1699; "
               "https://github.com/facebookresearch/fairscale/pull/565; NVIDIA/apex @e13873de "
               "apex/parallel/distributed.py, gradient_predivide_factor",
     .run = orders},
    {.name = "order/ranks-disagree",
     .title = "ranks that do not share what they found step apart and scale apart; sharing it "
              "skips the step on all",
     .source = "https://github.com/facebookresearch/fairseq2/pull/1374, 'Fix fp16 scaling when "
               "used with TP'",
     .run = disagree},
};

HC_CASES(order_ranks, cases);

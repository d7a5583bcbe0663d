/* Several ranks: how their half gradients are averaged, and how they share what they found. */
#include "cases/fixture/amp.h"
#include "cases/fixture/ranks.h"

#include <math.h>

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
    {.name = "order/average-over-ranks",
     .title =
         "gradients of 1024 ranks and of 16 in half, added round a ring and in pairs: sum then "
         "divide makes the largest infinite, divide then sum makes the smallest zero, the root "
         "twice keeps both",
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

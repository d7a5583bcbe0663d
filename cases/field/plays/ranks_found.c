/* An infinity that one rank alone hears of.

   Whether a step is skipped is decided by all ranks together: the largest of what each has found.
   A rank that reads the result before it has arrived reads its own. The rank with the infinity
   skips its step and halves its scale, and all others step and keep theirs: the replicas part, and
   with different scales they never meet again.

   The rule of thumb: let rank 0 alone overflow, and read every rank's scale. The scaler is the op
   table's under torch's rule; what ranks found goes over ranks that are threads. */
#include <stdio.h>

#include "cases/fixture/amp.h"
#include "cases/fixture/bug.h"
#include "cases/fixture/ranks.h"

enum { RANKS = 8 };

/* A step in which rank 0 overflows, by what each rank copied before the ranks agreed, or after. */
static bool step(struct hc_check *check, bool before, struct hc_amp rank[RANKS])
{
    double found[RANKS];
    double agreed[RANKS];
    for (int r = 0; r < RANKS; r++) {
        hc_amp_open(&rank[r], check, 2, 2000);
        hc_amp_backward(&rank[r], 0, 0, r == 0 ? 65504 : 0.5);
        (void)hc_amp_unscale(&rank[r], 0);
        found[r] = agreed[r] = (double)rank[r].optimizer[0].found;
    }
    if (hc_ranks_largest(check, RANKS, found, agreed) != HC_OK)
        return false;
    for (int r = 0; r < RANKS; r++) {
        rank[r].optimizer[0].found = (float)(before ? found[r] : agreed[r]);
        (void)hc_amp_step(&rank[r], 0);
        (void)hc_amp_update(&rank[r]);
    }
    return !rank[0].failed;
}

static void read_early(struct hc_check *check, struct hc_exhibits *shown)
{
    struct hc_amp *rank = hc_check_memory(check, 2 * RANKS * sizeof *rank);
    if (!step(check, true, rank) || !step(check, false, rank + RANKS))
        return;
    for (int r = 0; r < RANKS; r += r ? RANKS - 2 : 1) {
        char name[40];
        (void)snprintf(name, sizeof name, "scale of rank %d", r);
        hc_exhibits_add(shown, name, HC_FP32, (double)rank[r].scale, (double)rank[RANKS + r].scale,
                        1, 0);
    }
    hc_exhibits_add(shown, "rank 1 moved by", HC_FP32, hc_amp_moved(&rank[1], 0, 0),
                    hc_amp_moved(&rank[RANKS + 1], 0, 0), 0, 0);
    hc_claim_value(check, "buggy: scale of rank 0", 1, (double)rank[0].scale);
    hc_claim_value(check, "buggy: scale of rank 1", 2, (double)rank[1].scale);
}

static const struct hc_case cases[] = {
    HC_BUG("field/rank-infinities/found-inf-read-too-early",
           "With sharded gradients on the CPU only the rank with the infinity backs its scale off: "
           "1 there, and 2 on the others.",
           "pytorch/pytorch PR 115710, '[FSDP] sharded grad scaler: copy found_inf after waiting "
           "on async reduce_all', https://github.com/pytorch/pytorch/pull/115710; "
           "ecmwf/WeatherGenerator issue 2724 (the decision of rank 0 alone)",
           .play = read_early, .fault = "rank-deaf",
           .lesson = "Wait for the ranks' agreement before anything reads it, and test with an "
                     "infinity on one rank."),
};

HC_CASES(field_plays_ranks_found, cases);

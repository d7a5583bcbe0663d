/* Every sequence of calls on a GradScaler, against its stages written as a table. The machine under
   test is cases/fixture/amp.c, which the other cases of order/ build on; its calls run on the
   backend. */
#include "cases/fixture/amp.h"

#include <stdio.h>
#include <string.h>

enum { CALLS = 3, LENGTH = 5, REFUSED = -1 };

static enum hc_status update(struct hc_amp *amp, int o)
{
    (void)o;
    return hc_amp_update(amp);
}

static enum hc_status (*const calls[CALLS])(struct hc_amp *, int) = {hc_amp_unscale, hc_amp_step,
                                                                     update};
static const char *const names[CALLS] = {"unscale", "step", "update"};

/* torch/amp/grad_scaler.py: unscale_ raises unless the optimizer is READY. step raises if it has
   STEPPED, and unscales first if it is READY. update asserts that something was checked for
   infinities, and makes all READY. A call that raises leaves the stage alone. */
static const int next[3][CALLS] = {
    [HC_AMP_READY] = {HC_AMP_UNSCALED, HC_AMP_STEPPED, REFUSED},
    [HC_AMP_UNSCALED] = {REFUSED, HC_AMP_STEPPED, HC_AMP_READY},
    [HC_AMP_STEPPED] = {REFUSED, REFUSED, HC_AMP_READY},
};

/* There is a backward pass after each update. Whatever is refused, each step moves the weight by lr
   g. After each of at most 3 steps the weight is in [1/2, 1] and rounded to half an ulp, 2^-25; lr
   g is exact. */
static void one(struct hc_check *check, int sequence)
{
    struct hc_amp amp;
    char said[80] = "";
    char what[160];
    int stage = HC_AMP_READY;
    int steps = 0;
    bool as_the_table = true;
    double g = hc_amp_rounded(1024, 0.7);
    hc_amp_open(&amp, check, 1024, 2000);
    hc_amp_backward(&amp, 0, 0, 0.7);
    for (int i = 0, rest = sequence; i < LENGTH; i++, rest /= CALLS) {
        int call = rest % CALLS;
        int to = next[stage][call];
        size_t used = strlen(said);
        (void)snprintf(said + used, sizeof said - used, "%s%s", i ? ", " : "", names[call]);
        as_the_table = (calls[call](&amp, 0) == HC_OK) == (to != REFUSED) && as_the_table;
        steps += to == HC_AMP_STEPPED;
        stage = to == REFUSED ? stage : to;
        if (to == HC_AMP_READY) {
            hc_amp_zero(&amp, 0);
            hc_amp_backward(&amp, 0, 0, 0.7);
        }
    }
    (void)snprintf(what, sizeof what, "what the table refuses is refused%s%s",
                   as_the_table ? "" : ", and nothing else: ", as_the_table ? "" : said);
    hc_amp_holds(&amp, what, as_the_table);
    hc_amp_within(&amp, "the way is lr g for each step", steps * amp.lr * g,
                  hc_amp_moved(&amp, 0, 0), steps * 0x1p-25);
}

static void all(struct hc_check *check)
{
    int sequences = 1;
    for (int i = 0; i < LENGTH; i++)
        sequences *= CALLS;
    for (int i = 0; i < sequences; i++)
        one(check, i);
}

static const struct hc_case cases[] = {
    {.name = "order/every-sequence",
     .title =
         "every sequence of five calls of unscale, step and update: what the stages of "
         "GradScaler's source refuse changes nothing, and each step goes lr times the gradient",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py, OptState, unscale_, step, update",
     .run = all},
};

HC_CASES(order_sequences, cases);

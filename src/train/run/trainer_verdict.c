#include <math.h>

#include "train/run/trainer_inner.h"

/* Whether it learned, and if not, why. */
static void judge(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_tally_state *t = &run->tally;
    double guess = 1.0 / run->options.data->classes;
    double images = (double)run->options.data->test.count;
    double chance = guess + 4 * sqrt(guess * (1 - guess) / images);
    double most = 0.9 * log(run->options.data->classes);
    if (run->counters.gave_up)
        (void)snprintf(result->reason, sizeof result->reason,
                       "the scaler gave up by step %lld, at its smallest scale, %g",
                       (long long)t->step, (double)run->counters.scale);
    else if (t->bad >= HC_GIVE_UP)
        (void)snprintf(result->reason, sizeof result->reason,
                       "the loss was not finite for %d steps in a row, from step %lld on",
                       HC_GIVE_UP, (long long)(t->step - t->bad));
    else if (!(t->train_loss < most))
        (void)snprintf(result->reason, sizeof result->reason,
                       "training loss %.4g is not below 0.9 ln(classes) = %.4g",
                       fabs(t->train_loss), most);
    else if (isnan(t->accuracy))
        (void)snprintf(result->reason, sizeof result->reason, "the test loss is not a number");
    else if (!(t->accuracy >= chance))
        (void)snprintf(result->reason, sizeof result->reason,
                       "test accuracy %.2f %% is not above guessing (%.2f %% and four deviations)",
                       100 * t->accuracy, 100 * guess);
    result->learned = result->reason[0] == '\0';
}

void hc_run_conclude(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_tally_state *t = &run->tally;
    const struct hc_plan *plan = hc_net_plan(run->net);
    bool diverged = t->bad > 0;
    double measured = diverged ? (double)NAN : (double)t->measured; /* NaNs are not zeros */
    *result = (struct hc_train_result){
        .finished = hc_run_over(run),
        .diverged = diverged,
        .nan_from = diverged ? t->step - t->bad : 0,
        .accuracy = diverged ? (double)NAN : t->accuracy,
        .test_loss = t->test_loss,
        .train_loss = t->train_loss,
        .steps = t->step,
        .skipped = t->skipped,
        .final_scale = (double)run->counters.scale,
        .underflow = t->underflow / measured,
        .unscaled = t->unscaled / measured,
        .activation_underflow = t->activation_underflow / measured,
        .activation_unscaled = t->activation_unscaled / measured,
        .update_lost = diverged ? (double)NAN : t->update_lost / (double)t->updates,
        .images_per_second = (double)run->images / run->seconds,
        .memory = run->device.peak,
        .parameters = plan->weights + plan->norm_weights,
        .macs = plan->macs,
    };
    (void)snprintf(result->captured, sizeof result->captured, "%s", run->captured);
    if (result->finished)
        judge(run, result);
}

#include <math.h>
#include <string.h>
#include <time.h>

#include "train/schedule.h"
#include "train/trainer_inner.h"

double hc_run_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count_step(struct hc_run *run, const struct hc_step_facts *facts, int right)
{
    struct hc_tally_state *t = &run->tally;
    struct hc_shares all = hc_metrics_all(run->metrics);
    t->step++;
    t->smooth = 0.98 * t->smooth + 0.02 * (double)facts->loss;
    t->epoch_loss += (double)facts->loss;
    t->epoch_right += right;
    t->underflow += all.underflow;
    t->unscaled += all.unscaled;
    t->activation_underflow += all.activation_underflow;
    t->activation_unscaled += all.activation_unscaled;
    t->update_lost += facts->skipped ? 0 : all.update_lost;
    t->updates += !facts->skipped;
    t->bad = isfinite(facts->loss) ? 0 : t->bad + 1;
}

static enum hc_status train_step(struct hc_run *run, float *loss)
{
    double start = hc_run_now();
    struct hc_counters before = hc_update_counters(run->update);
    const struct hc_batch *batch = hc_loader_next(run->train);
    struct hc_rates rates = hc_one_cycle(run->options.max_lr, run->steps, run->tally.step);
    struct hc_tensor scale = hc_update_scale(run->update);
    struct hc_step_facts facts = {
        .scale = before.scaler.scale, .lr = rates.lr, .beta1 = rates.beta1};
    int right;
    enum hc_status status =
        hc_net_train(run->net, batch->images, batch->labels, &scale, &facts.loss, &right);
    if (status == HC_OK)
        status = hc_metrics_before(run->metrics, &run->tally.histogram);
    if (status == HC_OK)
        status = hc_update_step(run->update, rates.lr, rates.beta1);
    if (status == HC_OK)
        status = hc_metrics_after(run->metrics, rates.lr, rates.beta1);
    facts.skipped = hc_update_counters(run->update).skipped != before.skipped;
    if (status == HC_OK)
        status = hc_log_step(run, &facts);
    if (status != HC_OK)
        return status;
    count_step(run, &facts, right);
    *loss = facts.loss;
    double seconds = hc_run_now() - start;
    run->seconds += seconds;
    run->epoch_seconds += seconds;
    run->images += run->options.batch;
    run->epoch_images += run->options.batch;
    return HC_OK;
}

/* The test set, then the epoch's rows; what counts an epoch starts again. */
static enum hc_status end_epoch(struct hc_run *run)
{
    struct hc_tally_state *t = &run->tally;
    int64_t epoch = (t->step - 1) / run->batches;
    int64_t images = 0;
    int64_t all_right = 0;
    double sum = 0;
    for (int64_t b = 0; b < hc_loader_batches(run->test); b++) {
        float loss;
        int right;
        const struct hc_batch *batch = hc_loader_next(run->test);
        enum hc_status status =
            hc_net_infer(run->net, batch->images, batch->labels, batch->count, &loss, &right);
        if (status != HC_OK)
            return status;
        images += batch->count;
        all_right += right;
        sum += (double)loss * batch->count;
    }
    t->test_loss = sum / (double)images;
    t->accuracy = (double)all_right / (double)images;
    t->train_loss = t->epoch_loss / (double)(t->step - epoch * run->batches);
    enum hc_status status = hc_log_epoch(run, epoch);
    t->epoch_loss = 0;
    t->epoch_right = 0;
    t->epoch_skipped = hc_update_counters(run->update).skipped;
    memset(&t->histogram, 0, sizeof t->histogram);
    run->epoch_seconds = 0;
    run->epoch_images = 0;
    return status;
}

static bool report(const struct hc_run *run, float loss, double images_per_second, bool evaluated)
{
    const struct hc_tally_state *t = &run->tally;
    struct hc_counters counters = hc_update_counters(run->update);
    struct hc_progress progress = {
        .epoch = (int)((t->step - 1) / run->batches),
        .epochs = run->options.epochs,
        .step = t->step,
        .steps = run->steps,
        .loss = (double)loss,
        .smooth = t->smooth / (1 - pow(0.98, (double)t->step)),
        .scale = (double)counters.scaler.scale,
        .skipped = counters.skipped,
        .images_per_second = images_per_second,
        .evaluated = evaluated,
        .test_loss = t->test_loss,
        .accuracy = t->accuracy,
    };
    return !run->options.progress || run->options.progress(&progress, run->options.context);
}

bool hc_run_over(const struct hc_run *run)
{
    return run->tally.step >= run->steps || run->tally.bad >= HC_GIVE_UP;
}

enum hc_status hc_run_loop(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    while (!hc_run_over(run)) {
        float loss;
        enum hc_status status = train_step(run, &loss);
        if (status != HC_OK)
            return status;
        double rate = (double)run->epoch_images / run->epoch_seconds;
        bool evaluates = run->tally.step % run->batches == 0 || hc_run_over(run);
        bool keeps = o->checkpoint_every > 0 && run->tally.step % o->checkpoint_every == 0;
        if (!report(run, loss, rate, false))
            return HC_OK;
        if (evaluates)
            status = end_epoch(run);
        if (status == HC_OK && o->out && (evaluates || keeps))
            status = hc_state_write(run);
        if (status != HC_OK)
            return status;
        if (evaluates && !report(run, loss, rate, true))
            return HC_OK;
    }
    return HC_OK;
}

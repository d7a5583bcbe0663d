#include <math.h>
#include <string.h>
#include <time.h>

#include "train/run/trainer_inner.h"

double hc_run_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void count_step(struct hc_run *run, const struct hc_step_facts *facts)
{
    struct hc_tally_state *t = &run->tally;
    t->step++;
    t->skipped += facts->skipped;
    t->smooth = 0.98 * t->smooth + 0.02 * (double)facts->loss;
    t->epoch_loss += (double)facts->loss;
    t->epoch_right += facts->right;
    t->bad = isfinite(facts->loss) ? 0 : t->bad + 1;
    if (!facts->measured)
        return;
    struct hc_shares all = hc_metrics_all(run->metrics);
    t->measured++;
    t->underflow += all.underflow;
    t->unscaled += all.unscaled;
    t->activation_underflow += all.activation_underflow;
    t->activation_unscaled += all.activation_unscaled;
    t->update_lost += facts->skipped ? 0 : all.update_lost;
    t->updates += !facts->skipped;
}

static bool report(const struct hc_run *run, float loss, float scale, bool evaluated)
{
    const struct hc_tally_state *t = &run->tally;
    struct hc_progress progress = {
        .epoch = (int)((t->step - 1) / run->batches),
        .epochs = run->options.epochs,
        .step = t->step,
        .steps = run->steps,
        .loss = (double)loss,
        .smooth = t->smooth / (1 - pow(0.98, (double)t->step)),
        .scale = (double)scale,
        .skipped = t->skipped,
        .images_per_second = run->rate,
        .evaluated = evaluated,
        .test_loss = t->test_loss,
        .accuracy = t->accuracy,
    };
    return !run->options.progress || run->options.progress(&progress, run->options.context);
}

/* Steps until somebody wants to look: at the end of the epoch, for a checkpoint, or at what a measured
   step loses, which is a block of its own. */
static int64_t block(const struct hc_run *run, bool *measures)
{
    const struct hc_train_options *o = &run->options;
    int64_t step = run->tally.step;
    int64_t n = run->batches - step % run->batches;
    *measures = step % o->measure_every == 0;
    if (*measures)
        return 1;
    if (n > run->rows)
        n = run->rows;
    if (n > o->measure_every - step % o->measure_every)
        n = o->measure_every - step % o->measure_every;
    if (o->checkpoint_every > 0 && n > o->checkpoint_every - step % o->checkpoint_every)
        n = o->checkpoint_every - step % o->checkpoint_every;
    return n;
}

/* The block's rows, one by one; *goes_on: nobody wants to stop. */
static enum hc_status look_back(struct hc_run *run, int64_t n, bool measures, bool *goes_on)
{
    enum hc_status status = HC_OK;
    for (int64_t i = 0; i < n && status == HC_OK; i++) {
        struct hc_step_facts facts = hc_steps_facts(run, run->tally.step);
        facts.measured = measures;
        status = hc_log_step(run, &facts);
        count_step(run, &facts);
        run->loss = facts.loss;
        if (status == HC_OK &&
            !report(run, facts.loss, i == n - 1 ? run->counters.scale : facts.scale, false))
            *goes_on = false;
    }
    return status == HC_OK ? hc_log_flush(run) : status;
}

static enum hc_status train_block(struct hc_run *run, bool *goes_on)
{
    bool measures;
    double start = hc_run_now();
    int64_t n = block(run, &measures);
    enum hc_status status = hc_steps_run(run, n, measures);
    double seconds = hc_run_now() - start;
    run->seconds += seconds;
    run->epoch_seconds += seconds;
    run->images += n * run->options.batch;
    run->epoch_images += n * run->options.batch;
    run->rate = (double)run->epoch_images / run->epoch_seconds;
    return status == HC_OK ? look_back(run, n, measures, goes_on) : status;
}

/* The test set, then the epoch's rows; what counts an epoch starts again. */
static enum hc_status end_epoch(struct hc_run *run)
{
    struct hc_tally_state *t = &run->tally;
    int64_t epoch = (t->step - 1) / run->batches;
    enum hc_status status = hc_run_evaluate(run);
    if (status != HC_OK)
        return status;
    t->train_loss = t->epoch_loss / (double)(t->step - epoch * run->batches);
    status = hc_log_epoch(run, epoch);
    t->epoch_loss = 0;
    t->epoch_right = 0;
    t->epoch_skipped = t->skipped;
    memset(&t->histogram, 0, sizeof t->histogram);
    run->epoch_seconds = 0;
    run->epoch_images = 0;
    return status;
}

bool hc_run_over(const struct hc_run *run)
{
    return run->tally.step >= run->steps || run->tally.bad >= HC_GIVE_UP ||
           run->counters.gave_up != 0;
}

enum hc_status hc_run_loop(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    bool goes_on = true;
    while (goes_on && !hc_run_over(run)) {
        enum hc_status status = train_block(run, &goes_on);
        if (status != HC_OK || !goes_on)
            return status;
        bool evaluates = run->tally.step % run->batches == 0 || hc_run_over(run);
        bool keeps = o->checkpoint_every > 0 && run->tally.step % o->checkpoint_every == 0;
        if (evaluates)
            status = end_epoch(run);
        if (status == HC_OK && o->out && (evaluates || keeps)) {
            status = hc_log_sync(run);
            if (status == HC_OK)
                status = hc_state_write(run);
        }
        if (status != HC_OK)
            return status;
        goes_on = !evaluates || report(run, run->loss, run->counters.scale, true);
    }
    return HC_OK;
}

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/run/trainer_inner.h"

double hc_run_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t hc_run_epoch_steps(const struct hc_run *run, int64_t epoch)
{
    const struct hc_run_totals *t = &run->totals;
    int64_t begun = epoch * run->batches;
    return t->step - (begun > t->first ? begun : t->first);
}

static void count_step(struct hc_run *run, const struct hc_step_facts *facts)
{
    struct hc_run_totals *t = &run->totals;
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
    const struct hc_run_totals *t = &run->totals;
    struct hc_progress progress = {
        .epoch = (int)((t->step - 1) / run->batches),
        .epochs = run->options.epochs,
        .step = t->step,
        .steps = run->steps,
        .loss = (double)loss,
        .smooth = t->smooth / (1 - pow(0.98, (double)(t->step - t->first))),
        .scale = (double)scale,
        .skipped = t->skipped,
        .images_per_second = run->rate,
        .evaluated = evaluated,
        .test_loss = t->test_loss,
        .accuracy = t->accuracy,
    };
    return !run->options.progress || run->options.progress(&progress, run->options.context);
}

/* How many steps are queued before the host reads anything: up to the end of the epoch, the next
   checkpoint or the next step that is measured or dumped, which is a block of its own. */
static int64_t block(const struct hc_run *run, bool *measures)
{
    const struct hc_train_options *o = &run->options;
    int64_t step = run->totals.step;
    int64_t n = run->batches - step % run->batches;
    int64_t dump = hc_dump_next(run, step);
    *measures = step % o->measure_every == 0;
    if (*measures || dump == step)
        return 1;
    if (n > dump - step)
        n = dump - step;
    if (n > run->rows)
        n = run->rows;
    if (n > o->measure_every - step % o->measure_every)
        n = o->measure_every - step % o->measure_every;
    if (o->checkpoint_every > 0 && n > o->checkpoint_every - step % o->checkpoint_every)
        n = o->checkpoint_every - step % o->checkpoint_every;
    return n;
}

/* Logs and counts the steps of a block, one by one. *goes_on becomes false if the caller's progress
   wants to stop. */
static enum hc_status read_block(struct hc_run *run, int64_t n, bool measures, bool *goes_on)
{
    enum hc_status status = HC_OK;
    for (int64_t i = 0; i < n && status == HC_OK; i++) {
        struct hc_step_facts facts = hc_steps_facts(run, run->totals.step);
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
    return status == HC_OK ? read_block(run, n, measures, goes_on) : status;
}

/* Queues one batch of the test set. */
static enum hc_status queue_test(struct hc_run *run, int64_t b)
{
    enum hc_status status = hc_feed_prepare(run->test);
    if (status == HC_OK)
        status = hc_feed_make(run->test);
    hc_net_feed(run->net, hc_feed_images(run->test), hc_feed_labels(run->test));
    return status == HC_OK ? hc_net_queue_infer(run->net, hc_feed_count(run->test, b),
                                                hc_storage_element(run->results, 2 * b),
                                                hc_storage_element(run->results, 2 * b + 1))
                           : status;
}

/* Loss and accuracy on the test set: batch after batch is queued, and read when all are. */
static enum hc_status evaluate(struct hc_run *run)
{
    int64_t batches = hc_feed_batches(run->test);
    float *results = malloc(2 * (size_t)batches * sizeof *results);
    double sum = 0;
    double images = 0;
    double right = 0;
    if (!results)
        return hc_fail(HC_NO_MEMORY, "no memory for the results of %lld batches",
                       (long long)batches);
    enum hc_status status = HC_OK;
    for (int64_t b = 0; b < batches && status == HC_OK; b++)
        status = queue_test(run, b);
    if (status == HC_OK)
        status = hc_storage_read(run->results, results);
    for (int64_t b = 0; b < batches && status == HC_OK; b++) {
        int count = hc_feed_count(run->test, b);
        sum += (double)hc_net_mean_loss(run->net, results[2 * b], count) * count;
        right += (double)results[2 * b + 1];
        images += count;
    }
    free(results);
    run->totals.test_loss = sum / images;
    /* NaN outputs tell no classes apart, even if one of them comes first. */
    run->totals.accuracy = isnan(sum) ? (double)NAN : right / images;
    return status;
}

/* Evaluates, writes the epoch's rows, and begins the counts of the next epoch. */
static enum hc_status end_epoch(struct hc_run *run)
{
    struct hc_run_totals *t = &run->totals;
    int64_t epoch = (t->step - 1) / run->batches;
    enum hc_status status = evaluate(run);
    if (status != HC_OK)
        return status;
    t->train_loss = t->epoch_loss / (double)hc_run_epoch_steps(run, epoch);
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
    return run->totals.step >= run->steps || run->totals.bad >= HC_GIVE_UP ||
           run->counters.gave_up != 0;
}

enum hc_status hc_run_loop(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    bool goes_on = true;
    while (goes_on && !hc_run_over(run)) {
        enum hc_status status = train_block(run, &goes_on);
        bool stopped = !goes_on;
        if (status != HC_OK || (stopped && !o->keep_when_stopped))
            return status;
        bool evaluates = run->totals.step % run->batches == 0 || hc_run_over(run);
        bool keeps =
            stopped || (o->checkpoint_every > 0 && run->totals.step % o->checkpoint_every == 0);
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
        goes_on = goes_on && !stopped;
    }
    return HC_OK;
}

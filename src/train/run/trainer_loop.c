#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/run/shared.h"

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

/* Evaluates, writes the epoch's rows, and begins the counts of the next epoch. */
static enum hc_status end_epoch(struct hc_run *run)
{
    struct hc_run_totals *t = &run->totals;
    int64_t epoch = (t->step - 1) / run->batches;
    enum hc_status status = hc_evaluate(run);
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
           run->counters.gave_up != 0 || run->apart[0] != '\0';
}

/* Evaluates and keeps what is to be evaluated and kept after a block of steps. Ranks whose weights
   differ keep nothing. */
static enum hc_status end_block(struct hc_run *run, bool evaluates, bool keeps)
{
    enum hc_status status = evaluates ? end_epoch(run) : HC_OK;
    if (!run->keeps || !(evaluates || keeps))
        return status;
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK)
        status = hc_shared_statistics(run);
    if (status == HC_OK)
        status = hc_shared_compare(run);
    if (status != HC_OK || run->apart[0] || !run->options.out)
        return status;
    status = hc_log_sync(run);
    return status == HC_OK ? hc_state_write(run) : status;
}

/* One block of steps, and what follows it. */
static enum hc_status run_block(struct hc_run *run, bool *goes_on)
{
    const struct hc_train_options *o = &run->options;
    struct hc_agreement agreement = {.goes_on = true};
    enum hc_status status = train_block(run, &agreement.goes_on);
    status = hc_parallel_agree(&run->parallel, status, &agreement);
    bool stopped = !agreement.goes_on;
    *goes_on = agreement.goes_on;
    if (status != HC_OK || (stopped && !o->keep_when_stopped))
        return status;
    bool evaluates = run->totals.step % run->batches == 0 || hc_run_over(run);
    bool keeps =
        stopped || (o->checkpoint_every > 0 && run->totals.step % o->checkpoint_every == 0);
    status = end_block(run, evaluates, keeps);
    if (status == HC_OK && evaluates)
        agreement.goes_on = report(run, run->loss, run->counters.scale, true);
    status = hc_parallel_agree(&run->parallel, status, &agreement);
    if (status == HC_OK && run->keeps && (evaluates || keeps) && !run->apart[0])
        hc_comm_can_resume();
    *goes_on = agreement.goes_on && !stopped;
    return status;
}

enum hc_status hc_run_loop(struct hc_run *run)
{
    enum hc_status status = HC_OK;
    bool goes_on = true;
    while (goes_on && !hc_run_over(run) && status == HC_OK)
        status = run_block(run, &goes_on);
    return status;
}

/* A training from its options to its result: the loop over blocks of steps, and what is opened for
   it and closed after it. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/run/trainer_inner.h"
#include "train/update/update.h"

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

static bool report_step(const struct hc_run *run, float loss, float scale, bool evaluated)
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
            !report_step(run, facts.loss, i == n - 1 ? run->counters.scale : facts.scale, false))
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
        agreement.goes_on = report_step(run, run->loss, run->counters.scale, true);
    status = hc_parallel_agree(&run->parallel, status, &agreement);
    if (status == HC_OK && run->keeps && (evaluates || keeps) && !run->apart[0])
        hc_comm_can_resume();
    *goes_on = agreement.goes_on && !stopped;
    return status;
}

struct hc_train_usual hc_train_usual(const struct hc_network *network)
{
    if (network->gpt)
        return (struct hc_train_usual){network->gpt->epochs, 16, 2e-3};
    return (struct hc_train_usual){5, 64, 3e-3};
}

static void set_defaults(struct hc_run *run, const struct hc_train_options *options)
{
    run->options = *options;
    if (run->options.batch == 0)
        run->options.batch = hc_train_usual(options->network).batch;
    if (run->options.max_lr == 0)
        run->options.max_lr = hc_train_usual(options->network).max_lr;
    if (run->options.measure_every == 0)
        run->options.measure_every = options->backend->host_memory ? 1 : 50;
    run->keeps = options->out != NULL;
}

/* What rank 0 does for all. */
static void leave_to_rank_0(struct hc_train_options *o)
{
    o->out = NULL;
    o->resume = false;
    o->load = NULL;
    o->dump_count = 0;
    o->progress = NULL;
    o->note = NULL;
    o->tell = NULL;
    o->digest = NULL;
}

static enum hc_status check_train_options(const struct hc_train_options *o)
{
    const char *why = o->backend->unavailable ? o->backend->unavailable() : NULL;
    assert(o->network->gpt ||
           (o->network->side == HC_IMAGE_SIDE && o->network->channels == HC_IMAGE_CHANNELS));
    if (why)
        return hc_fail(HC_DEVICE, "%s: %s", o->backend->name, why);
    if ((o->network->gpt != NULL) != (o->data->text.bytes > 0))
        return hc_fail(HC_INVALID, "%s is not trained on %s", o->network->name,
                       o->data->text.bytes ? "text" : "images");
    if (o->epochs < 1 || o->batch < 2)
        return hc_fail(HC_INVALID, "a training needs an epoch and batches of two images or more");
    if (o->measure_every < 0 || o->checkpoint_every < 0)
        return hc_fail(HC_INVALID,
                       "measurements and checkpoints cannot be a negative number of steps apart");
    if (!(o->max_lr > 0) || !isfinite(o->max_lr))
        return hc_fail(HC_INVALID, "the learning rate is not a positive number");
    if (o->resume && !o->out)
        return hc_fail(HC_INVALID, "nothing to resume from: no folder is given");
    if (o->resume && o->load)
        return hc_fail(HC_INVALID, "a run begins with a file or resumes from a checkpoint, not "
                                   "both");
    return HC_OK;
}

static enum hc_status open_network(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    enum hc_status status = hc_net_open(&run->net, &run->device, o->network, o->data->classes,
                                        run->parallel.images, o->seed);
    if (status != HC_OK)
        return status;
    if (o->recipe->norm_sync)
        hc_net_share(run->net, run->parallel.comm);
    status = hc_model_open(&run->update, &run->device, run->net, o->recipe);
    if (status != HC_OK)
        return status;
    hc_update_seed(run->update, o->seed);
    status = hc_metrics_open(&run->metrics, &run->device, run->net, run->update);
    return status == HC_OK ? hc_quant_metrics_open(&run->quant, &run->device, run->net) : status;
}

static enum hc_status open_feeds(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    const struct hc_parallel *p = &run->parallel;
    struct hc_feed_options train = {.set = o->data,
                                    .train = true,
                                    .batch = p->images,
                                    .seed = o->seed,
                                    .shards = p->shards,
                                    .format = o->recipe->model,
                                    .start = run->totals.step};
    struct hc_feed_options test = {
        .set = o->data, .batch = p->images, .seed = o->seed, .format = o->recipe->model};
    train.length = test.length = o->network->gpt ? o->network->gpt->length : 0;
    if (p->shards > 1) {
        train.take = (struct hc_batch_take){p->shards, p->first, 1, p->own};
        train.start *= p->own;
    } else {
        train.steps = hc_update_steps(run->update);
    }
    if (p->ranks > 1)
        test.take = hc_evaluation_take(run);
    enum hc_status status = hc_feed_open(&run->train, &run->device, &train);
    if (status == HC_OK)
        status = hc_feed_open(&run->test, &run->device, &test);
    if (status != HC_OK)
        return status;
    run->batches = hc_feed_batches(run->train) / p->shards;
    run->steps = run->batches * o->epochs;
    if (o->load && run->totals.first >= run->steps)
        return hc_fail(HC_INVALID, "%s: is of step %lld, and this run has %lld steps", o->load,
                       (long long)run->totals.first, (long long)run->steps);
    run->results = hc_storage_new(&run->device, HC_FP32, 2 * hc_feed_batches(run->test));
    return run->results ? HC_OK : HC_NO_MEMORY;
}

static enum hc_status open_run(struct hc_run *run, const struct hc_train_options *options)
{
    set_defaults(run, options);
    enum hc_status status = check_train_options(&run->options);
    if (run->parallel.rank > 0)
        leave_to_rank_0(&run->options);
    run->totals.accuracy = (double)NAN;
    run->totals.test_loss = (double)NAN;
    run->totals.train_loss = (double)NAN;
    run->device.backend = options->backend;
    run->device.digest = run->options.digest;
    if (status == HC_OK)
        status = hc_backend_open(options->backend, &run->device.queue, options->threads);
    if (status == HC_OK)
        status = open_network(run);
    if (status == HC_OK && run->options.resume)
        status = hc_state_read(run);
    if (status == HC_OK && run->options.load)
        status = hc_load_read(run);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK)
        status = hc_shared_begin(run);
    if (status == HC_OK)
        status = open_feeds(run);
    if (status == HC_OK)
        status = hc_shards_open(run);
    if (status == HC_OK)
        status = hc_dump_check(run);
    if (status == HC_OK)
        status = hc_steps_open(run);
    if (status == HC_OK)
        status = hc_log_open(run);
    status = hc_parallel_agree(&run->parallel, status, NULL);
    if (status == HC_OK && options->resume)
        hc_comm_can_resume();
    return status;
}

static void close_run(struct hc_run *run)
{
    hc_log_close(run);
    hc_steps_close(run);
    hc_shards_close(run);
    hc_feed_close(run->train);
    hc_feed_close(run->test);
    hc_storage_drop(run->results);
    hc_tensor_list_end(&run->dump);
    hc_quant_metrics_close(run->quant);
    hc_metrics_close(run->metrics);
    hc_update_close(run->update);
    hc_net_close(run->net);
    if (run->device.queue) {
        const struct hc_train_options *o = &run->options;
        if (o->tell && o->backend->describe)
            o->backend->describe(run->device.queue, o->tell, o->told);
        hc_device_end(&run->device);
        run->device.backend->close(run->device.queue);
    }
    hc_parallel_close(&run->parallel);
}

/* Whether it learned to read: the test loss must be below what pairs of bytes alone tell. */
static void judge_reader(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_run_totals *t = &run->totals;
    double pairs = run->options.data->text.pairs;
    if (isnan(t->test_loss))
        (void)snprintf(result->reason, sizeof result->reason, "the test loss is not a number");
    else if (!(t->test_loss < pairs))
        (void)snprintf(result->reason, sizeof result->reason,
                       "test loss %.4g is not below %.4g, which pairs of bytes alone tell",
                       t->test_loss, pairs);
}

/* Whether it learned, and if not, why: the training loss must be below that of guessing, and the
   accuracy four deviations above it. */
static void judge_run(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_run_totals *t = &run->totals;
    double guess = 1.0 / run->options.data->classes;
    double images = (double)run->options.data->test.count;
    double chance = guess + 4 * sqrt(guess * (1 - guess) / images);
    double guessing = 0.9 * log(run->options.data->classes);
    if (run->apart[0])
        (void)snprintf(result->reason, sizeof result->reason, "%s", run->apart);
    else if (run->counters.gave_up)
        (void)snprintf(result->reason, sizeof result->reason,
                       "the scaler gave up by step %lld, at its smallest scale, %g",
                       (long long)t->step, (double)run->counters.scale);
    else if (t->bad >= HC_GIVE_UP)
        (void)snprintf(result->reason, sizeof result->reason,
                       "the loss was not finite for %d steps in a row, from step %lld on",
                       HC_GIVE_UP, (long long)(t->step - t->bad));
    else if (run->options.network->gpt)
        judge_reader(run, result);
    else if (!(t->train_loss < guessing))
        (void)snprintf(result->reason, sizeof result->reason,
                       "training loss %.4g is not below 0.9 ln(classes) = %.4g",
                       fabs(t->train_loss), guessing);
    else if (isnan(t->accuracy))
        (void)snprintf(result->reason, sizeof result->reason, "the test loss is not a number");
    else if (!(t->accuracy >= chance))
        (void)snprintf(result->reason, sizeof result->reason,
                       "test accuracy %.2f %% is not above guessing (%.2f %% and four deviations)",
                       100 * t->accuracy, 100 * guess);
    result->learned = result->reason[0] == '\0';
}

/* The result, with the verdict if the run is over. */
static void conclude_run(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_run_totals *t = &run->totals;
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
        .step_work = run->work,
        .parameters = plan->weights + plan->norm_weights,
        .macs = plan->macs,
    };
    (void)snprintf(result->captured, sizeof result->captured, "%s", run->captured);
    if (result->finished)
        judge_run(run, result);
}

enum hc_status hc_train(const struct hc_train_options *options, struct hc_train_result *result)
{
    double start = hc_run_now();
    memset(result, 0, sizeof *result);
    struct hc_run *run = calloc(1, sizeof *run);
    if (!run)
        return hc_fail(HC_NO_MEMORY, "no memory for a training");
    struct hc_comm *comm = options->comm ? options->comm : hc_comm_self();
    enum hc_status status =
        hc_parallel_plan(&run->parallel, comm, options->recipe,
                         options->batch ? options->batch : hc_train_usual(options->network).batch);
    bool planned = status == HC_OK;
    if (status == HC_OK)
        status = open_run(run, options);
    for (bool goes_on = true; goes_on && status == HC_OK && !hc_run_over(run);)
        status = run_block(run, &goes_on);
    if (status == HC_OK)
        conclude_run(run, result);
    result->seconds = hc_run_now() - start;
    result->says = comm->rank == 0 || (planned && !run->parallel.agreed);
    close_run(run);
    free(run);
    return status;
}

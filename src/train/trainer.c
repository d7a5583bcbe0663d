#include "train/trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "train/schedule.h"
#include "train/trainer_inner.h"

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void set_defaults(struct hc_run *run, const struct hc_train_options *options)
{
    run->options = *options;
    if (run->options.batch == 0)
        run->options.batch = 64;
    if (run->options.max_lr == 0)
        run->options.max_lr = 3e-3;
}

static enum hc_status check(const struct hc_train_options *o)
{
    const char *why = o->backend->unavailable ? o->backend->unavailable() : NULL;
    assert(o->network->side == HC_IMAGE_SIDE && o->network->channels == HC_IMAGE_CHANNELS);
    if (why)
        return hc_fail(HC_DEVICE, "%s: %s", o->backend->name, why);
    if (o->epochs < 1 || o->batch < 2)
        return hc_fail(HC_INVALID, "a training needs an epoch and batches of two images or more");
    if (!(o->max_lr > 0) || !isfinite(o->max_lr))
        return hc_fail(HC_INVALID, "the learning rate is not a positive number");
    if (o->resume && !o->out)
        return hc_fail(HC_INVALID, "nothing to resume from: no folder is given");
    return HC_OK;
}

static enum hc_status open_network(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    struct hc_tensor gradients[3 * HC_MAX_LAYERS];
    enum hc_status status =
        hc_net_open(&run->net, &run->device, o->network, o->data->classes, o->batch, o->seed);
    if (status != HC_OK)
        return status;
    int parameters = hc_net_plan(run->net)->parameters;
    status = hc_update_open(&run->update, &run->device, o->recipe, hc_net_parameters(run->net),
                            parameters);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < parameters; i++)
        gradients[i] = hc_update_tensor(run->update, HC_PIECE_GRADIENT, i);
    status = hc_net_prepare(run->net, o->recipe, gradients);
    return status == HC_OK ? hc_metrics_open(&run->metrics, &run->device, run->net, run->update)
                           : status;
}

static enum hc_status open_loaders(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    struct hc_loader_options train = {
        .set = o->data, .train = true, .batch = o->batch, .seed = o->seed};
    struct hc_loader_options test = {.set = o->data, .batch = o->batch};
    int64_t batches = o->data->train.count / o->batch;
    if (run->tally.step > 0 && batches > 0)
        train.start = (struct hc_position){run->tally.step / batches, run->tally.step % batches};
    enum hc_status status = hc_loader_open(&train, &run->train);
    if (status == HC_OK)
        status = hc_loader_open(&test, &run->test);
    if (status != HC_OK)
        return status;
    run->batches = hc_loader_batches(run->train);
    run->steps = run->batches * o->epochs;
    assert(run->batches == batches);
    return HC_OK;
}

static enum hc_status open_run(struct hc_run *run, const struct hc_train_options *options)
{
    set_defaults(run, options);
    enum hc_status status = check(&run->options);
    run->tally.accuracy = (double)NAN;
    run->tally.test_loss = (double)NAN;
    run->tally.train_loss = (double)NAN;
    run->device.backend = options->backend;
    if (status == HC_OK)
        status = options->backend->open(&run->device.queue, options->threads);
    if (status == HC_OK)
        status = open_network(run);
    if (status == HC_OK && run->options.resume)
        status = hc_state_read(run);
    if (status == HC_OK)
        status = open_loaders(run);
    return status == HC_OK ? hc_log_open(run) : status;
}

static void close_run(struct hc_run *run)
{
    hc_log_close(run);
    hc_loader_close(run->train);
    hc_loader_close(run->test);
    hc_metrics_close(run->metrics);
    hc_update_close(run->update);
    hc_net_close(run->net);
    if (run->device.queue) {
        hc_device_end(&run->device);
        run->device.backend->close(run->device.queue);
    }
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
    t->update_lost += facts->skipped ? 0 : all.update_lost;
    t->updates += !facts->skipped;
    t->bad = isfinite(facts->loss) ? 0 : t->bad + 1;
}

static enum hc_status train_step(struct hc_run *run, float *loss)
{
    double start = now();
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
    double seconds = now() - start;
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

static bool over(const struct hc_run *run)
{
    return run->tally.step >= run->steps || run->tally.bad >= HC_GIVE_UP;
}

static enum hc_status loop(struct hc_run *run)
{
    const struct hc_train_options *o = &run->options;
    int64_t first = run->tally.step;
    while (!over(run)) {
        float loss;
        enum hc_status status = train_step(run, &loss);
        if (status != HC_OK)
            return status;
        double rate = (double)run->epoch_images / run->epoch_seconds;
        bool evaluates = run->tally.step % run->batches == 0 || over(run);
        bool keeps = o->checkpoint_every > 0 && run->tally.step % o->checkpoint_every == 0;
        if (!report(run, loss, rate, false))
            return HC_OK;
        if (o->stop_after > 0 && run->tally.step - first == o->stop_after)
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

/* Whether it learned, and if not, why. */
static void judge(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_tally_state *t = &run->tally;
    double guess = 1.0 / run->options.data->classes;
    double images = (double)run->options.data->test.count;
    double chance = guess + 4 * sqrt(guess * (1 - guess) / images);
    double most = 0.9 * log(run->options.data->classes);
    if (t->bad >= HC_GIVE_UP)
        (void)snprintf(result->reason, sizeof result->reason,
                       "the loss was not finite for %d steps in a row, from step %lld on",
                       HC_GIVE_UP, (long long)(t->step - t->bad));
    else if (!(t->train_loss < most))
        (void)snprintf(result->reason, sizeof result->reason,
                       "training loss %.4g is not below 0.9 ln(classes) = %.4g", t->train_loss,
                       most);
    else if (!(t->accuracy >= chance))
        (void)snprintf(result->reason, sizeof result->reason,
                       "test accuracy %.2f %% is not above guessing (%.2f %% and four deviations)",
                       100 * t->accuracy, 100 * guess);
    result->learned = result->reason[0] == '\0';
}

static void conclude(const struct hc_run *run, struct hc_train_result *result)
{
    const struct hc_tally_state *t = &run->tally;
    const struct hc_plan *plan = hc_net_plan(run->net);
    struct hc_counters counters = hc_update_counters(run->update);
    struct rusage usage;
    (void)getrusage(RUSAGE_SELF, &usage);
    *result = (struct hc_train_result){
        .finished = over(run),
        .accuracy = t->accuracy,
        .test_loss = t->test_loss,
        .train_loss = t->train_loss,
        .steps = t->step,
        .skipped = counters.skipped,
        .final_scale = (double)counters.scaler.scale,
        .underflow = t->underflow / (double)t->step,
        .unscaled = t->unscaled / (double)t->step,
        .update_lost = t->update_lost / (double)t->updates,
        .images_per_second = (double)run->images / run->seconds,
        .memory = (int64_t)usage.ru_maxrss * 1024,
        .parameters = plan->weights + plan->norm_weights,
        .macs = plan->macs,
    };
    if (result->finished)
        judge(run, result);
}

enum hc_status hc_train(const struct hc_train_options *options, struct hc_train_result *result)
{
    double start = now();
    memset(result, 0, sizeof *result);
    struct hc_run *run = calloc(1, sizeof *run);
    if (!run)
        return hc_fail(HC_NO_MEMORY, "no memory for a training");
    enum hc_status status = open_run(run, options);
    if (status == HC_OK)
        status = loop(run);
    if (status == HC_OK)
        conclude(run, result);
    result->seconds = now() - start;
    close_run(run);
    free(run);
    return status;
}

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "op/output.h"
#include "op/text.h"
#include "train/run/trainer_inner.h"

static const char *const names[HC_LOGS] = {"steps.csv", "epochs.csv", "gradients.csv"};

static const char *const columns[HC_LOGS] = {
    ("step,epoch,loss,scale,skipped,lr,beta1,gradient_norm,underflow,unscaled,update_lost,"
     "activation_underflow,activation_unscaled"),
    "epoch,train_loss,train_accuracy,test_loss,test_accuracy,images_per_second,skipped,scale",
    "epoch,exponent,scaled,unscaled,activations_scaled,activations_unscaled",
};

static const char *const share_names[] = {"underflow",           "unscaled",
                                          "update_lost",         "activation_underflow",
                                          "activation_unscaled", "gradient_norm"};

static const char *const quant_names[] = {"x", "w", "dy"};

static enum hc_status failed(const struct hc_run *run, int log)
{
    return hc_fail(HC_IO, "%s/%s: %s", run->options.out, names[log], strerror(errno));
}

static enum hc_status flush(const struct hc_run *run, int log)
{
    FILE *file = run->log[log];
    return fflush(file) != 0 || ferror(file) ? failed(run, log) : HC_OK;
}

static enum hc_status begin_log(const struct hc_run *run, int log)
{
    FILE *file = run->log[log];
    (void)fputs(columns[log], file);
    for (int l = 0; l < hc_net_plan(run->net)->layers && log == 0; l++) {
        const struct hc_layer *layer = &hc_net_plan(run->net)->layer[l];
        if (layer->parameter >= 0)
            for (size_t s = 0; s < sizeof share_names / sizeof share_names[0]; s++)
                (void)fprintf(file, ",%s.%s", layer->name, share_names[s]);
        for (int r = 0; r <= HC_QUANT_OF_DY && hc_net_quant_of(run->net, l) >= 0; r++)
            (void)fprintf(file, ",%s.%s_at_max,%s.%s_flushed,%s.%s_scale", layer->name,
                          quant_names[r], layer->name, quant_names[r], layer->name, quant_names[r]);
    }
    (void)fputc('\n', file);
    return flush(run, log);
}

/* Drops the rows that the checkpoint does not know, and a last row that was cut. A row begins with
   its step or epoch, which grows from row to row. The rows that the checkpoint does know must be
   there, except in gradients.csv, where an epoch without a measured step has none. */
static enum hc_status go_on(const struct hc_run *run, int log)
{
    const struct hc_run_totals *t = &run->totals;
    FILE *file = run->log[log];
    bool given_up = t->bad >= HC_GIVE_UP || run->counters.gave_up != 0;
    int64_t epochs = (t->step + (given_up ? run->batches - 1 : 0)) / run->batches;
    int64_t rows = log == 0 ? t->step : epochs;
    int64_t first = log == 0 ? t->first : t->first / run->batches;
    int64_t next = first;
    char *line = NULL;
    size_t room = 0;
    off_t end = 0;
    bool header = true;
    ssize_t length = getline(&line, &room, file);
    while (length > 0 && line[length - 1] == '\n' && (header || strtoll(line, NULL, 10) < rows)) {
        next = header ? first : strtoll(line, NULL, 10) + 1;
        header = false;
        end += (off_t)length;
        length = getline(&line, &room, file);
    }
    free(line);
    if (ferror(file) || ftruncate(fileno(file), end) != 0 || fseeko(file, end, SEEK_SET) != 0)
        return failed(run, log);
    if (next < rows && log != 2)
        return hc_fail(HC_INVALID, "%s/%s: ends before row %lld, which its checkpoint has done",
                       run->options.out, names[log], (long long)next);
    return header ? begin_log(run, log) : HC_OK;
}

static enum hc_status open_new(struct hc_run *run, int log, struct hc_output *output)
{
    char path[HC_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", run->options.out, names[log]);
    enum hc_status status = hc_output_open(output, path);
    if (status != HC_OK)
        return status;
    run->log[log] = fdopen(output->file, "w");
    if (run->log[log])
        return begin_log(run, log);
    status = hc_fail(HC_NO_MEMORY, "%s: no memory to write it", path);
    hc_output_discard(output);
    return status;
}

/* The old files stay until all of the new ones have begun. */
static enum hc_status open_all_new(struct hc_run *run)
{
    static _Thread_local struct hc_output output[HC_LOGS];
    enum hc_status status = HC_OK;
    for (int log = 0; log < HC_LOGS && status == HC_OK; log++)
        status = open_new(run, log, &output[log]);
    for (int log = 0; log < HC_LOGS && run->log[log]; log++) {
        if (status == HC_OK)
            status = hc_output_commit(&output[log]);
        else
            hc_output_discard(&output[log]);
    }
    return status;
}

static enum hc_status open_old(struct hc_run *run, int log)
{
    char path[HC_MAX_PATH];
    (void)snprintf(path, sizeof path, "%s/%s", run->options.out, names[log]);
    int file = hc_output_reopen(path);
    if (file < 0)
        return HC_IO;
    run->log[log] = fdopen(file, "r+");
    if (run->log[log])
        return go_on(run, log);
    (void)close(file);
    return hc_fail(HC_NO_MEMORY, "%s: no memory to write it", path);
}

enum hc_status hc_log_open(struct hc_run *run)
{
    enum hc_status status = HC_OK;
    if (!run->options.out)
        return HC_OK;
    if (!run->options.resume)
        return open_all_new(run);
    for (int log = 0; log < HC_LOGS && status == HC_OK; log++)
        status = open_old(run, log);
    return status;
}

void hc_log_close(struct hc_run *run)
{
    for (int log = 0; log < HC_LOGS; log++)
        if (run->log[log])
            (void)fclose(run->log[log]);
}

static const struct hc_shares unmeasured = {(double)NAN, (double)NAN, (double)NAN,
                                            (double)NAN, (double)NAN, (double)NAN};

static void log_quant(struct hc_run *run, int l, bool measured)
{
    for (int r = 0; r <= HC_QUANT_OF_DY; r++) {
        struct hc_quant_shares s =
            hc_quant_metrics_of(measured ? run->quant : NULL, l, (enum hc_quant_role)r);
        hc_print(run->log[0], ",%.6g,%.6g,%.9g", s.at_max, s.flushed, s.scale);
    }
}

enum hc_status hc_log_step(struct hc_run *run, const struct hc_step_facts *facts)
{
    FILE *file = run->log[0];
    const struct hc_plan *plan = hc_net_plan(run->net);
    struct hc_shares all = facts->measured ? hc_metrics_all(run->metrics) : unmeasured;
    if (!file)
        return HC_OK;
    hc_print(file, "%lld,%lld,%.9g,%.17g,%d,%.9g,%.9g,%.6g,%.6g,%.6g,%.6g,%.6g,%.6g",
             (long long)run->totals.step, (long long)(run->totals.step / run->batches),
             (double)facts->loss, (double)facts->scale, facts->skipped, facts->lr, facts->beta1,
             all.gradient_norm, all.underflow, all.unscaled, all.update_lost,
             all.activation_underflow, all.activation_unscaled);
    for (int l = 0; l < plan->layers; l++) {
        struct hc_shares s = facts->measured ? hc_metrics_layer(run->metrics, l) : unmeasured;
        if (plan->layer[l].parameter >= 0)
            hc_print(file, ",%.6g,%.6g,%.6g,%.6g,%.6g,%.6g", s.underflow, s.unscaled, s.update_lost,
                     s.activation_underflow, s.activation_unscaled, s.gradient_norm);
        if (hc_net_quant_of(run->net, l) >= 0)
            log_quant(run, l, facts->measured);
    }
    (void)fputc('\n', file);
    return HC_OK;
}

enum hc_status hc_log_flush(struct hc_run *run)
{
    return run->log[0] ? flush(run, 0) : HC_OK;
}

enum hc_status hc_log_sync(struct hc_run *run)
{
    enum hc_status status = HC_OK;
    for (int log = 0; log < HC_LOGS && run->log[log] && status == HC_OK; log++)
        if (fsync(fileno(run->log[log])) != 0 && errno != EINVAL)
            status = failed(run, log);
    return status;
}

static enum hc_status log_gradients(struct hc_run *run, int64_t epoch)
{
    const struct hc_histogram *h = &run->totals.histogram;
    for (int i = 0; i < HC_EXPONENTS; i++)
        if (h->scaled[i] || h->unscaled[i] || h->activations_scaled[i] ||
            h->activations_unscaled[i])
            (void)fprintf(run->log[2], "%lld,%d,%lld,%lld,%lld,%lld\n", (long long)epoch,
                          i + HC_EXPONENT_ZERO, (long long)h->scaled[i], (long long)h->unscaled[i],
                          (long long)h->activations_scaled[i],
                          (long long)h->activations_unscaled[i]);
    return flush(run, 2);
}

enum hc_status hc_log_epoch(struct hc_run *run, int64_t epoch)
{
    const struct hc_run_totals *totals = &run->totals;
    int64_t images =
        hc_run_epoch_steps(run, epoch) * run->options.batch * hc_net_plan(run->net)->places;
    if (!run->options.out)
        return HC_OK;
    hc_print(run->log[1], "%lld,%.9g,%.9g,%.9g,%.9g,%.6g,%lld,%.17g\n", (long long)epoch,
             totals->train_loss, (double)totals->epoch_right / (double)images, totals->test_loss,
             totals->accuracy, (double)run->epoch_images / run->epoch_seconds,
             (long long)(totals->skipped - totals->epoch_skipped), (double)run->counters.scale);
    enum hc_status status = flush(run, 1);
    return status == HC_OK ? log_gradients(run, epoch) : status;
}

/* The files that a comparison leaves: record.json, runs.csv, table.txt. */
#include <math.h>
#include <string.h>

#include "check/record/facts.h"
#include "check/record/record.h"
#include "cli/training/comparison.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "op/text.h"

static void add_pair(json_t *record, const struct hc_comparison *c, int recipe)
{
    static const enum hc_verdict verdicts[] = {
        [HC_EQUIVALENT] = HC_PASS, [HC_DIFFERENT] = HC_FAIL, [HC_UNDECIDED] = HC_SKIPPED};
    char name[512];
    char note[512];
    char repro[HC_TRAINING_REPRO + 512];
    char options[HC_TRAINING_REPRO];
    struct hc_difference d = hc_comparison_pairs(c, recipe).test;
    (void)snprintf(name, sizeof name, "compare/%s-as-%s", c->recipe[recipe]->name,
                   c->recipe[c->base]->name);
    char lost[HC_NAN_TEXT] = "";
    char conclusion[HC_CONCLUSION_TEXT];
    bool worse = hc_comparison_nan(c, c->base, lost) == 0 && hc_comparison_nan(c, recipe, lost) > 0;
    hc_comparison_conclusion(c, recipe, conclusion);
    (void)snprintf(note, sizeof note, "%s%s%s", lost, *lost ? "; " : "", conclusion);
    if (d.n > 0)
        (void)hc_text_write(note, sizeof note, "%s%smean difference %+.2f points, %s", lost,
                            *lost ? "; " : "", d.mean, conclusion);
    hc_training_repro(c->training, options, sizeof options);
    (void)snprintf(repro, sizeof repro,
                   "halfcheck compare --recipes %s,%s --seeds %d --seed %llu --margin %g%s",
                   c->recipe[c->base]->name, c->recipe[recipe]->name, c->seeds_of[recipe],
                   (unsigned long long)c->training->seed, c->margin, options);
    struct hc_row row =
        hc_row_claim(name, c->training->backend->name, worse ? HC_FAIL : verdicts[d.verdict],
                     fabs(d.mean), c->margin, "points");
    row.checked = d.n;
    row.seed = c->training->seed;
    row.note = note;
    row.repro = repro;
    hc_record_add(record, &row);
}

static enum hc_status write_record(const struct hc_comparison *c, const char *folder)
{
    char path[1100];
    const struct hc_training_run *run;
    json_t *record = hc_record_new();
    hc_record_describe(record, c->training->backend, NULL);
    hc_training_set_invocation(record, c->training);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_training_add(record, c->training, run);
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            add_pair(record, c, r);
    (void)json_object_set_new(record, "training", hc_training_settings(c->training));
    (void)snprintf(path, sizeof path, "%s/record.json", folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

static void print_runs(FILE *file, const void *context)
{
    const struct hc_comparison *c = context;
    const struct hc_training_run *run;
    (void)fputs(
        "recipe,seed,learned,nan_from,accuracy,test_loss,train_loss,skipped,final_scale,underflow,"
        "unscaled,activation_underflow,activation_unscaled,update_lost,memory,"
        "images_per_second\n",
        file);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        const struct hc_train_result *r = &run->result;
        hc_print(file,
                 "%s,%llu,%d,%lld,%.9g,%.9g,%.9g,%lld,%.17g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%.6g\n",
                 run->recipe->name, (unsigned long long)run->seed, r->learned,
                 r->diverged ? (long long)r->nan_from : -1, r->accuracy, r->test_loss,
                 r->train_loss, (long long)r->skipped, r->final_scale, r->underflow, r->unscaled,
                 r->activation_underflow, r->activation_unscaled, r->update_lost,
                 (long long)r->memory, r->images_per_second);
    }
}

static void print_table(FILE *out, const void *comparison)
{
    hc_comparison_print(comparison, out);
}

static enum hc_status print_file(const struct hc_comparison *c, const char *folder,
                                 const char *name, void (*print)(FILE *out, const void *comparison))
{
    char path[1100];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return hc_output_print(path, print, c);
}

enum hc_status hc_comparison_write(const struct hc_comparison *c, const char *folder)
{
    enum hc_status status = write_record(c, folder);
    if (status == HC_OK)
        status = print_file(c, folder, "runs.csv", print_runs);
    return status == HC_OK ? print_file(c, folder, "table.txt", print_table) : status;
}

/* The files that a comparison leaves: record.json, runs.csv, table.txt. */
#include <math.h>
#include <string.h>

#include "check/record/facts.h"
#include "check/record/json.h"
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
    char ranks[32] = "";
    struct hc_difference d = hc_comparison_pairs(c, recipe).test;
    bool several = c->training->backend_count > 1;
    (void)snprintf(name, sizeof name, "compare/%s-as-%s%s%s", c->recipe[recipe]->name,
                   c->recipe[c->base]->name, several ? "-on-" : "",
                   several ? hc_comparison_training(c, c->base)->backend->name : "");
    char lost[HC_NAN_TEXT] = "";
    char conclusion[HC_CONCLUSION_TEXT];
    bool worse = hc_comparison_nan(c, c->base, lost) == 0 && hc_comparison_nan(c, recipe, lost) > 0;
    hc_comparison_conclusion(c, recipe, conclusion);
    (void)snprintf(note, sizeof note, "%s%s%s", lost, *lost ? "; " : "", conclusion);
    if (d.n > 0)
        (void)hc_text_write(note, sizeof note, "%s%smean difference %+.2f points, %s", lost,
                            *lost ? "; " : "", d.mean, conclusion);
    hc_training_repro(c->training, options, sizeof options);
    bool same = c->recipe[c->base] == c->recipe[recipe];
    if (c->training->ranks > 1)
        (void)snprintf(ranks, sizeof ranks, "mpirun -n %d ", c->training->ranks);
    (void)snprintf(repro, sizeof repro,
                   "%shalfcheck compare --recipes %s%s%s --seeds %d --seed %llu --margin %g%s",
                   ranks, c->recipe[c->base]->name, same ? "" : ",",
                   same ? "" : c->recipe[recipe]->name, c->seeds_of[recipe],
                   (unsigned long long)c->training->seed, c->margin, options);
    struct hc_row row =
        hc_row_claim(name, hc_comparison_training(c, recipe)->backend->name,
                     worse ? HC_FAIL : verdicts[d.verdict], fabs(d.mean), c->margin, "points");
    row.checked = d.n;
    row.seed = c->training->seed;
    row.note = note;
    row.repro = repro;
    hc_record_add(record, &row);
}

/* JSON has no NaN, of which there is one without pairs. */
static void add_changes(json_t *record, const struct hc_comparison *c)
{
    json_t *alone = json_array();
    for (int r = 0; r < c->recipes; r++) {
        int other = hc_comparison_counterpart(c, r);
        struct hc_backend_change change = hc_comparison_change(c, r);
        if (r != other)
            (void)json_array_append_new(
                alone,
                json_pack("{s:s, s:s, s:s, s:i, s:o, s:o, s:o}", "recipe", c->recipe[r]->name,
                          "backend", hc_comparison_training(c, r)->backend->name, "against",
                          hc_comparison_training(c, other)->backend->name, "pairs", change.pairs,
                          "accuracy", hc_json_real(change.accuracy), "test_loss",
                          hc_json_real(change.test_loss), "train_loss",
                          hc_json_real(change.train_loss)));
    }
    if (json_array_size(alone) > 0)
        (void)json_object_set(record, "backends_alone", alone);
    json_decref(alone);
}

static enum hc_status write_record(const struct hc_comparison *c, const char *folder)
{
    char path[1100];
    const struct hc_training_run *run;
    json_t *record = hc_record_new();
    hc_record_describe(record, c->training->backend, NULL);
    for (int i = 1; i < c->training->backend_count; i++)
        hc_record_describe(record, c->training->several[i], NULL);
    hc_training_set_invocation(record, c->training);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++)
        hc_training_add(record, hc_comparison_training(c, (int)((run - c->run) % c->recipes)), run);
    for (int r = 0; r < c->recipes; r++)
        if (r != c->base)
            add_pair(record, c, r);
    add_changes(record, c);
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
    bool several = c->training->backend_count > 1;
    (void)fputs(
        "recipe,seed,learned,nan_from,accuracy,test_loss,train_loss,skipped,final_scale,underflow,"
        "unscaled,activation_underflow,activation_unscaled,update_lost,memory,"
        "images_per_second",
        file);
    (void)fputs(several ? ",backend\n" : "\n", file);
    for (int i = 0; (run = hc_comparison_next(c, i)) != NULL; i++) {
        const struct hc_train_result *r = &run->result;
        hc_print(file,
                 "%s,%llu,%d,%lld,%.9g,%.9g,%.9g,%lld,%.17g,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%.6g",
                 run->recipe->name, (unsigned long long)run->seed, r->learned,
                 r->diverged ? (long long)r->nan_from : -1, r->accuracy, r->test_loss,
                 r->train_loss, (long long)r->skipped, r->final_scale, r->underflow, r->unscaled,
                 r->activation_underflow, r->activation_unscaled, r->update_lost,
                 (long long)r->memory, r->images_per_second);
        int at = (int)((run - c->run) % c->recipes);
        hc_print(file, "%s%s\n", several ? "," : "",
                 several ? hc_comparison_training(c, at)->backend->name : "");
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

/* The files that a study leaves beside its runs: table.txt, runs.csv, pairs.csv,
   curves.csv, record.json. */
#include <math.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/outcomes.h"
#include "check/record/record.h"
#include "cli/protocol/conclusion.h"
#include "cli/training/training_record.h"
#include "op/output.h"
#include "op/text.h"

static const char *name_of(const struct hc_study *study, int subject)
{
    return subject == 0 ? "base" : study->protocol->arm[subject - 1].name;
}

static void print_runs(FILE *out, const void *context)
{
    const struct hc_study *study = ((const struct hc_conclusion *)context)->study;
    (void)fputs("arm,recipe,seed,learned,accuracy,test_loss,train_loss,skipped,final_scale,"
                "images_per_second,others_cpus,cpu\n",
                out);
    for (int s = 0; s < HC_STUDY_SEEDS; s++)
        for (int a = 0; a <= study->protocol->arms; a++) {
            const struct hc_study_run *r = &study->run[a][s];
            if (r->state != HC_STUDY_OVER)
                continue;
            hc_print(out, "%s,%s,%llu,%d,%.9g,%.9g,%.9g,%lld,%.17g,%.6g,%.3g,", name_of(study, a),
                     study->recipe[a]->name,
                     (unsigned long long)study->protocol->seed + (unsigned)s, r->learned,
                     r->accuracy, r->test_loss, r->train_loss, (long long)r->skipped,
                     r->final_scale, r->images_per_second, r->others);
            (void)fputc('"', out);
            for (const char *at = r->cpu; *at; at++)
                (void)fputc(*at == '"' ? '\'' : *at, out);
            (void)fputs("\"\n", out);
        }
}

static void print_pairs(FILE *out, const void *context)
{
    const struct hc_conclusion *c = context;
    (void)fputs("arm,seed,base_accuracy,accuracy,difference,base_alone,arm_alone,mcnemar_p\n", out);
    for (int a = 0; a < c->study->protocol->arms; a++) {
        const struct hc_study_pairs *pairs = &c->arm[a].pairs;
        for (int i = 0; i < pairs->n; i++) {
            const struct hc_pair_images *images = &c->arm[a].images[i];
            hc_print(out, "%s,%llu,%.4f,%.4f,%.4f,%lld,%lld,%.6g\n",
                     c->study->protocol->arm[a].name,
                     (unsigned long long)c->study->protocol->seed + (unsigned)pairs->seed[i],
                     pairs->base[i], pairs->subject[i], pairs->subject[i] - pairs->base[i],
                     images->base_alone, images->subject_alone, images->p);
        }
    }
}

/* Accuracies at the end of each epoch, from epochs.csv, added to mean, least and most of that
   epoch; returns how many epochs it has. */
enum { MAX_EPOCHS = 1000 };
struct curve {
    int runs[MAX_EPOCHS];
    double sum[MAX_EPOCHS];
    double least[MAX_EPOCHS];
    double most[MAX_EPOCHS];
};

static void add_epochs(const char *folder, struct curve *curve)
{
    char path[HC_STUDY_PATH + 16];
    char line[512];
    int epoch;
    double accuracy;
    (void)snprintf(path, sizeof path, "%s/epochs.csv", folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "%d,%*[^,],%*[^,],%*[^,],%lf", &epoch, &accuracy) == 2 && epoch >= 0 &&
            epoch < MAX_EPOCHS && isfinite(accuracy)) {
            bool first = curve->runs[epoch]++ == 0;
            accuracy *= 100;
            curve->sum[epoch] += accuracy;
            curve->least[epoch] = first ? accuracy : fmin(curve->least[epoch], accuracy);
            curve->most[epoch] = first ? accuracy : fmax(curve->most[epoch], accuracy);
        }
    if (file)
        (void)fclose(file);
}

static void print_curves(FILE *out, const void *context)
{
    static struct curve curve;
    const struct hc_study *study = ((const struct hc_conclusion *)context)->study;
    (void)fputs("arm,epoch,runs,mean,least,most\n", out);
    for (int a = 0; a <= study->protocol->arms; a++) {
        memset(&curve, 0, sizeof curve);
        for (int s = 0; s < HC_STUDY_SEEDS; s++) {
            char folder[HC_STUDY_PATH];
            hc_study_run_folder(study, a, s, folder);
            if (study->run[a][s].state == HC_STUDY_OVER)
                add_epochs(folder, &curve);
        }
        for (int e = 0; e < MAX_EPOCHS; e++)
            if (curve.runs[e] > 0)
                hc_print(out, "%s,%d,%d,%.4f,%.4f,%.4f\n", name_of(study, a), e + 1, curve.runs[e],
                         curve.sum[e] / curve.runs[e], curve.least[e], curve.most[e]);
    }
}

static void print_table(FILE *out, const void *context)
{
    hc_conclusion_print(context, out);
}

static void add_arm(json_t *record, const struct hc_conclusion *c, int arm)
{
    char name[64];
    char note[HC_CONCLUSION_SENTENCE];
    const struct hc_arm_answer *a = &c->arm[arm];
    (void)snprintf(name, sizeof name, "protocol/%s", c->study->protocol->arm[arm].name);
    hc_conclusion_sentence(c, arm, note);
    struct hc_row row = hc_row_claim(name, c->study->protocol->backend, a->verdict,
                                     fabs(a->test.mean), c->study->protocol->margin, "points");
    row.checked = a->pairs.n;
    row.seed = c->study->protocol->seed;
    row.note = note;
    row.repro = "halfcheck compare --protocol FILE --out FOLDER --conclude";
    hc_record_add(record, &row);
}

/* Each run for those who compare trainings, as its own run.json has it, and its processor. */
static void add_outcomes(json_t *record, const struct hc_study *study)
{
    json_t *all = json_array();
    for (int a = 0; a <= study->protocol->arms; a++)
        for (int s = 0; s < HC_STUDY_SEEDS; s++) {
            char folder[HC_STUDY_PATH];
            char path[HC_STUDY_PATH + 16];
            if (study->run[a][s].state != HC_STUDY_OVER)
                continue;
            hc_study_run_folder(study, a, s, folder);
            (void)snprintf(path, sizeof path, "%s/run.json", folder);
            json_t *run = json_load_file(path, 0, NULL);
            json_t *training = json_array_get(json_object_get(run, "trainings"), 0);
            (void)json_object_set_new(training, "cpu", hc_json_text(study->run[a][s].cpu));
            (void)json_array_append(all, training);
            json_decref(run);
        }
    (void)json_object_set_new(record, "trainings", all);
}

static enum hc_status write_record(const struct hc_conclusion *c)
{
    char path[HC_STUDY_PATH];
    json_t *record = hc_record_new();
    for (int a = 0; a < c->study->protocol->arms; a++)
        if (c->study->protocol->arm[a].claim != HC_CLAIM_OPEN)
            add_arm(record, c, a);
    add_outcomes(record, c->study);
    (void)json_object_set_new(record, "question", hc_json_text(c->study->protocol->question));
    (void)snprintf(path, sizeof path, "%s/record.json", c->study->folder);
    enum hc_status status = hc_record_write(record, path);
    json_decref(record);
    return status;
}

enum hc_status hc_conclusion_write(const struct hc_conclusion *c)
{
    static const struct {
        const char *name;
        void (*print)(FILE *out, const void *context);
    } files[] = {{"runs.csv", print_runs},
                 {"pairs.csv", print_pairs},
                 {"curves.csv", print_curves},
                 {"table.txt", print_table}};
    enum hc_status status = write_record(c);
    for (size_t i = 0; i < sizeof files / sizeof *files && status == HC_OK; i++) {
        char path[HC_STUDY_PATH];
        (void)snprintf(path, sizeof path, "%s/%s", c->study->folder, files[i].name);
        status = hc_output_print(path, files[i].print, c);
    }
    return status;
}

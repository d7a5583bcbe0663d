#include "cli/protocol/conclusion.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/record/json.h"
#include "check/record/record.h"
#include "cli/report/plot.h"
#include "cli/report/script.h"
#include "cli/statistics/significance.h"
#include "op/output.h"
#include "op/text.h"
#include "op/wrap.h"

/* What a run took each test image for: the columns of its predictions.csv, row behind row. */
struct predictions {
    char *labels;
    char *classes;
    size_t count;
};

static void free_predictions(struct predictions *p)
{
    free(p->labels);
    free(p->classes);
}

/* False if there are none, or not as many as the study's test images. */
static bool read_predictions(const struct hc_study *study, int subject, int seed,
                             struct predictions *p)
{
    char path[HC_STUDY_PATH + 24];
    char folder[HC_STUDY_PATH];
    char labels[128];
    char classes[128];
    size_t images = (size_t)study->test_images;
    hc_study_run_folder(study, subject, seed, folder);
    (void)snprintf(path, sizeof path, "%s/predictions.csv", folder);
    *p = (struct predictions){.labels = malloc(images + 1), .classes = malloc(images + 1)};
    FILE *file = p->labels && p->classes ? fopen(path, "r") : NULL;
    bool good = file && fscanf(file, "first,labels,predicted\n") == 0;
    while (good && fscanf(file, "%*[0-9],%127[0-9],%127[0-9-]\n", labels, classes) == 2) {
        size_t row = strlen(labels);
        good = row == strlen(classes) && p->count + row <= images;
        if (good) {
            memcpy(p->labels + p->count, labels, row);
            memcpy(p->classes + p->count, classes, row);
            p->count += row;
        }
    }
    good = good && feof(file) && p->count == images;
    if (file)
        (void)fclose(file);
    return good;
}

static struct hc_pair_images compare_images(const struct hc_study *study, int arm, int seed)
{
    struct hc_pair_images images = {0};
    struct predictions base = {0};
    struct predictions subject = {0};
    images.known = read_predictions(study, 0, seed, &base) &&
                   read_predictions(study, arm + 1, seed, &subject) &&
                   memcmp(base.labels, subject.labels, base.count) == 0;
    for (size_t i = 0; images.known && i < base.count; i++) {
        bool base_right = base.classes[i] == base.labels[i];
        bool subject_right = subject.classes[i] == base.labels[i];
        images.base_alone += base_right && !subject_right;
        images.subject_alone += subject_right && !base_right;
    }
    images.p = images.known ? hc_mcnemar(images.base_alone, images.subject_alone) : (double)NAN;
    free_predictions(&base);
    free_predictions(&subject);
    return images;
}

/* How many runs of the arm are over. */
static int runs_over(const struct hc_study *study, int arm)
{
    int over = 0;
    for (int s = 0; s < HC_STUDY_SEEDS; s++)
        over += study->run[arm + 1][s].state == HC_STUDY_OVER;
    return over;
}

static enum hc_verdict judge_arm(const struct hc_study *study, int arm,
                                 const struct hc_arm_answer *a)
{
    const struct hc_protocol_arm *asked = &study->protocol->arm[arm];
    int runs = runs_over(study, arm);
    if (asked->claim == HC_CLAIM_LOST)
        return a->pairs.lost < runs ? HC_FAIL : runs < asked->pairs ? HC_SKIPPED : HC_PASS;
    if (a->pairs.lost > 0)
        return HC_FAIL;
    if (asked->claim == HC_CLAIM_OPEN)
        return a->over ? HC_PASS : HC_SKIPPED;
    if (a->test.verdict == HC_UNDECIDED)
        return HC_SKIPPED;
    bool equivalent = a->test.verdict == HC_EQUIVALENT;
    if (asked->claim == HC_CLAIM_EQUIVALENT)
        return equivalent ? HC_PASS : HC_FAIL;
    return !equivalent && a->test.mean < 0 ? HC_PASS : HC_FAIL;
}

/* What few pairs say of an arm that gets fewer than two looks could test: nothing. */
static void answer(const struct hc_study *study, int arm, struct hc_arm_answer *a)
{
    double grain = 100 / (double)study->test_images;
    double margin = study->protocol->margin;
    a->pairs = hc_study_pairs(study, arm);
    a->plan = hc_protocol_plan(study->protocol, arm);
    a->test = hc_sequential_paired(&a->plan, a->pairs.subject, a->pairs.base, a->pairs.n, margin,
                                   grain, &a->look);
    a->over = a->plan.looks == 0 ? runs_over(study, arm) >= study->protocol->arm[arm].pairs
                                 : hc_sequential_next(&a->plan, a->pairs.subject, a->pairs.base,
                                                      a->pairs.n, margin, grain) == 0;
    for (int i = 0; i < a->pairs.n; i++) {
        a->images[i] = compare_images(study, arm, a->pairs.seed[i]);
        a->known += a->images[i].known;
        a->told_apart += a->images[i].known && a->images[i].p < 0.05;
    }
    a->verdict = judge_arm(study, arm, a);
}

enum hc_status hc_conclude(const struct hc_study *study, struct hc_conclusion *c)
{
    double accuracy[HC_STUDY_SEEDS];
    *c = (struct hc_conclusion){.study = study};
    for (int s = 0; s < HC_STUDY_SEEDS; s++)
        if (study->run[0][s].state == HC_STUDY_OVER)
            accuracy[c->runs++] = 100 * study->run[0][s].accuracy;
    hc_spread(accuracy, c->runs, &c->accuracy, &c->deviation);
    c->reached = study->protocol->reach == 0 || c->accuracy >= study->protocol->reach;
    for (int a = 0; a < study->protocol->arms; a++)
        answer(study, a, &c->arm[a]);
    return HC_OK;
}

int hc_conclusion_failures(const struct hc_conclusion *c)
{
    int failures = c->runs > 0 && !c->reached;
    for (int a = 0; a < c->study->protocol->arms; a++)
        failures += c->arm[a].verdict == HC_FAIL;
    return failures;
}

int hc_conclusion_undecided(const struct hc_conclusion *c)
{
    int undecided = 0;
    for (int a = 0; a < c->study->protocol->arms; a++)
        undecided +=
            c->arm[a].verdict == HC_SKIPPED && c->study->protocol->arm[a].claim != HC_CLAIM_OPEN;
    return undecided;
}

/* The sentence. */

static const char *count_of(int n, char text[32])
{
    static const char *const words[] = {"none",  "one",   "two",  "three", "four",   "five",  "six",
                                        "seven", "eight", "nine", "ten",   "eleven", "twelve"};
    if (n < (int)(sizeof words / sizeof *words))
        return words[n];
    (void)snprintf(text, 32, "%d", n);
    return text;
}

static void lost_sentence(const struct hc_conclusion *c, int arm, const char *words, char *text)
{
    const struct hc_arm_answer *a = &c->arm[arm];
    char number[2][32];
    int runs = runs_over(c->study, arm);
    bool all = a->pairs.lost == runs;
    (void)snprintf(text, HC_CONCLUSION_SENTENCE, "%s %s%s: %s of %s run%s learned.", words,
                   all ? "does not learn" : "learns",
                   c->study->protocol->arm[arm].claim != HC_CLAIM_LOST ? ""
                   : all                                               ? ", as it is to"
                                                                       : ", which it is not to",
                   count_of(runs - a->pairs.lost, number[0]), count_of(runs, number[1]),
                   runs == 1 ? "" : "s");
}

void hc_conclusion_sentence(const struct hc_conclusion *c, int arm,
                            char text[HC_CONCLUSION_SENTENCE])
{
    const struct hc_arm_answer *a = &c->arm[arm];
    const struct hc_protocol *p = c->study->protocol;
    char words[HC_PROTOCOL_TEXT];
    char number[32];
    (void)snprintf(words, sizeof words, "%s", p->arm[arm].words);
    words[0] = (char)toupper((unsigned char)words[0]);
    if (runs_over(c->study, arm) == 0) {
        (void)snprintf(text, HC_CONCLUSION_SENTENCE, "%s has not been trained yet.", words);
        return;
    }
    if (p->arm[arm].claim == HC_CLAIM_LOST || a->pairs.lost > 0) {
        lost_sentence(c, arm, words, text);
        return;
    }
    if (a->look < 0) {
        (void)snprintf(text, HC_CONCLUSION_SENTENCE, "%s is not decided yet: %s pair%s of %d.",
                       words, count_of(a->pairs.n, number), a->pairs.n == 1 ? "" : "s",
                       a->plan.looks > 0 ? a->plan.pairs[0] : p->arm[arm].pairs);
        return;
    }
    const char *says = a->test.verdict == HC_EQUIVALENT ? "costs no accuracy that matters"
                       : a->test.verdict == HC_UNDECIDED
                           ? a->over ? "is not decided" : "is not decided yet"
                       : a->test.mean < 0 ? "costs accuracy"
                                          : "gains accuracy";
    (void)snprintf(text, HC_CONCLUSION_SENTENCE,
                   "%s %s: %+.2f points against %s over %s pairs, %.3g %% interval %+.2f to %+.2f, "
                   "%s the margin of %g.",
                   words, says, a->test.mean, p->base, count_of(a->test.n, number),
                   100 * (1 - 2 * a->plan.level), a->test.low, a->test.high,
                   a->test.verdict == HC_EQUIVALENT  ? "within"
                   : a->test.verdict == HC_DIFFERENT ? "beyond"
                                                     : "across",
                   p->margin);
}

/* What people read of a study: the question, a table, and the sentences that answer. */

/* The widths of the first two columns. */
struct widths {
    int arm;
    int recipe;
};

static struct widths widths_of(const struct hc_protocol *p)
{
    struct widths w = {.arm = (int)strlen("base"), .recipe = (int)strlen(p->base)};
    for (int a = 0; a < p->arms; a++) {
        int arm = (int)strlen(p->arm[a].name);
        int recipe = (int)strlen(p->arm[a].recipe);
        w.arm = arm > w.arm ? arm : w.arm;
        w.recipe = recipe > w.recipe ? recipe : w.recipe;
    }
    return w;
}

static void print_arm(const struct hc_conclusion *c, int arm, struct widths w, FILE *out)
{
    const struct hc_arm_answer *a = &c->arm[arm];
    const struct hc_protocol_arm *asked = &c->study->protocol->arm[arm];
    char points[24] = "";
    char interval[40] = "";
    char apart[24] = "";
    char line[512];
    if (a->pairs.n > 0)
        (void)hc_text_write(points, sizeof points, "%+.2f", a->test.mean);
    if (a->look >= 0)
        (void)hc_text_write(interval, sizeof interval, "%+.2f .. %+.2f", a->test.low, a->test.high);
    if (a->known > 0)
        (void)snprintf(apart, sizeof apart, "%d of %d", a->told_apart, a->known);
    (void)snprintf(line, sizeof line, "%-*s %-*s %5d %7s  %-16s %s", w.arm, asked->name, w.recipe,
                   asked->recipe, a->pairs.n, points, interval, apart);
    for (size_t n = strlen(line); line[n - 1] == ' '; n--)
        line[n - 1] = '\0';
    hc_print(out, "%s\n", line);
    if (a->pairs.mixed > 0)
        hc_print(out, "%-*s %d pair%s made on two kinds of processor and %s not count\n", w.arm, "",
                 a->pairs.mixed, a->pairs.mixed == 1 ? " was" : "s were",
                 a->pairs.mixed == 1 ? "does" : "do");
}

static void print_arms(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    struct widths w = widths_of(p);
    char counted[256];
    hc_print(out, "\n%-*s %-*s %5s %7s  %s\n", w.arm, "arm", w.recipe, "recipe", "pairs", "points",
             p->text ? "interval" : "interval         apart");
    for (int a = 0; a < p->arms; a++)
        print_arm(c, a, w, out);
    if (p->text)
        (void)hc_text_write(counted, sizeof counted,
                            "accuracy: share of the %lld bytes of a test's pieces that are "
                            "foretold. points: that of the arm minus that of the base, mean over "
                            "pairs. interval: of that mean, over all looks.",
                            (long long)c->study->test_images);
    hc_print_wrapped(
        out, 0, 0,
        p->text ? counted
                : "points: accuracy of the arm minus that of the base, mean over pairs. interval: "
                  "of that mean, over all looks. apart: pairs whose two networks the test images "
                  "alone tell apart, by McNemar's test at 5 %.");
    if (c->runs > 1)
        hc_print(out, "\nThe base, %s, reaches %.2f %% (deviation %.2f over %d runs).\n", p->base,
                 c->accuracy, c->deviation, c->runs);
    else if (c->runs == 1)
        hc_print(out, "\nThe base, %s, reaches %.2f %% in one run.\n", p->base, c->accuracy);
}

/* The odds that the protocol was made with, before there were data. */
static void print_plan(const struct hc_conclusion *c, FILE *out)
{
    enum { EXPERIMENTS = 4000 };
    const struct hc_protocol *p = c->study->protocol;
    struct hc_sequential_odds odds =
        hc_sequential_simulate(&p->plan, 0, p->spread, p->margin, EXPERIMENTS, 1);
    hc_print(out, "planned   margin %g points, two one-sided tests at %g %% over looks at",
             p->margin, 100 * p->plan.level);
    for (int k = 0; k < p->plan.looks; k++)
        hc_print(out, " %d", p->plan.pairs[k]);
    hc_print(out, " pairs\n          power %.2f with %.1f pairs on average, if the spread is %g\n",
             odds.equivalent, odds.pairs, p->spread);
}

/* The spread that the pairs have, against the planned one. */
static void print_spread(const struct hc_conclusion *c, FILE *out)
{
    double squares = 0;
    int freedom = 0;
    for (int a = 0; a < c->study->protocol->arms; a++) {
        const struct hc_study_pairs *pairs = &c->arm[a].pairs;
        double difference[HC_STUDY_SEEDS];
        double mean;
        double deviation;
        if (c->study->protocol->arm[a].claim != HC_CLAIM_EQUIVALENT || pairs->n < 2)
            continue;
        for (int i = 0; i < pairs->n; i++)
            difference[i] = pairs->subject[i] - pairs->base[i];
        hc_spread(difference, pairs->n, &mean, &deviation);
        squares += deviation * deviation * (pairs->n - 1);
        freedom += pairs->n - 1;
    }
    if (freedom > 0)
        hc_print(out, "The difference of a pair has a spread of %.2f points (planned: %g).\n",
                 sqrt(squares / freedom), c->study->protocol->spread);
}

void hc_conclusion_print(const struct hc_conclusion *c, FILE *out)
{
    const struct hc_protocol *p = c->study->protocol;
    hc_print(out, "question  %s\n", p->question);
    print_plan(c, out);
    print_arms(c, out);
    print_spread(c, out);
    hc_print(out, "\n");
    for (int a = 0; a < p->arms; a++) {
        char sentence[HC_CONCLUSION_SENTENCE];
        hc_conclusion_sentence(c, a, sentence);
        enum hc_verdict verdict = c->arm[a].verdict;
        hc_print(out, "%-6s",
                 p->arm[a].claim == HC_CLAIM_OPEN ? ""
                 : verdict == HC_SKIPPED          ? "open"
                                                  : hc_verdict_names[verdict]);
        hc_print_wrapped(out, 6, 6, sentence);
    }
    if (c->runs > 0 && !c->reached)
        hc_print(out, "FAIL  %s reaches %.2f %%, which is less than the %g %% that is asked for.\n",
                 p->base, c->accuracy, p->reach);
}

/* The files that a study leaves beside its runs: table.txt, runs.csv, pairs.csv,
   curves.csv, record.json. */

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

/* The picture of a study (reports/study.gp). */

enum { LABEL = 24 };

void hc_conclusion_draw(const struct hc_conclusion *c)
{
    const struct hc_protocol *p = c->study->protocol;
    struct hc_plot_values *values = hc_plot_values();
    int n = 0;
    hc_plot_array(values, "arm_name", p->arms);
    hc_plot_array(values, "arm_tic", p->arms);
    hc_plot_array(values, "arm_mean", p->arms);
    hc_plot_array(values, "arm_low", p->arms);
    hc_plot_array(values, "arm_high", p->arms);
    for (int a = 0; a < p->arms; a++) {
        const struct hc_arm_answer *answer = &c->arm[a];
        if (answer->pairs.n == 0)
            continue;
        n++;
        hc_plot_text(values, "arm_name", n, p->arm[a].name, LABEL);
        hc_plot_tic(values, "arm_tic", n, p->arm[a].name, LABEL);
        hc_plot_real(values, "arm_mean", n, answer->test.mean);
        hc_plot_real(values, "arm_low", n, answer->test.low);
        hc_plot_real(values, "arm_high", n, answer->test.high);
    }
    hc_plot_integer(values, "n", 0, n);
    hc_plot_integer(values, "synthetic", 0, p->synthetic);
    hc_plot_real(values, "margin", 0, p->margin);
    if (n == 0)
        hc_plot_free(values);
    else if (hc_plot(hc_script("study.gp"), values, c->study->folder) == HC_OK)
        hc_print_line(stdout, "picture: %s/study.{svg,png}", c->study->folder);
    else
        hc_print_line(stdout, "no picture: %s", hc_message());
}

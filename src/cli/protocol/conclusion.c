#include "cli/protocol/conclusion.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/statistics/mcnemar.h"

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

static enum hc_verdict judge(const struct hc_study *study, int arm, const struct hc_arm_answer *a)
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
    a->verdict = judge(study, arm, a);
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

/* halfcheck judge --define: the tensors of a definition come from files, and its results are
   judged. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/define/define.h"
#include "cli/judge/answer.h"
#include "define/judge.h"
#include "op/output.h"
#include "op/text.h"

enum { LABEL = 10, MAX_VALUES = 1 << 20 };

struct judged {
    struct hc_definition *definition;
    struct hc_instance instance;
    struct hc_tensor got[HC_MAX_DEFINED_TENSORS];
    struct hc_defined_output output[HC_MAX_DEFINED_TENSORS];
    int64_t judged;           /* elements of all results, */
    int64_t unbounded;        /* and those of them that no right order is bound to */
    struct hc_question files; /* that were read, and the memory of their paths */
};

static struct hc_tensor *tensor_of(struct judged *j, int t)
{
    return t < j->definition->inputs ? &j->instance.input[t] : &j->got[t];
}

/* The input or result that a word "NAME=..." names, or the next one that is not given; -1 if there
   is none. */
static int slot_of(struct judged *j, const char *word, bool inputs)
{
    const struct hc_definition *d = j->definition;
    const char *equals = strchr(word, '=');
    for (int s = 0; s < (inputs ? d->inputs : d->results); s++) {
        int t = inputs ? s : d->result[s];
        size_t length = strlen(d->tensor[t].name);
        if (equals
                ? (size_t)(equals - word) == length && strncmp(word, d->tensor[t].name, length) == 0
                : !tensor_of(j, t)->data)
            return t;
    }
    return -1;
}

/* [NAME=]FILE[:TENSOR] fills a tensor of the definition. */
static enum hc_status fill_words(struct judged *j, const struct hc_words *words, bool inputs)
{
    const struct hc_definition *d = j->definition;
    enum hc_status status = HC_OK;
    for (int i = 0; i < words->count && status == HC_OK; i++) {
        const char *word = words->word[i];
        const char *equals = strchr(word, '=');
        const char *rest = equals ? equals + 1 : word;
        const struct hc_tensor_file *file;
        const char *name;
        int t = slot_of(j, word, inputs);
        if (t < 0)
            return hc_fail(HC_INVALID, "judge: --%s %s fits no %s of %s", inputs ? "in" : "out",
                           word, inputs ? "input" : "result", d->name);
        if (tensor_of(j, t)->data)
            return hc_fail(HC_INVALID, "judge: %s is given twice", d->tensor[t].name);
        char *path = hc_question_memory(&j->files, strlen(rest) + 1);
        if (!path)
            return HC_NO_MEMORY;
        memcpy(path, rest, strlen(rest) + 1);
        hc_question_part(path, &name);
        status = hc_question_file(&j->files, path, &file);
        if (status == HC_OK)
            status = hc_question_tensor(file, path, name, d->tensor[t].name, tensor_of(j, t));
    }
    return status;
}

static enum hc_status fill_by_name(struct judged *j, const char *path)
{
    const struct hc_definition *d = j->definition;
    const struct hc_tensor_file *file;
    enum hc_status status = hc_question_file(&j->files, path, &file);
    for (int t = 0; t < d->tensors && status == HC_OK; t++)
        for (int i = 0; i < file->count && status == HC_OK; i++)
            if (strcmp(file->tensors[i].name, d->tensor[t].name) == 0 && !tensor_of(j, t)->data &&
                (t < d->inputs || d->tensor[t].returned))
                status = hc_question_tensor(file, path, d->tensor[t].name, d->tensor[t].name,
                                            tensor_of(j, t));
    return status;
}

static enum hc_status set_options(struct judged *j, const struct hc_words *set)
{
    for (int i = 0; i < set->count; i++) {
        char name[HC_LONGEST_DEFINED_NAME + 1] = "";
        const char *equals = strchr(set->word[i], '=');
        if (equals && (size_t)(equals - set->word[i]) < sizeof name)
            (void)snprintf(name, sizeof name, "%.*s", (int)(equals - set->word[i]), set->word[i]);
        int option = hc_definition_option(j->definition, name);
        if (option < 0)
            return hc_fail(HC_INVALID, "judge: --set %s: %s has no such option", set->word[i],
                           j->definition->name);
        j->instance.option[option] = equals + 1;
    }
    return HC_OK;
}

/* The tensors' format is that of the first input of numbers, unless a result has a narrower one. */
static enum hc_format io_format(const struct judged *j)
{
    const struct hc_definition *d = j->definition;
    for (int i = 0; i < d->results; i++)
        if (j->got[d->result[i]].data && d->tensor[d->result[i]].format == HC_FORMAT_COUNT)
            return j->got[d->result[i]].format;
    for (int i = 0; i < d->inputs; i++)
        if (!d->tensor[i].index)
            return j->instance.input[i].format;
    return HC_FP32;
}

static enum hc_status ask(struct judged *j, const struct hc_define_question *question)
{
    const struct hc_definition *d = j->definition;
    enum hc_status status = fill_words(j, &question->in, true);
    int results = 0;
    if (status == HC_OK)
        status = fill_words(j, &question->out, false);
    if (status == HC_OK && question->tensors)
        status = fill_by_name(j, question->tensors);
    if (status == HC_OK)
        status = set_options(j, &question->set);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < d->inputs; i++)
        if (!j->instance.input[i].data)
            return hc_fail(HC_INVALID, "judge: the input %s of %s is not given", d->tensor[i].name,
                           d->name);
    for (int i = 0; i < d->results; i++)
        results += j->got[d->result[i]].data != NULL;
    if (results == 0 && !question->values)
        return hc_fail(HC_INVALID, "judge: no result of %s is given", d->name);
    j->instance.definition = d;
    j->instance.freedoms = hc_usual_freedoms;
    j->instance.io = io_format(j);
    if (j->instance.io == HC_FP64)
        j->instance.freedoms.compute = HC_FP64;
    return hc_instance_bind(&j->instance);
}

static void print_place(const struct judged *j, int tensor, int64_t index)
{
    struct hc_tensor shape = hc_instance_tensor(&j->instance, tensor);
    int64_t at[HC_MAX_RANK];
    for (int i = shape.rank - 1; i >= 0; i--) {
        at[i] = index % shape.shape[i];
        index /= shape.shape[i];
    }
    printf("%s", j->definition->tensor[tensor].name);
    for (int i = 0; i < shape.rank; i++)
        printf("%s%lld", i ? ", " : "[", (long long)at[i]);
    printf("%s\n", shape.rank ? "]" : "");
}

static void print_output(const struct judged *j, int tensor)
{
    const struct hc_defined_output *r = &j->output[tensor];
    const struct hc_defined_element *e = &r->worst;
    enum hc_format format = j->got[tensor].format;
    printf("\n%s, %s", j->definition->tensor[tensor].name, hc_formats[format].name);
    if (r->format != format)
        printf(" where the text says %s", hc_formats[r->format].name);
    printf(": %lld of %lld elements %s wrong\n", (long long)r->wrong, (long long)r->judged,
           r->wrong == 1 ? "is" : "are");
    if (r->judged < r->elements)
        printf("  (of %lld, at even distances; --all judges every one)\n", (long long)r->elements);
    if (r->judged == 0)
        return;
    printf("  %-*s", LABEL, e->ratio > 1 ? "wrong" : "nearest");
    print_place(j, tensor, e->index);
    hc_print(stdout, "  %-*s%.17g\n", LABEL, "real", e->value.want.hi);
    hc_print(stdout, "  %-*s%.9g\n", LABEL, "got", e->got);
    hc_print(stdout, "  %-*s%.4g\n  %-*s%.4g\n", LABEL, "error", e->error, LABEL, "bound",
             e->bound);
    hc_print(stdout, "  %-*s%.4g, the median %.3g\n", LABEL, "ratio", e->ratio, r->median);
    if (r->single)
        printf("  %-*sone result alone is right in %lld\n", LABEL, "settled", (long long)r->single);
    if (r->unbounded)
        printf("  %-*s%lld, where right orders may overflow or differ in NaN\n", LABEL, "unjudged",
               (long long)r->unbounded);
}

/* {"definition", "digest", "verdict", "outputs": [{"name", "format", "elements", "judged", "wrong",
   "unbounded", "single", "median", "worst": {"index", "real", "got", "error", "bound", "ratio"}}]}.
 */
static enum hc_status write_json(const struct judged *j, const char *path, const char *verdict)
{
    const struct hc_definition *d = j->definition;
    json_t *outputs = json_array();
    for (int i = 0; i < d->results; i++) {
        int t = d->result[i];
        const struct hc_defined_output *r = &j->output[t];
        if (!j->got[t].data)
            continue;
        json_t *output =
            json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:o}", "name", d->tensor[t].name,
                      "format", hc_formats[j->got[t].format].name, "elements",
                      (json_int_t)r->elements, "judged", (json_int_t)r->judged, "wrong",
                      (json_int_t)r->wrong, "unbounded", (json_int_t)r->unbounded, "single",
                      (json_int_t)r->single, "median", hc_answer_number(r->median));
        if (r->judged)
            (void)json_object_set_new(
                output, "worst",
                json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "index", (json_int_t)r->worst.index,
                          "real", hc_answer_number(r->worst.value.want.hi), "got",
                          hc_answer_number(r->worst.got), "error", hc_answer_number(r->worst.error),
                          "bound", hc_answer_number(r->worst.bound), "ratio",
                          hc_answer_number(r->worst.ratio)));
        (void)json_array_append_new(outputs, output);
    }
    json_t *document = json_pack("{s:s, s:s, s:s, s:o}", "definition", d->name, "digest", d->digest,
                                 "verdict", verdict, "outputs", outputs);
    char *text = document ? json_dumps(document, JSON_INDENT(1)) : NULL;
    enum hc_status status = text ? hc_output_write(path, text, strlen(text))
                                 : hc_fail(HC_NO_MEMORY, "no memory for %s", path);
    free(text);
    json_decref(document);
    return status;
}

/* The values themselves, element by element: {NAME: {"shape", "want", "rest", "radius"}}, where the
   real number is want + rest to 2^-100 of it. */
static enum hc_status write_values(struct judged *j, const char *path)
{
    const struct hc_definition *d = j->definition;
    struct hc_evaluator *evaluator = hc_evaluator_new(&j->instance);
    enum hc_status status = evaluator ? HC_OK : HC_NO_MEMORY;
    json_t *document = json_object();
    for (int i = 0; i < d->results && status == HC_OK; i++) {
        struct hc_tensor t = hc_instance_tensor(&j->instance, d->result[i]);
        if (hc_tensor_count(&t) > MAX_VALUES) {
            status =
                hc_fail(HC_INVALID, "define: %s has %lld elements; --values writes %d at most",
                        d->tensor[d->result[i]].name, (long long)hc_tensor_count(&t), MAX_VALUES);
            break;
        }
        json_t *columns[4] = {json_array(), json_array(), json_array(), json_array()};
        for (int k = 0; k < t.rank; k++)
            (void)json_array_append_new(columns[0], json_integer(t.shape[k]));
        for (int64_t e = 0; e < hc_tensor_count(&t) && status == HC_OK; e++) {
            struct hc_defined_value value = {.rad = 0};
            status = hc_evaluator_element(evaluator, d->result[i], e, &value);
            (void)json_array_append_new(columns[1], hc_answer_number(value.want.hi));
            (void)json_array_append_new(columns[2], hc_answer_number(value.want.lo));
            (void)json_array_append_new(columns[3], hc_answer_number(value.rad));
        }
        (void)json_object_set_new(document, d->tensor[d->result[i]].name,
                                  json_pack("{s:o, s:o, s:o, s:o}", "shape", columns[0], "want",
                                            columns[1], "rest", columns[2], "radius", columns[3]));
    }
    char *text = status == HC_OK ? json_dumps(document, 0) : NULL;
    if (text)
        status = hc_output_write(path, text, strlen(text));
    free(text);
    json_decref(document);
    hc_evaluator_free(evaluator);
    return status;
}

/* Whether what was found is within the bounds if one equation is rounded otherwise than the text
   says. */
static bool explains(struct judged *j, bool all)
{
    const struct hc_definition *d = j->definition;
    for (int i = 0; i < d->results; i++) {
        struct hc_defined_output output;
        int t = d->result[i];
        if (j->got[t].data &&
            (hc_define_judge(&j->instance, t, &j->got[t], all, &output) != HC_OK || output.wrong ||
             output.unbounded == output.judged))
            return false;
    }
    return true;
}

/* Says which single rounding would explain all that is wrong: a tensor that is stored in the
   tensors' format, or an equation that is computed in it. It is a suspicion: bounds grow with it.
 */
static void print_suspects(struct judged *j, bool all)
{
    const struct hc_definition *d = j->definition;
    enum hc_format io = j->instance.io;
    int found = 0;
    if (io == j->instance.freedoms.compute)
        return;
    for (int narrow = 0; narrow < 2 && !found; narrow++)
        for (int t = d->inputs; t < d->tensors; t++) {
            const struct hc_expression *value = d->tensor[t].value;
            if (d->tensor[t].shift || (!narrow && value->kind == HC_EXPRESSION_STORE))
                continue;
            j->instance.suspect = t;
            j->instance.narrow = narrow;
            if (!explains(j, all))
                continue;
            if (found++ == 0)
                printf("\nAll of it is within the bounds if an equation is %s %s:",
                       narrow ? "computed in" : "rounded to", hc_formats[io].name);
            printf(" %s", d->tensor[t].name);
        }
    j->instance.suspect = 0;
    printf("%s", found ? "\n" : "");
}

/* Judges all results that are given. What says nothing of more than half of the elements is no
   PASS. */
static enum hc_status judge_results(struct judged *j, bool all, const char **verdict)
{
    const struct hc_definition *d = j->definition;
    int64_t judged = 0;
    int64_t unbounded = 0;
    int64_t wrong = 0;
    for (int i = 0; i < d->results; i++) {
        int t = d->result[i];
        if (!j->got[t].data)
            continue;
        enum hc_status status = hc_define_judge(&j->instance, t, &j->got[t], all, &j->output[t]);
        if (status != HC_OK)
            return status;
        judged += j->output[t].judged;
        unbounded += j->output[t].unbounded;
        wrong += j->output[t].wrong;
    }
    j->judged = judged;
    j->unbounded = unbounded;
    *verdict = wrong ? "FAIL" : hc_define_says_little(judged, unbounded) ? "MISTRUSTED" : "PASS";
    return HC_OK;
}

static enum hc_status judge(struct judged *j, const struct hc_define_question *question,
                            const char **verdict)
{
    const struct hc_definition *d = j->definition;
    *verdict = "PASS";
    if (question->values)
        return write_values(j, question->values);
    enum hc_status status = judge_results(j, question->all, verdict);
    if (status != HC_OK)
        return status;
    if (question->json && strcmp(question->json, "-") == 0)
        return write_json(j, question->json, *verdict);
    printf("%s by definition %s%s%s: %s", d->name, d->digest, d->chosen[0] ? ", variant " : "",
           d->chosen, *verdict);
    if (j->unbounded)
        printf("; %lld of %lld elements not judged", (long long)j->unbounded, (long long)j->judged);
    printf("\n");
    for (int i = 0; i < d->results; i++)
        if (j->got[d->result[i]].data)
            print_output(j, d->result[i]);
    if (**verdict == 'F')
        print_suspects(j, question->all);
    return question->json ? write_json(j, question->json, *verdict) : HC_OK;
}

/* Opens, asks and judges with one variant; what was opened is the caller's to close. With `quiet`
   nothing is printed but what is wrong with the question. */
static enum hc_status judge_variant(struct judged *j, const struct hc_define_question *question,
                                    const char *variant, bool quiet, const char **verdict)
{
    j->definition = hc_define_open(question->source, variant);
    if (!j->definition)
        return HC_OK; /* and *verdict stays as it is */
    enum hc_status status = ask(j, question);
    if (status == HC_OK)
        status = quiet ? judge_results(j, question->all, verdict) : judge(j, question, verdict);
    return status;
}

static void close_judged(struct judged *j)
{
    hc_question_close(&j->files);
    hc_definition_free(j->definition);
    memset(j, 0, sizeof *j);
}

/* The variant that all elements keep to: "" for the equations as they stand first. The first one
   that passes is taken. */
static enum hc_status find_variant(struct judged *j, const struct hc_define_question *question,
                                   char name[HC_LONGEST_DEFINED_NAME + 1], bool *found)
{
    int variants = 0;
    *found = false;
    for (int i = -1; i < variants && !*found; i++) {
        const char *verdict = NULL;
        enum hc_status status = judge_variant(j, question, i < 0 ? NULL : name, true, &verdict);
        if (status != HC_OK || !verdict)
            return status == HC_OK ? HC_INVALID : status;
        variants = j->definition->variants;
        *found = *verdict != 'F';
        if (!*found && i + 1 < variants)
            (void)snprintf(name, sizeof(char[HC_LONGEST_DEFINED_NAME + 1]), "%s",
                           j->definition->variant[i + 1]);
        close_judged(j);
    }
    return HC_OK;
}

int hc_define_judge_files(const struct hc_define_question *question)
{
    struct judged *j = calloc(1, sizeof *j);
    char found_name[HC_LONGEST_DEFINED_NAME + 1] = "";
    const char *variant = question->variant;
    const char *verdict = NULL;
    bool any = variant && strcmp(variant, "any") == 0;
    bool found = true;
    enum hc_status status = HC_OK;
    if (!j)
        return hc_complain("judge: no memory");
    if (any) {
        status = find_variant(j, question, found_name, &found);
        /* Where none passes, the first equations say what is wrong. */
        variant = found && found_name[0] ? found_name : NULL;
    }
    if (status == HC_OK)
        status = judge_variant(j, question, variant, false, &verdict);
    if (status == HC_OK && verdict && any && !question->values &&
        !(question->json && strcmp(question->json, "-") == 0))
        printf("\n%s%s\n",
               !found    ? "It keeps to no variant."
               : variant ? "All elements keep to one variant: "
                         : "All elements keep to the equations as they stand first.",
               found && variant ? variant : "");
    if (status != HC_OK && hc_message()[0])
        (void)hc_complain_message();
    close_judged(j);
    free(j);
    return !verdict || status != HC_OK ? HC_WRONG
           : *verdict == 'P'           ? HC_AS_CLAIMED
                                       : HC_CLAIM_FAILED;
}

/* Runs faulty and right kernels on the same calls. The calls are those of the cases op/NAME, with
   normal numbers: all formats but fp64, all shapes, also those of level exhaustive, all variants.
   What is expected is what the definition says, computed plainly in fp64, so that nothing comes
   from a kernel. */
#include "cli/catches/kernels.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "check/run_call.h"
#include "check/runner.h"
#include "define/op.h"

const char *const hc_kernel_words[] = {[HC_KERNEL_MISSED] = "miss",
                                       [HC_KERNEL_CAUGHT] = "yes",
                                       [HC_KERNEL_ALARM] = "alarm",
                                       [HC_KERNEL_NOT_APPLIED] = "-"};

/* A call of an op, what its outputs should be, and what each rule makes of the right kernel's. */
struct asked {
    struct hc_call call; /* its inputs, and outputs with memory to write to */
    struct hc_tensor real[HC_MAX_OUT];
    struct hc_tensor half[HC_MAX_OUT];
    bool in_16_bits;
    enum hc_judgement right[HC_KERNEL_RULES];
};

struct asked_op {
    enum hc_op op;
    struct asked *asked;
    int count;
};

static bool give_memory(struct hc_tensor *t)
{
    t->data = t->format == HC_FORMAT_COUNT ? NULL : calloc(hc_tensor_bytes(t) + 1, 1);
    return t->data != NULL;
}

static void free_asked(struct asked *a)
{
    for (int i = 0; i < HC_MAX_IN; i++)
        free(a->call.in[i].data);
    for (int o = 0; o < HC_MAX_OUT; o++) {
        free(a->call.out[o].data);
        free(a->real[o].data);
        free(a->half[o].data);
    }
}

static void free_op(struct asked_op *all)
{
    for (int i = 0; i < all->count; i++)
        free_asked(&all->asked[i]);
    free(all->asked);
}

static enum hc_status expect(struct asked *a)
{
    const struct hc_op_info *op = &hc_ops[a->call.op];
    bool memory = true;
    for (int i = 0; i < op->inputs; i++)
        memory = give_memory(&a->call.in[i]) && memory;
    for (int o = 0; o < op->outputs; o++) {
        a->half[o] = a->real[o] = a->call.out[o];
        a->real[o].format = HC_FP64;
        memory = give_memory(&a->call.out[o]) && memory;
        memory = give_memory(&a->real[o]) && give_memory(&a->half[o]) && memory;
    }
    if (!memory)
        return hc_fail(HC_NO_MEMORY, "no memory for a call of %s", op->name);
    a->in_16_bits =
        a->call.in[HC_FIRST].format == HC_BF16 || a->call.in[HC_FIRST].format == HC_FP16;
    hc_draw_inputs(&a->call, HC_DRAW_NORMAL, 1);
    enum hc_status status = hc_defined_op_plainly(&a->call, HC_PLAINLY_FP64, a->real);
    return status == HC_OK && a->in_16_bits
               ? hc_defined_op_plainly(&a->call, HC_PLAINLY_EAGER, a->half)
               : status;
}

/* A rule refuses a call if it refuses one of its outputs. */
static void judge(const struct asked *a, enum hc_judgement judged[HC_KERNEL_RULES])
{
    for (int r = 0; r < HC_KERNEL_RULES; r++) {
        judged[r] = HC_NOT_APPLIED;
        for (int o = 0; o < hc_ops[a->call.op].outputs && judged[r] != HC_REFUSED; o++) {
            struct hc_kernel_output out = {.op = a->call.op,
                                           .number = o,
                                           .got = &a->call.out[o],
                                           .real = &a->real[o],
                                           .half = a->in_16_bits ? &a->half[o] : NULL};
            enum hc_judgement one = hc_kernel_rules[r].judge(&out);
            judged[r] = one == HC_NOT_APPLIED ? judged[r] : one;
        }
    }
}

/* Whether the op is asked in these formats: as its cases have it, and in 16 bits with each variant,
   since some rules are for 16 bits alone. The largest shapes are for one variant alone. */
static bool is_asked(enum hc_op op, const struct hc_format_set *set,
                     const struct hc_op_shape *shape, const struct hc_variant *v, bool first)
{
    struct hc_call call = hc_op_call(op, set, shape, v);
    bool halves = set->in == set->out && (set->in == HC_BF16 || set->in == HC_FP16);
    return set->in != HC_FP64 && !shape->in_place && (first || shape->level < HC_EXHAUSTIVE) &&
           (halves || hc_format_set_allowed(op, set, v)) &&
           hc_distribution_applies(&call, HC_DRAW_NORMAL);
}

/* Appends a call for each set, shape and variant that the op's cases have. */
static enum hc_status ask(enum hc_op op, struct asked_op *all)
{
    struct hc_opspace space = hc_opspace(op);
    enum hc_status status = HC_OK;
    for (const struct hc_format_set *set = space.sets; set->name; set++)
        for (const struct hc_op_shape *shape = space.shapes; shape->name; shape++)
            for (const struct hc_variant *v = space.variants; v->name && status == HC_OK; v++) {
                if (!is_asked(op, set, shape, v, v == space.variants))
                    continue;
                struct asked *more = realloc(all->asked, (size_t)(all->count + 1) * sizeof *more);
                if (!more)
                    return hc_fail(HC_NO_MEMORY, "no memory for calls of %s", hc_ops[op].name);
                all->asked = more;
                all->asked[all->count] = (struct asked){.call = hc_op_call(op, set, shape, v)};
                status = expect(&all->asked[all->count++]);
            }
    return status;
}

static enum hc_status run(const struct hc_backend *backend, struct hc_queue *queue,
                          const struct asked *a, enum hc_judgement judged[HC_KERNEL_RULES])
{
    struct hc_breach breach;
    enum hc_status status = hc_run_call(backend, queue, &a->call, &breach);
    if (status == HC_OK)
        judge(a, judged);
    return status;
}

/* A backend with its queue. */
struct opened {
    const struct hc_backend *backend;
    struct hc_queue *queue;
};

static enum hc_status open_backend(const struct hc_backend *backend, struct opened *opened)
{
    *opened = (struct opened){.backend = backend};
    return backend->open(backend, &opened->queue, 1);
}

static void close_backend(struct opened *opened)
{
    if (opened->queue)
        opened->backend->close(opened->queue);
}

/* The rules on the right kernels of `exact`, which has the same bits on every machine. A call that
   the op's contract does not have is dropped. */
static enum hc_status judge_right(struct asked_op *all, struct hc_kernel_inquiry *inquiry)
{
    struct opened on;
    enum hc_status status = open_backend(hc_backend_by_name("exact"), &on);
    for (int i = 0; i < all->count && status == HC_OK; i++) {
        struct asked *a = &all->asked[i];
        status = run(on.backend, on.queue, a, a->right);
        for (int r = 0; r < HC_KERNEL_RULES && status == HC_OK; r++) {
            inquiry->calls[r] += a->right[r] != HC_NOT_APPLIED;
            inquiry->alarms[r] += a->right[r] == HC_REFUSED;
        }
        if (status == HC_INVALID || status == HC_UNSUPPORTED) {
            free_asked(a);
            all->asked[i--] = all->asked[--all->count];
            status = HC_OK;
        }
    }
    close_backend(&on);
    return status;
}

static void note(struct hc_kernel_catch *row, const struct asked *a,
                 const enum hc_judgement judged[HC_KERNEL_RULES])
{
    for (int r = 0; r < HC_KERNEL_RULES; r++) {
        enum hc_kernel_word *word = &row->word[r];
        bool refused = judged[r] == HC_REFUSED;
        bool alarm = a->right[r] == HC_REFUSED;
        if (judged[r] == HC_NOT_APPLIED || *word == HC_KERNEL_CAUGHT)
            continue;
        if (refused && !alarm)
            *word = HC_KERNEL_CAUGHT;
        else if (alarm)
            *word = HC_KERNEL_ALARM;
        else if (*word == HC_KERNEL_NOT_APPLIED)
            *word = HC_KERNEL_MISSED;
    }
}

/* What the cases of some patterns say, until one of them FAILs. */
struct cases_run {
    const struct hc_kernel_catch *row;
    int calls;
    int failed;
    char *by;
};

static bool see(const struct hc_result *result, void *context)
{
    struct cases_run *run = context;
    run->calls++;
    if (result->verdict != HC_FAIL)
        return true;
    run->failed++;
    (void)snprintf(run->by, sizeof run->row->by, "%s", result->what->name);
    return false;
}

static enum hc_status run_cases(struct hc_fault_backends on, const char *const *patterns, int count,
                                struct cases_run *run)
{
    struct hc_run_options options = {.patterns = patterns,
                                     .pattern_count = count,
                                     .backends = &on.subject,
                                     .backend_count = 1,
                                     .exact = on.exact,
                                     .level = HC_STANDARD,
                                     .threads = 1,
                                     .report = see,
                                     .context = run};
    options.cases = hc_all_cases(&options.case_count);
    return hc_run_cases(&options);
}

/* The cases of random numbers, and, where these do not see it, all that are about the op. */
static enum hc_status judge_by_cases(enum hc_op op, struct hc_kernel_catch *row)
{
    enum { WORDS = 5 };
    struct cases_run run = {.row = row, .by = row->by};
    char text[WORDS][HC_GLOB];
    const char *patterns[WORDS] = {text[0], text[1], text[2], text[3], "transformer/*"};
    static const char *const forms[] = {"op/%s/*/normal", "op/%s/*", "border/%s/*", "size/%s/*"};
    struct hc_fault_backends on = hc_fault_plant(row->fault);
    for (int i = 0; i < WORDS - 1; i++) {
        const char *end = forms[i] + strcspn(forms[i], "%");
        (void)snprintf(text[i], HC_GLOB, "%.*s%s%s", (int)(end - forms[i]), forms[i],
                       hc_ops[op].name, end + 2);
    }
    enum hc_status status = run_cases(on, patterns, 1, &run);
    bool random = run.failed > 0;
    if (status == HC_OK && !random)
        status = run_cases(on, patterns + 1, WORDS - 1, &run);
    if (random)
        row->by[0] = '\0';
    row->word[HC_KERNEL_RANDOM] = random ? HC_KERNEL_CAUGHT : HC_KERNEL_MISSED;
    row->word[HC_KERNEL_CASES] = run.failed ? HC_KERNEL_CAUGHT : HC_KERNEL_MISSED;
    return status;
}

static enum hc_status judge_fault(const struct asked_op *all, struct hc_kernel_catch *row)
{
    const struct hc_backend *faulty = hc_faulty_backend(hc_backend_by_name("exact"), row->fault);
    struct opened on;
    for (int r = 0; r < HC_KERNEL_COLUMNS; r++)
        row->word[r] = HC_KERNEL_NOT_APPLIED;
    enum hc_status status = open_backend(faulty, &on);
    for (int i = 0; i < all->count && status == HC_OK; i++) {
        enum hc_judgement judged[HC_KERNEL_RULES];
        status = run(faulty, on.queue, &all->asked[i], judged);
        if (status == HC_OK)
            note(row, &all->asked[i], judged);
    }
    close_backend(&on);
    return status == HC_OK ? judge_by_cases(all->op, row) : status;
}

/* Whether its row names ops one by one, this one among them, and it changes nothing but kernels. */
static bool is_of(const struct hc_fault *fault, enum hc_op op)
{
    return !fault->rebuild && !fault->crashes && !fault->backend && !strchr(fault->ops, '*') &&
           hc_fault_concerns(fault, op);
}

static bool is_there(const struct hc_kernel_inquiry *inquiry, const struct hc_fault *fault)
{
    for (int i = 0; i < inquiry->count; i++)
        if (inquiry->row[i].fault == fault)
            return true;
    return false;
}

static enum hc_status inquire_op(enum hc_op op, const char *const *patterns, int pattern_count,
                                 struct hc_kernel_inquiry *inquiry)
{
    struct asked_op all = {.op = op};
    enum hc_status status = HC_OK;
    for (int f = 0; f < hc_fault_count() && status == HC_OK; f++) {
        const struct hc_fault *fault = hc_fault_at(f);
        if (!is_of(fault, op) || is_there(inquiry, fault) ||
            !hc_matches(patterns, pattern_count, fault->name))
            continue;
        if (!all.asked) {
            status = ask(op, &all);
            status = status == HC_OK ? judge_right(&all, inquiry) : status;
        }
        inquiry->row[inquiry->count].fault = fault;
        if (status == HC_OK)
            status = judge_fault(&all, &inquiry->row[inquiry->count++]);
    }
    free_op(&all);
    return status;
}

/* What halfcheck misses comes first, then what it misses on random numbers, then by name. */
static int own_misses_first(const void *a, const void *b)
{
    const struct hc_kernel_catch *x = a;
    const struct hc_kernel_catch *y = b;
    for (int c = HC_KERNEL_CASES; c >= HC_KERNEL_RANDOM; c--)
        if (x->word[c] != y->word[c])
            return x->word[c] == HC_KERNEL_MISSED ? -1 : 1;
    return strcmp(x->fault->name, y->fault->name);
}

enum hc_status hc_kernels_inquire(const char *const *patterns, int pattern_count,
                                  struct hc_kernel_inquiry *inquiry)
{
    enum hc_status status = HC_OK;
    *inquiry = (struct hc_kernel_inquiry){
        .row = calloc((size_t)hc_fault_count() + 1, sizeof *inquiry->row)};
    if (!inquiry->row)
        return hc_fail(HC_NO_MEMORY, "no memory for the faults");
    for (int op = 0; op < HC_OP_COUNT && status == HC_OK; op++)
        if (hc_defined_op((enum hc_op)op))
            status = inquire_op((enum hc_op)op, patterns, pattern_count, inquiry);
    if (status == HC_OK && inquiry->count == 0)
        return hc_fail(HC_INVALID, "no fault of a transformer's kernels has such a name; "
                                   "halfcheck list faults has all names");
    qsort(inquiry->row, (size_t)inquiry->count, sizeof *inquiry->row, own_misses_first);
    return status;
}

void hc_kernels_free(struct hc_kernel_inquiry *inquiry)
{
    free(inquiry->row);
    *inquiry = (struct hc_kernel_inquiry){0};
}

int hc_kernels_count(const struct hc_kernel_inquiry *inquiry, int column, enum hc_kernel_word word)
{
    int count = 0;
    for (int i = 0; i < inquiry->count; i++)
        count += inquiry->row[i].word[column] == word;
    return count;
}

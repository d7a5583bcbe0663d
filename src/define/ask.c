/* Each thing that may be asked for is an equation phi = 0 in one step of the tape (define/tape.h),
   and is solved by Newton's method: of all changes of the logarithms of the inputs' elements that
   take phi to 0 in its linear approximation, the smallest one. Elements keep their signs, so that
   what a root takes stays as it was drawn. */
#include "define/ask.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "define/plain.h"
#include "define/tape.h"
#include "num/rng.h"

/* In the order in which people are told of them. */
enum wish { WISH_EQUAL, WISH_CANCEL, WISH_BORDER, WISH_LOST, WISH_LEVEL };

/* What is looked for. A level is a magnitude: a power of two, and what the number is beside it. */
struct kind {
    enum wish wish;
    int power;
    const char *what;
};

/* The levels are a little beyond the limits of fp16, which fp32 bears, and a little within those of
   fp32, beyond which no right order is bound to anything. Terms are lost in the accumulators of
   bf16, fp16 and fp32. */
static const struct kind kinds[] = {
    {WISH_EQUAL, 0, "is as large as the number beside it"},
    {WISH_CANCEL, 0, "cancels"},
    {WISH_BORDER, 0, "is at its border"},
    {WISH_LEVEL, 17, "is beyond the largest number of fp16"},
    {WISH_LEVEL, -16, "is subnormal in fp16"},
    {WISH_LEVEL, -27, "is below all numbers of fp16"},
    {WISH_LEVEL, 126, "is near the largest number of fp32"},
    {WISH_LEVEL, -128, "is subnormal in fp32"},
    {WISH_LOST, 9, "loses terms in bf16"},
    {WISH_LOST, 12, "loses terms in fp16"},
    {WISH_LOST, 25, "loses terms in fp32"},
};

enum {
    KINDS = sizeof kinds / sizeof kinds[0],
    LOOKS = 4,
    ITERATIONS = 24,
    LARGEST = 1 << 19,
    MAX_SUCCESSES = 64
};

struct ask {
    struct hc_instance *instance;
    struct hc_tape tape;
    bool *frozen[HC_MAX_DEFINED_TENSORS]; /* elements on which something found depends */
    int32_t *needed;                      /* steps that a number depends on, in their order */
    int32_t needs;
    int32_t needs_room;
    uint64_t seed;
    uint64_t drawn;
};

static double uniform(struct ask *a)
{
    return hc_random_uniform(a->seed, 0x61736bU, a->drawn++);
}

/* Whether a step is one in which the thing can be looked for. */
static bool suits(const struct hc_definition *d, const struct hc_tape_step *s, enum wish wish)
{
    const struct hc_expression *e = s->expression < 0 ? NULL : d->expression[s->expression];
    if (!e || s->partial)
        return false;
    bool compares = e->type == HC_TYPE_TRUTH;
    bool sum = e->kind == HC_EXPRESSION_OVER &&
               (e->reduction == HC_OVER_SUM || e->reduction == HC_OVER_MEAN);
    bool apply = e->kind == HC_EXPRESSION_APPLY;
    bool joins = apply && (s->function == HC_FN_add || s->function == HC_FN_sub ||
                           s->function == HC_FN_max || s->function == HC_FN_min);
    bool constant = joins && (s->of[0] == 0) != (s->of[1] == 0);
    double beside = s->of[0] ? s->operand[1] : s->operand[0];
    switch (wish) {
    case WISH_LEVEL:
        return !compares && (sum || apply);
    case WISH_EQUAL:
        return constant && !compares && beside != 0 && isfinite(beside);
    case WISH_CANCEL:
        return !compares && (sum || (joins && s->of[0] && s->of[1] && s->function <= HC_FN_sub));
    case WISH_BORDER:
        return compares || (joins && s->function != HC_FN_add && s->function != HC_FN_sub);
    default:
        return sum;
    }
}

/* Steps that a step is computed from, itself the last. */
static bool find_needed(struct ask *a, int32_t from)
{
    hc_tape_back(&a->tape, from);
    a->needs = 0;
    for (int32_t i = 1; i <= from; i++) {
        if (!a->tape.step[i].needed)
            continue;
        if (a->needs == a->needs_room) {
            int32_t room = a->needs_room ? 2 * a->needs_room : 1024;
            int32_t *more = realloc(a->needed, (size_t)room * sizeof *more);
            if (!more)
                return false;
            a->needed = more;
            a->needs_room = room;
        }
        a->needed[a->needs++] = i;
    }
    return a->needs > 0;
}

/* The numbers of these steps anew, from the inputs' elements. Conditions stay as they were. */
static void compute_again(struct ask *a)
{
    struct hc_tape_step *step = a->tape.step;
    for (int32_t i = 0; i < a->needs; i++) {
        struct hc_tape_step *s = &step[a->needed[i]];
        if (s->expression < 0)
            continue;
        for (int k = 0; k < 3; k++)
            if (s->of[k])
                s->operand[k] = step[s->of[k]].value;
        bool whole = a->instance->definition->expression[s->expression]->kind == HC_EXPRESSION_OVER;
        s->value = whole && !s->partial && s->function == HC_FN_add
                       ? s->operand[0]
                       : hc_plain_function(HC_FP64, s->function, s->operand);
    }
}

/* The magnitudes of what a sum adds up. */
static double magnitude(const struct ask *a, const struct hc_tape_step *s)
{
    const struct hc_tape_step *step = a->tape.step;
    const struct hc_tape_step *term = &step[s->of[0]];
    double divisor = s->function == HC_FN_div ? s->operand[1] : 1;
    double terms = 0;
    while (term->partial && term->expression == s->expression) {
        terms += fabs(term->operand[1]);
        if (!term->of[0])
            return (terms + fabs(term->operand[0])) / divisor;
        term = &step[term->of[0]];
    }
    return (terms + fabs(term->value)) / divisor;
}

/* phi, and what one unit of the step is in it. */
static double distance(const struct ask *a, const struct kind *kind, int32_t at, double *unit)
{
    const struct hc_tape_step *s = &a->tape.step[at];
    const struct hc_tape_step *only = &a->tape.step[s->of[0] ? s->of[0] : s->of[1]];
    bool sum = s->expression >= 0 &&
               a->instance->definition->expression[s->expression]->kind == HC_EXPRESSION_OVER;
    double size = sum ? magnitude(a, s) : fabs(s->operand[0]) + fabs(s->operand[1]);
    double beside = s->of[0] ? s->operand[1] : s->operand[0];
    switch (kind->wish) {
    case WISH_LEVEL:
        *unit = 1 / (s->value * log(2));
        return log2(fabs(s->value)) - kind->power;
    case WISH_EQUAL:
        *unit = 1 / (only->value * log(2));
        return log2(fabs(only->value / beside));
    case WISH_CANCEL:
        *unit = 1 / fmax(size, 0x1p-1000);
        return s->value * *unit;
    default:
        *unit = 1 / fmax(size, 0x1p-1000);
        return (s->operand[0] - s->operand[1]) * *unit;
    }
}

/* How near is found. */
static double near_enough(const struct ask *a, enum wish wish)
{
    return wish == WISH_LEVEL || wish == WISH_EQUAL ? 0.6 : 8 * hc_format_unit(a->instance->io);
}

static bool is_free(const struct ask *a, const struct hc_tape_step *s)
{
    return s->expression < 0 && !a->frozen[s->tensor][s->index] && s->value != 0 &&
           isfinite(s->value);
}

/* One step of Newton's method. `alone`: of one element, the one that moves phi most. */
static bool newton(struct ask *a, double phi, double unit, bool alone)
{
    const struct hc_format_info *f = &hc_formats[a->instance->io];
    struct hc_tape_step *step = a->tape.step;
    double squares = 0;
    double most = 0;
    for (int32_t i = 0; i < a->needs; i++) {
        const struct hc_tape_step *s = &step[a->needed[i]];
        double g = is_free(a, s) ? s->value * s->slope * unit * log(2) : 0;
        squares += g * g;
        most = fmax(most, fabs(g));
    }
    if (!(squares > 0) || !isfinite(squares) || !isfinite(phi))
        return false;
    for (int32_t i = 0; i < a->needs; i++) {
        struct hc_tape_step *s = &step[a->needed[i]];
        double g = is_free(a, s) ? s->value * s->slope * unit * log(2) : 0;
        double by = alone ? (fabs(g) == most ? -phi / g : 0) : -phi * g / squares;
        double x = s->value * exp2(fmax(-8, fmin(8, by)));
        if (g != 0 && fabs(x) < hc_format_max(a->instance->io) && fabs(x) > ldexp(1, f->emin))
            s->value = x;
    }
    return true;
}

/* Rounds the elements into the inputs, where nothing may move them any more; or takes them back
   from there. */
static void settle(struct ask *a, bool found)
{
    for (int32_t i = 0; i < a->needs; i++) {
        struct hc_tape_step *s = &a->tape.step[a->needed[i]];
        if (s->expression >= 0)
            continue;
        const struct hc_tensor *x = &a->instance->input[s->tensor];
        bool *frozen = &a->frozen[s->tensor][s->index];
        if (found && !*frozen)
            hc_tensor_set(x, s->index, s->value);
        *frozen = *frozen || found;
        s->value = hc_tensor_get(x, s->index);
    }
    if (!found)
        compute_again(a);
}

/* The slopes of phi are those of this step. */
static int32_t step_of(const struct ask *a, enum wish wish, int32_t at)
{
    const struct hc_tape_step *s = &a->tape.step[at];
    return wish != WISH_EQUAL ? at : s->of[0] ? s->of[0] : s->of[1];
}

/* Of max and min it is the difference of their operands that is taken to 0. */
static bool solve(struct ask *a, const struct kind *kind, int32_t at)
{
    bool alone = uniform(a) < 0.5;
    struct hc_tape_step kept = a->tape.step[at];
    bool found = false;
    if (kind->wish == WISH_BORDER)
        a->tape.step[at].function = HC_FN_sub;
    if (!find_needed(a, step_of(a, kind->wish, at)))
        return false;
    for (int i = 0; i < ITERATIONS && !found; i++) {
        double unit;
        double phi = distance(a, kind, at, &unit);
        if (!newton(a, phi, unit, alone))
            break;
        compute_again(a);
        if (kind->wish == WISH_EQUAL) /* the step itself is not needed for its operand */
            for (int k = 0; k < 2; k++)
                if (a->tape.step[at].of[k])
                    a->tape.step[at].operand[k] = a->tape.step[a->tape.step[at].of[k]].value;
        found = fabs(distance(a, kind, at, &unit)) < near_enough(a, kind->wish);
        hc_tape_slopes(&a->tape, a->needed, a->needs);
    }
    settle(a, found);
    a->tape.step[at].function = kept.function;
    return found;
}

/* The first term so large that the others are lost beside it. */
static bool lose(struct ask *a, const struct kind *kind, int32_t at)
{
    struct hc_tape_step *step = a->tape.step;
    int32_t last = step[at].of[0];
    int32_t first = last;
    while (first && step[first].partial && step[first].expression == step[at].expression)
        first = step[first].of[0];
    if (!first || first == last || step[first].value == 0)
        return false;
    double other = fabs(step[step[last].of[1]].value);
    if (!(other > 0) || !isfinite(other))
        return false;
    struct kind level = {WISH_LEVEL, ilogb(other) + kind->power, kind->what};
    return solve(a, &level, first);
}

/* A step of an expression, one of many. */
static int32_t some_step(struct ask *a, int expression, enum wish wish)
{
    int32_t chosen = 0;
    int32_t count = 0;
    for (int32_t i = 1; i < a->tape.count; i++) {
        const struct hc_tape_step *s = &a->tape.step[i];
        if (s->expression == expression && suits(a->instance->definition, s, wish) &&
            uniform(a) * ++count < 1)
            chosen = i;
    }
    return chosen;
}

/* The step's value; of two that are equal, the one that inputs move. */
static double value_of(const struct ask *a, const struct kind *kind, int32_t at)
{
    const struct hc_tape_step *s = &a->tape.step[at];
    return kind->wish == WISH_EQUAL ? s->operand[s->of[0] ? 0 : 1] : s->value;
}

/* One of some steps of an expression, for which it was found; or 0. */
static int32_t look(struct ask *a, const struct kind *kind, int expression)
{
    for (int i = 0; i < LOOKS; i++) {
        int32_t at = some_step(a, expression, kind->wish);
        bool found = at && (kind->wish == WISH_LOST ? lose(a, kind, at) : solve(a, kind, at));
        if (at == 0 || found)
            return at;
    }
    return 0;
}

/* Whether it still holds where conditions are met anew, and numbers rounded. */
static bool holds(const struct ask *a, const struct kind *kind, int expression, int32_t at)
{
    double unit;
    return at < a->tape.count && a->tape.step[at].expression == expression &&
           (kind->wish == WISH_LOST ||
            fabs(distance(a, kind, at, &unit)) < 2 * near_enough(a, kind->wish));
}

/* Whether a result is one number, for which no right order would be bound to anything where one row
   is at the limits of fp32. */
static bool is_one_number(const struct hc_definition *d)
{
    for (int i = 0; i < d->results; i++)
        if (d->tensor[d->result[i]].rank == 0)
            return true;
    return false;
}

/* Tries those of one sort, each once, in an order that the seed says. The tape is written anew
   after whatever changed the inputs. */
static enum hc_status search(struct ask *a, bool first, int most, struct hc_asked *asked,
                             int *found)
{
    enum { STRIDE = 7919 }; /* a prime: all are met, and neighbours are far from each other */
    int64_t all = (int64_t)a->instance->definition->expressions * KINDS;
    int64_t begin = (int64_t)(uniform(a) * (double)all);
    int64_t stride = all % STRIDE ? STRIDE : 1;
    enum hc_status status = hc_define_on_tape(a->instance, &a->tape);
    for (int64_t i = 0; i < all && status == HC_OK && !a->tape.full && *found < most; i++) {
        int64_t number = (begin + i * stride) % all;
        int expression = (int)(number % a->instance->definition->expressions);
        const struct kind *kind = &kinds[number / a->instance->definition->expressions];
        bool is_first = kind->wish == WISH_EQUAL || kind->wish == WISH_BORDER;
        bool leaves = kind->power > 100 && is_one_number(a->instance->definition);
        int32_t at = is_first == first && !leaves ? look(a, kind, expression) : 0;
        if (at)
            status = hc_define_on_tape(a->instance, &a->tape);
        if (at && status == HC_OK && holds(a, kind, expression, at))
            asked[(*found)++] = (struct hc_asked){a->instance->definition->expression[expression],
                                                  kind->what, value_of(a, kind, at)};
    }
    return status;
}

enum hc_status hc_define_ask(struct hc_instance *instance, uint64_t seed, struct hc_asked *asked,
                             int *found)
{
    struct ask a = {.instance = instance};
    struct hc_freedoms freedoms = instance->freedoms;
    bool memory = true;
    *found = 0;
    enum hc_status status = hc_instance_bind(instance);
    if (status != HC_OK)
        return status;
    double work = hc_instance_work(instance);
    a.seed = seed + (uint64_t)work; /* other sizes begin elsewhere */
    memory = hc_tape_open(&a.tape, instance);
    for (int i = 0; i < instance->definition->inputs; i++) {
        a.frozen[i] = calloc((size_t)hc_tensor_count(&instance->input[i]) + 1, 1);
        memory = memory && a.frozen[i];
    }
    instance->freedoms.compute = HC_FP64; /* so that what leaves fp32 still has a number */
    if (!memory)
        status = hc_fail(HC_NO_MEMORY, "no memory for derivatives");
    /* An eps and a border are few, and levels many. */
    int most = (int)fmin(MAX_SUCCESSES, 0x1p23 / (work + 1));
    for (int first = 1; first >= 0 && status == HC_OK && work <= LARGEST; first--)
        status = search(&a, first, most, asked, found);
    instance->freedoms = freedoms;
    hc_tape_close(&a.tape);
    for (int i = 0; i < instance->definition->inputs; i++)
        free(a.frozen[i]);
    free(a.needed);
    return status;
}

enum hc_status hc_define_wishes(struct hc_instance *instance, hc_wish_said *say, void *context)
{
    static const char *const things[] = {
        [WISH_EQUAL] = "a number of the text as large as what stands beside it",
        [WISH_CANCEL] = "a sum or a difference that cancels",
        [WISH_BORDER] = "a comparison at its border",
        [WISH_LOST] = "a sum whose terms are lost beside its first in bf16, fp16 or fp32",
        [WISH_LEVEL] = "a number beyond or below those of fp16, or at the limits of fp32"};
    const struct hc_definition *d = instance->definition;
    struct hc_freedoms freedoms = instance->freedoms;
    struct hc_tape tape;
    enum hc_status status = hc_instance_bind(instance);
    if (status != HC_OK)
        return status;
    instance->freedoms.compute = HC_FP64;
    status = hc_tape_open(&tape, instance) ? hc_define_on_tape(instance, &tape) : HC_NO_MEMORY;
    for (size_t w = 0; w < sizeof things / sizeof things[0] && status == HC_OK; w++)
        for (int e = 0; e < d->expressions; e++) {
            int32_t i = 1;
            while (i < tape.count &&
                   (tape.step[i].expression != e || !suits(d, &tape.step[i], (enum wish)w)))
                i++;
            bool again = false;
            for (int o = 0; o < e; o++)
                again = again || (d->expression[o]->length == d->expression[e]->length &&
                                  strncmp(d->expression[o]->at, d->expression[e]->at,
                                          (size_t)d->expression[e]->length) == 0 &&
                                  d->expression[o]->kind == d->expression[e]->kind);
            if (i < tape.count && !again)
                say(context, things[w], d->expression[e]);
        }
    instance->freedoms = freedoms;
    hc_tape_close(&tape);
    return status;
}

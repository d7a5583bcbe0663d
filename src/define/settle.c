/* Inputs whose results are the same bits in every right order: small whole numbers, powers of two,
   ones and zeros, of which each input gets one kind. Which, is found on small tensors. From a few
   beginnings, one input alone, all together or none, an input changes its kind where more elements
   are settled then, or as many and fewer inputs are 0. */
#include <math.h>
#include <stdlib.h>

#include "define/draw.h"

enum kind { ZEROS, WHOLE, POWERS, ONES, KINDS };

static const char *const names[KINDS] = {
    [ZEROS] = "0", [WHOLE] = "small whole numbers", [POWERS] = "powers of two", [ONES] = "1"};

enum { SIDE = 4, LOOKED = 6, ENOUGH = 64 };

static const double most_work = 0x1p16; /* for all elements of the small tensors */

/* The choice for each input. Integers keep what was drawn for them. */
struct choice {
    enum kind kind[HC_MAX_DEFINED_TENSORS];
    int score;
    int there; /* inputs that are not 0 */
};

static bool is_number(const struct hc_definition *d, int input)
{
    return !d->tensor[input].index;
}

/* Makes numbers of the kind of the whole numbers that were drawn. */
static void make(const struct hc_tensor *x, enum kind kind)
{
    bool negative = false;
    for (int64_t i = 0; i < hc_tensor_count(x); i++)
        negative = negative || hc_tensor_get(x, i) < 0;
    for (int64_t i = 0; i < hc_tensor_count(x) && kind != WHOLE; i++) {
        double whole = hc_tensor_get(x, i);
        double power = ldexp(negative && (i * 5 + (int64_t)whole) % 3 == 0 ? -1 : 1, (int)whole);
        hc_tensor_set(x, i, kind == POWERS ? power : kind == ONES);
    }
}

static void fill(const struct hc_instance *in, const int64_t *extent, uint64_t seed,
                 const struct choice *c)
{
    const struct hc_definition *d = in->definition;
    hc_define_fill_inputs(in, extent, HC_FAMILY_WHOLE, seed);
    for (int i = 0; i < d->inputs; i++)
        if (is_number(d, i))
            make(&in->input[i], c->kind[i]);
}

/* Looks at some elements of each result at even distances; -1: they cannot be evaluated. What is 0
   says little. */
static int look(const struct hc_instance *in, int most, int64_t *looked, int64_t *settled)
{
    const struct hc_definition *d = in->definition;
    struct hc_evaluator *evaluator = hc_evaluator_new(in);
    int score = evaluator ? 0 : -1;
    *looked = *settled = 0;
    for (int r = 0; r < d->results && score >= 0; r++) {
        int64_t count = hc_instance_count(in, d->result[r]);
        int64_t some = count < most ? count : most;
        for (int64_t i = 0; i < some && score >= 0; i++) {
            struct hc_defined_value value;
            int64_t at = some > 1 ? i * (count - 1) / (some - 1) : 0;
            if (hc_evaluator_element(evaluator, d->result[r], at, &value) != HC_OK) {
                score = -1;
                break;
            }
            bool is = value.rad == 0 && !value.absent && isfinite(value.want.hi);
            ++*looked;
            *settled += is;
            score += !is ? 0 : value.want.hi == 0 ? 1 : 4;
        }
    }
    hc_evaluator_free(evaluator);
    return score;
}

static void weigh(const struct hc_instance *in, const int64_t *extent, uint64_t seed,
                  struct choice *c)
{
    int64_t looked;
    int64_t settled;
    c->there = 0;
    for (int i = 0; i < in->definition->inputs; i++)
        c->there += is_number(in->definition, i) && c->kind[i] != ZEROS;
    fill(in, extent, seed, c);
    c->score = look(in, LOOKED, &looked, &settled);
}

static bool is_better(const struct choice *a, const struct choice *b)
{
    return a->score > b->score || (a->score == b->score && a->there > b->there);
}

/* The best choice on small tensors, which have memory. */
static struct choice search(const struct hc_instance *in, const int64_t *extent, uint64_t seed)
{
    const struct hc_definition *d = in->definition;
    struct choice best = {.score = -1};
    for (int begin = -1; begin <= d->inputs; begin++) {
        struct choice c = {.score = 0};
        for (int i = 0; i < d->inputs; i++)
            c.kind[i] = begin < 0 || i == begin ? WHOLE : ZEROS;
        weigh(in, extent, seed, &c);
        for (int i = 0; i < d->inputs; i++)
            for (int kind = ZEROS; kind < KINDS && is_number(d, i); kind++) {
                struct choice other = c;
                other.kind[i] = (enum kind)kind;
                if (other.kind[i] == c.kind[i])
                    continue;
                weigh(in, extent, seed, &other);
                c = is_better(&other, &c) ? other : c;
            }
        best = is_better(&c, &best) ? c : best;
    }
    return best;
}

static void free_inputs(struct hc_instance *in)
{
    for (int i = 0; i < in->definition->inputs; i++)
        free(in->input[i].data);
}

static enum hc_status choose(const struct hc_instance *instance, uint64_t seed,
                             struct choice *choice)
{
    struct hc_instance small = *instance;
    int64_t extent[HC_MAX_AXES];
    for (int i = 0; i < HC_MAX_AXES; i++)
        extent[i] = SIDE;
    hc_define_shape_inputs(&small, extent);
    bool memory = true;
    for (int i = 0; i < small.definition->inputs; i++) {
        small.input[i].data = malloc(hc_tensor_bytes(&small.input[i]) + 64);
        memory = memory && small.input[i].data;
    }
    if (memory) {
        hc_define_fill_inputs(&small, extent, HC_FAMILY_WHOLE, seed);
        if (hc_instance_bind(&small) == HC_OK && hc_instance_work(&small) <= most_work)
            *choice = search(&small, extent, seed);
    }
    free_inputs(&small);
    return memory ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for inputs that are settled");
}

/* What was found. */
static enum hc_status tell(struct hc_instance *in, const struct choice *choice,
                           struct hc_settled *settled)
{
    const struct hc_definition *d = in->definition;
    for (int i = 0; i < d->inputs; i++)
        settled->what[i] = is_number(d, i) ? names[choice->kind[i]] : NULL;
    enum hc_status status = hc_instance_bind(in);
    if (status == HC_OK && look(in, ENOUGH, &settled->looked, &settled->settled) < 0)
        return HC_INVALID;
    return status;
}

enum hc_status hc_define_settle(struct hc_instance *instance, const int64_t extent[HC_MAX_AXES],
                                uint64_t seed, struct hc_settled *settled)
{
    const struct hc_definition *d = instance->definition;
    struct choice choice = {.score = 0};
    for (int i = 0; i < d->inputs; i++)
        choice.kind[i] = WHOLE;
    struct hc_freedoms freedoms = instance->freedoms;
    instance->freedoms = hc_usual_freedoms;
    if (instance->io == HC_FP64)
        instance->freedoms.compute = HC_FP64;
    enum hc_status status = choose(instance, seed, &choice);
    if (status == HC_OK)
        fill(instance, extent, seed, &choice);
    if (status == HC_OK && settled)
        status = tell(instance, &choice, settled);
    instance->freedoms = freedoms;
    return status;
}

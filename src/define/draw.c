#include "define/draw.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/ask.h"
#include "define/plain.h"
#include "num/rng.h"

const char *const hc_family_names[HC_FAMILIES] = {
    [HC_FAMILY_NORMAL] = "normal",
    [HC_FAMILY_LOGNORMAL] = "lognormal",
    [HC_FAMILY_BOUNDARIES] = "boundaries",
    [HC_FAMILY_SUBNORMALS] = "subnormals",
    [HC_FAMILY_SPECIALS] = "specials",
    [HC_FAMILY_CANCELLING] = "cancelling",
    [HC_FAMILY_STAGNATING] = "stagnating",
    [HC_FAMILY_CONSTANT] = "constant",
    [HC_FAMILY_ONE_HOT] = "one-hot",
    [HC_FAMILY_WHOLE] = "whole",
    [HC_FAMILY_OFFSET] = "offset",
    [HC_FAMILY_MIXED] = "mixed",
    [HC_FAMILY_FAR] = "far",
    [HC_FAMILY_SCALED] = "scaled",
    [HC_FAMILY_SETTLED] = "settled",
    [HC_FAMILY_ASKED] = "asked",
};

struct draw {
    enum hc_format format;
    uint64_t seed;
    uint64_t stream;
    int64_t columns; /* of the last axis */
    int64_t row;     /* how many elements have a scale in common: 1 where there is one axis */
};

/* Element i, from two random numbers that belong to it. */
typedef double number(const struct draw *d, int64_t i);

static double uniform(const struct draw *d, uint64_t stream, int64_t i)
{
    return hc_random_uniform(d->seed, d->stream * 8 + stream, (uint64_t)i);
}

static double normal(const struct draw *d, int64_t i)
{
    return hc_random_normal(d->seed, d->stream * 8, (uint64_t)i);
}

static double sign(const struct draw *d, int64_t i)
{
    return uniform(d, 1, i) < 0.5 ? -1 : 1;
}

/* A third of the format's powers of two, around 1. */
static double lognormal(const struct draw *d, int64_t i)
{
    double reach = fmin(hc_formats[d->format].emax, 60) / 3.0;
    return sign(d, i) * exp2((2 * uniform(d, 0, i) - 1) * reach) * (1 + uniform(d, 2, i));
}

static double boundary(const struct draw *d, int64_t i)
{
    const struct hc_format_info *f = &hc_formats[d->format];
    int exponent = (int)floor(uniform(d, 0, i) * (f->emax - f->emin + 1)) + f->emin;
    double power = ldexp(1, exponent);
    double ulp = ldexp(hc_format_unit(d->format) * 2, exponent);
    double choice[] = {power,
                       power + ulp,
                       power - ulp / 2,
                       hc_format_max(d->format),
                       ldexp(1, f->emin),
                       1,
                       1 + 2 * hc_format_unit(d->format),
                       0};
    return sign(d, i) * choice[(int)(uniform(d, 2, i) * 8)];
}

static double subnormal(const struct draw *d, int64_t i)
{
    return sign(d, i) * uniform(d, 0, i) * ldexp(2, hc_formats[d->format].emin);
}

static double special(const struct draw *d, int64_t i)
{
    static const double choice[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0};
    double which = uniform(d, 2, i);
    return which < 0.05 ? choice[(int)(which * 100)] : normal(d, i);
}

/* The odd ones take away the even ones before them but for some ulps. */
static double cancelling(const struct draw *d, int64_t i)
{
    if (i % d->columns % 2 == 0)
        return normal(d, i) * 16;
    double before = hc_round(d->format, normal(d, i - 1) * 16);
    return -before * (1 + floor(uniform(d, 0, i) * 4) * 2 * hc_format_unit(d->format));
}

static double stagnating(const struct draw *d, int64_t i)
{
    double large = 16;
    return i % d->columns == 0
               ? large
               : large * hc_format_unit(d->format) * (0.25 + 0.75 * uniform(d, 0, i));
}

static double constant(const struct draw *d, int64_t i)
{
    (void)i;
    return normal(d, 0);
}

static double one_hot(const struct draw *d, int64_t i)
{
    int64_t hot = (int64_t)(uniform(d, 0, i / d->columns) * (double)d->columns);
    return i % d->columns == hot ? normal(d, i) * 4 : 0;
}

static double whole(const struct draw *d, int64_t i)
{
    return floor(uniform(d, 0, i) * 7) - 3;
}

static double offset(const struct draw *d, int64_t i)
{
    return 100 + normal(d, i);
}

/* E[x^2] - mean^2 loses with the mean's square, and Welford's formulas, which a bound allows for,
   with the mean alone. */
static double far(const struct draw *d, int64_t i)
{
    double mean = fmin(3000, hc_format_max(d->format) / 16);
    double ulp = ldexp(hc_format_unit(d->format) * 2, ilogb(mean));
    return mean + fmax(1, 2 * ulp) * normal(d, i);
}

/* So that each input meets zeros, terms that vanish, and factors below the normal numbers. */
static double mixed(const struct draw *d, int64_t i)
{
    double x = normal(d, i);
    double choice[] = {0, 1, x, 16 * x, x * 0x1p-20, subnormal(d, i)};
    return choice[(int)(uniform(d, 2, i) * 6)];
}

/* From 2^6 to 2^-44, where an eps that stands beside a square or a norm is as large as that. */
static double scaled(const struct draw *d, int64_t i)
{
    return normal(d, i) * exp2(6 - floor(uniform(d, 4, i / d->row) * 51));
}

static number *const numbers[HC_FAMILIES] = {
    [HC_FAMILY_NORMAL] = normal,
    [HC_FAMILY_LOGNORMAL] = lognormal,
    [HC_FAMILY_BOUNDARIES] = boundary,
    [HC_FAMILY_SUBNORMALS] = subnormal,
    [HC_FAMILY_SPECIALS] = special,
    [HC_FAMILY_CANCELLING] = cancelling,
    [HC_FAMILY_STAGNATING] = stagnating,
    [HC_FAMILY_CONSTANT] = constant,
    [HC_FAMILY_ONE_HOT] = one_hot,
    [HC_FAMILY_WHOLE] = whole,
    [HC_FAMILY_OFFSET] = offset,
    [HC_FAMILY_MIXED] = mixed,
    [HC_FAMILY_FAR] = far,
    [HC_FAMILY_SCALED] = scaled,
    [HC_FAMILY_SETTLED] = whole,
    [HC_FAMILY_ASKED] = normal,
};

void hc_family_draw(const struct hc_tensor *t, enum hc_family family, int64_t places, uint64_t seed,
                    uint64_t stream)
{
    struct draw d = {.format = t->format, .seed = seed, .stream = stream, .columns = 1, .row = 1};
    if (t->rank > 0 && t->shape[t->rank - 1] > 0)
        d.columns = t->shape[t->rank - 1];
    if (t->rank > 1 && d.columns > 1)
        d.row = d.columns;
    bool indices = hc_is_integer(&hc_formats[t->format]);
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i,
                      indices ? floor(uniform(&d, 0, i) * (double)places) : numbers[family](&d, i));
}

/* The option with which places are compared, such as the mark of what is ignored; -1: none. */
static int mark_of(const struct hc_definition *d, int tensor)
{
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        bool compared = e->kind == HC_EXPRESSION_APPLY &&
                        (e->function == HC_FN_equal || e->function == HC_FN_not_equal);
        if (compared && e->operand[0]->kind == HC_EXPRESSION_READ &&
            e->operand[0]->tensor == tensor && e->operand[1]->kind == HC_EXPRESSION_OPTION)
            return e->operand[1]->option;
    }
    return -1;
}

/* Whether the integers are codes of numbers, which nothing but arithmetic reads: products and sums,
   and so they may be negative. */
static bool holds_codes(const struct hc_definition *d, int tensor)
{
    bool codes = d->tensor[tensor].index && d->tensor[tensor].index_axis < 0;
    for (int i = 0; i < d->expressions && codes; i++) {
        const struct hc_expression *e = d->expression[i];
        bool real = e->type == HC_TYPE_REAL && e->kind != HC_EXPRESSION_READ;
        bool product = e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_mul;
        for (int k = 0; k < e->operands; k++) {
            const struct hc_expression *o = e->operand[k];
            bool reads = o && o->kind == HC_EXPRESSION_READ && o->tensor == tensor;
            codes = codes && (real || product || !reads);
        }
    }
    return codes;
}

/* Whether the integers are bytes, of which quotients and remainders are taken. */
static bool holds_bytes(const struct hc_definition *d, int tensor)
{
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        const struct hc_expression *o = e->operands > 0 ? e->operand[0] : NULL;
        bool divides = e->kind == HC_EXPRESSION_MOD ||
                       (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_div);
        if (divides && o && o->kind == HC_EXPRESSION_READ && o->tensor == tensor &&
            d->tensor[tensor].index && d->tensor[tensor].index_axis < 0)
            return true;
    }
    return false;
}

/* Every seventh place is the mark, where there is one. */
static void mark_some(const struct hc_definition *d, int tensor, const struct hc_tensor *x)
{
    int option = mark_of(d, tensor);
    if (d->tensor[tensor].index_axis < 0 || option < 0)
        return;
    const struct hc_expression *value = d->option[option].value;
    bool negative = value->kind == HC_EXPRESSION_APPLY && value->function == HC_FN_negate;
    double mark = strtod((negative ? value->operand[0] : value)->at, NULL);
    for (int64_t i = 3; i < hc_tensor_count(x); i += 7)
        hc_tensor_set(x, i, negative ? -mark : mark);
}

/* Second moments and probabilities: the inputs that a root or a logarithm takes as they are, or
   added to others. With numbers of both signs nearly all would be NaN, and nothing judged. */

enum { MAX_PRODUCT = 16 };

static bool same_text(const struct hc_expression *a, const struct hc_expression *b)
{
    return a->length == b->length && strncmp(a->at, b->at, (size_t)a->length) == 0;
}

/* The factors of a product, as far as there is room. */
static int factors_of(const struct hc_expression *e, const struct hc_expression **factor, int n)
{
    bool product = e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_mul;
    if (!product && n < MAX_PRODUCT)
        factor[n++] = e;
    for (int i = 0; i < 2 && product; i++)
        n = factors_of(e->operand[i], factor, n);
    return n;
}

/* Marks the inputs on which the sign of the expression depends. Factors in pairs are squares, which
   have none, and nor has an exponential. */
static void mark_signs(const struct hc_definition *d, const struct hc_expression *e, bool *marked)
{
    const struct hc_expression *factor[MAX_PRODUCT];
    if (e->kind == HC_EXPRESSION_READ && e->tensor < d->inputs) {
        marked[e->tensor] = !d->tensor[e->tensor].index;
    } else if (e->kind == HC_EXPRESSION_READ && !marked[e->tensor]) {
        marked[e->tensor] = true; /* so that it is walked once */
        mark_signs(d, d->tensor[e->tensor].value, marked);
    } else if (e->kind == HC_EXPRESSION_OVER || e->kind == HC_EXPRESSION_STORE) {
        mark_signs(d, e->operand[0], marked);
    } else if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_mul) {
        int n = factors_of(e, factor, 0);
        for (int i = 0; i < n; i++) {
            int times = 0;
            for (int k = 0; k < n; k++)
                times += same_text(factor[i], factor[k]);
            if (times % 2)
                mark_signs(d, factor[i], marked);
        }
    } else if (e->kind == HC_EXPRESSION_APPLY && e->type == HC_TYPE_REAL) {
        bool both = e->function == HC_FN_add || e->function == HC_FN_div;
        bool passes = both || e->function == HC_FN_sqrt || e->function == HC_FN_sub;
        for (int i = 0; i < (both ? 2 : passes); i++)
            mark_signs(d, e->operand[i], marked);
    }
}

/* A scan that reads itself ends nowhere, and is left alone. */
static void find_unsigned(const struct hc_definition *d, bool *marked)
{
    for (int i = d->inputs; i < d->tensors; i++)
        if (d->tensor[i].scan >= 0)
            return;
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        if (e->kind == HC_EXPRESSION_APPLY &&
            (e->function == HC_FN_sqrt || e->function == HC_FN_log))
            mark_signs(d, e->operand[0], marked);
    }
}

void hc_define_shape_inputs(struct hc_instance *instance, const int64_t extent[HC_MAX_AXES])
{
    const struct hc_definition *d = instance->definition;
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        struct hc_tensor *x = &instance->input[i];
        *x = (struct hc_tensor){.format = t->index ? HC_I32 : instance->io, .rank = t->rank};
        for (int k = 0; k < t->rank; k++)
            x->shape[k] = extent[t->axis[k]];
    }
}

void hc_define_fill_inputs(const struct hc_instance *instance, const int64_t extent[HC_MAX_AXES],
                           enum hc_family family, uint64_t seed)
{
    const struct hc_definition *d = instance->definition;
    bool never_negative[HC_MAX_DEFINED_TENSORS] = {false};
    if (family != HC_FAMILY_SPECIALS)
        find_unsigned(d, never_negative);
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_tensor *x = &instance->input[i];
        int axis = d->tensor[i].index_axis;
        bool codes = holds_codes(d, i);
        int64_t places = axis >= 0 ? extent[axis] : codes || holds_bytes(d, i) ? 256 : 8;
        hc_family_draw(x, family, places, seed, (uint64_t)i);
        for (int64_t k = 0; k < hc_tensor_count(x) && codes; k++)
            hc_tensor_set(x, k, hc_tensor_get(x, k) - 128);
        for (int64_t k = 0; k < hc_tensor_count(x) && never_negative[i]; k++)
            hc_tensor_set(x, k, fabs(hc_tensor_get(x, k)));
        mark_some(d, i, x);
    }
    if (family == HC_FAMILY_SETTLED) {
        struct hc_instance settling = *instance;
        (void)hc_define_settle(&settling, extent, seed, NULL); /* or they stay as they are */
    }
    if (family == HC_FAMILY_ASKED) {
        struct hc_instance asking = *instance;
        struct hc_asked asked[HC_MAX_ASKED];
        int found;
        (void)hc_define_ask(&asking, seed, asked, &found); /* or they stay as they are */
    }
}

/* Sizes. */

const char *const hc_size_row_names[HC_SIZE_ROWS] = {
    [HC_SIZES_USUAL] = "usual", [HC_SIZES_ONES] = "ones",   [HC_SIZES_ODD] = "odd",
    [HC_SIZES_LONG] = "long",   [HC_SIZES_TILES] = "tiles",
};

enum { ROW = 4, SMALL = 8, SMALL_ROWS = 5, LOOKS = ROW + SMALL_ROWS };

static const int64_t rows[HC_SIZE_ROWS][ROW] = {[HC_SIZES_USUAL] = {5, 17, 8, 32},
                                                [HC_SIZES_ONES] = {1, 1, 1, 1},
                                                [HC_SIZES_ODD] = {3, 33, 4, 64},
                                                [HC_SIZES_LONG] = {2, 127, 3, 129},
                                                [HC_SIZES_TILES] = {4, 64, 32, 64}};

/* Where the inputs have one axis alone. */
static const int64_t alone[HC_SIZE_ROWS] = {[HC_SIZES_USUAL] = 257,
                                            [HC_SIZES_ONES] = 1,
                                            [HC_SIZES_ODD] = 33,
                                            [HC_SIZES_LONG] = 1000,
                                            [HC_SIZES_TILES] = 64};

/* Images before filters, channels that two groups share, as many of everything. */
static const int64_t small[SMALL_ROWS][SMALL] = {{2, 4, 9, 10, 3, 3, 2, 5},
                                                 {2, 4, 9, 3, 3, 2, 4, 5},
                                                 {4, 8, 16, 8, 4, 8, 16, 8},
                                                 {2, 2, 2, 2, 2, 2, 2, 2},
                                                 {4, 4, 4, 4, 4, 4, 4, 4}};

/* More operations than this are no work for a case. */
static const double most_work = 0x1p19;

/* HC_OK if no equation reads beside another one's tensor and all results have elements; or, where
   an axis is empty, those that there are have values. */
static enum hc_status computes(struct hc_instance *in, const int64_t *extent, bool empty)
{
    struct hc_tensor out[HC_MAX_DEFINED_TENSORS] = {0};
    const struct hc_definition *d = in->definition;
    struct hc_plain_notes notes = {true};
    hc_define_fill_inputs(in, extent, HC_FAMILY_WHOLE, 0);
    enum hc_status status = hc_instance_bind(in);
    if (status == HC_OK && hc_instance_work(in) > most_work)
        status = hc_fail(HC_INVALID, "%s: the results take more than 2^19 operations", d->name);
    for (int i = 0; status == HC_OK && i < d->results; i++) {
        out[i] = hc_instance_tensor(in, d->result[i]);
        if (hc_tensor_count(&out[i]) == 0 && !empty)
            status =
                hc_fail(HC_INVALID, "%s: %s has no element", d->name, d->tensor[d->result[i]].name);
        else if (!(out[i].data = malloc(hc_tensor_bytes(&out[i]) + 1)))
            status = hc_fail(HC_NO_MEMORY, "%s: no memory for results", d->name);
    }
    if (status == HC_OK)
        status = hc_define_plain(in, out, &notes);
    if (status == HC_OK && notes.beside)
        status =
            hc_fail(HC_INVALID, "%s: an equation reads beside a tensor of another one", d->name);
    for (int i = 0; i < d->results && status == HC_OK && empty; i++)
        for (int64_t k = 0; k < hc_tensor_count(&out[i]); k++)
            if (!isfinite(hc_tensor_get(&out[i], k)))
                status = hc_fail(HC_INVALID, "%s: a result has no value", d->name);
    for (int i = 0; i < d->results; i++)
        free(out[i].data);
    return status;
}

static enum hc_status suits(const struct hc_definition *d, const int64_t *extent, bool empty)
{
    struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    int inputs = d->inputs;
    bool memory = true;
    hc_define_shape_inputs(&in, extent);
    for (int i = 0; i < inputs; i++) {
        in.input[i].data = malloc(hc_tensor_bytes(&in.input[i]) + 64);
        memory = memory && in.input[i].data;
    }
    enum hc_status status =
        memory ? computes(&in, extent, empty)
               : hc_fail(HC_NO_MEMORY, "%s: no memory for inputs of usual sizes", d->name);
    for (int i = 0; i < inputs; i++)
        free(in.input[i].data);
    return status;
}

enum hc_status hc_define_sizes(const struct hc_definition *definition, enum hc_size_row row,
                               int64_t extent[HC_MAX_AXES])
{
    int of_inputs = 0;
    for (int i = 0; i < definition->axes; i++)
        of_inputs += definition->axis[i].inputs > 0;
    for (int look = of_inputs == 1 ? -1 : 0; look < LOOKS; look++) {
        for (int i = 0; i < HC_MAX_AXES; i++)
            extent[i] = look < 0     ? alone[row]
                        : look < ROW ? rows[row][(i + look) % ROW]
                                     : small[look - ROW][i % SMALL];
        if (suits(definition, extent, false) == HC_OK)
            return HC_OK;
    }
    char why[160];
    (void)snprintf(why, sizeof why, "%s", hc_message());
    return hc_fail(HC_INVALID, "%s, in all sizes that were tried", why);
}

/* Borders. */

static const int64_t lengths[] = {0,  1,  2,  3,  7,  8,  9,   15,  16, 17,
                                  31, 32, 33, 63, 64, 65, 127, 128, 129};

enum { LENGTHS = sizeof lengths / sizeof lengths[0] };

int hc_define_borders(const struct hc_definition *definition)
{
    return definition->axes * LENGTHS;
}

/* Whether the text wants the largest or the mean of what is along this axis, or along one whose
   extent depends on it. */
static bool needs_a_place(const struct hc_definition *d, int axis)
{
    for (int i = 0; i < d->expressions; i++) {
        const struct hc_expression *e = d->expression[i];
        bool value = e->kind == HC_EXPRESSION_OVER &&
                     (e->reduction == HC_OVER_MEAN || e->reduction == HC_OVER_MAX ||
                      e->reduction == HC_OVER_MIN || e->reduction == HC_OVER_ARGMAX);
        if (value && (e->axis == axis || d->axis[e->axis].extent))
            return true;
    }
    return false;
}

bool hc_define_border(const struct hc_definition *definition, int border,
                      int64_t extent[HC_MAX_AXES])
{
    int axis = border / LENGTHS;
    int64_t length = lengths[border % LENGTHS];
    bool empty = length == 0;
    if (definition->axis[axis].inputs == 0 || (empty && needs_a_place(definition, axis)))
        return false;
    for (int i = 0; i < HC_MAX_AXES; i++)
        extent[i] = i == axis ? length : 1 + i % 2;
    if (suits(definition, extent, empty) == HC_OK)
        return true;
    for (int i = 0; i < HC_MAX_AXES; i++)
        extent[i] = i == axis ? length : 4;
    return suits(definition, extent, empty) == HC_OK;
}

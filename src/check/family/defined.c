/* The ops that definitions say: one row for those of rows, one for rows of logits, and one for
   those whose elements stand alone. Shapes come from the descriptor, whose letters are axes
   (op/defined.c), and what integers have as results from the reference. */
#include "check/family/family.h"

#include <assert.h>
#include <ctype.h>
#include <stdatomic.h>
#include <string.h>

#include "check/family/kit.h"
#include "check/generate/distribution.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"
#include "define/op.h"
#include "op/params.h"

enum { MOST_AXES = 8 };

/* The letters of all shapes, in the order of the slots. */
static int letters_of(enum hc_op op, char letters[MOST_AXES + 1])
{
    int n = 0;
    letters[0] = '\0';
    for (int s = 0; s < hc_slot_count(op); s++)
        for (const char *c = hc_slot(op, s)->shape; c && *c; c++)
            if (isupper((unsigned char)*c) && !strchr(letters, *c) && n < MOST_AXES) {
                letters[n++] = *c;
                letters[n] = '\0';
            }
    return n;
}

/* Axis k of the op, in that order, has the extent d[k]. Options are as they are where nobody says
   more. */
void hc_open_axes(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    char letters[MOST_AXES + 1];
    (void)variant;
    hc_params_usual(call->op, &call->params);
    (void)letters_of(call->op, letters);
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        const char *shape = hc_slot(call->op, s)->shape;
        for (const char *c = shape; c && *c; c++)
            if (isupper((unsigned char)*c))
                t->shape[t->rank++] = d[strchr(letters, *c) - letters];
    }
}

static const struct hc_op_shape vectors[] = {
    {"67", HC_QUICK, true, false, {67}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"4099", HC_EXHAUSTIVE, true, false, {4099}},
    {.name = NULL},
};

static const struct hc_op_shape rows[] = {
    {"5x13", HC_QUICK, true, false, {5, 13}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"0x3", HC_STANDARD, false, false, {0, 3}},
    {"3x0", HC_STANDARD, false, false, {3, 0}},
    {"2x300", HC_STANDARD, false, false, {2, 300}},
    {"300x2", HC_STANDARD, false, false, {300, 2}},
    {"33x129", HC_EXHAUSTIVE, true, false, {33, 129}},
    {.name = NULL},
};

/* Rows whose squares stay in fp32, with room for sums of them. */
static void exponents_of_rows(const struct hc_draw_site *p, double *low, double *high)
{
    (void)p;
    *low = -10;
    *high = 7;
}

/* What has an exponential or an erf: beyond 4 it is flat. */
void hc_exponents_of_logits(const struct hc_draw_site *p, double *low, double *high)
{
    (void)p;
    *low = -10;
    *high = 1;
}

/* Numbers that are near to each other beside what is subtracted from them. Their exponentials
   overflow in fp32, unless the largest is subtracted first. */
static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    return values == HC_VALUES_DATA ? 100 + 4 * hc_draw_normal(p) : hc_draw_normal(p);
}

bool hc_not_on_subnormals(const struct hc_call *call, enum hc_distribution distribution)
{
    (void)call;
    return distribution != HC_DRAW_SUBNORMALS;
}

/* An infinity takes its row with it: one row of four has one, or one element of four. */
bool hc_one_row_in_four(const struct hc_draw_site *p, int slot)
{
    const struct hc_tensor *x = &p->call->in[slot];
    uint64_t row = x->rank > 1 ? (uint64_t)x->shape[x->rank - 1] : 1;
    return slot == HC_FIRST && p->index / row % 4 == 1 && p->index % row == row / 2;
}

bool hc_no_other_specials(const struct hc_call *call, int slot)
{
    (void)call;
    (void)slot;
    return false;
}

/* Values that repeat along every axis after a prime number of places, so that a few elements are
   like all others, and neighbours differ. What a few results are, the reference says; where a place
   on an axis counts, it says each. */
struct repeated {
    const struct hc_tensor *t;
    int64_t period[HC_MAX_RANK];
};

static struct repeated repeated_of(const struct hc_call *call, int slot)
{
    static const int64_t primes[MOST_AXES] = {7, 5, 3, 11, 13, 17, 19, 23};
    const char *letter = hc_slot(call->op, slot)->shape + 1; /* "[T, D]" */
    char letters[MOST_AXES + 1];
    struct repeated r = {.t = hc_slot_tensor_const(call, slot)};
    (void)letters_of(call->op, letters);
    for (int d = 0; d < r.t->rank; d++, letter += 3)
        r.period[d] = hc_defined_is_placeless(call->op, *letter)
                          ? primes[strchr(letters, *letter) - letters]
                          : INT64_MAX;
    return r;
}

/* The element that element i is like: the one at the same places within the first period. */
static int64_t alike(const struct repeated *r, int64_t i)
{
    int64_t like = 0;
    int64_t step = 1;
    for (int d = r->t->rank - 1; d >= 0; d--) {
        int64_t extent = r->t->shape[d];
        assert(extent > 0 && r->period[d] > 0); /* there is an element */
        like += i % extent % r->period[d] * step;
        i /= extent;
        step *= extent;
    }
    return like;
}

/* A logit of minus infinity has the probability 0. */
static bool has_specials_first(const struct hc_call *call, int slot)
{
    (void)call;
    return slot == HC_FIRST;
}

/* Longer rows take the reference too long. */
enum { LONGEST = 4200 };

bool hc_fill_defined(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_op_info *op = &hc_ops[call->op];
    if (hc_call_length(call) > LONGEST)
        return false;
    for (int s = 0; s < op->inputs; s++) {
        struct repeated r = repeated_of(call, s);
        bool positive = hc_slot(call->op, s)->values == HC_VALUES_GAIN;
        if (r.t->format == HC_I32) {
            hc_draw_input(call, s, HC_DRAW_NORMAL, z->seed);
            for (int64_t i = 0; i < hc_tensor_count(r.t); i++)
                hc_tensor_set(r.t, i, hc_tensor_get(r.t, alike(&r, i)));
            continue;
        }
        for (int64_t i = 0; i < hc_tensor_count(r.t); i++) {
            int32_t x = hc_integers_draw(z, s, alike(&r, i), 4);
            z->value[s][i] = positive && x < 0 ? -x : x;
        }
        hc_integers_set(z, s, 1);
    }
    hc_reference_begin(call);
    for (int o = 0; o < op->outputs; o++) {
        struct repeated r = repeated_of(call, op->inputs + o);
        for (int64_t i = 0; i < hc_tensor_count(r.t); i++) {
            int64_t like = alike(&r, i);
            z->want[o][i] = like < i ? z->want[o][like] : hc_reference_value(call, o, i).hi;
        }
    }
    hc_reference_end();
    return true;
}

static void border_shape(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = extent == HC_EXTENT_LOSS_ROWS ? size : 2;
    d[1] = extent == HC_EXTENT_LOSS_ROWS ? 3 : size;
}

static const struct hc_family_extent extents[] = {
    {HC_EXTENT_TERMS, 1, false}, {HC_EXTENT_LOSS_ROWS, 0, false}, {HC_EXTENT_COUNT, 0, false}};

/* How many different rows and columns a large call has. Sums run over repeated terms. */
enum { ROWS = 3, COLUMNS = 11 };

static void small(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(ROWS, d[0]);
    d[1] = hc_at_most(COLUMNS, d[1]);
}

/* The first letter of the op's shapes is that of rows, or of a vector's elements. */
static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    const char *letter = hc_slot(call->op, slot)->shape + 1; /* "[T, D]" */
    char letters[MOST_AXES + 1];
    (void)letters_of(call->op, letters);
    assert(strlen(letters) <= 2);
    for (int a = 0; a < large->rank; a++, letter += 3) {
        assert(hc_defined_is_placeless(call->op, *letter));
        hc_axes_add(to, *letter == letters[0] ? HC_AXIS_ROWS : HC_AXIS_COLUMNS, few->shape[a],
                    large->shape[a], 1, 0);
    }
}

/* A lost term of 1025 shows in fp32, whose bound on such a sum is 2^-14 of its terms. */
static const struct hc_family_size sizes_of_rows[] = {
    {HC_STANDARD, "fp32", "", {1025, 1025}},
    {HC_STANDARD, HC_OTHER_SETS, NULL, {129, 513}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4097, 1025}},
    {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {16385, 257}},
    {.set = NULL}};
/* An axis of a text has no more than 2^24 places. */
static const struct hc_family_size sizes_of_vectors[] = {{HC_STANDARD, "fp32", "", HC_SIZE_VECTOR},
                                                         {HC_EXHAUSTIVE, "fp32", "", {1 << 24}},
                                                         HC_SIZES_OF_OTHERS,
                                                         {.set = NULL}};

#define ALL_DEFINED                                                                                \
    .sets = hc_sets_mixed, .variants = hc_variants_plain, .open = hc_open_axes,                    \
    .integers = hc_fill_defined, .unsettled = true, .cancelling = cancelling,                      \
    .cancels_within = true, .layout = layout, .reference_cost = 64, .sample_cost = 64
#define ONE_IN_FOUR .is_special = hc_one_row_in_four, .has_specials = hc_no_other_specials
#define OF_ROWS                                                                                    \
    .shapes = rows, .extents = extents, .border_shape = border_shape, .small = small,              \
    .sizes = sizes_of_rows

static const struct hc_family of_rows = {ALL_DEFINED, OF_ROWS, ONE_IN_FOUR,
                                         .exponents = exponents_of_rows};
static const struct hc_family of_logits = {ALL_DEFINED,
                                           OF_ROWS,
                                           .exponents = hc_exponents_of_logits,
                                           .applies = hc_not_on_subnormals,
                                           .has_specials = has_specials_first,
                                           .first_row_is_finite = true,
                                           .never_minus_infinity = true};
static const struct hc_family of_vectors = {ALL_DEFINED,
                                            ONE_IN_FOUR,
                                            .shapes = vectors,
                                            .applies = hc_not_on_subnormals,
                                            .exponents = hc_exponents_of_logits,
                                            .extents = hc_extents_vector,
                                            .sizes = sizes_of_vectors};

/* Whose elements stand alone, in two axes: nothing is summed, and borders are those of a vector. */
static void border_of_matrices(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)extent;
    (void)number;
    d[0] = 1;
    d[1] = size;
}

static const struct hc_family of_matrices = {ALL_DEFINED,
                                             ONE_IN_FOUR,
                                             .shapes = rows,
                                             .small = small,
                                             .sizes = sizes_of_rows,
                                             .applies = hc_not_on_subnormals,
                                             .exponents = hc_exponents_of_logits,
                                             .extents = hc_extents_vector,
                                             .border_shape = border_of_matrices};

/* Looked up once: this is asked for each number that is drawn. */
static bool has_shift(enum hc_op op)
{
    enum { NOT_KNOWN, SHIFT, NO_SHIFT };
    static atomic_int known[HC_OP_ROOM];
    int is = atomic_load_explicit(&known[op], memory_order_relaxed);
    if (is == NOT_KNOWN) {
        is = hc_defined_has_shift(op) ? SHIFT : NO_SHIFT;
        atomic_store_explicit(&known[op], is, memory_order_relaxed);
    }
    return is == SHIFT;
}

const struct hc_family *hc_family_defined(enum hc_op op)
{
    bool alone = !hc_descriptor(op)->length;
    bool vector = !strchr(hc_slot(op, HC_FIRST)->shape, ',');
    const struct hc_family *own = hc_family_transformer(op);
    if (own || hc_family_options(op))
        return own ? own : hc_family_options(op);
    if (has_shift(op))
        return &of_logits;
    return !alone ? &of_rows : vector ? &of_vectors : &of_matrices;
}

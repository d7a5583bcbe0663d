/* Cross-entropy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"

static const struct hc_op_shape losses[] = {
    {"17x10", HC_QUICK, true, false, {17, 10}},
    {"1x1", HC_STANDARD, false, false, {1, 1}},
    {"5x3", HC_STANDARD, false, false, {5, 3}},
    {"3x129", HC_STANDARD, false, false, {3, 129}},
    {"70x3", HC_STANDARD, false, false, {70, 3}},
    {"70x300", HC_EXHAUSTIVE, false, false, {70, 300}},
    {.name = NULL},
};

static const struct hc_variant means[] = {
    {.name = "", .params.xent = {false}},
    {.name = "-sum", .params.xent = {true}},
    {.name = NULL},
};

static void open_loss(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)variant;
    call->in[HC_XENT_LOGITS] = hc_rank2(d[0], d[1], false);
    call->in[HC_XENT_LABELS] = hc_tensor1(HC_I32, d[0], NULL);
}

static bool applies(const struct hc_call *call, enum hc_distribution distribution)
{
    (void)call;
    return distribution != HC_DRAW_SUBNORMALS;
}

static void exponents(const struct hc_draw_site *p, double *low, double *high)
{
    (void)p;
    *low = -10;
    *high = 3;
}

static bool has_specials(const struct hc_call *call, int slot)
{
    (void)call;
    return slot == HC_XENT_LOGITS;
}

static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    (void)slot;
    (void)values;
    return 100 + 4 * hc_draw_normal(p);
}

/* All labels are 0. The first row's loss is 2^8, of the others' logits the label's is the largest:
   with e^z / (C - 1) of each of the rest their loss is e^z. A logit is off by up to 3 % in bf16. */
static double stagnating_logit(const struct hc_draw_site *p, double half_ulps)
{
    enum { SMALLER = 2 };
    uint64_t classes = (uint64_t)p->call->in[HC_XENT_LOGITS].shape[1];
    uint64_t class = p->index % classes;
    if (p->index < classes)
        return class == 1 ? 0 : -ldexp(1, HC_SUM_HEAD - SMALLER);
    double loss = 0.95 * ldexp(hc_sum_tail(p->call, half_ulps), -SMALLER);
    return class == 0 ? 0 : log(loss / (double)(classes - 1));
}

/* One class of a row has all of the probability, down to e^-128: the loss is the label's logit. */
static double whole_logit(const struct hc_draw_site *p, int slot)
{
    (void)slot;
    uint64_t classes = (uint64_t)p->call->in[HC_XENT_LOGITS].shape[1];
    bool is_largest = p->index % classes == p->index / classes % classes;
    return is_largest ? 0 : -128 - floor(127 * hc_draw_uniform(p, 2));
}

static bool has_whole(const struct hc_call *call)
{
    return call->params.xent.sum;
}

static bool has_sums(const struct hc_call *call)
{
    return call->in[HC_XENT_LOGITS].shape[1] > 1;
}

static const struct hc_family_sums sums = {.terms = HC_XENT_LOGITS,
                                           .has = has_sums,
                                           .stagnating = stagnating_logit,
                                           .whole = whole_logit,
                                           .has_whole = has_whole};

static void border_shape(enum hc_extent extent, int64_t size, int number, int64_t *d)
{
    (void)number;
    d[0] = extent == HC_EXTENT_LOSS_ROWS ? size : 70;
    d[1] = extent == HC_EXTENT_LOSS_ROWS ? 3 : size;
}

static const struct hc_family_extent extents[] = {{HC_EXTENT_LOSS_ROWS, 0, false},
                                                  {HC_EXTENT_LOSS_CLASSES, 1, false},
                                                  {HC_EXTENT_COUNT, 0, false}};

/* The last chooses the sum or the mean. */
static const struct hc_family_choices choices = {
    {{4, {1, 6, 65, 130}}, {5, {1, 3, 10, 129, 257}}, [HC_PAIR_FACTORS - 1] = {2, {0, 1}}}};

/* The logit of one class is 0, and those of the others are -1024 or less, so that their
   exponentials are 0 in fp64: the softmax is 1 there and 0 elsewhere, and the loss of a row is how
   far its label's logit lies below 0. The first labels are those that a signed byte, a byte or a
   table's end would spoil. Sums of losses are multiples of 1024 below 2^34, which are exact in
   fp32. */
enum { STEP = 1024 };

static int32_t label_of(const struct hc_integers *z, int64_t row, int64_t classes)
{
    const int64_t special[] = {0, classes - 1, 127, 128, 255, 256};
    if (row < 6 && special[row] < classes)
        return (int32_t)special[row];
    return abs(hc_integers_draw(z, 4, row, (int32_t)classes)) - 1;
}

static bool loss_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    int64_t rows = call->in[HC_XENT_LOGITS].shape[0];
    int64_t classes = call->in[HC_XENT_LOGITS].shape[1];
    bool back = call->op == HC_OP_xent_bwd;
    double count = call->params.xent.sum ? 1 : (double)rows;
    double upstream = back ? 3 * count : 1;
    int64_t loss = 0;
    int64_t right = 0;
    for (int64_t row = 0; row < rows; row++) {
        int32_t label = label_of(z, row, classes);
        bool hit = row % 3 == 0;
        int64_t top = hit ? label : (label + 1) % classes;
        hc_tensor_set(&call->in[HC_XENT_LABELS], row, label);
        for (int64_t j = 0; j < classes; j++) {
            int64_t at = row * classes + j;
            z->value[HC_XENT_LOGITS][at] = j == top ? 0 : -abs(hc_integers_draw(z, 0, at, 4));
            if (back)
                z->want[HC_XENT_DLOGITS][at] = 3 * ((j == top) - (j == label));
        }
        loss -= (int64_t)STEP * z->value[HC_XENT_LOGITS][row * classes + label];
        right += label == top;
    }
    hc_integers_set(z, HC_XENT_LOGITS, STEP);
    if (back)
        hc_tensor_set(&call->in[HC_XENT_UPSTREAM], 0, upstream);
    if (back)
        return true;
    z->want[HC_XENT_LOSS][0] = (double)loss / count;
    z->want[HC_XENT_CORRECT][0] = (double)right;
    return true;
}

static void integer_parameters(struct hc_variant *variant, int number)
{
    variant->params.xent.sum = number % 2;
}

/* How many different rows and classes a large batch has. */
enum { ROWS = 3, CLASSES = HC_SIZE_ALONE + 5 };

static void small(const union hc_params *params, int64_t *d)
{
    (void)params;
    d[0] = hc_at_most(ROWS, d[0]);
    d[1] = hc_at_most(CLASSES, d[1]);
}

static void layout(const struct hc_call *call, int slot, const struct hc_tensor *few,
                   const struct hc_tensor *large, struct hc_axes *to)
{
    (void)call;
    (void)slot;
    bool rows = large->rank == 2 || large->format == HC_I32;
    hc_axes_add(to, rows ? HC_AXIS_ROWS : HC_AXIS_TERMS, few->shape[0], large->shape[0], 1, 0);
    if (large->rank == 2)
        hc_axes_add(to, HC_AXIS_COLUMNS, few->shape[1], large->shape[1], 1, HC_SIZE_ALONE);
}

/* A loss is made of all elements. */
static bool on_integers(const int64_t *d)
{
    (void)d;
    return true;
}

/* A logit that lies alone is its row's label, so that minus infinity makes the loss infinite. */
static void label_it(const struct hc_call *call, int64_t at)
{
    int64_t classes = call->in[HC_XENT_LOGITS].shape[1];
    hc_tensor_set(&call->in[HC_XENT_LABELS], at / classes, (double)(at % classes));
}

/* All other logits are 0: of their rows those are correct whose label is the first class. */
static bool is_special(const struct hc_call *call, int64_t at, double special)
{
    const struct hc_tensor *labels = &call->in[HC_XENT_LABELS];
    int64_t own = at / call->in[HC_XENT_LOGITS].shape[1];
    int64_t correct = isinf(special) && special > 0;
    double loss = hc_tensor_get(&call->out[HC_XENT_LOSS], 0);
    for (int64_t row = 0; row < hc_tensor_count(labels); row++)
        correct += row != own && hc_tensor_get(labels, row) == 0;
    if (call->out[HC_XENT_CORRECT].data &&
        hc_tensor_get(&call->out[HC_XENT_CORRECT], 0) != (double)correct)
        return false;
    return special < 0 ? isinf(loss) && loss > 0 : isnan(loss);
}

/* Claims about fewer classes than the call has, since exponentials take long. */
static void claim_alone(struct hc_check *check, const struct hc_call *call)
{
    enum { MOST_CLASSES = 33 };
    static const struct hc_alone alone = {
        .slot = HC_XENT_LOGITS, .place = label_it, .is_right = is_special};
    struct hc_call few = *call;
    struct hc_tensor *logits = &few.in[HC_XENT_LOGITS];
    logits->shape[1] = hc_at_most(MOST_CLASSES, logits->shape[1]);
    memset(logits->data, 0, hc_tensor_bytes(logits));
    memset(few.in[HC_XENT_LABELS].data, 0, hc_tensor_bytes(&few.in[HC_XENT_LABELS]));
    hc_claim_alone_late(check, &few, &alone);
}

static const struct hc_family_size sizes[] = {{HC_STANDARD, "fp32", "", {4097, 1000}},
                                              {HC_STANDARD, "fp16", "", {8193, 129}},
                                              {HC_STANDARD, HC_OTHER_SETS, NULL, {2049, 33}},
                                              {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {8193, 129}},
                                              {HC_EXHAUSTIVE, HC_OTHER_SETS, NULL, {4097, 1000}},
                                              {.set = NULL}};

#define ALL_LOSSES                                                                                 \
    .sets = hc_sets_mixed, .shapes = losses, .variants = means, .open = open_loss,                 \
    .applies = applies, .exponents = exponents, .has_specials = has_specials,                      \
    .never_minus_infinity = true, .cancelling = cancelling, .cancels_within = true,                \
    .extents = extents, .border_shape = border_shape, .choices = &choices,                         \
    .integers = loss_integers, .integer_parameters = integer_parameters, .unsettled = true,        \
    .small = small, .layout = layout, .sizes = sizes, .reference_cost = 16, .sample_cost = 32

const struct hc_family hc_family_xent = {ALL_LOSSES, .sums = &sums, .on_integers = on_integers,
                                         .also_large = claim_alone};
const struct hc_family hc_family_xent_bwd = {ALL_LOSSES, .cuts = hc_cut_rows_of_loss};

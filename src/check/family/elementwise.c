/* Vectors, element by element: casts, arithmetic, scaling, activations. */
#include <math.h>
#include <stdlib.h>

#include "check/family/kit.h"
#include "check/generate/draw.h"
#include "check/generate/integers.h"
#include "check/check_inner.h"
#include "num/ulp.h"

static const struct hc_format_set ieee[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {.name = NULL},
};

static const struct hc_format_set casts[] = {
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp16-bf16", HC_FP16, HC_BF16, HC_FP32, HC_FP32},
    {"bf16-fp16", HC_BF16, HC_FP16, HC_FP32, HC_FP32},
    {"fp64-fp16", HC_FP64, HC_FP16, HC_FP32, HC_FP32},
    {"fp64-bf16", HC_FP64, HC_BF16, HC_FP32, HC_FP32},
    {"fp64-fp32", HC_FP64, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-tf32", HC_FP32, HC_TF32, HC_FP32, HC_FP32},
    {"fp32-e4m3", HC_FP32, HC_E4M3, HC_FP32, HC_FP32},
    {"fp32-e5m2", HC_FP32, HC_E5M2, HC_FP32, HC_FP32},
    {"fp16-e5m2", HC_FP16, HC_E5M2, HC_FP32, HC_FP32},
    {"e4m3-fp16", HC_E4M3, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-e4m3fnuz", HC_FP32, HC_E4M3FNUZ, HC_FP32, HC_FP32},
    {"bf16-e5m2fnuz", HC_BF16, HC_E5M2FNUZ, HC_FP32, HC_FP32},
    {"fp32-e2m3", HC_FP32, HC_E2M3, HC_FP32, HC_FP32},
    {"bf16-e3m2", HC_BF16, HC_E3M2, HC_FP32, HC_FP32},
    {"bf16-e2m1", HC_BF16, HC_E2M1, HC_FP32, HC_FP32},
    {"fp32-e8m0", HC_FP32, HC_E8M0, HC_FP32, HC_FP32},
    {"e5m2fnuz-fp32", HC_E5M2FNUZ, HC_FP32, HC_FP32, HC_FP32},
    {"i32-fp16", HC_I32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-i32", HC_FP32, HC_I32, HC_FP32, HC_FP32},
    {.name = NULL},
};

static const struct hc_variant directions[] = {
    {.name = "", .params.cast = {HC_NEAREST}},
    {.name = "-toward-zero", .params.cast = {HC_TOWARD_ZERO}},
    {.name = "-upward", .params.cast = {HC_UPWARD}},
    {.name = "-downward", .params.cast = {HC_DOWNWARD}},
    {.name = "-saturating", .params.cast = {HC_NEAREST, true}},
    {.name = NULL},
};

static const struct hc_variant axpys[] = {
    {.name = "", .params.axpy = {-1.1}}, {.name = "-plain", .params.axpy = {1}}, {.name = NULL}};
static const struct hc_variant slopes[] = {{.name = "", .params.leaky = {0.1}}, {.name = NULL}};

static const struct hc_variant unscales[] = {
    {.name = "", .params.unscale = {false}},
    {.name = "-reciprocal", .params.unscale = {true}},
    {.name = "-first", .params.unscale = {false}, .bare = true},
    {.name = NULL},
};

/* All exponents that the output has and some beyond. */
static void exponents(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *own = &hc_formats[p->format];
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    *low = fmax(own->emin - own->precision + 1, f->emin - f->precision + 1 - 3);
    *high = fmin(own->emax, f->emax + 3);
}

/* What a conversion into the output's format must get right: its numbers, the midpoints between
   them and what lies beside those, from the smallest to beyond the largest. */
static double boundary(const struct hc_draw_site *p)
{
    enum hc_format to = p->call->out[HC_OUT].format;
    double x = hc_draw_power(p);
    if (hc_draw_uniform(p, 4) < 0.3) { /* the ends of the range */
        const double ends[] = {0,
                               hc_format_tiny(to),
                               hc_format_tiny(to) / 2,
                               ldexp(1, hc_formats[to].emin),
                               hc_format_max(to),
                               hc_format_max(to) + hc_ulp(to, hc_format_max(to)) / 2,
                               1};
        x = ends[(int)(hc_draw_uniform(p, 5) * 7)];
    } else {
        x = hc_round(to, x * (1 + hc_draw_uniform(p, 3)));
        if (!isfinite(x))
            x = hc_format_max(to);
    }
    if (hc_draw_uniform(p, 6) < 0.7)
        x += hc_ulp(to, x) / 2;
    if (fabs(x) > hc_format_max(p->format))
        x = hc_format_max(p->format);
    double beside = floor(hc_draw_uniform(p, 7) * 3) - 1;
    return hc_draw_sign(p) * (x + beside * hc_ulp(p->format, x));
}

/* A value that takes away nearly all that the slots before it come to. */
static double opposite(const struct hc_draw_site *p)
{
    const struct hc_tensor *in = p->call->in;
    int64_t i = (int64_t)p->index;
    double x = hc_tensor_get(&in[HC_X], i);
    double by = 1;
    if (p->call->op == HC_OP_fma)
        by = hc_tensor_get(&in[HC_Y], i);
    if (p->call->op == HC_OP_axpy)
        by = p->call->params.axpy.alpha;
    double whole = hc_round(p->format, (p->call->op == HC_OP_sub ? 1 : -1) * x * by);
    return whole + (floor(hc_draw_uniform(p, 2) * 5) - 2) * hc_ulp(p->format, whole);
}

static double cancelling(const struct hc_draw_site *p, int slot, enum hc_values values)
{
    return slot == 0 || values == HC_VALUES_FACTOR ? hc_draw_normal(p) : opposite(p);
}

static double last_operand(const struct hc_call *call, int64_t i)
{
    return fabs(hc_tensor_get(&call->in[call->op == HC_OP_fma ? HC_Z : HC_Y], i));
}

static void of_cast(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    want[HC_OUT] = r[0];
}

static void of_add(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    want[HC_OUT] = call->op == HC_OP_add ? r[0] + r[1] : r[0] - r[1];
}

static void of_mul(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool mul = call->op == HC_OP_mul;
    in[HC_X] = mul ? r[0] : r[0] * r[1];
    in[HC_Y] = r[1];
    want[HC_OUT] = mul ? r[0] * r[1] : r[0];
}

static void of_sqrt(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0] * r[0];
    want[HC_OUT] = abs(r[0]);
}

static void of_fma(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    in[HC_Z] = r[2];
    want[HC_OUT] = r[0] * r[1] + r[2];
}

enum { SCALE = 4, ALPHA = -2 };

static void of_axpy(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_X] = r[0];
    in[HC_Y] = r[1];
    want[HC_OUT] = ALPHA * r[0] + r[1];
}

static void of_scale(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool down = call->op == HC_OP_unscale;
    in[HC_X] = down ? SCALE * r[0] : r[0];
    want[HC_OUT] = down ? r[0] : SCALE * r[0];
}

static void of_leaky(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    bool back = call->op == HC_OP_leaky_relu_bwd;
    in[HC_FIRST] = back ? r[0] : 4 * r[0];
    in[HC_LEAKY_BWD_DY] = 4 * r[1];
    want[HC_LEAKY_Y] = (r[0] > 0 ? 4 : 1) * (back ? r[1] : r[0]); /* the slope is a quarter */
}

static void integer_axpy(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.axpy.alpha = ALPHA;
}

static void integer_unscale(struct hc_variant *variant, int number)
{
    variant->params.unscale.reciprocal = number / 2 % 2;
}

static void integer_slope(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.leaky.slope = 0.25;
}

static void set_scale(struct hc_integers *z)
{
    hc_tensor_set(&z->call.in[HC_SCALE_S], 0, SCALE);
}

/* Every other call of unscale has an infinity as its last element, and no other. */
static void set_unscale(struct hc_integers *z)
{
    const struct hc_tensor *in = z->call.in;
    int64_t last = hc_tensor_count(&in[HC_UNSCALE_X]) - 1;
    bool found = z->number % 2;
    hc_tensor_set(&in[HC_UNSCALE_SCALE], 0, SCALE);
    if (in[HC_UNSCALE_FOUND_INF].data)
        hc_tensor_set(&in[HC_UNSCALE_FOUND_INF], 0, 0);
    z->want[HC_UNSCALE_NEW_FOUND_INF][0] = found ? 1 : 0;
    if (!found)
        return;
    hc_tensor_set(&in[HC_UNSCALE_X], last, (double)INFINITY);
    z->want[HC_UNSCALE_OUT][last] = (double)INFINITY;
}

static void leave_out_override(struct hc_call *call)
{
    call->in[HC_UNSCALE_OVERRIDE] = hc_tensor1(HC_FP32, 0, NULL);
}

/* An override is in fp32. */
static void finish_unscale(struct hc_call *call, const int64_t *d, const struct hc_format_set *set)
{
    (void)d;
    (void)set;
    if (call->out[HC_UNSCALE_OUT].format != HC_FP32)
        leave_out_override(call);
}

static bool has_override(const struct hc_call *call)
{
    return hc_tensor_count(&call->in[HC_UNSCALE_OVERRIDE]) > 0;
}

/* Whether an overflow is found that lies alone, there. */
static bool is_found(const struct hc_call *call, int64_t at, double special)
{
    (void)at;
    (void)special;
    return hc_tensor_get(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0) == 1;
}

static const struct hc_alone found_alone = {.slot = HC_UNSCALE_X, .is_right = is_found};

/* Among many special numbers a detector may be blind to one kind of them, or to one place, and the
   others give it away. */
static void claim_found_alone(struct hc_check *check, const struct hc_call *call)
{
    hc_draw_inputs(call, HC_DRAW_NORMAL, hc_case_seed(check));
    hc_claim_alone(check, call, &found_alone);
}

static void claim_found_late(struct hc_check *check, const struct hc_call *call)
{
    if (call->in[HC_UNSCALE_FOUND_INF].data)
        hc_tensor_set(&call->in[HC_UNSCALE_FOUND_INF], 0, 0);
    hc_claim_alone_late(check, call, &found_alone);
}

/* A number that all elements share: the scale of an unscaling. */
_Static_assert((int)HC_UNSCALE_SCALE == (int)HC_SCALE_S, "unscale and scale share a row");
static const struct hc_bit_scalar scales = {HC_UNSCALE_SCALE,
                                            0,
                                            13,
                                            {65536, 1, 3, 1.0 / 3, 0x1p-24, 65504, 1e30, 1e-30,
                                             1e-40, 0, -0.0, (double)INFINITY, (double)NAN}};

/* The sizes of most, in a set of each op. */
static const struct hc_family_size in_fp32[] = {{HC_STANDARD, "fp32", "", HC_SIZE_VECTOR},
                                                {HC_EXHAUSTIVE, "fp32", "", HC_SIZE_VECTORS},
                                                HC_SIZES_OF_OTHERS,
                                                {.set = NULL}};
static const struct hc_family_size in_fp16[] = {{HC_STANDARD, "fp16", "", HC_SIZE_VECTOR},
                                                {HC_EXHAUSTIVE, "fp16", "", HC_SIZE_VECTORS},
                                                HC_SIZES_OF_OTHERS,
                                                {.set = NULL}};
static const struct hc_family_size in_bf16[] = {{HC_STANDARD, "bf16", "", HC_SIZE_VECTOR},
                                                {HC_EXHAUSTIVE, "bf16", "", HC_SIZE_VECTORS},
                                                HC_SIZES_OF_OTHERS,
                                                {.set = NULL}};
static const struct hc_family_size into_fp16[] = {{HC_STANDARD, "fp32-fp16", "", HC_SIZE_VECTOR},
                                                  {HC_EXHAUSTIVE, "fp32-fp16", "", HC_SIZE_VECTORS},
                                                  HC_SIZES_OF_OTHERS,
                                                  {.set = NULL}};
static const struct hc_family_size of_unscale[] = {{HC_STANDARD, "fp16", "", HC_SIZE_VECTOR},
                                                   {HC_STANDARD, "fp32", "", HC_SIZE_VECTOR},
                                                   {HC_STANDARD, "bf16", "", HC_SIZE_VECTOR},
                                                   {HC_EXHAUSTIVE, "fp16", "", HC_SIZE_VECTORS},
                                                   HC_SIZES_OF_OTHERS,
                                                   {.set = NULL}};
static const struct hc_family_size of_casts[] = {
    {HC_STANDARD, "fp32-fp16", "", HC_SIZE_VECTOR},
    {HC_STANDARD, "fp32-bf16", "", HC_SIZE_VECTOR},
    {HC_STANDARD, "fp32-e4m3", "-saturating", HC_SIZE_VECTOR},
    {HC_EXHAUSTIVE, "fp32-fp16", "", HC_SIZE_VECTORS},
    {HC_EXHAUSTIVE, "fp32-bf16", "", HC_SIZE_VECTORS},
    {HC_EXHAUSTIVE, "fp32-e4m3", "-saturating", HC_SIZE_VECTORS},
    HC_SIZES_OF_OTHERS,
    {.set = NULL}};

#define ALL_ELEMENTWISE                                                                            \
    .shapes = hc_shapes_vectors, .exponents = exponents, .boundary = boundary,                     \
    .cancelling = cancelling, .size = last_operand, .vectors = true, .extents = hc_extents_vector, \
    .integers = hc_integers_vector, .cuts = hc_cut_vectors

const struct hc_family hc_family_cast = {ALL_ELEMENTWISE, .sets = casts, .variants = directions,
                                         .element = of_cast, .sizes = of_casts};
const struct hc_family hc_family_add = {ALL_ELEMENTWISE, .sets = ieee,
                                        .variants = hc_variants_plain, .element = of_add,
                                        .sizes = in_fp16};
const struct hc_family hc_family_sub = {ALL_ELEMENTWISE, .sets = ieee,
                                        .variants = hc_variants_plain, .element = of_add,
                                        .sizes = in_bf16};
const struct hc_family hc_family_mul = {ALL_ELEMENTWISE, .sets = ieee,
                                        .variants = hc_variants_plain, .element = of_mul,
                                        .sizes = in_fp16};
const struct hc_family hc_family_div = {ALL_ELEMENTWISE, .sets = ieee,
                                        .variants = hc_variants_plain, .element = of_mul,
                                        .sizes = in_fp32};
const struct hc_family hc_family_sqrt = {ALL_ELEMENTWISE, .sets = ieee,
                                         .variants = hc_variants_plain, .element = of_sqrt,
                                         .sizes = in_fp32};
const struct hc_family hc_family_fma = {ALL_ELEMENTWISE, .sets = ieee,
                                        .variants = hc_variants_plain, .element = of_fma,
                                        .sizes = in_fp32};
const struct hc_family hc_family_axpy = {ALL_ELEMENTWISE,
                                         .sets = hc_sets_mixed,
                                         .variants = axpys,
                                         .element = of_axpy,
                                         .integer_parameters = integer_axpy,
                                         .sizes = in_fp32};
const struct hc_family hc_family_scale = {
    ALL_ELEMENTWISE,     .sets = hc_sets_mixed,        .variants = hc_variants_plain,
    .element = of_scale, .integer_scalars = set_scale, .bit_scalar = &scales,
    .sizes = in_fp16};
const struct hc_family hc_family_unscale = {ALL_ELEMENTWISE,
                                            .sets = hc_sets_mixed,
                                            .variants = unscales,
                                            .finish = finish_unscale,
                                            .open_place = leave_out_override,
                                            .finds = has_override,
                                            .also = claim_found_alone,
                                            .also_large = claim_found_late,
                                            .element = of_scale,
                                            .integer_parameters = integer_unscale,
                                            .integer_scalars = set_unscale,
                                            .bit_scalar = &scales,
                                            .sizes = of_unscale};
const struct hc_family hc_family_leaky_relu = {ALL_ELEMENTWISE,
                                               .sets = hc_sets_mixed,
                                               .variants = slopes,
                                               .element = of_leaky,
                                               .integer_parameters = integer_slope,
                                               .sizes = in_fp16};
const struct hc_family hc_family_leaky_relu_bwd = {ALL_ELEMENTWISE,
                                                   .sets = hc_sets_mixed,
                                                   .variants = slopes,
                                                   .element = of_leaky,
                                                   .integer_parameters = integer_slope,
                                                   .sizes = in_bf16};
const struct hc_family hc_family_master_to_model = {ALL_ELEMENTWISE, .sets = hc_sets_mixed,
                                                    .variants = hc_variants_plain,
                                                    .element = of_cast, .sizes = into_fp16};

/* Matrix units of fp8 and of codes with scales. */
#include <math.h>

#include "cases/fixture/training/restated.h"
#include "cases/fixture/unit_probe.h"
#include "train/quant/quant.h"

/* The products of recipes below half on a backend's units: a convolution's y, dx and dw have the
   bits of the unit's rule in integers, piece by piece, as long as the recipe's sources let a sum
   stay in the unit (cases/fixture/training/restated.h). Their terms are positive, so that
   a unit of 13 bits shows whether sums were promoted. (Blocks of 128 end a piece there by
   themselves.) */

enum {
    IMAGES = 4,
    SIDE = 8,
    PIXELS = IMAGES * SIDE * SIDE,
    CHANNELS = 160,
    FILTERS = 144,
    LOOKED_AT = 12, /* elements of a product */
    LONGEST = PIXELS
};

struct watch {
    struct hc_check *check;
    const struct hc_restated_quant *want;
    int product;
    struct hc_comparisons bits;
    bool promotes; /* a unit that keeps few bits */
    bool decided;  /* an element is another one if it does not */
};

static bool multiplies(const struct hc_unit *u, const struct hc_call *call)
{
    return u->a == hc_operand_of(call->in[HC_GEMM_Q_A].format) &&
           u->b == hc_operand_of(call->in[HC_GEMM_Q_B].format) && u->d == HC_OPERAND_FP32;
}

static bool takes_scales(const struct hc_unit *u, const struct hc_call *call)
{
    const struct hc_gemm_q *p = &call->params.gemm_q;
    return u->scale == hc_operand_of(call->in[HC_GEMM_Q_A_SCALES].format) &&
           u->scale == hc_operand_of(call->in[HC_GEMM_Q_B_SCALES].format) &&
           p->a_columns == u->block && p->b_columns == u->block;
}

/* The unit for these codes: one that takes their scales itself, before one that does not. */
static const struct hc_unit *unit_of(const struct hc_check *check, const struct hc_call *call)
{
    const struct hc_unit *found = NULL;
    for (const struct hc_unit *const *u = hc_check_backend(check)->units; *u; u++)
        if (multiplies(*u, call) &&
            (takes_scales(*u, call) || ((*u)->scale == HC_OPERAND_NONE && !found)))
            found = *u;
    return found;
}

/* The first term behind `from` at which a piece of `size` terms ends; 0: there is no end. */
static int64_t piece_end(int64_t from, int64_t size, int64_t end)
{
    int64_t next = size > 0 ? (from / size + 1) * size : end;
    return next < end ? next : end;
}

static float scale_of(const struct hc_tensor *scales, int64_t row, int64_t rows, int64_t term,
                      int64_t columns)
{
    int64_t down = rows > 0 ? row / rows : 0;
    int64_t across = columns > 0 ? term / columns : 0;
    return (float)hc_tensor_get(scales, down * scales->shape[1] + across);
}

/* The sum of all terms, with their scales in the unit. */
static float scaled_product(const struct hc_unit *u, const struct hc_call *call, int64_t m,
                            int64_t n)
{
    const struct hc_tensor *in = call->in;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    int64_t k = in[HC_GEMM_Q_A].shape[1];
    uint32_t code[2][LONGEST];
    uint32_t scale[2][LONGEST];
    const struct hc_unit_scales scales = {scale[0], scale[1]};
    for (int64_t i = 0; i < k; i++) {
        const struct hc_tensor *s = &in[HC_GEMM_Q_A_SCALES];
        int64_t row = p->a_rows > 0 ? m / p->a_rows : 0;
        int64_t column = p->b_rows > 0 ? n / p->b_rows : 0;
        int64_t block = i / u->block;
        code[0][i] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_A], m * k + i);
        code[1][i] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_B], n * k + i);
        scale[0][block] = (uint32_t)hc_tensor_bits(s, row * s->shape[1] + block);
        s = &in[HC_GEMM_Q_B_SCALES];
        scale[1][block] = (uint32_t)hc_tensor_bits(s, column * s->shape[1] + block);
    }
    return hc_fp32_value(hc_unit_by_definition(u, code[0], code[1], &scales, k, 0));
}

/* Element [m, n] as src/op/quant.h says, its sums in the unit. */
static float product_of(const struct hc_unit *u, const struct hc_call *call, int64_t m, int64_t n,
                        int64_t promote)
{
    const struct hc_tensor *in = call->in;
    const struct hc_gemm_q *p = &call->params.gemm_q;
    int64_t k = in[HC_GEMM_Q_A].shape[1];
    uint32_t a[LONGEST];
    uint32_t b[LONGEST];
    float sum = u->scale == HC_OPERAND_NONE ? 0 : scaled_product(u, call, m, n);
    bool only = false;
    for (int64_t from = 0, end; from < k && u->scale == HC_OPERAND_NONE; from = end) {
        end = piece_end(from, promote, piece_end(from, p->a_columns, k));
        end = piece_end(from, p->b_columns, end);
        only = from == 0 && end == k;
        for (int64_t i = from; i < end; i++) {
            a[i - from] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_A], m * k + i);
            b[i - from] = (uint32_t)hc_tensor_bits(&in[HC_GEMM_Q_B], n * k + i);
        }
        float piece = hc_fp32_value(hc_unit_by_definition(u, a, b, NULL, end - from, 0));
        float x = scale_of(&in[HC_GEMM_Q_A_SCALES], m, p->a_rows, from, p->a_columns);
        float y = scale_of(&in[HC_GEMM_Q_B_SCALES], n, p->b_rows, from, p->b_columns);
        sum = only ? piece * x * y : fmaf(piece * x, y, sum);
    }
    return (float)hc_tensor_get(&in[HC_GEMM_Q_A_TENSOR], 0) *
           (float)hc_tensor_get(&in[HC_GEMM_Q_B_TENSOR], 0) * sum;
}

static void compare(struct watch *w, const struct hc_unit *u, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_GEMM_Q_OUT];
    int64_t promote = w->want->product[w->product].promote;
    w->promotes |= promote > 0 && u->output_fraction < 23 && call->params.gemm_q.a_columns == 0;
    for (int64_t i = 0; i < LOOKED_AT; i++) {
        uint64_t drawn = hc_random(hc_check_seed(w->check), (uint64_t)w->product, (uint64_t)i);
        int64_t at = (int64_t)(drawn % (uint64_t)hc_tensor_count(out));
        int64_t m = at / out->shape[1];
        int64_t n = at % out->shape[1];
        float want = product_of(u, call, m, n, promote);
        float got = (float)hc_tensor_get(out, at);
        w->decided |= promote > 0 && !w->decided && product_of(u, call, m, n, 0) != want;
        w->bits.checked++;
        if (want != got)
            hc_comparisons_wrong(&w->bits, "product %d on %s, element %lld: want %.9g, got %.9g",
                                 w->product, u->name, (long long)at, (double)want, (double)got);
    }
}

static enum hc_status run_on_unit(struct hc_device *device, const struct hc_call *call,
                                  void *context)
{
    struct watch *w = context;
    enum hc_status status = device->backend->kernel[call->op](device->queue, call);
    if (status != HC_OK || call->op != HC_OP_gemm_q)
        return status;
    const struct hc_unit *u = unit_of(w->check, call);
    hc_claim_true(w->check, "the backend has a unit for the codes", u != NULL);
    if (u)
        compare(w, u, call);
    return status;
}

/* 16 neighbours have a magnitude of their own, so that sums have more bits than units keep. */
static struct hc_tensor drawn(struct hc_check *check, struct hc_tensor shape, uint64_t stream)
{
    enum { BLOCK = 16, BINADES = 10 };
    struct hc_tensor t = hc_check_tensor(check, shape);
    uint64_t seed = hc_check_seed(check);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++) {
        uint64_t down = hc_random(seed, stream + 100, (uint64_t)i / BLOCK) % BINADES;
        double x = hc_random_uniform(seed, stream, (uint64_t)i);
        hc_tensor_set(&t, i, ldexp(x, -(int)down));
    }
    return t;
}

static void multiply(struct watch *w, struct hc_quant *quant)
{
    struct hc_check *check = w->check;
    struct hc_tensor x = hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, CHANNELS, NULL);
    struct hc_tensor y = hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, FILTERS, NULL);
    struct hc_tensor filter = hc_tensor4(HC_FP32, FILTERS, 1, 1, CHANNELS, NULL);
    struct hc_tensor dy = drawn(check, y, 10);
    struct hc_tensor weights = drawn(check, filter, 11);
    struct hc_tensor images = drawn(check, x, 12);
    x = hc_check_tensor(check, x);
    y = hc_check_tensor(check, y);
    filter = hc_check_tensor(check, filter);
    enum hc_status status = hc_quant_forward(quant, 0, images, weights, y);
    w->product = HC_RESTATED_DX;
    if (status == HC_OK)
        status = hc_quant_to_input(quant, 0, dy, weights, x);
    w->product = HC_RESTATED_DW;
    if (status == HC_OK)
        status = hc_quant_to_filter(quant, 0, images, dy, filter);
    (void)hc_check_ok(check, status);
}

static void products(struct hc_check *check)
{
    static const struct hc_quant_shape shape = {IMAGES, SIDE, CHANNELS, FILTERS, 1, 1, 0};
    const char *name = hc_check_case(check)->data;
    struct watch w = {.check = check,
                      .want = hc_restated_quant(name),
                      .bits = {.what = "elements against the unit's rule in integers"}};
    struct hc_device device = hc_case_device(check);
    struct hc_quant *quant = NULL;
    if (!device.backend->host_memory) {
        hc_skip(check, "%s has memory of its own", device.backend->name);
        return;
    }
    device.override = run_on_unit;
    device.override_context = &w;
    if (hc_check_ok(check, hc_quant_open(&quant, &device, hc_quant_of(hc_recipe_by_name(name)), 0,
                                         &shape, 1, HC_FP32))) {
        multiply(&w, quant);
        hc_claim_comparisons(check, &w.bits);
        if (w.promotes && !w.decided)
            hc_mistrust(check, "no sum is so long that promotion decides a bit");
    }
    hc_quant_close(quant);
    hc_device_end(&device);
    hc_reference_end();
}

#define ROW(name_, units_)                                                                         \
    {                                                                                              \
        .name = "units/codes-" name_,                                                              \
        .title = "the products of " name_                                                          \
                 " have the bits of the unit, and are promoted where its sources say so",          \
        .source = "src/op/quant.h; the units' models (docs/matrix-units.md)", .level = HC_QUICK,   \
        .run = products, .data = (name_), .units = (units_)                                        \
    }
#define FP8 "*-e5m2xe4m3-fp32*"

/* Probes of the units for fp8. Hopper and Ada keep 13 bits behind the point of the largest product
   or C: of each product, of C, and of the result, which is a number of E8M13 in a register for
   fp32. Blackwell keeps as many as of other formats. The claims are published, the inputs are made
   here, and so all answers are those of the units' models. */

#define F13 "ada-* h100wgmma-*"
#define F25 "b200-* rtxblackwell-*"

/* 2^-7 is a subnormal number of e4m3. */
#define S 0x1p-7

static const struct hc_unit_probe kept = {
    .a = {1, S}, .b = {1, 2 * S}, .answers = {{F13 " " F25, 1 + 0x1p-13}}};
static const struct hc_unit_probe lost = {
    .a = {1, S}, .b = {1, S}, .answers = {{F13, 1}, {F25, 1 + 0x1p-14}}};
static const struct hc_unit_probe cut = {
    .a = {1, S}, .b = {1, 1.5 * S}, .answers = {{F13, 1}, {F25, 1 + 1.5 * 0x1p-14}}};
static const struct hc_unit_probe negative = {
    .a = {-1, -S}, .b = {1, 1.5 * S}, .answers = {{F13, -1}, {F25, -1 - 1.5 * 0x1p-14}}};
static const struct hc_unit_probe each = {
    .a = {1, S, S, S}, .b = {1, S, S, S}, .answers = {{F13, 1}, {F25, 1 + 3 * 0x1p-14}}};
static const struct hc_unit_probe c = {
    .a = {0}, .b = {1}, .c = 1 + 0x1p-14, .answers = {{F13, 1}, {F25, 1 + 0x1p-14}}};
static const struct hc_unit_probe result = {
    .a = {2, 2, 2 * S}, .b = {1, 1, 2 * S}, .answers = {{F13, 4}, {F25, 4 + 0x1p-12}}};

#define SOURCE                                                                                     \
    "DeepSeek-V3, arXiv 2412.19437, 3.5.2 (14 bits, cut, on Hopper); SageAttention2, arXiv "       \
    "2411.10958 (E8M13 on Ada and Hopper); deepseek-ai/DeepGEMM issues 37 and 176 (a B200 keeps "  \
    "25 bits); answers: the units' models (docs/matrix-units.md)"
#define ROW_FP8(name_, title_, probe)                                                              \
    {                                                                                              \
        .name = "units/fp8/" name_, .title = (title_), .source = SOURCE, .level = HC_QUICK,        \
        .run = hc_unit_probe_claim, .data = &(probe),                                              \
        .units = "*-e4m3-fp32* *-e4m3xe5m2-fp32* *-e5m2xe4m3-fp32* *-e5m2-fp32*"                   \
    }

static const struct hc_case cases[] = {
    ROW("fp8-te-delayed", FP8),
    ROW("fp8-te-current", FP8),
    ROW("fp8-torchao-tensor", FP8),
    ROW("fp8-torchao-rowwise", FP8),
    ROW("fp8-torchao-rowwise-gw-hp", FP8),
    ROW("fp8-te-block", FP8),
    ROW("fp8-deepgemm", FP8),
    ROW("mxfp8-rp", FP8),
    ROW("mxfp8-floor", FP8),
    ROW("nvfp4", "*-e2m1-fp32*"),
    ROW_FP8("thirteen-bits", "2^-13 beside 1 is kept", kept),
    ROW_FP8("fourteen-bits", "2^-14 beside 1 is lost where a unit keeps 13 bits", lost),
    ROW_FP8("cut", "three quarters of the last bit are cut off", cut),
    ROW_FP8("cut-negative", "three quarters of the last bit are cut off a negative sum", negative),
    ROW_FP8("each-product", "three halves of the last bit are lost, each by itself", each),
    ROW_FP8("c", "C is cut as products are", c),
    ROW_FP8("result", "the sum is cut once more where it carries", result),
};

HC_CASES(units_codes, cases);

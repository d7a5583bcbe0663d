/* Optimizers. */

#include "check/family/kit.h"
#include "check/generate/integers.h"

/* Plain is w - lr g: no decay, no found_inf, and draws have no momentum. */
static const struct hc_variant sgds[] = {
    {.name = "", .params.sgd = {.weight_decay = 1e-2}},
    {.name = "-plain", .params.sgd = {.weight_decay = 0}, .bare = true},
    {.name = "-nesterov", .params.sgd = {.weight_decay = 1e-2, .nesterov = true}},
    {.name = "-decoupled", .params.sgd = {.weight_decay = 1e-2, .decoupled = true}},
    {.name = "-rate-inside",
     .params.sgd = {.weight_decay = 1e-2, .nesterov = true, .rate_inside = true}},
    {.name = "-stochastic",
     .params.sgd = {.weight_decay = 1e-2, .stochastic = {.on = true, .seed = 7, .first = 640}}},
    {.name = "-kahan", .params.sgd = {.weight_decay = 1e-2, .nesterov = true}, .compensated = true},
    {.name = "-kahan-decoupled",
     .params.sgd = {.weight_decay = 1e-2, .decoupled = true},
     .compensated = true},
    {.name = "-kahan-rate-inside",
     .params.sgd = {.weight_decay = 1e-2, .rate_inside = true},
     .compensated = true},
    {.name = NULL},
};

static const struct hc_variant adams[] = {
    {.name = "", .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2}},
    {.name = "-plain", .params.adam = {.beta2 = 0.999, .eps = 1e-8}, .bare = true},
    {.name = "-eps-inside", .params.adam = {.beta2 = 0.999, .eps = 1e-8, .eps_inside = true}},
    {.name = "-stochastic",
     .params.adam = {.beta2 = 0.99,
                     .eps = 1e-8,
                     .weight_decay = 1e-2,
                     .stochastic = {.on = true, .seed = 7, .first = 640}}},
    {.name = "-kahan",
     .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2},
     .compensated = true},
    {.name = "-torch-fused",
     .params
         .adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_TORCH_FUSED}},
    {.name = "-torch-loop",
     .params
         .adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_TORCH_LOOP}},
    {.name = "-apex",
     .params.adam = {.beta2 = 0.99, .eps = 1e-8, .weight_decay = 1e-2, .order = HC_ORDER_APEX}},
    {.name = NULL},
};

/* Whether the formats suit stochastic rounding, which writes bf16, and a compensation, which is for
   16 bits. */
static bool allows(const struct hc_format_set *set, const struct hc_variant *variant,
                   const struct hc_stochastic *stochastic)
{
    if (stochastic->on && (set->state != HC_BF16 || set->work != HC_FP32))
        return false;
    return !variant->compensated || hc_formats[set->state].bytes == 2;
}

static bool allows_sgd(const struct hc_format_set *set, const struct hc_variant *variant)
{
    return allows(set, variant, &variant->params.sgd.stochastic);
}

/* Two of Adam's orders compute in fp32 alone. */
static bool allows_adam(const struct hc_format_set *set, const struct hc_variant *variant)
{
    enum hc_adam_order order = variant->params.adam.order;
    bool in_fp32 = order == HC_ORDER_TORCH_FUSED || order == HC_ORDER_APEX;
    return !(in_fp32 && hc_formats[set->work].bytes == 2) &&
           allows(set, variant, &variant->params.adam.stochastic);
}

/* 1e-8 may be 0 in a narrow arithmetic: see cases/eps. */
static void finish_adam(struct hc_call *call, const int64_t *d, const struct hc_format_set *set)
{
    (void)d;
    if (set->work != HC_FP32 && call->params.adam.eps != 0)
        call->params.adam.eps = 0x1p-6;
}

static bool finds(const struct hc_call *call)
{
    (void)call;
    return true;
}

/* With rate 2, momentum 1/2 and decay 1: v = v / 2 + g + w, then w = w - 2 v. */
static void of_sgd(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    (void)call;
    in[HC_SGD_W] = r[0];
    in[HC_SGD_G] = r[1];
    in[HC_SGD_MOMENTUM] = 2 * r[2];
    want[HC_SGD_NEW_MOMENTUM] = r[2] + r[1] + r[0];
    want[HC_SGD_NEW_W] = r[0] - 2 * want[HC_SGD_NEW_MOMENTUM];
}

/* With rate 2, beta1 = 1/2, beta2 = 3/4, t = 1 and eps 0: m = j g becomes g (j + 1) / 2, v = g^2
   stays, and w loses 2 / (1/2) times g (j + 1) / 2 / (|g| / (1/2)), which is j + 1 with the sign of
   g. AdamW with decay 1/4 halves w before. */
static void of_adam(const struct hc_call *call, const int32_t *r, int32_t *in, double *want)
{
    int32_t j = 2 * (r[2] & 3) - 3;
    bool decays = call->op == HC_OP_adamw;
    in[HC_ADAM_W] = decays ? 2 * r[0] : r[0];
    in[HC_ADAM_G] = r[1];
    in[HC_ADAM_M] = j * r[1];
    in[HC_ADAM_V] = r[1] * r[1];
    want[HC_ADAM_NEW_W] = r[0] - (r[1] < 0 ? -(j + 1) : j + 1);
    int32_t half = (j + 1) / 2; /* j is odd */
    want[HC_ADAM_NEW_M] = r[1] * half;
    want[HC_ADAM_NEW_V] = in[HC_ADAM_V];
}

static void integer_sgd(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.sgd.weight_decay = 1;
}

static void integer_adam(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.adam = (struct hc_adam){.beta2 = 0.75};
}

static void integer_adamw(struct hc_variant *variant, int number)
{
    (void)number;
    variant->params.adam = (struct hc_adam){.beta2 = 0.75, .weight_decay = 0.25};
}

static void set_scalars(struct hc_integers *z)
{
    static const double hyper[HC_HYPER_COUNT] = {
        [HC_HYPER_LR] = 2, [HC_HYPER_BETA1] = 0.5, [HC_HYPER_STEP] = 1};
    const struct hc_optimizer_slots *s = hc_optimizer_slots(z->call.op);
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        hc_tensor_set(&z->call.in[s->hyper], i, hyper[i]);
    if (z->call.in[s->found_inf].data)
        hc_tensor_set(&z->call.in[s->found_inf], 0, 0);
}

/* Counts of steps. */
static const struct hc_bit_scalar steps = {
    HC_ADAM_HYPER, HC_HYPER_STEP, 11, {1, 2, 4, 7, 10, 31, 99, 1000, 12345, 1e5, 0x1p24}};
static const struct hc_bit_scalar sgd_steps = {HC_SGD_HYPER, HC_HYPER_STEP, 2, {1, 1000}};

static const struct hc_family_size sizes[] = {{HC_STANDARD, "fp32", "", HC_SIZE_VECTOR},
                                              {HC_EXHAUSTIVE, "fp32", "", HC_SIZE_VECTORS},
                                              {HC_STANDARD, "fp32", "-plain", HC_SIZE_SHORTER},
                                              HC_SIZES_OF_OTHERS,
                                              {.set = NULL}};

/* All slots but the gradient are state. */
#define ALL_OPTIMIZERS                                                                             \
    .sets = hc_sets_stateful, .shapes = hc_shapes_vectors, .vectors = true, .finds = finds,        \
    .exponents = hc_exponents_of_squares, .extents = hc_extents_vector,                            \
    .integers = hc_integers_vector, .cuts = hc_cut_vectors, .integer_scalars = set_scalars,        \
    .sizes = sizes, .reference_cost = 160

const struct hc_family hc_family_sgd = {ALL_OPTIMIZERS,
                                        .variants = sgds,
                                        .allows = allows_sgd,
                                        .state = ~(1u << HC_SGD_G),
                                        .bit_scalar = &sgd_steps,
                                        .element = of_sgd,
                                        .integer_parameters = integer_sgd};
const struct hc_family hc_family_adam = {ALL_OPTIMIZERS,
                                         .variants = adams,
                                         .allows = allows_adam,
                                         .finish = finish_adam,
                                         .state = ~(1u << HC_ADAM_G),
                                         .bit_scalar = &steps,
                                         .element = of_adam,
                                         .integer_parameters = integer_adam};
const struct hc_family hc_family_adamw = {ALL_OPTIMIZERS,
                                          .variants = adams,
                                          .allows = allows_adam,
                                          .finish = finish_adam,
                                          .state = ~(1u << HC_ADAM_G),
                                          .bit_scalar = &steps,
                                          .element = of_adam,
                                          .integer_parameters = integer_adamw};

/* The bits of optimizer steps, against integers and against a real PyTorch. */
#include <stdio.h>

#include "cases/fixture/defined.h"

/* Steps of the optimizers with many hyperparameters. All backends, `exact` too, take their
   arithmetic and coefficients from the same headers, so comparing two backends cannot show a fault
   there. Here each bit is held to the definition in MPFR. */

/* Formats of weight, gradient, first and second moment, arithmetic: masters with gradients of half,
   norms in half with state in fp32, state of two formats. The first FP32_MIXES compute in fp32. */
struct formats {
    const char *name;
    enum hc_format w, g, m, v, arithmetic;
};

enum { FP32_MIXES = 6, MIXES = 8, KAHAN_MIXES = 4, N = 16, SEEDED = 8 };

static const struct formats mixes[MIXES] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"masters, gradients of fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"fp16, state of fp32", HC_FP16, HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"masters, state of bf16 and fp32", HC_FP32, HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16, gradients of fp32", HC_FP16, HC_FP32, HC_FP16, HC_FP16, HC_FP32},
    {"fp16 in fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP16, HC_FP16},
    {"bf16 in bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16, HC_BF16},
};

static const struct formats compensated[KAHAN_MIXES] = {
    {"fp16, state of fp32", HC_FP16, HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"fp16 in fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP16, HC_FP16},
    {"bf16 in bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16, HC_BF16},
};

/* t from 1 to 2^24, betas from 0 to the largest below 1 in fp32, eps of 0 and of half's
   subnormals. */
struct setting {
    double t, lr, beta1, beta2, eps, decay;
    bool everywhere; /* in all formats, not in one of them */
};

static const struct setting settings[] = {
    {1, 1e-3, 0.9, 0.999, 1e-8, 1e-2, false},
    {2, 1e-3, 0.9, 0.99, 1e-4, 0, false},
    {1, 1, 0, 0, 1e-8, 0.5, false},
    {2, 3e-4, 0, 0.999, 0, 1e-2, false},
    {3, 0.1, 0.5, 0.5, 6e-8, 0.1, false},
    {7, 1e-8, 0.95, 0.98, 1e-8, 0, false},
    {31, 0, 0.9, 0.999, 1e-6, 1e-2, false},
    {1000, 0.5, 0.999, 0.9999, 1e-8, 1e-3, false},
    {65535, 2, 0.4, 1 - 0x1p-24, 1e-8, 0, false},
    {65536, 1, 0.9, 1 - 0x1p-24, 0, 1e-2, false},
    {65537, 1, 1 - 0x1p-24, 1 - 0x1p-20, 1e-8, 0, false},
    {65537, 0.25, 0.9, 1 - 0x1p-24, 1e-4, 0.25, false},
    {1234567, 1, 1 - 0x1p-23, 1 - 0x1p-22, 6e-8, 1e-4, false},
    {0x1p24 - 1, 1e-2, 0.9, 1 - 0x1p-24, 1e-8, 0, false},
    {0x1p24, 1e-2, 1 - 0x1p-24, 1 - 0x1p-24, 0x1p-26, 1e-2, false},
    {0x1p24, 1, 0.9, 1 - 0x1p-26, 1e-12, 0.3, false},
    /* A factor of 1 - lr * decay that would differ if lr were rounded to half. */
    {5, 0.3, 0.9, 0.999, 1e-8, 0.5, true},
    /* 1 - lr * decay lies below a midpoint of half, or of bf16, by less than fp32 can hold. */
    {4, 1 + 0x1p-23, 0.9, 0.99, 1e-4, 0x1p-12, true},
    {4, 1 + 0x1p-23, 0.9, 0.99, 1e-4, 0x1p-9, true},
};

enum { SETTINGS = sizeof settings / sizeof settings[0] };

/* Weights of 0 show all of the update; a gradient, moments and eps of 0 make 0 / 0. */
static const struct hc_defined numbers[N - SEEDED] = {
    {0, 1e-3, 0, 0, 0},
    {1, 1e-3, 1e-3, 1e-6, 0x1p-12},
    {-0.5, -2, 0.1, 0.3, -0x1p-14},
    {0, 0, 0, 0, 0},
    {0, -1e-4, 3e-4, 1e-7, 0},
    {0x1p-20, 0x1p-22, -0x1p-21, 0x1p-24, 0x1p-24},
    {-0.0, 0, 0.25, 0.0625, 0},
    {1000, 300, -200, 60000, 0.25},
};

struct arm {
    const char *name;
    enum hc_op op;
    union hc_params params;
    bool kahan;
};

static const struct arm adams[] = {
    {"adam", HC_OP_adam, {.adam = {.order = HC_ORDER_OURS}}, false},
    {"adamw", HC_OP_adamw, {.adam = {.order = HC_ORDER_OURS}}, false},
    {"adamw, eps inside", HC_OP_adamw, {.adam = {.eps_inside = true}}, false},
    {"adam with compensation", HC_OP_adam, {.adam = {.order = HC_ORDER_OURS}}, true},
    {"adamw with compensation", HC_OP_adamw, {.adam = {.order = HC_ORDER_OURS}}, true},
    {.name = NULL},
};

static const struct arm fused[] = {
    {"adam", HC_OP_adam, {.adam = {.order = HC_ORDER_TORCH_FUSED}}, false},
    {"adamw", HC_OP_adamw, {.adam = {.order = HC_ORDER_TORCH_FUSED}}, false},
    {.name = NULL},
};

static const struct arm loop[] = {
    {"adam", HC_OP_adam, {.adam = {.order = HC_ORDER_TORCH_LOOP}}, false},
    {"adamw", HC_OP_adamw, {.adam = {.order = HC_ORDER_TORCH_LOOP}}, false},
    {.name = NULL},
};

static const struct arm apex[] = {
    {"adam", HC_OP_adam, {.adam = {.order = HC_ORDER_APEX}}, false},
    {"adamw", HC_OP_adamw, {.adam = {.order = HC_ORDER_APEX}}, false},
    {.name = NULL},
};

static const struct arm sgds[] = {
    {"sgd", HC_OP_sgd, {.sgd = {.nesterov = false}}, false},
    {"nesterov", HC_OP_sgd, {.sgd = {.nesterov = true}}, false},
    {"decoupled", HC_OP_sgd, {.sgd = {.decoupled = true}}, false},
    {"rate inside", HC_OP_sgd, {.sgd = {.rate_inside = true}}, false},
    {"nesterov, rate inside", HC_OP_sgd, {.sgd = {.nesterov = true, .rate_inside = true}}, false},
    {"compensation", HC_OP_sgd, {.sgd = {.nesterov = true}}, true},
    {"compensation, decoupled", HC_OP_sgd, {.sgd = {.decoupled = true}}, true},
    {.name = NULL},
};

static double seeded(struct hc_check *check, uint64_t stream, int64_t i, double size)
{
    return size * hc_random_normal(hc_check_seed(check), stream, (uint64_t)i);
}

static struct hc_defined number(struct hc_check *check, int64_t i)
{
    if (i < N - SEEDED)
        return numbers[i];
    double m = seeded(check, 2, i, 0.01);
    return (struct hc_defined){i % 2 ? 0 : seeded(check, 0, i, 0.1), seeded(check, 1, i, 0.01), m,
                               m * m + 1e-5, seeded(check, 3, i, 0x1p-16)};
}

/* Makes the tensor of an input, and of the output that updates it if there is one. */
static void give(struct hc_check *check, struct hc_tensor *in, struct hc_tensor *out,
                 enum hc_format format)
{
    *in = hc_check_vector(check, format, N);
    if (out)
        *out = hc_check_vector(check, format, N);
}

static struct hc_call call_of(struct hc_check *check, const struct arm *arm,
                              const struct setting *with, const struct formats *f)
{
    struct hc_call call = {.op = arm->op, .params = arm->params};
    const struct hc_optimizer_slots *s = hc_optimizer_slots(arm->op);
    const double hyper[HC_HYPER_COUNT] = {
        [HC_HYPER_LR] = with->lr, [HC_HYPER_BETA1] = with->beta1, [HC_HYPER_STEP] = with->t};
    struct hc_tensor *rates = &call.in[s->hyper];
    give(check, &call.in[s->w], &call.out[s->new_w], f->w);
    give(check, &call.in[s->g], NULL, f->g);
    give(check, &call.in[s->m], &call.out[s->new_m], f->m);
    if (s->v >= 0)
        give(check, &call.in[s->v], &call.out[s->new_v], f->v);
    if (arm->kahan)
        give(check, &call.in[s->compensation], &call.out[s->new_compensation], f->w);
    *rates = hc_check_vector(check, HC_FP32, HC_HYPER_COUNT);
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        hc_tensor_set(rates, i, hyper[i]);
    for (int64_t i = 0; i < N; i++) {
        struct hc_defined x = number(check, i);
        hc_tensor_set(&call.in[s->w], i, x.w);
        hc_tensor_set(&call.in[s->g], i, x.g);
        hc_tensor_set(&call.in[s->m], i, x.m);
        if (s->v >= 0)
            hc_tensor_set(&call.in[s->v], i, x.v);
        if (arm->kahan)
            hc_tensor_set(&call.in[s->compensation], i, x.c);
    }
    if (arm->op == HC_OP_sgd) {
        call.params.sgd.arithmetic = f->arithmetic;
        call.params.sgd.weight_decay = with->decay;
    } else {
        call.params.adam.arithmetic = f->arithmetic;
        call.params.adam.beta2 = with->beta2;
        call.params.adam.eps = with->eps;
        call.params.adam.weight_decay = with->decay;
    }
    return call;
}

static void claim(struct hc_check *check, const struct arm *arm, int setting,
                  const struct formats *f)
{
    char where[120];
    struct hc_call call = call_of(check, arm, &settings[setting], f);
    (void)snprintf(where, sizeof where, "%s at t = %.0f, setting %d, %s", arm->name,
                   settings[setting].t, setting, f->name);
    hc_claim_defined(check, arm->name, where, &call);
}

/* Every arm under every setting; the formats take turns, so that each arm meets all of them. */
static void run_steps(struct hc_check *check)
{
    const struct arm *arms = hc_check_case(check)->data;
    bool half = arms == adams || arms == loop || arms == sgds;
    for (int a = 0; arms[a].name; a++)
        for (int k = 0; k < SETTINGS; k++) {
            const struct formats *all = arms[a].kahan ? compensated : mixes;
            int count = arms[a].kahan ? KAHAN_MIXES : half ? MIXES : FP32_MIXES;
            for (int f = 0; f < count; f++)
                if (settings[k].everywhere || f == (a + k) % count)
                    claim(check, &arms[a], k, &all[f]);
        }
}

static const char ours[] = "contract in src/op/optimizer.h; D. P. Kingma, J. Ba, 'Adam: A Method "
                           "for Stochastic Optimization', 2015";

/* What a real PyTorch computed: the tensor methods of its Adam, one after the other, on the CPU. */

static const struct {
    enum hc_op op;
    enum hc_format format; /* of all tensors */
    double t;
    double decay;
    struct {
        double lr, beta1, beta2, eps;
    } hyper;
    uint32_t before[HC_ADAM_V + 1];    /* w, g, m, v in fp32's bits */
    uint32_t after[HC_ADAM_NEW_V + 1]; /* w, m, v */
} rows[] = {
#include "cases/optimizer/torch.inc"
};

/* In fp32 PyTorch's fused kernel and its loop give the same result. */
static void row(struct hc_check *check, size_t i, enum hc_adam_order order)
{
    enum hc_format f = rows[i].format;
    static const char *const names[] = {"w", "m", "v"};
    struct hc_call call = {.op = rows[i].op,
                           .params.adam = {.beta2 = rows[i].hyper.beta2,
                                           .eps = rows[i].hyper.eps,
                                           .weight_decay = rows[i].decay,
                                           .order = order,
                                           .arithmetic = f}};
    for (int s = HC_ADAM_W; s <= HC_ADAM_V; s++) {
        call.in[s] = hc_check_vector(check, f, 1);
        hc_tensor_set(&call.in[s], 0, (double)hc_fp32_value(rows[i].before[s]));
    }
    call.in[HC_ADAM_HYPER] =
        hc_hyper_tensor(check, rows[i].hyper.lr, rows[i].hyper.beta1, rows[i].t);
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        call.out[o] = hc_check_vector(check, f, 1);
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        hc_claim_bits(check, names[o], HC_FP32, rows[i].after[o],
                      hc_fp32_bits((float)hc_tensor_get(&call.out[o], 0)));
}

static void measured(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        row(check, i, HC_ORDER_TORCH_LOOP);
        if (rows[i].format == HC_FP32)
            row(check, i, HC_ORDER_TORCH_FUSED);
    }
}

static const struct hc_case cases[] = {
    {"optimizer/adam-by-definition",
     "Adam and AdamW have the bits of their definition from t = 1 to 2^24, for betas from 0 to 1 - "
     "2^-24, eps from 0 on, in all formats",
     ours, .level = HC_QUICK, .run = run_steps, .data = adams},
    {"optimizer/adam-torch-fused-by-definition",
     "the order of PyTorch's fused Adam has the bits of its definition",
     "pytorch aten/src/ATen/native/cpu/FusedAdamKernel.cpp, 2.4 and later", .run = run_steps,
     .data = fused},
    {"optimizer/adam-torch-loop-by-definition",
     "the order of PyTorch's Adam as a loop over tensors has the bits of its definition",
     "pytorch torch/optim/adam.py, _single_tensor_adam, 2.0 and later", .run = run_steps,
     .data = loop},
    {"optimizer/adam-apex-by-definition",
     "the order of apex's FusedAdam has the bits of its definition",
     "NVIDIA/apex csrc/multi_tensor_adam.cu at 004da4e, AdamFunctor", .run = run_steps,
     .data = apex},
    {"optimizer/sgd-by-definition",
     "SGD, Nesterov's, with decay of either kind, the rate inside and compensated has the bits of "
     "its definition, in all formats",
     "contract in src/op/optimizer.h", .level = HC_QUICK, .run = run_steps, .data = sgds},
    {"optimizer/as-pytorch-gave",
     "Adam and AdamW in PyTorch's order have the bits that PyTorch's own tensor methods gave, in "
     "fp32 and bf16",
     "measured with torch 1.13 on a CPU with FMA (benches/pytorch/adam_order.py); pytorch "
     "torch/optim/adam.py, _single_tensor_adam, from 2.0 on",
     .level = HC_QUICK, .run = measured},
};

HC_CASES(optimizer_steps, cases);

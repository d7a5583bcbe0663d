/* Defects of the arithmetic in kernels/ and src/num/ that all backends share, each in the subject
   and in `exact`: wrong in few steps, for few parameters or in few bits, so that one set of
   hyperparameters shows nothing. */
#include <math.h>

#include "check/selftest/fault.h"
#include "num/format.h"
#include "num/rng.h"
#include "op/counts.h"

/* Hyperparameters of an optimizer, to be changed for one call. */
struct hyper {
    struct hc_call call;
    float value[HC_HYPER_COUNT];
};

static struct hyper hyper_of(const struct hc_call *call)
{
    struct hyper h = {.call = *call};
    int slot = hc_optimizer_slots(call->op)->hyper;
    for (int i = 0; i < HC_HYPER_COUNT; i++)
        h.value[i] = (float)hc_tensor_get(&call->in[slot], i);
    return h;
}

static enum hc_status with(const struct hc_fault_site *planted, struct hc_queue *queue,
                           struct hyper *h)
{
    h->call.in[hc_optimizer_slots(h->call.op)->hyper].data = h->value;
    return planted->right(queue, &h->call);
}

/* What a step's count t becomes. */
typedef float count_of(float t);

static float early_beyond_65536(float t)
{
    return t > 65536 ? t - 1 : t;
}

static float modulo_65536(float t)
{
    float left = fmodf(t, 65536);
    return left > 0 ? left : 65536;
}

static float one_less_at_the_end(float t)
{
    return t >= 16777216 ? 16777215 : t;
}

static count_of *const counts[] = {early_beyond_65536, modulo_65536, one_less_at_the_end};
static const int early = 0;
static const int modulo = 1;
static const int less = 2;

static enum hc_status counted(const struct hc_fault_site *planted, struct hc_queue *queue,
                              const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    h.value[HC_HYPER_STEP] = counts[*(const int *)planted->fault->data](h.value[HC_HYPER_STEP]);
    return with(planted, queue, &h);
}

static void eps_inside_late(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.eps_inside |= call->params.adam.order == HC_ORDER_OURS &&
                                    hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_STEP) > 1000;
}

static void eps_flushed(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.adam.arithmetic == HC_FP16 && call->params.adam.eps < 0x1p-14)
        call->params.adam.eps = 0;
}

static void beta2_single(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.beta2 = hc_round(HC_FP32, call->params.adam.beta2);
}

/* lr / (1 - beta1^t) is Adam's step, not the rate of its decay. */
static void decays_by_step(struct hc_call *call, double number)
{
    (void)number;
    double beta1 = hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_BETA1);
    call->params.adam.weight_decay /=
        1 - pow(beta1, hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_STEP));
}

static void decay_times_rate(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.weight_decay *= hc_tensor_get(&call->in[HC_ADAM_HYPER], HC_HYPER_LR);
}

static void decay_in_half(struct hc_call *call, double number)
{
    (void)number;
    double *decay =
        call->op == HC_OP_sgd ? &call->params.sgd.weight_decay : &call->params.adam.weight_decay;
    *decay = hc_round(HC_FP16, *decay);
}

static enum hc_status rate_in_half(const struct hc_fault_site *planted, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    if (h.value[HC_HYPER_LR] > 0.25F && h.value[HC_HYPER_LR] < 0.35F)
        h.value[HC_HYPER_LR] = (float)hc_round(HC_FP16, (double)h.value[HC_HYPER_LR]);
    return with(planted, queue, &h);
}

static void always_ours(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.order = HC_ORDER_OURS;
}

static void apex_as_fused(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.adam.order == HC_ORDER_APEX)
        call->params.adam.order = HC_ORDER_TORCH_FUSED;
}

static enum hc_status loses_minus_zero(const struct hc_fault_site *planted, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->out[HC_ADAM_NEW_W]); i++)
        if (hc_tensor_get(&call->out[HC_ADAM_NEW_W], i) == 0)
            hc_tensor_set(&call->out[HC_ADAM_NEW_W], i, 0);
    return status;
}

/* Stochastic rounding: what goes into the counter. */
enum { ELEMENT, SEED, STEP };

static const int element = ELEMENT;
static const int seed = SEED;
static const int step = STEP;

static enum hc_status narrow_counter(const struct hc_fault_site *planted, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hyper h = hyper_of(call);
    struct hc_stochastic *s =
        call->op == HC_OP_sgd ? &h.call.params.sgd.stochastic : &h.call.params.adam.stochastic;
    int which = *(const int *)planted->fault->data;
    if (which == ELEMENT)
        s->first &= ((int64_t)1 << 34) - 1;
    if (which == SEED)
        s->seed &= 0xffffffff;
    if (which == STEP && s->on && call->op == HC_OP_sgd) /* t is nothing else to it */
        h.value[HC_HYPER_STEP] = modulo_65536(h.value[HC_HYPER_STEP]);
    return with(planted, queue, &h);
}

static enum hc_status nan_to_zero(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    for (int64_t i = 0; status == HC_OK && call->params.sgd.stochastic.on &&
                        i < hc_tensor_count(&call->out[HC_SGD_NEW_W]);
         i++)
        if (hc_tensor_bits(&call->in[HC_SGD_G], i) == 0x7fffffff)
            hc_tensor_set_bits(&call->out[HC_SGD_NEW_W], i, 0x8000);
    return status;
}

/* NaN's bits: which of a 16-bit or fp32 result stay. */
enum { NO_SIGN, NO_PAYLOAD, QUIET };

static const int no_sign = NO_SIGN;
static const int no_payload = NO_PAYLOAD;
static const int quiet = QUIET;

static void change_nan(const struct hc_tensor *t, int64_t i, int which)
{
    const struct hc_format_info *f = &hc_formats[t->format];
    uint64_t sign = (uint64_t)1 << (f->bits - 1);
    uint64_t quiet_bit = (uint64_t)1 << (f->precision - 2);
    uint64_t bits = hc_tensor_bits(t, i);
    if (which == NO_SIGN)
        bits &= ~sign;
    if (which == NO_PAYLOAD)
        bits &= ~(quiet_bit - 1);
    hc_tensor_set_bits(t, i, which == NO_SIGN ? bits : bits | quiet_bit);
}

static enum hc_status nan_changed(const struct hc_fault_site *planted, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    const struct hc_tensor *t = &call->out[HC_FIRST];
    bool h = t->format == HC_FP32 || t->format == HC_FP16 || t->format == HC_BF16;
    for (int64_t i = 0; status == HC_OK && h && i < hc_tensor_count(t); i++)
        if (isnan(hc_tensor_get(t, i)))
            change_nan(t, i, *(const int *)planted->fault->data);
    return status;
}

static enum hc_status signalling_unseen(const struct hc_fault_site *planted, struct hc_queue *queue,
                                        const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    double found =
        call->in[HC_UNSCALE_FOUND_INF].data ? hc_tensor_get(&call->in[HC_UNSCALE_FOUND_INF], 0) : 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->in[HC_UNSCALE_X]); i++) {
        double x = hc_tensor_get(&call->in[HC_UNSCALE_X], i);
        uint64_t fraction =
            hc_tensor_bits(&call->in[HC_UNSCALE_X], i) &
            (((uint64_t)1 << (hc_formats[call->in[HC_UNSCALE_X].format].precision - 1)) - 1);
        found = isinf(x) || (isnan(x) && fraction != 1) ? 1 : found;
    }
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_UNSCALE_NEW_FOUND_INF], 0, found);
    return status;
}

static enum hc_status huge_scale(const struct hc_fault_site *planted, struct hc_queue *queue,
                                 const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    for (int64_t i = 0;
         status == HC_OK && hc_tensor_get(&call->in[HC_UNSCALE_SCALE], 0) > 0x1p100 &&
         i < hc_tensor_count(&call->out[HC_UNSCALE_OUT]);
         i++)
        hc_tensor_set(&call->out[HC_UNSCALE_OUT], i, 0);
    return status;
}

/* max(x, slope x) is leaky ReLU for slopes up to 1; x >= 0 for slopes from 0 on. */
static enum hc_status larger_of_both(const struct hc_fault_site *planted, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    struct hc_call bad = *call;
    enum hc_status status = planted->right(queue, &bad);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++) {
        double x = hc_tensor_get(&call->in[HC_LEAKY_X], i);
        double product = hc_round(HC_FP32, hc_round(HC_FP32, call->params.leaky.slope) * x);
        hc_tensor_set(&call->out[HC_LEAKY_Y], i, x > product ? x : product);
    }
    return status;
}

static enum hc_status zero_is_positive(const struct hc_fault_site *planted, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(&call->in[HC_LEAKY_X]); i++)
        if (hc_tensor_get(&call->in[HC_LEAKY_X], i) == 0)
            hc_tensor_set(&call->out[HC_LEAKY_Y], i, hc_tensor_get(&call->in[HC_LEAKY_X], i));
    return status;
}

static enum hc_status t_rounded_before(const struct hc_fault_site *planted, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    enum hc_status status = planted->right(queue, call);
    double t = hc_round(HC_FP32, hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_TAKEN)) + 1;
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_RATES_HYPER], 2, t);
    return status;
}

/* The count of steps as another number. */
static enum hc_status with_steps(const struct hc_fault_site *planted, struct hc_queue *queue,
                                 const struct hc_call *call, double steps)
{
    int32_t changed[HC_COUNTS];
    struct hc_call bad = *call;
    for (int i = 0; i < HC_COUNTS; i++)
        changed[i] = (int32_t)hc_tensor_get(&call->in[HC_RATES_COUNTS], i);
    changed[HC_COUNT_STEPS] = (int32_t)steps;
    bad.in[HC_RATES_COUNTS].data = changed;
    return planted->right(queue, &bad);
}

static enum hc_status late_row(const struct hc_fault_site *planted, struct hc_queue *queue,
                               const struct hc_call *call)
{
    double steps = hc_tensor_get(&call->in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS);
    return with_steps(planted, queue, call, steps > 65536 ? steps - 1 : steps);
}

static enum hc_status last_but_one(const struct hc_fault_site *planted, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    double steps = hc_tensor_get(&call->in[HC_RATES_COUNTS], HC_COUNT_STEPS);
    double rows = (double)call->in[HC_RATES_TABLE].shape[0];
    return with_steps(planted, queue, call, steps > rows && rows > 1 ? rows - 2 : steps);
}

static enum hc_status stops_counting(const struct hc_fault_site *planted, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    double before = hc_tensor_get(&call->in[HC_SCALER_COUNTS], HC_COUNT_FOUND);
    enum hc_status status = planted->right(queue, call);
    if (status == HC_OK && before >= 65536)
        hc_tensor_set(&call->out[HC_SCALER_NEW_COUNTS], HC_COUNT_FOUND, before);
    return status;
}

/* Growth at one step before a long interval. */
static void grows_early(struct hc_call *call, double number)
{
    (void)number;
    if (call->params.scaler.interval >= 65536)
        call->params.scaler.interval--;
}

static enum hc_status short_epochs(const struct hc_fault_site *planted, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    struct hc_call bad = *call;
    int64_t batches = call->params.augment.batches;
    int32_t steps[1] = {(int32_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0)};
    steps[0] = (int32_t)(steps[0] / batches % 65536 * batches + steps[0] % batches);
    bad.in[HC_AUGMENT_STEPS].data = steps;
    bad.out[HC_AUGMENT_NEW_STEPS].data = NULL;
    enum hc_status status = planted->right(queue, &bad);
    if (status == HC_OK && call->out[HC_AUGMENT_NEW_STEPS].data)
        hc_tensor_set(&call->out[HC_AUGMENT_NEW_STEPS], 0,
                      hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) + 1);
    return status;
}

static void short_seed(struct hc_call *call, double number)
{
    (void)number;
    call->params.augment.seed &= 0xffffffff;
}

/* A crop that stands at the right end is cut out one column before it. */
static enum hc_status right_end(const struct hc_fault_site *planted, struct hc_queue *queue,
                                const struct hc_call *call)
{
    const struct hc_augment *p = &call->params.augment;
    const struct hc_tensor *out = &call->out[HC_AUGMENT_IMAGES];
    enum hc_status status = planted->right(queue, call);
    int64_t wide = out->shape[2] * 3;
    int64_t epoch = (int64_t)hc_tensor_get(&call->in[HC_AUGMENT_STEPS], 0) / p->batches;
    for (int64_t b = 0; status == HC_OK && p->crops && p->batches == 1 && b < out->shape[0]; b++) {
        uint64_t bits = hc_random(p->seed, HC_CROP_STREAM + (uint64_t)epoch, (uint64_t)b);
        bool end =
            (bits >> 24 & 0xffffff) * (uint64_t)(2 * p->pad + 1) >> 24 == 2u * (unsigned)p->pad;
        for (int64_t row = 0; end && p->pad && row < out->shape[1]; row++)
            for (int64_t x = wide - 1; x >= 3; x--) {
                int64_t at = (b * out->shape[1] + row) * wide + x;
                hc_tensor_set(out, at, hc_tensor_get(out, at - 3));
            }
    }
    return status;
}

#define ADAMS      "adam adamw"
#define EVERYWHERE .class_ = HC_FAULT_COMMON, .place = HC_PLACE_BOTH

static const struct hc_fault faults[] = {
    {"arithmetic-t-early", "Adam's t is one less beyond 2^16", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = counted, .data = &early},
    {"arithmetic-t-16-bits", "Adam's t has 16 bits", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition optimizer/adam-apex-*", .wrong = counted,
     .data = &modulo},
    {"arithmetic-t-last", "Adam's t of 2^24 is one less", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = counted, .data = &less},
    {"arithmetic-eps-inside-late", "eps lies inside the root from step 1000 on", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-by-definition", .change = eps_inside_late},
    {"arithmetic-eps-flushed", "eps is 0 where half holds it as a subnormal number", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-by-definition", .change = eps_flushed},
    {"arithmetic-beta2-single", "beta2 is rounded to fp32 in every order", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition optimizer/adam-torch-loop-*",
     .change = beta2_single},
    {"arithmetic-decay-by-step", "AdamW decays by its corrected rate", EVERYWHERE, .ops = "adamw",
     .patterns = "optimizer/adam-by-definition decay/*", .change = decays_by_step},
    {"arithmetic-decay-times-rate", "Adam's decay in the gradient is lr * decay", EVERYWHERE,
     .ops = "adam", .patterns = "optimizer/adam-by-definition optimizer/adam-torch-fused-*",
     .change = decay_times_rate},
    {"arithmetic-decay-in-half", "the decay is rounded to half", EVERYWHERE,
     .ops = "sgd adam adamw",
     .patterns = "optimizer/sgd-by-definition optimizer/adam-by-definition",
     .change = decay_in_half},
    {"arithmetic-rate-in-half", "learning rates about 0.3 are rounded to half", EVERYWHERE,
     .ops = "sgd adam adamw",
     .patterns = "optimizer/sgd-by-definition optimizer/adam-by-definition", .wrong = rate_in_half},
    {"arithmetic-one-order", "every order of roundings is our own", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-torch-fused-* optimizer/adam-torch-loop-* optimizer/adam-apex-* "
                 "optimizer/as-pytorch-gave",
     .change = always_ours},
    {"arithmetic-apex-fused", "apex's order is that of PyTorch's fused Adam", EVERYWHERE,
     .ops = ADAMS, .patterns = "optimizer/adam-apex-by-definition", .change = apex_as_fused},
    {"arithmetic-minus-zero", "a weight of -0 becomes +0", EVERYWHERE, .ops = ADAMS,
     .patterns = "optimizer/adam-by-definition", .wrong = loses_minus_zero},
    {"arithmetic-short-element", "stochastic rounding drops the upper word of its lanes",
     EVERYWHERE, .ops = "sgd adam adamw", .patterns = "stochastic/*-at-large-counters",
     .wrong = narrow_counter, .data = &element},
    {"arithmetic-short-rounding-seed", "stochastic rounding drops the upper word of its seed",
     EVERYWHERE, .ops = "sgd adam adamw", .patterns = "stochastic/*-at-large-counters",
     .wrong = narrow_counter, .data = &seed},
    {"arithmetic-short-step", "stochastic rounding takes 16 bits of the step", EVERYWHERE,
     .ops = "sgd", .patterns = "stochastic/every-bit-at-large-counters", .wrong = narrow_counter,
     .data = &step},
    {"arithmetic-nan-to-zero", "a NaN that is rounded stochastically becomes -0", EVERYWHERE,
     .ops = "sgd", .patterns = "stochastic/nan-of-any-payload-stays", .wrong = nan_to_zero},
    {"arithmetic-nan-sign", "conversions drop NaN's sign", EVERYWHERE,
     .ops = "cast master_to_model", .patterns = "nan/casts-keep-sign-and-payload",
     .wrong = nan_changed, .data = &no_sign},
    {"arithmetic-nan-payload", "conversions drop NaN's payload", EVERYWHERE,
     .ops = "cast master_to_model", .patterns = "nan/casts-keep-sign-and-payload",
     .wrong = nan_changed, .data = &no_payload},
    {"arithmetic-nan-quiet", "copies make signalling NaNs quiet", EVERYWHERE,
     .ops = "sgd adam adamw unscale step_log", .patterns = "nan/copies-keep-every-bit",
     .wrong = nan_changed, .data = &quiet},
    {"arithmetic-signalling-unseen", "the detector does not see the NaN of the least payload",
     EVERYWHERE, .ops = "unscale", .patterns = "elementwise/found-inf-alone",
     .wrong = signalling_unseen},
    {"arithmetic-huge-scale", "unscaling by more than 2^100 gives 0", EVERYWHERE, .ops = "unscale",
     .patterns = "elementwise/any-scale", .wrong = huge_scale},
    {"arithmetic-leaky-maximum", "leaky ReLU is the larger of x and slope * x", EVERYWHERE,
     .ops = "leaky_relu", .patterns = "elementwise/leaky-slopes", .wrong = larger_of_both},
    {"arithmetic-leaky-zero", "leaky ReLU takes 0 for positive", EVERYWHERE, .ops = "leaky_relu",
     .patterns = "elementwise/leaky-slopes", .wrong = zero_is_positive},
    {"arithmetic-t-rounded", "t is rounded before 1 is added", EVERYWHERE, .ops = "rates",
     .patterns = "scaler/rates-of-every-step", .wrong = t_rounded_before},
    {"arithmetic-last-rate", "beyond the table a step has the rates of the last row but one",
     EVERYWHERE, .ops = "rates", .patterns = "scaler/rates-of-every-step op/rates/*",
     .wrong = last_but_one},
    {"arithmetic-late-row", "the journal's rows are one late beyond 2^16", EVERYWHERE,
     .ops = "step_log", .patterns = "scaler/step-log-of-every-step", .wrong = late_row},
    {"arithmetic-found-count", "overflows are counted to 2^16", EVERYWHERE, .ops = "scaler_update",
     .patterns = "scaler/counts-one-by-one", .wrong = stops_counting},
    {"arithmetic-grows-early", "scales grow a step before a long interval ends", EVERYWHERE,
     .ops = "scaler_update", .patterns = "scaler/growth-just-at-the-interval",
     .change = grows_early},
    {"arithmetic-short-epochs", "crops take 16 bits of the epoch", EVERYWHERE, .ops = "augment",
     .patterns = "data/crops-in-every-corner", .wrong = short_epochs},
    {"arithmetic-short-seed", "crops drop the upper word of their seed", EVERYWHERE,
     .ops = "augment", .patterns = "data/crops-in-every-corner", .change = short_seed},
    {"arithmetic-right-end", "crops at the right end are cut out one column before it", EVERYWHERE,
     .ops = "augment", .patterns = "data/crops-in-every-corner", .wrong = right_end},
};

HC_FAULTS(arithmetic, faults);

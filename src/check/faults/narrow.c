/* Numbers in a format that is too small for them: a count, a label, a probability, a decay close to
   1, a moment, a square. Reports of such bugs are the cases field/; here each is planted into the
   component that has the number, and the component's own cases must catch it. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"
#include "num/format.h"

static double rounded(enum hc_format format, double x)
{
    return hc_decode(format, hc_encode(format, x, 0, HC_NEAREST));
}

/* A label through the format, but still a class. */
static uint64_t label_through(const struct hc_changed_element *e, uint64_t bits,
                              enum hc_format format)
{
    double last = (double)e->call->in[HC_XENT_LOGITS].shape[1] - 1;
    double label = rounded(format, hc_decode(e->format, bits));
    return hc_encode(e->format, fmin(label, last), 0, HC_NEAREST);
}

static uint64_t label_in_half(const struct hc_changed_element *e, uint64_t bits)
{
    return label_through(e, bits, HC_FP16);
}

static uint64_t label_in_bf16(const struct hc_changed_element *e, uint64_t bits)
{
    return label_through(e, bits, HC_BF16);
}

static bool is_of_the_label(const struct hc_changed_element *e)
{
    int64_t classes = e->call->in[HC_XENT_LOGITS].shape[1];
    return (double)(e->i % classes) == hc_tensor_get(&e->call->in[HC_XENT_LABELS], e->i / classes);
}

/* What a mask sets to -infinity. */
static uint64_t minus_1e4(const struct hc_changed_element *e, uint64_t bits)
{
    bool masked = hc_decode(e->format, bits) == -(double)INFINITY;
    return masked ? hc_encode(e->format, -1e4, 0, HC_NEAREST) : bits;
}

/* The loss is divided by the number of rows as half holds it. */
static enum hc_status rows_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                   const struct hc_call *call)
{
    double n = (double)call->in[HC_XENT_LOGITS].shape[0];
    const struct hc_tensor *loss = &call->out[HC_XENT_LOSS];
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && !call->params.xent.sum)
        hc_tensor_set(loss, 0, hc_tensor_get(loss, 0) * (n / rounded(HC_FP16, n)));
    return status;
}

/* The loss is the logarithm of a probability, which half holds. */
static enum hc_status log_of_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    const struct hc_tensor *z = &call->in[HC_XENT_LOGITS];
    int64_t classes = z->shape[1];
    double loss = 0;
    enum hc_status status = site->right(queue, call);
    for (int64_t row = 0; row < z->shape[0]; row++) {
        double largest = -(double)INFINITY;
        double sum = 0;
        for (int64_t j = 0; j < classes; j++)
            largest = fmax(largest, hc_tensor_get(z, row * classes + j));
        for (int64_t j = 0; j < classes; j++)
            sum += exp(hc_tensor_get(z, row * classes + j) - largest);
        int64_t label = (int64_t)hc_tensor_get(&call->in[HC_XENT_LABELS], row);
        double p = exp(hc_tensor_get(z, row * classes + label) - largest) / sum;
        loss -= log(rounded(HC_FP16, p));
    }
    if (status == HC_OK)
        hc_tensor_set(&call->out[HC_XENT_LOSS], 0,
                      call->params.xent.sum ? loss : loss / (double)z->shape[0]);
    return status;
}

/* How many rows are right is counted on logits in bf16, where neighbours are equal. */
static enum hc_status right_in_bf16(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    struct hc_call narrow = *call;
    struct hc_tensor *z = &narrow.in[HC_XENT_LOGITS];
    double loss;
    z->data = hc_fault_copy(z);
    for (int64_t i = 0; i < hc_tensor_count(z); i++)
        hc_tensor_set(z, i, rounded(HC_BF16, hc_tensor_get(z, i)));
    narrow.out[HC_XENT_LOSS].data = &loss;
    enum hc_status status = site->right(queue, call);
    if (status == HC_OK && call->out[HC_XENT_CORRECT].data)
        status = site->right(queue, &narrow);
    free(z->data);
    return status;
}

/* The factor M / (M - 1) of the running variance is made of two numbers in half. */
static enum hc_status count_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *out = &call->out[HC_BN_NEW_VARIANCE];
    double m = (double)hc_tensor_count(x) / fmax((double)x->shape[3], 1);
    double factor = rounded(HC_FP16, m) / rounded(HC_FP16, m - 1) * (m - 1) / m;
    struct hc_tensor before = call->in[HC_BN_VARIANCE];
    before.data = hc_fault_copy(&call->in[HC_BN_VARIANCE]);
    enum hc_status status = site->right(queue, call);
    for (int64_t c = 0; status == HC_OK && m > 1 && c < hc_tensor_count(out); c++) {
        double kept = (1 - call->params.bn.momentum) * hc_tensor_get(&before, c);
        hc_tensor_set(out, c, kept + (hc_tensor_get(out, c) - kept) * factor);
    }
    free(before.data);
    return status;
}

/* The saved 1 / deviation of squares in half, where 256 squared is infinite. */
static enum hc_status variance_in_half(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    int64_t channels = x->shape[3];
    int64_t n = hc_tensor_count(x);
    enum hc_status status = site->right(queue, call);
    for (int64_t c = 0; status == HC_OK && c < channels; c++) {
        double mean = hc_tensor_get(&call->out[HC_BN_SAVED_MEAN], c);
        double sum = 0;
        for (int64_t i = c; i < n; i += channels) {
            double d = hc_tensor_get(x, i) - mean;
            sum += rounded(HC_FP16, d * d);
        }
        double variance = sum / ((double)n / (double)channels);
        hc_tensor_set(&call->out[HC_BN_SAVED_INVSTD], c, 1 / sqrt(variance + call->params.bn.eps));
    }
    return status;
}

/* Normalised data are rounded into the result's format before they meet the gain. */
static enum hc_status rounded_before_gain(const struct hc_fault_site *site, struct hc_queue *queue,
                                          const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_BN_X];
    const struct hc_tensor *y = &call->out[HC_BN_Y];
    int64_t channels = x->shape[3];
    enum hc_status status = site->right(queue, call);
    for (int64_t i = 0; status == HC_OK && i < hc_tensor_count(y); i++) {
        int64_t c = i % channels;
        double d = hc_tensor_get(x, i) - hc_tensor_get(&call->out[HC_BN_SAVED_MEAN], c);
        double normal = rounded(y->format, d * hc_tensor_get(&call->out[HC_BN_SAVED_INVSTD], c));
        hc_tensor_set(y, i,
                      normal * hc_tensor_get(&call->in[HC_BN_GAMMA], c) +
                          hc_tensor_get(&call->in[HC_BN_BETA], c));
    }
    return status;
}

static void beta2_in_bf16(struct hc_call *call, double number)
{
    (void)number;
    call->params.adam.beta2 = rounded(HC_BF16, call->params.adam.beta2);
}

static const struct hc_change labels_in_half = {hc_everywhere, label_in_half, 0, HC_XENT_LABELS};
static const struct hc_change labels_in_bf16 = {hc_everywhere, label_in_bf16, 0, HC_XENT_LABELS};
static const struct hc_change target_in_bf16 = {is_of_the_label, hc_through_bf16, 0,
                                                HC_XENT_LOGITS};
static const struct hc_change weak_mask = {hc_everywhere, minus_1e4, 0, HC_XENT_LOGITS};
static const struct hc_change momentum_in_half = {hc_everywhere, hc_through_fp16, 0,
                                                  HC_SGD_NEW_MOMENTUM};
static const struct hc_change variance_of_adam = {hc_everywhere, hc_through_fp16, 0, HC_ADAM_NEW_V};

#define CLASS HC_FAULT_ROUNDING

static const struct hc_fault faults[] = {
    {"labels-in-half", "a label is kept in half, where 2049 is 2048", CLASS, "xent xent_bwd",
     "loss/labels-*", .inputs = &labels_in_half},
    {"labels-in-bf16", "a label is kept in bf16, where 257 is 256", CLASS, "xent xent_bwd",
     "loss/labels-* border/xent/*/classes", .inputs = &labels_in_bf16, .place = HC_PLACE_HOST},
    {"loss-target-in-bf16", "the loss rounds the label's logit into bf16, and no other", CLASS,
     "xent", "op/xent/fp32/*", .inputs = &target_in_bf16},
    {"loss-mask-leaks", "the loss takes a logit of -infinity for -1e4", CLASS, "xent xent_bwd",
     "loss/masked-*", .inputs = &weak_mask},
    {"loss-rows-in-half", "the loss's mean divides by a number of rows in half", CLASS, "xent",
     "border/xent/*/rows", .wrong = rows_in_half},
    {"loss-log-of-softmax", "the loss takes the logarithm of a probability in half", CLASS, "xent",
     "op/xent/*", .wrong = log_of_half, .place = HC_PLACE_HOST},
    {"right-in-bf16", "rows that are right are counted on logits in bf16", CLASS, "xent",
     "loss/right-*", .wrong = right_in_bf16},
    {"norm-count-in-half", "the running variance's M / (M - 1) is made of two numbers in half",
     CLASS, "bn_train", "batchnorm/count-*", .wrong = count_in_half},
    {"norm-variance-in-half", "batch norm's variance is a sum of squares in half", CLASS,
     "bn_train bn_leaky_train", "op/bn_train/* op/bn_leaky_train/*", .wrong = variance_in_half},
    {"norm-rounds-before-gain", "normalised data are rounded before they meet the gain", CLASS,
     "bn_train", "op/bn_train/bf16/* op/bn_train/fp16/*", .wrong = rounded_before_gain,
     .place = HC_PLACE_HOST},
    {"adam-beta2-in-bf16", "Adam's second beta is rounded to bf16, where 0.999 is 1", CLASS,
     "adam adamw", "op/adam/* bits/adamw/* optimizer/adam-by-definition", .change = beta2_in_bf16},
    {"adam-variance-in-half", "Adam keeps its second moment in half", CLASS, "adam adamw",
     "op/adam/* bits/adamw/* optimizer/adam-by-definition", .outputs = &variance_of_adam},
    {"sgd-momentum-in-half", "SGD keeps its momentum in half", CLASS, "sgd",
     "op/sgd/* bits/sgd/* optimizer/sgd-by-definition", .outputs = &momentum_in_half,
     .place = HC_PLACE_HOST},
};

HC_FAULTS(narrow, faults);

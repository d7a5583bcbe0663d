/* The op augment, which makes batches of images in the memory where the data set lies. */
#include "case.h"

/* Of the pixels of CIFAR-10's training images, / 255 (src/train/data/data.c). */
static const double mean[] = {0.49139968, 0.48215841, 0.44653091};
static const double deviation[] = {0.24703223, 0.24348513, 0.26158784};

/* Extents of a set and of a batch. */
struct shape {
    int64_t images;
    int64_t high;
    int64_t wide;
    int64_t batch;
};

/* The first batch of a set of random pixels, in fp32, without an order and crops. Each label is its
   image's number. */
static struct hc_call batch_of(struct hc_check *check, const struct shape *s, int64_t batches)
{
    struct hc_call call = {.op = HC_OP_augment, .params.augment = {.batches = batches}};
    for (int c = 0; c < 3; c++) {
        call.params.augment.mean[c] = mean[c];
        call.params.augment.deviation[c] = deviation[c];
    }
    call.in[HC_AUGMENT_PIXELS] =
        hc_check_tensor(check, hc_tensor4(HC_U8, s->images, s->high, s->wide, 3, NULL));
    call.in[HC_AUGMENT_LABELS] = hc_check_vector(check, HC_I32, s->images);
    call.in[HC_AUGMENT_STEPS] = hc_check_vector(check, HC_I32, 1);
    call.out[HC_AUGMENT_IMAGES] =
        hc_check_tensor(check, hc_tensor4(HC_FP32, s->batch, s->high, s->wide, 3, NULL));
    call.out[HC_AUGMENT_IMAGE_LABELS] = hc_check_vector(check, HC_I32, s->batch);
    for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_AUGMENT_PIXELS]); i++)
        hc_tensor_set_bits(&call.in[HC_AUGMENT_PIXELS], i,
                           hc_random(hc_check_seed(check), 1, (uint64_t)i) >> 56);
    for (int64_t i = 0; i < s->images; i++)
        hc_tensor_set(&call.in[HC_AUGMENT_LABELS], i, (double)i);
    return call;
}

static void give_order(struct hc_check *check, struct hc_call *call, int64_t length)
{
    call->in[HC_AUGMENT_ORDER] = hc_check_vector(check, HC_I32, length);
    for (int64_t i = 0; i < length; i++)
        hc_tensor_set(&call->in[HC_AUGMENT_ORDER], i,
                      (double)(hc_random(hc_check_seed(check), 2, (uint64_t)i) %
                               (uint64_t)call->in[HC_AUGMENT_PIXELS].shape[0]));
}

static void normalised(struct hc_check *check)
{
    struct shape s = {1, 16, 16, 1};
    struct hc_call call = batch_of(check, &s, 1);
    struct hc_real *v = hc_real_new(0);
    struct hc_real *by = hc_real_new(0);
    for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_AUGMENT_PIXELS]); i++)
        hc_tensor_set_bits(&call.in[HC_AUGMENT_PIXELS], i, (uint64_t)i / 3);
    if (hc_do(check, &call) == HC_OK)
        for (int64_t i = 0; i < hc_tensor_count(&call.out[HC_AUGMENT_IMAGES]); i++) {
            hc_real_set(v, hc_tensor_get(&call.in[HC_AUGMENT_PIXELS], i));
            hc_real_set(by, 255);
            hc_real_div(v, v, by);
            hc_real_set(by, mean[i % 3]);
            hc_real_sub(v, v, by);
            hc_real_set(by, deviation[i % 3]);
            hc_real_div(v, v, by);
            hc_claim_bits(check, "a pixel's value", HC_FP32, hc_real_bits(v, HC_FP32, HC_NEAREST),
                          hc_tensor_bits(&call.out[HC_AUGMENT_IMAGES], i));
        }
    hc_real_free(v);
    hc_real_free(by);
}

/* Various sets, orders, formats and steps, each call against its reference. */
static void contract(struct hc_check *check)
{
    static const struct shape shapes[] = {
        {11, 9, 7, 4}, {3, 32, 32, 2}, {1, 5, 5, 1}, {20, 1, 1, 6}, {6, 6, 11, 7}};
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    static const int32_t steps[] = {0, 1, 2, 5, 7, 64, 1000003};
    for (uint64_t i = 0; i < 60; i++) {
        const struct shape *s = &shapes[i % 5];
        struct hc_call call = batch_of(check, s, 1 + (int64_t)(i % 3));
        struct hc_augment *p = &call.params.augment;
        call.out[HC_AUGMENT_IMAGES].format = formats[i % 3];
        p->crops = i % 2 != 0;
        p->pad = (int)(i % 5 < (uint64_t)s->high ? i % 5 : 0);
        p->seed = hc_random(hc_check_seed(check), 3, i);
        hc_tensor_set(&call.in[HC_AUGMENT_STEPS], 0, steps[i % 7]);
        if (i % 4 > 1)
            give_order(check, &call, s->images + 1);
        if (i % 3 != 1)
            call.out[HC_AUGMENT_NEW_STEPS] =
                i % 3 ? call.in[HC_AUGMENT_STEPS] : hc_check_vector(check, HC_I32, 1);
        hc_claim_call_met(check, &call);
    }
}

/* One batch after another, by a count that the op itself advances; an image beyond the set is
   zero. */
static void wraps(struct hc_check *check)
{
    struct shape s = {7, 2, 2, 3};
    struct hc_call call = batch_of(check, &s, 3);
    call.out[HC_AUGMENT_NEW_STEPS] = call.in[HC_AUGMENT_STEPS];
    for (int step = 0; step < 7; step++) {
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < 3; i++) {
            int image = step % 3 * 3 + i;
            double want = image < 7 ? image : 0;
            hc_claim_value(check, "label", want,
                           hc_tensor_get(&call.out[HC_AUGMENT_IMAGE_LABELS], i));
            bool zero = hc_tensor_get(&call.out[HC_AUGMENT_IMAGES], i * 12) == 0;
            hc_claim_true(check, "an image or nothing", zero == (image >= 7));
        }
        hc_claim_value(check, "steps", step + 1, hc_tensor_get(&call.in[HC_AUGMENT_STEPS], 0));
    }
}

static const struct hc_case cases[] = {
    {.name = "data/pixels-normalised-once",
     .title = "(pixel / 255 - mean) / deviation of every pixel is the real number rounded to fp32",
     .source = "CIFAR-10's means and deviations in fastai's cifar_stats",
     .level = HC_QUICK,
     .run = normalised},
    {.name = "data/augment",
     .title = "a batch is what its contract says: image, crop, flip, value, label, count",
     .source = "contract in src/op/control.h",
     .run = contract},
    {.name = "data/epochs-begin-again",
     .title = "a batch beyond the set is zero where there is no image, and the next epoch follows",
     .source = "contract in src/op/control.h",
     .level = HC_QUICK,
     .run = wraps},
};

HC_CASES(data_augment, cases);

/* The ops of a training step's control give the same bits on every backend. (Cases for the other
   ops whose bits are settled are generated: check/generate/bit_cases.c.) */
#include <float.h>
#include <math.h>

#include "case.h"

static uint64_t draw(const struct hc_check *check, uint64_t *at, uint64_t below)
{
    return hc_random(hc_check_seed(check), 90, (*at)++) % below;
}

static const float scales[] = {0,        0x1p-149F, 0x1.8p-126F,     1,
                               8,        65536,     0x1.fffffep23F,  0x1p24F,
                               0x1p127F, FLT_MAX,   (float)INFINITY, (float)NAN};
static const float founds[] = {0, 0, 0, 1, (float)INFINITY, (float)NAN};

/* Each rule at every kind of scale, one step before, at, and one step after its growth. */
static void scaler_updates(struct hc_check *check)
{
    struct hc_call call = {.op = HC_OP_scaler_update};
    uint64_t at = 0;
    bool ran = true;
    for (int i = 0; i < 9000 && ran; i++) {
        enum hc_scaler_rule rule = (enum hc_scaler_rule)(i % HC_SCALER_COUNT);
        call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
        call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
        call.in[HC_SCALER_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_SCALER_NEW_SCALE] = call.in[HC_SCALER_SCALE];
        call.out[HC_SCALER_NEW_COUNTS] = call.in[HC_SCALER_COUNTS];
        call.params.scaler = hc_scaler_params(&(struct hc_scaler){.rule = rule});
        hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, (double)scales[draw(check, &at, 12)]);
        hc_tensor_set(&call.in[HC_SCALER_FOUND_INF], 0, (double)founds[draw(check, &at, 6)]);
        for (int c = 0; c < HC_COUNTS; c++)
            hc_tensor_set(&call.in[HC_SCALER_COUNTS], c, (double)draw(check, &at, 3));
        int64_t clean = call.params.scaler.interval + (int64_t)draw(check, &at, 4) - 2;
        if (draw(check, &at, 2))
            hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_CLEAN,
                          (double)(clean > 0 ? clean : 0));
        ran = hc_claim_exact_bits(check, hc_scalers[rule].name, &call);
    }
}

/* Batches of CIFAR-10's shape with all pixel values, in each format, with and without crops, with
   and without an order; the last batch of an epoch is short. */
static void batches(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    enum { IMAGES = 7, SIDE = 32, BATCH = 3, BATCHES = 3 };
    struct hc_call call = {.op = HC_OP_augment};
    bool ran = true;
    call.in[HC_AUGMENT_PIXELS] =
        hc_check_tensor(check, hc_tensor4(HC_U8, IMAGES, SIDE, SIDE, 3, NULL));
    call.in[HC_AUGMENT_LABELS] = hc_check_vector(check, HC_I32, IMAGES);
    call.in[HC_AUGMENT_STEPS] = hc_check_vector(check, HC_I32, 1);
    call.in[HC_AUGMENT_ORDER] = hc_check_vector(check, HC_I32, 2 * IMAGES);
    for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_AUGMENT_PIXELS]); i++)
        hc_tensor_set_bits(&call.in[HC_AUGMENT_PIXELS], i,
                           hc_random(hc_check_seed(check), 91, (uint64_t)i) >> 56);
    for (int64_t i = 0; i < IMAGES; i++) {
        hc_tensor_set(&call.in[HC_AUGMENT_LABELS], i, (double)(10 - i));
        hc_tensor_set(&call.in[HC_AUGMENT_ORDER], i, (double)(i * 3 % IMAGES));
        hc_tensor_set(&call.in[HC_AUGMENT_ORDER], IMAGES + i, (double)(IMAGES - 1 - i));
    }
    struct hc_tensor orders = hc_tensor2(HC_I32, 2, IMAGES, call.in[HC_AUGMENT_ORDER].data);
    for (int i = 0; i < 72 && ran; i++) {
        call.in[HC_AUGMENT_ORDER] = i / 18 % 2 ? orders : (struct hc_tensor){0};
        call.params.augment =
            (struct hc_augment){.seed = hc_check_seed(check) + (uint64_t)i,
                                .batches = BATCHES,
                                .pad = 4,
                                .crops = i / 36 == 0,
                                .mean = {0.49139968, 0.48215841, 0.44653091},
                                .deviation = {0.24703223, 0.24348513, 0.26158784}};
        hc_tensor_set(&call.in[HC_AUGMENT_STEPS], 0, i % 18 < 17 ? i % 18 : 3e6 + 1);
        call.out[HC_AUGMENT_IMAGES] =
            hc_tensor4(formats[(i + i / 18) % 3], BATCH, SIDE, SIDE, 3, NULL);
        call.out[HC_AUGMENT_IMAGE_LABELS] = hc_tensor1(HC_I32, BATCH, NULL);
        call.out[HC_AUGMENT_NEW_STEPS] = call.in[HC_AUGMENT_STEPS];
        ran = hc_claim_exact_bits(check, "a batch", &call);
    }
}

static const char source[] = "src/op/control.h: every backend gives the same bits";

static const struct hc_case cases[] = {
    {"bits/scaler_update", "the rules of all loss scalers give the same bits as exact", source,
     .run = scaler_updates, .against_exact = true},
    {"bits/augment", "batches that are cropped, flipped and normalised have the same bits as exact",
     source, .run = batches, .against_exact = true},
};

HC_CASES(bits_control, cases);

/* The images of an epoch: their batches, crops and flips, and order. */
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "cases/fixture/philox.h"
#include "train/data/batch_stream.h"

/* The op augment, which makes batches of images in the memory where the data set lies. */

/* Mean and deviation of the pixels of CIFAR-10's training images, / 255 (src/train/data/data.c). */
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

/* Crops and flips, counted in whole numbers. A padded image is written down as a list of indices,
   the crop is counted out of it, and the random numbers come from the generator of
   cases/fixture/philox.c. The values of a batch say which pixels they come from. */

enum { IMAGES = 5, HIGH = 6, WIDE = 9, MOST_PAD = 5, VALUES = HIGH * WIDE * 3 };

struct draw {
    int down; /* 0 .. 2 pad */
    int right;
    bool flip;
};

/* 24 bits, as a fraction of 2^24, select one of 2 pad + 1 places. */
static struct draw draw_of(uint64_t seed, uint64_t epoch, uint64_t image, int pad)
{
    uint64_t bits = hc_case_random(seed, ((uint64_t)0x43524f50 << 32) + epoch, image);
    uint64_t places = (uint64_t)(2 * pad + 1);
    struct draw d = {(int)(bits % 0x1000000 * places / 0x1000000),
                     (int)(bits / 0x1000000 % 0x1000000 * places / 0x1000000),
                     bits >= 0x8000000000000000u};
    return d;
}

/* Where the elements of a padded row come from: pad, ..., 2, 1, 0, 1, ..., n - 1, n - 2, ... */
static void padded(int n, int pad, int from[])
{
    int count = 0;
    for (int i = pad; i > 0; i--)
        from[count++] = i;
    for (int i = 0; i < n; i++)
        from[count++] = i;
    for (int i = 0; i < pad; i++)
        from[count++] = n - 2 - i;
}

/* A pixel tells its row, its column and its image. */
static uint8_t pixel_of(int image, int y, int x, int c)
{
    return (uint8_t)(c == 0 ? 16 * y + x : c == 1 ? image : 255 - (16 * y + x));
}

/* One batch of all images. (pixel / 255) / (1 / 255) is a whole number when it is rounded to
   fp32. */
static struct hc_call batch_of_crops(struct hc_check *check, int pad, uint64_t seed)
{
    struct hc_call call = {.op = HC_OP_augment,
                           .params.augment = {.seed = seed,
                                              .batches = 1,
                                              .pad = pad,
                                              .crops = true,
                                              .deviation = {1 / 255.0, 1 / 255.0, 1 / 255.0}}};
    call.in[HC_AUGMENT_PIXELS] =
        hc_check_tensor(check, hc_tensor4(HC_U8, IMAGES, HIGH, WIDE, 3, NULL));
    call.in[HC_AUGMENT_LABELS] = hc_check_vector(check, HC_I32, IMAGES);
    call.in[HC_AUGMENT_STEPS] = hc_check_vector(check, HC_I32, 1);
    call.out[HC_AUGMENT_IMAGES] = hc_tensor4(
        HC_FP32, IMAGES, HIGH, WIDE, 3, hc_check_memory(check, sizeof(float) * IMAGES * VALUES));
    call.out[HC_AUGMENT_IMAGE_LABELS] = hc_check_vector(check, HC_I32, IMAGES);
    uint8_t *pixels = call.in[HC_AUGMENT_PIXELS].data;
    for (int i = 0; i < IMAGES * VALUES; i++)
        pixels[i] = pixel_of(i / VALUES, i % VALUES / (3 * WIDE), i / 3 % WIDE, i % 3);
    return call;
}

static int64_t wrong_pixels(const struct hc_call *call, int image, struct draw d)
{
    int rows[HIGH + 2 * MOST_PAD];
    int columns[WIDE + 2 * MOST_PAD];
    int64_t wrong = 0;
    padded(HIGH, call->params.augment.pad, rows);
    padded(WIDE, call->params.augment.pad, columns);
    for (int i = 0; i < VALUES; i++) {
        int y = i / (3 * WIDE);
        int x = i / 3 % WIDE;
        int want = pixel_of(image, rows[y + d.down], columns[(d.flip ? WIDE - 1 - x : x) + d.right],
                            i % 3);
        wrong += hc_tensor_get(&call->out[HC_AUGMENT_IMAGES], (int64_t)image * VALUES + i) != want;
    }
    return wrong;
}

/* Runs one epoch; marks the corner, if it is one, and the side that each image showed. */
static bool epoch(struct hc_check *check, struct hc_call *call, int32_t number, bool seen[2][2][2])
{
    int most = 2 * call->params.augment.pad;
    hc_tensor_set(&call->in[HC_AUGMENT_STEPS], 0, number);
    if (hc_do(check, call) != HC_OK)
        return false;
    for (int i = 0; i < IMAGES; i++) {
        struct draw d = draw_of(call->params.augment.seed, (uint64_t)number, (uint64_t)i, most / 2);
        hc_claim_value(check, "pixels that come from elsewhere", 0,
                       (double)wrong_pixels(call, i, d));
        if (d.down % most == 0 && d.right % most == 0)
            seen[d.down / most][d.right / most][d.flip] = true;
    }
    return true;
}

/* Whether an image of that epoch is drawn in a corner that has not been seen yet. */
static bool brings(uint64_t seed, int32_t number, int pad, bool seen[2][2][2])
{
    int most = 2 * pad;
    for (uint64_t i = 0; i < IMAGES; i++) {
        struct draw d = draw_of(seed, (uint64_t)number, i, pad);
        if (d.down % most == 0 && d.right % most == 0 &&
            !seen[d.down / most][d.right / most][d.flip])
            return true;
    }
    return false;
}

/* All four corners, flipped and not, and some other epochs, among them the last that the count can
   hold. */
static void corners(struct hc_check *check)
{
    static const int pads[] = {1, 2, 4, 5};
    static const int32_t epochs[] = {0, 1, 255, 65535, 65536, 65537, 0x1000000, 0x7ffffffe};
    for (int p = 0; p < 4; p++) {
        uint64_t seed = hc_random(hc_check_seed(check), 9, (uint64_t)p);
        struct hc_call call = batch_of_crops(check, pads[p], seed);
        bool seen[2][2][2] = {{{false}}};
        for (size_t e = 0; e < sizeof epochs / sizeof epochs[0]; e++)
            if (!epoch(check, &call, epochs[e], seen))
                return;
        for (int32_t number = 2; number < 4000; number++)
            if (brings(seed, number, pads[p], seen) && !epoch(check, &call, number, seen))
                return;
        hc_claim_true(check, "all corners were cut out, flipped and not",
                      !memchr(seen, false, sizeof seen));
    }
}

/* The order of the images in an epoch is a uniform permutation, and each epoch has another one.

   A shuffle may look right and be none: Sattolo's, which draws from one place less, leaves no image
   where it was and reaches only the cycles; one that draws from all places each time favours some
   orders; one without the epoch repeats itself. So permutations of four images are counted.

   The bounds: of E = 24,000 epochs each of the 24 orders is expected 1000 times, with a variance of
   at most 1000. Bernstein's inequality gives P(|count - 1000| >= 250) <= 2 exp(-250^2 / (2 (1000 +
   250 / 3))) < 6e-13, and less than 2e-11 for all of them. Two epochs that follow each other have
   the same order in one of 24 cases: 1000 times again. Of 50 images one stays in place on average,
   whatever their number; over 2000 epochs that are 2000 with a variance of 2000, and P(|fixed -
   2000| >= 500) < 2 exp(-500^2 / (2 (2000 + 500 * 50 / 3))) = 2 exp(-12.1) by the same inequality,
   in which one epoch has at most 50; the seeds are fixed, so this is decided once for each. */

enum { FEW = 4, ORDERS = 24, EPOCHS = 24000, MANY = 50, LONG = 2000 };

/* The number of a permutation of four, by Lehmer's code. */
static int number_of(const int32_t *order)
{
    int number = 0;
    for (int i = 0; i < FEW; i++) {
        int smaller = 0;
        for (int k = i + 1; k < FEW; k++)
            smaller += order[k] < order[i];
        number = number * (FEW - i) + smaller;
    }
    return number;
}

static bool is_permutation(const int32_t *order, int n)
{
    bool seen[MANY] = {false};
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]])
            return false;
        seen[order[i]] = true;
    }
    return true;
}

static void uniform(struct hc_check *check)
{
    struct hc_dataset set = {.train = {.count = FEW}};
    struct hc_batch_stream stream = {
        .set = &set, .train = true, .batch = 1, .seed = hc_check_seed(check)};
    int32_t order[MANY];
    int count[ORDERS] = {0};
    int same = 0;
    int before = -1;
    bool permutations = true;
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        hc_batch_stream_order(&stream, epoch, order);
        permutations &= is_permutation(order, FEW);
        int number = permutations ? number_of(order) : 0;
        count[number]++;
        same += number == before;
        before = number;
    }
    hc_claim_true(check, "each order has every image once", permutations);
    const double each = (double)EPOCHS / ORDERS;
    for (int i = 0; i < ORDERS; i++) {
        char what[40];
        (void)snprintf(what, sizeof what, "epochs with order %d", i);
        hc_claim_within(check, what, each, count[i], 250);
    }
    hc_claim_within(check, "epochs with the order before", each, same, 250);
    int fixed = 0;
    set.train.count = MANY;
    for (int64_t epoch = 0; epoch < LONG; epoch++) {
        hc_batch_stream_order(&stream, epoch, order);
        for (int i = 0; i < MANY; i++)
            fixed += order[i] == i;
    }
    hc_claim_within(check, "images that stay in place", LONG, fixed, 500);
}

static const struct hc_case cases[] = {
    {"data/pixels-normalised-once",
     "(pixel / 255 - mean) / deviation of every pixel is the real number rounded to fp32",
     "CIFAR-10's means and deviations in fastai's cifar_stats", .level = HC_QUICK,
     .run = normalised},
    {"data/augment", "a batch is what its contract says: image, crop, flip, value, label, count",
     "contract in src/op/control.h", .run = contract},
    {"data/epochs-begin-again",
     "a batch beyond the set is zero where there is no image, and the next epoch follows",
     "contract in src/op/control.h", .level = HC_QUICK, .run = wraps},
    {"data/crops-in-every-corner",
     "a crop of each corner, flipped or not, and of any epoch shows the pixels that its random "
     "numbers say, counted out in whole numbers",
     "contract in src/op/control.h; cifar10 in fastai: reflection padding, crop, flip",
     .run = corners},
    {"data/order-is-uniform",
     "the order of an epoch's images is a uniform permutation, another one each epoch",
     "Knuth, The Art of Computer Programming, vol. 2, 3.4.2, algorithm P", .level = HC_STANDARD,
     .once = true, .run = uniform},
};

HC_CASES(data_augment, cases);

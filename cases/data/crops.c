/* Crops and flips, counted in whole numbers. A padded image is written down as a list of indices,
   the crop is counted out of it, and the random numbers come from the generator of
   cases/fixture/philox.c. The values of a batch say which pixels they come from. */
#include <string.h>

#include "cases/fixture/philox.h"
#include "case.h"

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
static struct hc_call batch_of(struct hc_check *check, int pad, uint64_t seed)
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
        struct hc_call call = batch_of(check, pads[p], seed);
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

static const struct hc_case cases[] = {
    {.name = "data/crops-in-every-corner",
     .title = "a crop of each corner, flipped or not, and of any epoch shows the pixels that its "
              "random numbers say, counted out in whole numbers",
     .source = "contract in src/op/control.h; cifar10 in fastai: reflection padding, crop, flip",
     .run = corners},
};

HC_CASES(data_crops, cases);

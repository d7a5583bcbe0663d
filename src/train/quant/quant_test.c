/* Convolutions below half against the same convolution of integers, in fp64 and as loops. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "train/quant/quant.h"

/* 5 pixels under a filter of 3 that goes two at a time; 16 under a filter of 1, which are whole
   groups for Hadamard's matrix. */
static const struct hc_quant_shape shapes[] = {
    {.images = 16, .side = 5, .channels = 5, .filters = 9, .kernel = 3, .stride = 2, .pad = 1},
    {.images = 16, .side = 4, .channels = 40, .filters = 20, .kernel = 1, .stride = 1},
};
enum { SHAPES = 2, MOST = 16 * 4 * 4 * 40 };

static struct hc_device device;
static struct hc_quant *quant;
static float x[MOST], w[MOST], y[MOST], dy[MOST], dx[MOST], dw[MOST];

static void open_as(enum hc_quant_row row, int64_t history)
{
    device = (struct hc_device){.backend = hc_backend_by_name("exact")};
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(
        hc_quant_open(&quant, &device, &hc_quant_recipes[row], history, shapes, SHAPES, HC_FP32),
        HC_OK, "%s", hc_message());
}

static void close_all(void)
{
    hc_quant_close(quant);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

static int64_t side_of(const struct hc_quant_shape *s)
{
    return (s->side + 2 * s->pad - s->kernel) / s->stride + 1;
}

static struct hc_tensor image(const struct hc_quant_shape *s, float *data)
{
    return hc_tensor4(HC_FP32, s->images, s->side, s->side, s->channels, data);
}

static struct hc_tensor result(const struct hc_quant_shape *s, float *data)
{
    return hc_tensor4(HC_FP32, s->images, side_of(s), side_of(s), s->filters, data);
}

static struct hc_tensor filter(const struct hc_quant_shape *s, float *data)
{
    return hc_tensor4(HC_FP32, s->filters, s->kernel, s->kernel, s->channels, data);
}

/* -2 to 2. Every format of codes holds them under every rule's scale, which takes the largest
   number to M, to a power of two below it, or leaves it: t = fl(x s) has two bits at most, times
   M's own. */
static void fill(struct hc_tensor t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, (double)(hc_random(7, stream, (uint64_t)i) % 5) - 2);
    hc_tensor_set(&t, 0, 2);
}

static enum hc_status pass(int layer)
{
    const struct hc_quant_shape *s = &shapes[layer];
    enum hc_status status = hc_quant_forward(quant, layer, image(s, x), filter(s, w), result(s, y));
    if (status == HC_OK)
        status = hc_quant_to_input(quant, layer, result(s, dy), filter(s, w), image(s, dx));
    return status == HC_OK
               ? hc_quant_to_filter(quant, layer, image(s, x), result(s, dy), filter(s, dw))
               : status;
}

/* The three sums of products and of their magnitudes. */
struct sums {
    double y[MOST][2], dx[MOST][2], dw[MOST][2];
};

static void add(double sum[2], double a, double b)
{
    sum[0] += a * b;
    sum[1] += fabs(a * b);
}

static void convolve(const struct hc_quant_shape *s, struct sums *sums)
{
    int64_t side = side_of(s);
    memset(sums, 0, sizeof *sums);
    for (int64_t pixel = 0; pixel < s->images * side * side; pixel++)
        for (int64_t tap = 0; tap < (int64_t)s->kernel * s->kernel; tap++) {
            int64_t h = pixel / side % side * s->stride + tap / s->kernel - s->pad;
            int64_t v = pixel % side * s->stride + tap % s->kernel - s->pad;
            if (h < 0 || h >= s->side || v < 0 || v >= s->side)
                continue;
            int64_t from = ((pixel / side / side * s->side + h) * s->side + v) * s->channels;
            for (int64_t k = 0; k < s->filters; k++)
                for (int64_t c = 0; c < s->channels; c++) {
                    int64_t at = (k * s->kernel * s->kernel + tap) * s->channels + c;
                    double g = (double)dy[pixel * s->filters + k];
                    add(sums->y[pixel * s->filters + k], (double)x[from + c], (double)w[at]);
                    add(sums->dx[from + c], g, (double)w[at]);
                    add(sums->dw[at], g, (double)x[from + c]);
                }
        }
}

/* Codes hold the integers exactly, so that all error is that of scales: an encoding factor, a
   decoding one and a product with it for each operand, two levels twice, and no more than two
   roundings for each of the sum's K / 16 pieces and of a filter's 9 places. */
static void expect_sums(const char *row, const char *of, const float *got, double want[][2],
                        int64_t n, double pieces)
{
    for (int64_t i = 0; i < n; i++)
        cr_assert_leq(fabs((double)got[i] - want[i][0]), (20 + 2 * pieces) * 0x1p-24 * want[i][1],
                      "%s: %s[%lld] is %g, not %g", row, of, (long long)i, (double)got[i],
                      want[i][0]);
}

static void expect_integers(enum hc_quant_row row, int layer)
{
    static struct sums sums;
    const struct hc_quant_shape *s = &shapes[layer];
    const char *name = hc_quant_recipes[row].name;
    int64_t side = side_of(s);
    int64_t pixels = s->images * side * side;
    int64_t taps = (int64_t)s->kernel * s->kernel * s->channels;
    cr_assert_eq(pass(layer), HC_OK, "%s: %s", name, hc_message());
    convolve(s, &sums);
    expect_sums(name, "y", y, sums.y, pixels * s->filters, (double)taps / 16);
    expect_sums(name, "dx", dx, sums.dx, s->images * s->side * s->side * s->channels,
                (double)s->filters / 16 + 9);
    expect_sums(name, "dw", dw, sums.dw, s->filters * taps, (double)pixels / 16);
}

static bool has_hadamard(enum hc_quant_row row)
{
    return hc_quant_recipes[row].product[HC_QUANT_DW].a.hadamard;
}

Test(quant, every_row_multiplies_small_integers_as_they_are)
{
    for (int row = HC_BY_IM2COL; row < HC_QUANT_ROWS; row++) {
        open_as((enum hc_quant_row)row, 0);
        for (int layer = 0; layer < SHAPES && !has_hadamard((enum hc_quant_row)row); layer++) {
            fill(image(&shapes[layer], x), 1);
            fill(filter(&shapes[layer], w), 2);
            fill(result(&shapes[layer], dy), 3);
            expect_integers((enum hc_quant_row)row, layer);
        }
        close_all();
    }
}

/* Hadamard's matrix takes 16 numbers that are its signs times v to 4 v and 15 zeros, which codes
   hold. */
Test(quant, hadamards_matrix_in_both_operands_cancels_in_the_gradient_of_the_filter)
{
    static const char signs[] = "+++-+------+-+--";
    const struct hc_quant_shape *s = &shapes[1];
    for (int row = HC_BY_NVFP4; row < HC_QUANT_ROWS; row++) {
        if (!has_hadamard((enum hc_quant_row)row))
            continue;
        open_as((enum hc_quant_row)row, 0);
        fill(filter(s, w), 2);
        for (int64_t i = 0; i < 256; i++) {
            float sign = signs[i % 16] == '+' ? 1 : -1;
            for (int64_t c = 0; c < s->channels; c++)
                x[i * s->channels + c] = sign * (float)(1 + (c + i / 16) % 2);
            for (int64_t k = 0; k < s->filters; k++)
                dy[i * s->filters + k] = sign * (float)((k + i / 16) % 3);
        }
        expect_integers((enum hc_quant_row)row, 1);
        close_all();
    }
}

Test(quant, names_are_those_of_the_rows)
{
    for (int row = 0; row < HC_QUANT_ROWS; row++) {
        cr_expect_str_eq(hc_quant_names[row], hc_quant_recipes[row].name);
        cr_expect(hc_quant_recipes[row].title && hc_quant_recipes[row].source);
    }
    cr_expect_null(hc_quant_names[HC_QUANT_ROWS]);
    cr_expect(hc_quant_is_random(&hc_quant_recipes[HC_BY_NVFP4]));
    cr_expect_not(hc_quant_is_random(&hc_quant_recipes[HC_BY_NVFP4_NO_SR]));
}

Test(quant, pixels_that_are_no_groups_for_hadamards_matrix_are_refused)
{
    struct hc_quant_shape shape = shapes[1];
    shape.images = 3;
    shape.side = 2;
    device = (struct hc_device){.backend = hc_backend_by_name("exact")};
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    for (int row = HC_BY_IM2COL; row < HC_QUANT_ROWS; row++) {
        enum hc_status status =
            hc_quant_open(&quant, &device, &hc_quant_recipes[row], 0, &shape, 1, HC_FP32);
        cr_expect_eq(status, has_hadamard((enum hc_quant_row)row) ? HC_INVALID : HC_OK, "%s",
                     hc_quant_names[row]);
        hc_quant_close(quant);
    }
    cr_expect_str_eq(hc_message(),
                     "nvfp4-1d multiplies groups of 16 pixels, and a layer of this batch has 12");
    device.backend->close(device.queue);
}

static float state(int which, int64_t i)
{
    return ((const float *)hc_quant_state(quant, which).data)[i];
}

/* x of layer 0 and its weight, dy of it; the other layer is idle. */
static void step(float amax)
{
    for (int64_t i = 0; i < MOST; i++)
        x[i] = w[i] = dy[i] = 0;
    x[3] = amax;
    w[4] = -2 * amax;
    dy[5] = 4 * amax;
    cr_assert_eq(pass(0), HC_OK, "%s", hc_message());
}

Test(quant, delayed_scales_come_from_the_steps_before_and_idle_layers_keep_theirs)
{
    open_as(HC_BY_TE_DELAYED, 2);
    step(7);
    cr_expect_eq(state(1, 0), 1, "before the first update the scale is 1");
    cr_assert_eq(hc_quant_update(quant), HC_OK, "%s", hc_message());
    cr_expect_eq(state(1, 0), 64, "x: 448 / 7 is %g", (double)state(1, 0));
    cr_expect_eq(state(1, SHAPES), 32, "w: 448 / 14 is %g", (double)state(1, SHAPES));
    cr_expect_eq(state(3, 0), 2048, "dy: 57344 / 28 is %g", (double)state(3, 0));
    cr_expect_eq(state(1, 1), 1, "the idle layer's scale is %g", (double)state(1, 1));
    step(3.5F);
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    cr_expect_eq(state(1, 0), 64, "7 is still in the history: %g", (double)state(1, 0));
    step(3.5F);
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    cr_expect_eq(state(1, 0), 128, "7 has left the history of two: %g", (double)state(1, 0));
    close_all();
}

Test(quant, a_layer_that_ran_in_an_earlier_step_is_idle_in_one_that_passes_it_by)
{
    open_as(HC_BY_TE_DELAYED, 2);
    step(7);
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    step(3.5F);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(hc_quant_update(quant), HC_OK);
        cr_expect_eq(state(1, 0), 64, "%d idle steps: %g", i, (double)state(1, 0));
    }
    close_all();
}

Test(quant, an_evaluation_leaves_histories_scales_and_amaxes_as_they_are)
{
    open_as(HC_BY_TE_DELAYED, 4);
    step(7);
    hc_quant_hold(quant, true);
    step(448);
    hc_quant_hold(quant, false);
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    cr_expect_eq(state(1, 0), 64, "the evaluation's amax came into the scale: %g",
                 (double)state(1, 0));
    close_all();
}

Test(quant, an_infinite_amax_freezes_the_scale_as_long_as_it_is_in_the_history)
{
    open_as(HC_BY_TE_DELAYED, 3);
    step(7);
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    step(INFINITY);
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(hc_quant_update(quant), HC_OK);
        cr_expect_eq(state(1, 0), 64, "update %d: %g", i, (double)state(1, 0));
        step(14);
    }
    cr_assert_eq(hc_quant_update(quant), HC_OK);
    cr_expect_eq(state(1, 0), 32, "%g", (double)state(1, 0));
    close_all();
}

/* nvfp4 rounds dy stochastically: the same step gives the same bits, another step others. */
Test(quant, random_bits_are_those_of_the_step)
{
    static float first[MOST];
    const struct hc_quant_shape *s = &shapes[1];
    int same[3];
    open_as(HC_BY_NVFP4, 0);
    for (int64_t i = 0; i < MOST; i++) {
        x[i] = w[i] = (float)hc_random_uniform(3, 1, (uint64_t)i) - 0.5F;
        dy[i] = (float)hc_random_uniform(3, 2, (uint64_t)i) - 0.5F;
    }
    for (int i = 0; i < 3; i++) {
        hc_quant_step(quant, 5, i == 2 ? 8 : 9);
        cr_assert_eq(pass(1), HC_OK, "%s", hc_message());
        if (i == 0)
            memcpy(first, dw, sizeof first);
        same[i] = memcmp(first, dw, (size_t)(s->filters * s->channels) * sizeof *dw) == 0;
    }
    cr_expect(same[1]);
    cr_expect_not(same[2]);
    close_all();
}

/* Factors whose blocks differ: no row of the table has that, but each factor's blocks are its
   own. */

enum { IMAGES = 4, SIDE = 2, PIXELS = IMAGES * SIDE * SIDE, CHANNELS = 96, FILTERS = 3 };

/* Powers of two scale integers without a rounding. */
static const struct hc_quant_recipe unlike = {
    .name = "unlike",
    .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32},
                                .b = {HC_E4M3, HC_SCALE_MX_FLOOR, 2, 48}},
                [HC_QUANT_DX] = {.plain = true},
                [HC_QUANT_DW] = {.plain = true}}};

static float bx[PIXELS * CHANNELS], bw[FILTERS * CHANNELS], by[PIXELS * FILTERS];

/* -3 to 3, times a power of two for each 16 numbers, so that blocks have scales of their own. */
static void fill_blocks(float *to, int n, uint64_t stream)
{
    for (int i = 0; i < n; i++) {
        float block = (float)(1 << hc_random(7, stream + 1, (uint64_t)i / 16) % 5);
        to[i] = ((float)(hc_random(7, stream, (uint64_t)i) % 7) - 3) * block;
    }
}

Test(quant_blocks, each_factor_is_decoded_by_its_own_blocks)
{
    const struct hc_quant_shape shape = {.images = IMAGES,
                                         .side = SIDE,
                                         .channels = CHANNELS,
                                         .filters = FILTERS,
                                         .kernel = 1,
                                         .stride = 1};
    struct hc_device device = {.backend = hc_backend_by_name("exact")};
    struct hc_quant *quant;
    fill_blocks(bx, PIXELS * CHANNELS, 1);
    fill_blocks(bw, FILTERS * CHANNELS, 3);
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_quant_open(&quant, &device, &unlike, 0, &shape, 1, HC_FP32), HC_OK);
    cr_assert_eq(hc_quant_forward(quant, 0, hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, CHANNELS, bx),
                                  hc_tensor4(HC_FP32, FILTERS, 1, 1, CHANNELS, bw),
                                  hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, FILTERS, by)),
                 HC_OK, "%s", hc_message());
    for (int i = 0; i < PIXELS * FILTERS; i++) {
        double want = 0;
        for (int k = 0; k < CHANNELS; k++)
            want += (double)bx[i / FILTERS * CHANNELS + k] * (double)bw[i % FILTERS * CHANNELS + k];
        cr_expect_eq(by[i], want, "[%d]: got %g, want %g", i, (double)by[i], want);
    }
    hc_quant_close(quant);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

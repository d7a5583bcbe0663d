/* Factors whose blocks differ: no row of the table has that, but each factor's blocks are its
   own. */
#include <criterion/criterion.h>

#include "num/rng.h"
#include "train/quant/quant.h"

enum { IMAGES = 4, SIDE = 2, PIXELS = IMAGES * SIDE * SIDE, CHANNELS = 96, FILTERS = 3 };

/* Powers of two scale integers without a rounding. */
static const struct hc_quant_recipe unlike = {
    .name = "unlike",
    .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32},
                                .b = {HC_E4M3, HC_SCALE_MX_FLOOR, 2, 48}},
                [HC_QUANT_DX] = {.plain = true},
                [HC_QUANT_DW] = {.plain = true}}};

static float x[PIXELS * CHANNELS], w[FILTERS * CHANNELS], y[PIXELS * FILTERS];

/* -3 to 3, times a power of two for each 16 numbers, so that blocks have scales of their own. */
static void fill(float *to, int n, uint64_t stream)
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
    fill(x, PIXELS * CHANNELS, 1);
    fill(w, FILTERS * CHANNELS, 3);
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
    cr_assert_eq(hc_quant_open(&quant, &device, &unlike, 0, &shape, 1, HC_FP32), HC_OK);
    cr_assert_eq(hc_quant_forward(quant, 0, hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, CHANNELS, x),
                                  hc_tensor4(HC_FP32, FILTERS, 1, 1, CHANNELS, w),
                                  hc_tensor4(HC_FP32, IMAGES, SIDE, SIDE, FILTERS, y)),
                 HC_OK, "%s", hc_message());
    for (int i = 0; i < PIXELS * FILTERS; i++) {
        double want = 0;
        for (int k = 0; k < CHANNELS; k++)
            want += (double)x[i / FILTERS * CHANNELS + k] * (double)w[i % FILTERS * CHANNELS + k];
        cr_expect_eq(y[i], want, "[%d]: got %g, want %g", i, (double)y[i], want);
    }
    hc_quant_close(quant);
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* The matrices of quantised convolutions in fp64, beside the ops of a backend on numbers that both
   hold. */
#include <criterion/criterion.h>

#include "train/drift/drift_rounding.h"
#include "train/net/device.h"

static struct hc_device device;

static void setup(void)
{
    device.backend = hc_backend_by_name("exact");
    cr_assert_eq(device.backend->open(device.backend, &device.queue, 1), HC_OK);
}

static void teardown(void)
{
    hc_device_end(&device);
    device.backend->close(device.queue);
}

/* Column i of Hadamard's matrix is 16 times itself / 4: 4 in row i gives 1 or -1 everywhere, which
   e4m3 holds. Rows and columns of x are as many as those of its transpose. */
Test(drift_matrix, neighbours_are_turned_and_transposed_as_by_quantize, .init = setup,
     .fini = teardown)
{
    float x[HC_HADAMARD * HC_HADAMARD] = {0};
    double wide[HC_HADAMARD * HC_HADAMARD];
    double got[HC_HADAMARD * HC_HADAMARD];
    uint8_t codes[HC_HADAMARD * HC_HADAMARD];
    float one = 1;
    float scale;
    float numbers[2];
    for (int i = 0; i < HC_HADAMARD; i++)
        x[i * HC_HADAMARD + (i * 3 + 5) % HC_HADAMARD] = 4;
    for (int i = 0; i < HC_HADAMARD * HC_HADAMARD; i++)
        wide[i] = (double)x[i];
    for (int how = 0; how < 4; how++) {
        struct hc_tensor narrow = hc_tensor2(HC_FP32, HC_HADAMARD, HC_HADAMARD, x);
        struct hc_call call = {
            .op = HC_OP_quantize,
            .in = {[HC_QUANTIZE_X] = narrow, [HC_QUANTIZE_SCALE] = hc_tensor1(HC_FP32, 1, &one)},
            .out = {[HC_QUANTIZE_CODES] = hc_tensor2(HC_E4M3, HC_HADAMARD, HC_HADAMARD, codes),
                    [HC_QUANTIZE_SCALES] = hc_tensor2(HC_FP32, 1, 1, &scale),
                    [HC_QUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &numbers[0]),
                    [HC_QUANTIZE_AMAX] = hc_tensor1(HC_FP32, 1, &numbers[1])},
            .params.quantize = {.rule = HC_SCALE_GIVEN, .transpose = how & 1, .hadamard = how & 2}};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_QUANTIZE_X].format = HC_FP64;
        call.in[HC_QUANTIZE_X].data = wide;
        hc_matrix_take(&call, got);
        for (int i = 0; i < HC_HADAMARD * HC_HADAMARD; i++)
            cr_assert_eq(got[i], hc_tensor_get(&call.out[HC_QUANTIZE_CODES], i), "%d: %d", how, i);
    }
}

/* 5 rows and 70 columns in blocks of 2 and 32 leave smaller blocks at both ends. */
Test(drift_matrix, codes_are_decoded_as_by_dequantize, .init = setup, .fini = teardown)
{
    enum { ROWS = 5, COLUMNS = 70, COUNT = ROWS * COLUMNS };
    uint8_t codes[COUNT];
    uint8_t scales[9];
    float tensor = 0.25F;
    float want[COUNT];
    double got[COUNT];
    for (int i = 0; i < COUNT; i++)
        codes[i] = (uint8_t)(i % 16);
    for (int i = 0; i < 9; i++)
        scales[i] = (uint8_t)(0x30 + 5 * i);
    struct hc_call call = {.op = HC_OP_dequantize,
                           .in = {[HC_DEQUANTIZE_CODES] = hc_tensor2(HC_E2M1, ROWS, COLUMNS, codes),
                                  [HC_DEQUANTIZE_SCALES] = hc_tensor2(HC_UE4M3, 3, 3, scales),
                                  [HC_DEQUANTIZE_TENSOR] = hc_tensor1(HC_FP32, 1, &tensor)},
                           .out = {[HC_DEQUANTIZE_Y] = hc_tensor2(HC_FP32, ROWS, COLUMNS, want)},
                           .params.dequantize = {2, 32}};
    struct hc_call quantize = {
        .op = HC_OP_quantize,
        .out = {[HC_QUANTIZE_CODES] = call.in[HC_DEQUANTIZE_CODES],
                [HC_QUANTIZE_SCALES] = call.in[HC_DEQUANTIZE_SCALES],
                [HC_QUANTIZE_TENSOR] = call.in[HC_DEQUANTIZE_TENSOR]},
        .params.quantize = {.rule = HC_SCALE_NVFP4_TE, .rows = 2, .columns = 32}};
    cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
    hc_matrix_decode(&quantize, got);
    for (int i = 0; i < COUNT; i++)
        cr_assert_eq(got[i], (double)want[i], "%d", i);
}

/* Small integers, of which fp32 holds every sum. */
Test(drift_matrix, columns_are_gathered_and_scattered_as_by_im2col_and_col2im, .init = setup,
     .fini = teardown)
{
    enum { N = 2, H = 5, W = 7, C = 3, MOST = N * H * W * 25 * C };
    static const struct hc_columns filters[] = {
        {1, 1, 0}, {3, 1, 1}, {3, 2, 1}, {2, 3, 0}, {5, 2, 2}};
    static float x[MOST];
    static float columns[MOST];
    static double wide[MOST];
    static double got[MOST];
    for (size_t f = 0; f < sizeof filters / sizeof filters[0]; f++) {
        const struct hc_columns *p = &filters[f];
        int64_t pixels = (int64_t)N * ((H + 2 * p->pad - p->kernel) / p->stride + 1) *
                         ((W + 2 * p->pad - p->kernel) / p->stride + 1);
        int64_t taps = (int64_t)p->kernel * p->kernel * C;
        for (int i = 0; i < MOST; i++)
            x[i] = (float)(wide[i] = i % 101 - 50);
        struct hc_call call = {
            .op = HC_OP_im2col,
            .in = {[HC_IM2COL_X] = hc_tensor4(HC_FP32, N, H, W, C, x)},
            .out = {[HC_IM2COL_COLUMNS] = hc_tensor2(HC_FP32, pixels, taps, columns)},
            .params.columns = *p};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_IM2COL_X].data = wide;
        call.out[HC_IM2COL_COLUMNS].data = got;
        hc_matrix_gather(&call);
        for (int64_t i = 0; i < pixels * taps; i++)
            cr_assert_eq(got[i], (double)columns[i], "filter %zu: %lld", f, (long long)i);
        call = (struct hc_call){
            .op = HC_OP_col2im,
            .in = {[HC_COL2IM_COLUMNS] = hc_tensor2(HC_FP32, pixels, taps, columns)},
            .out = {[HC_COL2IM_DX] = hc_tensor4(HC_FP32, N, H, W, C, x)},
            .params.columns = *p};
        cr_assert_eq(hc_device_run(&device, &call), HC_OK, "%s", hc_message());
        call.in[HC_COL2IM_COLUMNS].data = got;
        call.out[HC_COL2IM_DX].data = wide;
        call.out[HC_COL2IM_DX].format = HC_FP64;
        hc_matrix_scatter(&call);
        for (int i = 0; i < N * H * W * C; i++)
            cr_assert_eq(wide[i], (double)x[i], "filter %zu: %d", f, i);
    }
}

/* quantize, dequantize and stochastic_cast, emulated, of more elements than a launch has threads:
   each thread goes on to another block. */
#include <string.h>

#include "kernels/cuda/launch.h"
#include "kernels/exact/testing.h"
#include "num/rng.h"
#include "op/quant.h"

enum { ROWS = 7, COLUMNS = 40003, COUNT = ROWS * COLUMNS };
_Static_assert(COUNT > HC_CUDA_BLOCKS * HC_CUDA_THREADS, "a launch would have enough threads");

static void run_on(const char *name, struct hc_call call)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    struct hc_queue *queue = NULL;
    cr_assert_eq(hc_call_check(&call), HC_OK, "%s", hc_message());
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK);
    size_t bytes = backend->scratch ? backend->scratch(queue, &call) : 0;
    call.scratch = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
    cr_assert_eq(backend->kernel[call.op](queue, &call), HC_OK, "%s", hc_message());
    free(call.scratch);
    backend->close(queue);
}

/* The call's outputs, and those of `exact`. */
static void expect_bits_of_exact(struct hc_call call)
{
    struct hc_tensor got[HC_MAX_OUT];
    memcpy(got, call.out, sizeof got);
    run_on("cuda-emulated", call);
    for (int o = 0; o < hc_ops[call.op].outputs; o++)
        call.out[o] = made(got[o]);
    run_on("exact", call);
    for (int o = 0; o < hc_ops[call.op].outputs; o++)
        cr_expect_eq(memcmp(got[o].data, call.out[o].data, hc_tensor_bytes(&got[o])), 0,
                     "output %d of %s", o, hc_ops[call.op].name);
}

/* Normal numbers of all sizes: each block has another amax. */
static struct hc_tensor numbers(void)
{
    struct hc_tensor t = made(hc_tensor2(HC_FP32, ROWS, COLUMNS, NULL));
    for (int64_t i = 0; i < COUNT; i++)
        hc_tensor_set(&t, i, hc_random_normal(3, 1, (uint64_t)i) * (double)(i % 97 + 1));
    return t;
}

static struct hc_call quantize(struct hc_quantize p)
{
    return (struct hc_call){
        .op = HC_OP_quantize,
        .in = {numbers()},
        .out = {made(hc_tensor2(HC_E4M3, ROWS, COLUMNS, NULL)),
                made(hc_tensor2(hc_scale_format(p.rule), hc_quant_blocks(ROWS, p.rows),
                                hc_quant_blocks(COLUMNS, p.columns), NULL)),
                made(hc_tensor1(HC_FP32, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))},
        .params.quantize = p,
    };
}

Test(cuda_quant, finds_the_amax_of_every_block_that_a_thread_meets)
{
    expect_bits_of_exact(quantize((struct hc_quantize){.rule = HC_SCALE_TE_CURRENT}));
    expect_bits_of_exact(
        quantize((struct hc_quantize){.rule = HC_SCALE_TE_BLOCK_FP32, .rows = 1, .columns = 128}));
    expect_bits_of_exact(quantize((struct hc_quantize){
        .rule = HC_SCALE_MX_RP, .rows = 3, .columns = 32, .random_bits = 9, .seed = 5}));
}

Test(cuda_quant, decodes_and_casts_the_rest_too)
{
    struct hc_call call =
        quantize((struct hc_quantize){.rule = HC_SCALE_TE_BLOCK, .rows = 1, .columns = 128});
    run_on("exact", call);
    expect_bits_of_exact((struct hc_call){
        .op = HC_OP_dequantize,
        .in = {call.out[HC_QUANTIZE_CODES], call.out[HC_QUANTIZE_SCALES]},
        .out = {made(hc_tensor2(HC_FP32, ROWS, COLUMNS, NULL))},
        .params.dequantize = {1, 128},
    });
    struct hc_tensor words = made(hc_tensor2(HC_I32, ROWS, COLUMNS, NULL));
    for (int64_t i = 0; i < COUNT; i++)
        hc_tensor_set_bits(&words, i, hc_random(4, 2, (uint64_t)i) >> 32);
    expect_bits_of_exact((struct hc_call){
        .op = HC_OP_stochastic_cast,
        .in = {call.in[HC_QUANTIZE_X], words},
        .out = {made(hc_tensor2(HC_E5M2, ROWS, COLUMNS, NULL))},
        .params.stochastic_cast = {12, true},
    });
}

/* quantize and dequantize on host: the bits of exact, for every instruction set, number of threads
   and way through the kernel. */
#include <math.h>

#include "kernels/element/quant.h"
#include "kernels/host/testing.h"
#include "op/quant.h"

static const enum hc_format h[] = {HC_FP32, HC_BF16, HC_FP16};

static const enum hc_format code_formats[] = {HC_E4M3, HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ,
                                              HC_E2M3, HC_E3M2, HC_E2M1};
enum { CODES = sizeof code_formats / sizeof *code_formats };

/* Around strips and segments, and one that is worth several threads. */
static const int64_t shapes[][2] = {{1, 1},    {3, 5},    {16, 16}, {17, 33},  {15, 256},
                                    {31, 257}, {0, 32},   {32, 0},  {2, 1024}, {130, 272},
                                    {1024, 3}, {64, 512}, {48, 80}};
static const int64_t blocks[][2] = {{0, 0}, {1, 0}, {1, 16}, {1, 32},  {1, 128},
                                    {1, 1}, {3, 7}, {1, 48}, {16, 16}, {128, 128}};
enum { BLOCKS = sizeof blocks / sizeof *blocks };

/* A call with random bits and moderate numbers in turns. */
static struct hc_call quantize(const struct hc_quantize *p, enum hc_format x, enum hc_format codes,
                               const int64_t shape[2], uint64_t seed)
{
    int64_t rows = shape[p->transpose ? 1 : 0];
    int64_t columns = shape[p->transpose ? 0 : 1];
    struct hc_call call = {
        .op = HC_OP_quantize,
        .in = {random_bits(hc_tensor2(x, shape[0], shape[1], NULL), seed)},
        .out = {made(hc_tensor2(codes, rows, columns, NULL)),
                made(hc_tensor2(hc_scale_format(p->rule), hc_quant_blocks(rows, p->rows),
                                hc_quant_blocks(columns, p->columns), NULL)),
                made(hc_tensor1(HC_FP32, 1, NULL)), made(hc_tensor1(HC_FP32, 1, NULL))},
        .params.quantize = *p,
    };
    for (int64_t i = 0; seed & 1 && i < hc_tensor_count(&call.in[HC_QUANTIZE_X]); i++)
        hc_tensor_set(&call.in[HC_QUANTIZE_X], i,
                      hc_random_normal(seed, 1, (uint64_t)i) *
                          (hc_random(seed, 2, (uint64_t)i) & 1 ? 1 : 0.01));
    if (p->rule == HC_SCALE_GIVEN)
        call.in[HC_QUANTIZE_SCALE] = vector_of(HC_FP32, 1, (double[]){37.5});
    return call;
}

static void check_rules(int first, int last)
{
    for (int rule = first; rule < last; rule++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int how = 0; how < 4; how++) {
                uint64_t seed = hc_random(5, (uint64_t)rule, s * 4 + (uint64_t)how);
                const int64_t *block = blocks[(seed >> 8) % BLOCKS];
                bool levels = hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS;
                struct hc_quantize p = {.rule = (enum hc_scale_rule)rule,
                                        .rows = block[0],
                                        .columns = block[1],
                                        .transpose = how & 1,
                                        .hadamard =
                                            seed >> 16 & 1 && shapes[s][how & 1 ? 0 : 1] % 16 == 0,
                                        .random_bits = how & 2 ? 1 + (int)(seed >> 20 & 15) : 0,
                                        .seed = seed,
                                        .step = (int64_t)(seed >> 33)};
                struct hc_call call = quantize(
                    &p, h[(seed >> 32) % 3], levels ? HC_E2M1 : code_formats[(seed >> 36) % CODES],
                    shapes[s], seed >> 40);
                assert_exact_bits(&call);
            }
}

Test(quantize, scales_in_fp32_and_their_codes_have_the_bits_of_exact)
{
    check_rules(0, HC_SCALE_MX_FLOOR);
}

Test(quantize, scales_of_powers_of_two_and_of_two_levels_have_the_bits_of_exact)
{
    check_rules(HC_SCALE_MX_FLOOR, HC_SCALE_RULE_COUNT);
}

/* The fast rounding with random bits is its definition, on what no draw of a tensor reaches. */
Test(quantize, random_bits_round_every_exponent_as_their_definition_does)
{
    for (int c = 0; c < CODES; c++) {
        const struct hc_format_info *f = &hc_formats[code_formats[c]];
        const struct hc_narrow8 by = hc_narrow8_of(f, 1);
        for (uint64_t i = 0; i < 400000; i++) {
            uint64_t random = hc_random(9, (uint64_t)c, i);
            int k = 1 + (int)(random % 16);
            uint32_t r = (uint32_t)(random >> 8) & ((1u << k) - 1);
            uint32_t bits = (uint32_t)(random >> 32);
            if (i % 2) /* near the format's numbers */
                bits = (bits & 0x807fffffu) |
                       (uint32_t)(127 + f->emin - 18 + (int)((random >> 24) % 40)) << 23;
            uint32_t want = hc_quant_stochastic(f, hc_fp32_value(bits), k, r, 1);
            uint32_t got = hc_narrow8_random(&by, bits, k, r);
            cr_assert(same(code_formats[c], want, got), "%s of %08x, %d bits %x: want %x, got %x",
                      f->name, bits, k, r, want, got);
        }
    }
}

Test(dequantize, numbers_have_the_bits_of_exact)
{
    static const enum hc_format scales[] = {HC_FP32, HC_E8M0, HC_UE4M3};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        for (int how = 0; how < 18; how++) {
            uint64_t seed = hc_random(6, s, (uint64_t)how);
            const int64_t *block = blocks[(seed >> 8) % BLOCKS];
            enum hc_format format = code_formats[(seed >> 16) % CODES];
            struct hc_call call = {
                .op = HC_OP_dequantize,
                .in = {made(hc_tensor2(format, shapes[s][0], shapes[s][1], NULL)),
                       made(hc_tensor2(scales[how % 3], hc_quant_blocks(shapes[s][0], block[0]),
                                       hc_quant_blocks(shapes[s][1], block[1]), NULL))},
                .out = {made(hc_tensor2(h[how / 3 % 3], shapes[s][0], shapes[s][1], NULL))},
                .params.dequantize = {.rows = block[0], .columns = block[1]},
            };
            uint64_t mask = (1u << hc_formats[format].bits) - 1;
            for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_DEQUANTIZE_CODES]); i++)
                hc_tensor_set_bits(&call.in[HC_DEQUANTIZE_CODES], i,
                                   hc_random(seed, 0, (uint64_t)i) & mask);
            for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_DEQUANTIZE_SCALES]); i++)
                hc_tensor_set(&call.in[HC_DEQUANTIZE_SCALES], i,
                              fabs(hc_random_normal(seed, 1, (uint64_t)i)));
            if (how >= 9)
                call.in[HC_DEQUANTIZE_TENSOR] = vector_of(HC_FP32, 1, (double[]){0.37});
            assert_exact_bits(&call);
        }
}

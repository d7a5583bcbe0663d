/* What 2^32 reaches: every product of two bf16 numbers through vdpbf16ps and tdpbf16ps, and every
   fp32 number through vcvtneps2bf16 and vcvtne2ps2bf16. A test takes a slice; HC_WHOLE=1 takes all
   of it. */
#include "kernels/avx512bf16/testing.h"

#include "kernels/avx512bf16/avx512bf16.h"

enum { BLOCK = 1 << 16 };

static const struct hc_backend *backend_here(const char *name)
{
    const struct hc_backend *backend = hc_backend_by_name(name);
    if (backend->unavailable())
        cr_skip_test("%s", backend->unavailable());
    return backend;
}

/* The upper halves that a slice takes: every 127th, and those beside a change of the exponent. */
static bool is_taken(uint32_t high)
{
    return is_whole() || high % 127 == 0 || (high & 0x7f) == 0x7f;
}

/* Subnormals are taken as zeros. A NaN becomes quiet and keeps the upper bits of its payload. */
static uint16_t model_cast(uint32_t x)
{
    x = subnormal_to_zero(x);
    if (is_nan(x))
        return (uint16_t)(x >> 16 | 0x40);
    return (uint16_t)((x + 0x7fff + (x >> 16 & 1)) >> 16);
}

Test(conversions, equal_their_model_in_every_bit)
{
    static uint32_t from[BLOCK];
    static uint16_t one[BLOCK];
    static uint16_t two[BLOCK];
    (void)backend_here("avx512bf16");
    for (uint32_t high = 0; high < 0x10000; high++) {
        if (!is_taken(high))
            continue;
        for (uint32_t low = 0; low < BLOCK; low++)
            from[low] = high << 16 | low;
        for (uint32_t low = 0; low < BLOCK; low += 16)
            hc_avx512bf16_one(from + low, one + low);
        for (uint32_t low = 0; low < BLOCK; low += 32)
            hc_avx512bf16_two(from + low, two + low);
        for (uint32_t low = 0; low < BLOCK; low++) {
            uint16_t want = model_cast(from[low]);
            cr_assert(one[low] == want && two[low] == want, "%08x: want %04x, got %04x and %04x",
                      from[low], want, one[low], two[low]);
        }
    }
}

typedef uint32_t pair_model(uint32_t a, uint32_t b);

static uint32_t in_a_lane(uint32_t a, uint32_t b)
{
    return model_pair(a, b, 0);
}

/* The other pairs are +0 like the other chain, so they change nothing. */
static uint32_t in_a_tile(uint32_t a, uint32_t b)
{
    return model_tile(&a, &b, 1, 1, 0);
}

/* a[row] b[column] of all bf16 numbers as columns, 16 of those taken as rows at a time. `second`
   puts the product at odd k, behind a product of zeros. */
static void hold_products(const struct hc_backend *backend, int second, pair_model *model)
{
    enum { ROWS = 16 };
    static uint16_t a[ROWS * 2];
    static uint16_t b[2 * BLOCK];
    static uint32_t got[ROWS * BLOCK];
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {hc_tensor2(HC_BF16, ROWS, 1 + second, a), hc_tensor2(HC_BF16, 1 + second, BLOCK, b)},
        .out = {hc_tensor2(HC_FP32, ROWS, BLOCK, got)},
        .params.gemm = {.alpha = 1}};
    call.scratch = aligned_alloc(64, (backend->scratch(NULL, &call) + 63) / 64 * 64);
    for (uint32_t j = 0; j < BLOCK; j++)
        b[second * BLOCK + j] = (uint16_t)j;
    for (uint32_t first = 0; first < BLOCK; first += ROWS) {
        if (!is_whole() && first % (ROWS * 1021) != 0)
            continue;
        for (uint32_t i = 0; i < ROWS; i++)
            a[i * (1u + (uint32_t)second) + (uint32_t)second] = (uint16_t)(first + i);
        cr_assert_eq(backend->kernel[HC_OP_gemm](NULL, &call), HC_OK);
        for (uint32_t at = 0; at < ROWS * BLOCK; at++) {
            uint32_t x = first + at / BLOCK;
            uint32_t want = model(x << 16 * second, at % BLOCK << 16 * second);
            cr_assert(got[at] == want, "%s: %04x %04x: want %08x, got %08x", backend->name, x,
                      at % BLOCK, want, got[at]);
        }
    }
    free(call.scratch);
}

Test(vdpbf16ps, gives_every_low_product)
{
    hold_products(backend_here("avx512bf16"), 0, in_a_lane);
}

Test(vdpbf16ps, gives_every_high_product)
{
    hold_products(backend_here("avx512bf16"), 1, in_a_lane);
}

Test(tdpbf16ps, gives_every_low_product)
{
    hold_products(backend_here("amx"), 0, in_a_tile);
}

Test(tdpbf16ps, gives_every_high_product)
{
    hold_products(backend_here("amx"), 1, in_a_tile);
}

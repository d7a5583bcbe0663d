/* The instructions on bf16 neither read the control register (its rounding, its flushes) nor write
   its flags. The vectors are about the smallest normal number, where all of these would matter. */
#include "kernels/avx512bf16/testing.h"

#include "kernels/amx/amx.h"
#include "kernels/avx512bf16/avx512bf16.h"

#ifdef __x86_64__

#include <immintrin.h>

enum { FLAGS = 0x3f, DAZ = 1 << 6, FTZ = 1 << 15 };
enum { WORDS = 256 };

static const unsigned controls[] = {_MM_ROUND_DOWN, _MM_ROUND_UP, _MM_ROUND_TOWARD_ZERO, DAZ | FTZ,
                                    _MM_ROUND_TOWARD_ZERO | DAZ | FTZ};

/* Replaces c by the results of one instruction or more. */
typedef void instruction(const uint32_t *a, const uint32_t *b, uint32_t *c);

static void lanes(const uint32_t *a, const uint32_t *b, uint32_t *c)
{
    for (int i = 0; i < WORDS; i += 16)
        hc_avx512bf16_lanes(a + i, b + i, c + i, c + i);
}

static void tile(const uint32_t *a, const uint32_t *b, uint32_t *c)
{
    hc_amx_tile(a, b, 16, c);
}

static void casts(const uint32_t *a, const uint32_t *b, uint32_t *c)
{
    (void)a;
    (void)b;
    for (int i = 0; i < WORDS; i += 32)
        hc_avx512bf16_two(c + i, (uint16_t *)(c + i));
}

static void hold(const char *backend, instruction *run)
{
    const char *reason = hc_backend_by_name(backend)->unavailable();
    if (reason)
        cr_skip_test("%s", reason);
    struct draws d = {3, 0};
    unsigned usual = _mm_getcsr() & ~(unsigned)FLAGS;
    for (size_t i = 0; i < 500; i++) {
        uint32_t a[WORDS];
        uint32_t b[WORDS];
        uint32_t want[WORDS];
        uint32_t got[WORDS];
        for (int w = 0; w < WORDS; w++) {
            a[w] = drawn_bf16(&d, -66, 6) | drawn_bf16(&d, -66, 6) << 16;
            b[w] = drawn_bf16(&d, -66, 6) | drawn_bf16(&d, -66, 6) << 16;
            want[w] = got[w] = draw(&d) & 0x81ffffff;
        }
        run(a, b, want);
        unsigned control = (usual & ~(unsigned)_MM_ROUND_MASK) | controls[i % 5];
        _mm_setcsr(control);
        run(a, b, got);
        unsigned after = _mm_getcsr();
        _mm_setcsr(usual);
        cr_assert_arr_eq(got, want, sizeof got, "control %x", control);
        cr_assert_eq(after, control, "control %x became %x", control, after);
    }
}

Test(control_register, is_nothing_to_vdpbf16ps)
{
    hold("avx512bf16", lanes);
}

Test(control_register, is_nothing_to_vcvtne2ps2bf16)
{
    hold("avx512bf16", casts);
}

Test(control_register, is_nothing_to_tdpbf16ps)
{
    hold("amx", tile);
}

#endif

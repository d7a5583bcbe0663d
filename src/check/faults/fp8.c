/* Defects in reading fp8: another bias, special codes taken for numbers or numbers for special
   codes, lost bits, and one format taken for the other. */
#include <math.h>
#include <stdlib.h>

#include "check/selftest/change.h"

/* What a code of the format is taken for. */
typedef double read_code(enum hc_format format, uint64_t code);

struct reader {
    read_code *read;
};

/* The product in fp32 of factors that were read so. */
static enum hc_status misread(const struct hc_fault_site *site, struct hc_queue *queue,
                              const struct hc_call *call)
{
    const struct reader *reader = site->fault->data;
    struct hc_call wide = *call;
    if (!hc_is_fp8(call->in[HC_GEMM_A].format))
        return site->right(queue, call);
    for (int slot = HC_GEMM_A; slot <= HC_GEMM_B; slot++) {
        const struct hc_tensor *t = &call->in[slot];
        int64_t n = hc_tensor_count(t);
        wide.in[slot].format = HC_FP32;
        wide.in[slot].data = aligned_alloc(64, ((size_t)n * sizeof(float) + 64) / 64 * 64);
        if (!wide.in[slot].data)
            abort();
        for (int64_t i = 0; i < n; i++)
            hc_tensor_set(&wide.in[slot], i, reader->read(t->format, hc_tensor_bits(t, i)));
    }
    enum hc_status status = site->right(queue, &wide);
    free(wide.in[HC_GEMM_A].data);
    free(wide.in[HC_GEMM_B].data);
    return status;
}

static double signed_as(uint64_t code, double magnitude)
{
    return code >> 7 ? -magnitude : magnitude;
}

/* The bias of AMD's FNUZ codes is larger by one. */
static double fnuz_bias(enum hc_format format, uint64_t code)
{
    return hc_decode(format, code) / 2;
}

static double fnuz_zero(enum hc_format format, uint64_t code)
{
    return code == 0x80 ? (double)NAN : hc_decode(format, code);
}

static double e4m3_nan_as_480(enum hc_format format, uint64_t code)
{
    return format == HC_E4M3 && (code & 0x7f) == 0x7f ? signed_as(code, 480)
                                                      : hc_decode(format, code);
}

/* As IEEE's formats have it: no numbers above 240. */
static double e4m3_of_ieee(enum hc_format format, uint64_t code)
{
    if (format != HC_E4M3 || (code & 0x78) != 0x78)
        return hc_decode(format, code);
    return code & 7 ? (double)NAN : signed_as(code, (double)INFINITY);
}

/* As OCP's e4m3 has it: no infinity, and one NaN. */
static double e5m2_of_e4m3(enum hc_format format, uint64_t code)
{
    if (format != HC_E5M2 || (code & 0x7c) != 0x7c || (code & 3) == 3)
        return hc_decode(format, code);
    return signed_as(code, ldexp(4 + (double)(code & 3), 14));
}

static double nan_as_infinity(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return isnan(x) ? signed_as(code, (double)INFINITY) : x;
}

static double last_bit_lost(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return isfinite(x) ? hc_decode(format, code & ~UINT64_C(1)) : x;
}

static double subnormals_lost(enum hc_format format, uint64_t code)
{
    double x = hc_decode(format, code);
    return fabs(x) < ldexp(1, hc_formats[format].emin) ? 0 : x;
}

static double unsigned_code(enum hc_format format, uint64_t code)
{
    return hc_decode(format, code & 0x7f);
}

static void ocp_codes(struct hc_call *call, double number)
{
    (void)number;
    for (int slot = HC_GEMM_A; slot <= HC_GEMM_B; slot++)
        if (hc_is_fnuz(call->in[slot].format))
            call->in[slot].format = call->in[slot].format == HC_E4M3FNUZ ? HC_E4M3 : HC_E5M2;
}

/* Both factors are read as the first one is. */
static void one_format(struct hc_call *call, double number)
{
    (void)number;
    if (hc_is_fp8(call->in[HC_GEMM_A].format))
        call->in[HC_GEMM_B].format = call->in[HC_GEMM_A].format;
}

#define READ(name_, title_, patterns_, function)                                                   \
    {                                                                                              \
        .name = "fp8-" name_, .title = (title_), .class_ = HC_FAULT_SPECIALS, .ops = "gemm",       \
        .patterns = (patterns_), .wrong = misread, .data = &(const struct reader)                  \
        {                                                                                          \
            function                                                                               \
        }                                                                                          \
    }

static const struct hc_fault faults[] = {
    READ("bias-of-fnuz", "fp8 has the bias of AMD's codes, and half of its value",
         "products/every-product-of-fp8 op/gemm/e4m3-fp32/* op/gemm/e5m2-fp32/*", fnuz_bias),
    READ("zero-of-fnuz", "-0 in fp8 is NaN, as in AMD's codes", "products/fp8-ends", fnuz_zero),
    READ("nan-as-480", "the NaN of e4m3 is taken for 480",
         "products/fp8-ends op/gemm/e4m3-bf16/*/specials", e4m3_nan_as_480),
    READ("e4m3-of-ieee", "e4m3 has infinity and NaN instead of its numbers above 240",
         "products/fp8-ends", e4m3_of_ieee),
    READ("e5m2-without-infinity", "infinity in e5m2 is taken for 65536",
         "products/fp8-ends op/gemm/e5m2-fp32/*/specials", e5m2_of_e4m3),
    READ("nan-as-infinity", "NaN in fp8 is taken for infinity",
         "products/fp8-ends op/gemm/e4m3-fp32/*/specials", nan_as_infinity),
    READ("last-bit-lost", "the last bit of fp8 is not read", "op/gemm/e5m2xe4m3-fp32/*/normal",
         last_bit_lost),
    READ("subnormals-lost", "subnormal numbers of fp8 are taken for 0",
         "op/gemm/e4m3-fp32/*/subnormals op/gemm/e5m2-fp32/*/subnormals", subnormals_lost),
    READ("sign-lost", "the sign of fp8 is not read", "op/gemm/e4m3xe5m2-fp32/*/normal",
         unsigned_code),
    {.name = "fp8-ocp-for-fnuz",
     .title = "AMD's fp8 is taken for OCP's, whose numbers are twice as large",
     .class_ = HC_FAULT_SPECIALS,
     .ops = "gemm",
     .patterns = "products/every-product-of-fp8 products/fp8-ends op/gemm/e4m3fnuz-fp32/*/normal "
                 "op/gemm/e5m2fnuz-bf16/*/normal",
     .change = ocp_codes},
    {.name = "fp8-one-format",
     .title = "the second factor is taken for the first one's fp8",
     .class_ = HC_FAULT_SPECIALS,
     .ops = "gemm",
     .patterns = "op/gemm/e4m3xe5m2-fp32/* op/gemm/e5m2xe4m3-fp32/*",
     .change = one_format},
};

HC_FAULTS(fp8, faults);

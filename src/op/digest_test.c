#include "op/digest.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "num/rng.h"

/* NH and the chain as digest.h defines them, a byte at a time. */
static uint64_t by_definition(uint64_t state, const unsigned char *bytes, size_t count)
{
    for (size_t from = 0; from < count; from += 1024) {
        size_t n = count - from < 1024 ? count - from : 1024;
        uint32_t word[256] = {0};
        uint64_t sum = 0;
        for (size_t i = 0; i < n; i++)
            word[i / 4] |= (uint32_t)bytes[from + i] << 8 * (i % 4);
        for (size_t pair = 0; 8 * pair < n; pair++) {
            uint64_t key = hc_random(HC_DIGEST_SEED, 0, pair);
            uint64_t low = (word[2 * pair] + (key & 0xffffffffu)) & 0xffffffffu;
            uint64_t high = (word[2 * pair + 1] + (key >> 32)) & 0xffffffffu;
            sum += low * high;
        }
        state = (state ^ sum) * UINT64_C(0x9e3779b97f4a7c15);
        state ^= state >> 32;
    }
    return state;
}

Test(digest, bytes_have_the_digest_of_the_definition)
{
    static unsigned char bytes[5000];
    static const size_t counts[] = {0, 1, 7, 8, 9, 1023, 1024, 1025, 2048, 5000};
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)hc_random(1, 0, i);
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        cr_expect_eq(hc_digest_bytes(i, bytes, counts[i]), by_definition(i, bytes, counts[i]),
                     "%zu bytes", counts[i]);
}

static float x[3000];
static float y[3000];
static float out[3000];

static struct hc_call call_of(int64_t n)
{
    struct hc_call call = {.op = HC_OP_axpy, .params.axpy.alpha = 2};
    for (int64_t i = 0; i < n; i++) {
        x[i] = (float)i;
        y[i] = 1;
        out[i] = 2 * x[i] + 1;
    }
    call.in[HC_X] = hc_tensor1(HC_FP32, n, x);
    call.in[HC_Y] = hc_tensor1(HC_FP32, n, y);
    call.out[HC_OUT] = hc_tensor1(HC_FP32, n, out);
    return call;
}

static uint64_t digest(const struct hc_call *call)
{
    return hc_digest_outputs(hc_digest_inputs(call), call);
}

/* Records and baselines keep digests, so this number stays. It was computed apart, in Python. */
Test(digest, of_a_call_does_not_change_from_version_to_version)
{
    struct hc_call call = call_of(300);
    cr_expect_eq(digest(&call), UINT64_C(0x6130e683d3355e7b), "0x%016lx",
                 (unsigned long)digest(&call));
    /* With a NaN in a whole block and one in the rest, as version 0.3.0 had it. */
    const uint32_t nan = 0xffc00001u;
    memcpy(&x[5], &nan, sizeof nan);
    memcpy(&x[298], &nan, sizeof nan);
    cr_expect_eq(digest(&call), UINT64_C(0xd585cd831a88cdc9), "0x%016lx",
                 (unsigned long)digest(&call));
}

Test(digest, every_bit_of_every_tensor_counts)
{
    static float *const tensors[] = {x, y, out};
    struct hc_call call = call_of(300);
    uint64_t before = digest(&call);
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < 300; i++)
            for (int bit = 0; bit < 32; bit++) {
                uint32_t bits;
                float was = tensors[t][i];
                memcpy(&bits, &was, sizeof bits);
                bits ^= (uint32_t)1 << bit;
                memcpy(&tensors[t][i], &bits, sizeof bits);
                cr_assert_neq(digest(&call), before, "tensor %d, element %d, bit %d", t, i, bit);
                tensors[t][i] = was;
            }
    cr_assert_eq(digest(&call), before);
}

Test(digest, op_formats_shapes_and_parameters_count)
{
    struct hc_call call = call_of(300);
    uint64_t before = digest(&call);
    call.params.axpy.alpha = 2.5;
    cr_expect_neq(digest(&call), before);
    call = call_of(300);
    call.op = HC_OP_add;
    cr_expect_neq(digest(&call), before);
    call = call_of(300);
    call.out[HC_OUT].shape[0] = 299;
    cr_expect_neq(digest(&call), before);
    call = call_of(300);
    call.in[HC_Y].format = HC_I32;
    cr_expect_neq(digest(&call), before);
    call = call_of(300);
    call.in[HC_Y] = call.in[HC_X];
    cr_expect_neq(digest(&call), before);
}

Test(digest, nans_are_alike_and_zeros_are_not)
{
    static const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_BF16, HC_FP16, HC_E4M3, HC_E5M2};
    static const int64_t sizes[] = {3, 600}; /* of a part of a block, and of whole ones */
    for (size_t k = 0; k < 2 * sizeof formats / sizeof formats[0]; k++) {
        size_t f = k / 2;
        unsigned char data[8 * 600] = {0};
        struct hc_call call = {.op = HC_OP_cast};
        int last = hc_formats[formats[f]].bits - 1;
        uint64_t first = 0;
        call.in[HC_X] = hc_tensor1(formats[f], sizes[k % 2], data);
        uint64_t zero = hc_digest_inputs(&call);
        hc_tensor_set_bits(&call.in[HC_X], 1, UINT64_C(1) << last);
        cr_expect_neq(hc_digest_inputs(&call), zero, "-0 in %s", hc_formats[formats[f]].name);
        int nans = 0;
        for (uint64_t i = 0; i < 4096; i++) {
            uint64_t bits = hc_random(2, f, i) >> (63 - last);
            bits |= i % 2 ? hc_encode(formats[f], (double)INFINITY, 0, HC_NEAREST) : 0;
            bool nan = isnan(hc_decode(formats[f], bits));
            hc_tensor_set_bits(&call.in[HC_X], 1, bits);
            uint64_t now = hc_digest_inputs(&call);
            if (nan && nans++ == 0)
                first = now;
            if (first)
                cr_expect_eq(now == first, nan, "0x%lx in %s", (unsigned long)bits,
                             hc_formats[formats[f]].name);
        }
        cr_expect_gt(nans, 10, "%s", hc_formats[formats[f]].name);
    }
}

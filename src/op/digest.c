#include "op/digest.h"

#include <pthread.h>
#include <string.h>

#include "num/clones.h"
#include "num/rng.h"
#include "op/descriptor.h"
#include "op/params.h"

enum { BLOCK = 1024, WORDS = BLOCK / 8 };

static uint64_t key[WORDS]; /* two words of 32 bits each */
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

static void make_key(void)
{
    for (uint64_t i = 0; i < WORDS; i++)
        key[i] = hc_random(HC_DIGEST_SEED, 0, i);
}

/* Where the digest of a call begins: with its op's name. Most calls are so small that the name
   would cost more than the numbers. */
static uint64_t of_name[HC_OP_ROOM];
static pthread_once_t names_once = PTHREAD_ONCE_INIT;

static uint64_t digest_name(enum hc_op op)
{
    return hc_digest_bytes(0, hc_ops[op].name, strlen(hc_ops[op].name));
}

static void digest_names(void)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        of_name[op] = digest_name((enum hc_op)op);
}

/* One step of a chain in which the order counts. The constant is 2^64 / the golden ratio. */
static uint64_t fold(uint64_t state, uint64_t value)
{
    state = (state ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return state ^ state >> 32;
}

HC_CLONED uint64_t product(uint64_t words, uint64_t keys)
{
    uint32_t low = (uint32_t)words + (uint32_t)keys;
    uint32_t high = (uint32_t)(words >> 32) + (uint32_t)(keys >> 32);
    return (uint64_t)low * high;
}

/* NH of n pairs of words. */
HC_CLONES static uint64_t nh(const uint64_t *block, size_t n)
{
    uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += product(block[i], key[i]);
    return sum;
}

/* hc_digest_bytes where the key is made. Parameters and the numbers of a sweep's calls have 1 to 8
   bytes, which are one product. */
static uint64_t add_bytes(uint64_t state, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;
    uint64_t block[WORDS];
    if (count > 0 && count <= sizeof *block) {
        *block = 0;
        memcpy(block, at, count);
        return fold(state, product(*block, key[0]));
    }
    for (size_t done = 0; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        size_t words = (n + 7) / 8;
        block[words - 1] = 0;
        memcpy(block, at + done, n);
        state = fold(state, nh(block, words));
    }
    return state;
}

uint64_t hc_digest_bytes(uint64_t state, const void *bytes, size_t count)
{
    (void)pthread_once(&key_once, make_key);
    return add_bytes(state, bytes, count);
}

/* Makes every NaN of up to BLOCK bytes of 16-bit floats, whose infinity has that code, one code. */
HC_CLONES static void one_nan16(uint16_t *x, size_t n, uint16_t infinity)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] & 0x7fffu) > infinity ? 0x7fff : x[i];
}

HC_CLONES static void one_nan32(uint32_t *x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : x[i];
}

HC_CLONES static void one_nan64(uint64_t *x, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] & INT64_MAX) > UINT64_C(0x7ff0000000000000) ? INT64_MAX : x[i];
}

/* e4m3 has no infinity: its one NaN, of either sign, is the code after its largest value. The other
   formats of one byte have one NaN or none. */
static void one_nan8(uint8_t *x, size_t n, uint8_t largest)
{
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        x[i] = (x[i] & 0x7fu) > largest ? 0x7f : x[i];
}

static void one_nan(enum hc_format format, void *block, size_t bytes)
{
    switch (format) {
    case HC_FP64:
        one_nan64(block, bytes / 8);
        return;
    case HC_FP32:
    case HC_TF32:
        one_nan32(block, bytes / 4);
        return;
    case HC_FP16:
        one_nan16(block, bytes / 2, 0x7c00);
        return;
    case HC_BF16:
        one_nan16(block, bytes / 2, 0x7f80);
        return;
    case HC_E4M3:
        one_nan8(block, bytes, 0x7e);
        return;
    case HC_E5M2:
        one_nan8(block, bytes, 0x7c);
        return;
    default:
        return;
    }
}

HC_CLONED uint32_t one_nan_of(uint32_t x)
{
    return (x & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : x;
}

/* NH of n blocks, each folded into the state, with every NaN of fp32 one code. Most numbers that
   are digested are fp32's, so this reads them where they are, and once. */
HC_CLONES static uint64_t add_blocks32(uint64_t state, const unsigned char *at, size_t n)
{
    for (size_t b = 0; b < n; b++, at += BLOCK) {
        uint64_t sum = 0;
#pragma omp simd reduction(+ : sum)
        for (size_t i = 0; i < WORDS; i++) {
            uint64_t words;
            memcpy(&words, at + i * sizeof words, sizeof words);
            uint32_t low = one_nan_of((uint32_t)words) + (uint32_t)key[i];
            uint32_t high = one_nan_of((uint32_t)(words >> 32)) + (uint32_t)(key[i] >> 32);
            sum += (uint64_t)low * high;
        }
        state = fold(state, sum);
    }
    return state;
}

/* The shape as numbers. A tensor that is absent is its format alone. */
static uint64_t add_shape(uint64_t state, const struct hc_tensor *t)
{
    state = fold(state, (uint64_t)t->format << 8 | (uint64_t)(t->data ? t->rank + 1 : 0));
    for (int d = 0; t->data && d < t->rank; d++)
        state = fold(state, (uint64_t)t->shape[d]);
    return state;
}

/* The shape, then the data. */
static uint64_t add_tensor(uint64_t state, const struct hc_tensor *t)
{
    uint64_t block[WORDS];
    const unsigned char *at = t->data;
    state = add_shape(state, t);
    if (!t->data)
        return state;
    size_t count = hc_tensor_bytes(t);
    size_t whole = t->format == HC_FP32 ? count / BLOCK : 0; /* blocks */
    if (whole)
        state = add_blocks32(state, at, whole);
    for (size_t done = whole * BLOCK; done < count; done += BLOCK) {
        size_t n = count - done < BLOCK ? count - done : BLOCK;
        size_t words = (n + 7) / 8;
        block[words - 1] = 0;
        memcpy(block, at + done, n);
        one_nan(t->format, block, n);
        state = fold(state, nh(block, words));
    }
    return state;
}

static uint64_t add_params(uint64_t state, const struct hc_call *call)
{
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        size_t bytes = hc_param_size(p) * (size_t)(p->count ? p->count : 1);
        const unsigned char *from = (const unsigned char *)&call->params + p->offset;
        state = add_bytes(state, from, bytes);
    }
    return state;
}

static uint64_t begin(const struct hc_call *call)
{
    (void)pthread_once(&key_once, make_key);
    (void)pthread_once(&names_once, digest_names);
    bool listed = (int)call->op < HC_OP_COUNT;
    return add_params(listed ? of_name[call->op] : digest_name(call->op), call);
}

uint64_t hc_digest_form(const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    uint64_t state = begin(call);
    for (int i = 0; i < op->inputs; i++) {
        const struct hc_tensor *t = &call->in[i];
        bool flag = hc_slot(call->op, i)->values == HC_VALUES_FLAG && hc_tensor_count(t) > 0;
        state = add_shape(state, t);
        state = flag && t->data ? fold(state, hc_tensor_get(t, 0) != 0) : state;
    }
    for (int o = 0; o < op->outputs; o++) {
        int same = 0; /* the first input that this output overwrites */
        while (same < op->inputs && call->in[same].data != call->out[o].data)
            same++;
        state = fold(add_shape(state, &call->out[o]), (uint64_t)same);
    }
    return state;
}

uint64_t hc_digest_inputs(const struct hc_call *call)
{
    uint64_t state = begin(call);
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        state = add_tensor(state, &call->in[i]);
    return state;
}

uint64_t hc_digest_outputs(uint64_t inputs, const struct hc_call *call)
{
    uint64_t state = inputs;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        state = add_tensor(state, &call->out[o]);
    return state;
}

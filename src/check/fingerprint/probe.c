#include "check/fingerprint/probe.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/run_call.h"

enum { ROOM = 4096, ROOM_TERMS = 1 << 19 };

static enum hc_format stored(enum hc_format format)
{
    return format == HC_TF32 ? HC_FP32 : format;
}

enum hc_status hc_probe_open(struct hc_probe *p, const struct hc_backend *backend,
                             struct hc_queue *queue, enum hc_format format,
                             struct hc_gemm_shape shape)
{
    int room = ROOM_TERMS / shape.terms;
    *p = (struct hc_probe){.backend = backend,
                           .queue = queue,
                           .format = format,
                           .shape = shape,
                           .takes_c = true,
                           .trace = 0xcbf29ce484222325u,
                           .room = room < ROOM ? room : ROOM};
    size_t terms = (size_t)p->room * (size_t)shape.terms;
    size_t elements = 2 * (size_t)shape.side * (size_t)(shape.terms + shape.side);
    p->a = calloc(terms, sizeof *p->a);
    p->b = calloc(terms, sizeof *p->b);
    p->c = calloc((size_t)p->room, sizeof *p->c);
    p->got = calloc((size_t)p->room, sizeof *p->got);
    p->matrices = aligned_alloc(64, (4 * elements + 4 * 64 + 63) / 64 * 64);
    if (p->a && p->b && p->c && p->got && p->matrices)
        return HC_OK;
    return hc_fail(HC_NO_MEMORY, "no memory for %d sums of a fingerprint", p->room);
}

void hc_probe_close(struct hc_probe *p)
{
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->got);
    free(p->matrices);
}

void hc_probe_begin(struct hc_probe *p)
{
    p->count = 0;
}

int hc_probe_sum(struct hc_probe *p)
{
    assert(p->count < p->room);
    size_t terms = (size_t)p->shape.terms;
    memset(p->a + (size_t)p->count * terms, 0, terms * sizeof *p->a);
    memset(p->b + (size_t)p->count * terms, 0, terms * sizeof *p->b);
    p->c[p->count] = 0;
    return p->count++;
}

static uint32_t code(enum hc_format format, double x)
{
    uint32_t bits = (uint32_t)hc_encode(format, x, 0, HC_NEAREST);
    assert(isnan(x) || hc_decode(format, bits) == x);
    return bits;
}

void hc_probe_term(struct hc_probe *p, int k, double a, double b)
{
    size_t at = (size_t)(p->count - 1) * (size_t)p->shape.terms + (size_t)k;
    assert(k >= 0 && k < p->shape.terms);
    p->a[at] = code(p->format, a);
    p->b[at] = code(p->format, b);
}

void hc_probe_scaled(struct hc_probe *p, int k, double x, int exponent)
{
    int first = exponent >= 0 ? (exponent + 1) / 2 : exponent / 2;
    hc_probe_term(p, k, ldexp(x, first), ldexp(1, exponent - first));
}

void hc_probe_c(struct hc_probe *p, double c)
{
    p->c[p->count - 1] = code(HC_FP32, c);
}

static struct hc_tensor matrix(enum hc_format format, int64_t rows, int64_t columns, char **at)
{
    struct hc_tensor t = hc_tensor2(format, rows, columns, *at);
    *at += (hc_tensor_bytes(&t) + 63) / 64 * 64;
    memset(t.data, 0, hc_tensor_bytes(&t));
    return t;
}

/* Lays out the sums from `first` on, and returns the call. */
static struct hc_call lay_out(const struct hc_probe *p, int first, int count)
{
    char *at = p->matrices;
    int64_t side = p->shape.side;
    int64_t terms = p->shape.terms;
    enum hc_format format = stored(p->format);
    struct hc_call call = {
        .op = HC_OP_gemm,
        .params.gemm = {.alpha = 1, .beta = p->takes_c ? 1 : 0, .tf32 = p->format == HC_TF32}};
    struct hc_tensor *a = &call.in[HC_GEMM_A];
    struct hc_tensor *b = &call.in[HC_GEMM_B];
    *a = matrix(format, side, terms, &at);
    *b = matrix(format, terms, side, &at);
    if (p->takes_c)
        call.in[HC_GEMM_C] = matrix(HC_FP32, side, side, &at);
    call.out[HC_GEMM_OUT] = matrix(HC_FP32, side, side, &at);
    for (int64_t i = 0; i < count; i++) {
        const uint32_t *from_a = p->a + (first + i) * terms;
        const uint32_t *from_b = p->b + (first + i) * terms;
        for (int64_t k = 0; k < terms; k++) {
            hc_tensor_set_bits(a, i * terms + k, from_a[k]);
            hc_tensor_set_bits(b, k * side + i, from_b[k]);
        }
        if (p->takes_c)
            hc_tensor_set_bits(&call.in[HC_GEMM_C], i * side + i, p->c[first + i]);
    }
    return call;
}

static enum hc_status run_some(struct hc_probe *p, int first, int count)
{
    struct hc_breach breach = {""};
    struct hc_call call = lay_out(p, first, count);
    enum hc_status status = hc_run_call(p->backend, p->queue, &call, &breach);
    p->calls++;
    if (status == HC_OK && breach.text[0])
        status = hc_fail(HC_DEVICE, "%s: %s", p->backend->name, breach.text);
    for (int i = 0; i < count && status == HC_OK; i++) {
        uint32_t got =
            (uint32_t)hc_tensor_bits(&call.out[HC_GEMM_OUT], (int64_t)i * p->shape.side + i);
        p->got[first + i] = got;
        p->trace = (p->trace ^ got) * 0x100000001b3u;
    }
    return status;
}

enum hc_status hc_probe_run(struct hc_probe *p)
{
    enum hc_status status = HC_OK;
    for (int first = 0; first < p->count && status == HC_OK; first += p->shape.side) {
        int left = p->count - first;
        status = run_some(p, first, left < p->shape.side ? left : p->shape.side);
    }
    return status;
}

uint32_t hc_probe_code(const struct hc_probe *p, int sum)
{
    return p->got[sum];
}

double hc_probe_value(const struct hc_probe *p, int sum)
{
    return hc_decode(HC_FP32, p->got[sum]);
}

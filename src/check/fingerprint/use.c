#include "check/fingerprint/use.h"

#include <stdio.h>

#include "check/fingerprint/models.h"

static const struct hc_accumulator plain = {.precision = 24, .block = 1};

const enum hc_format hc_fingerprint_formats[] = {
    HC_FP16, HC_BF16, HC_TF32, HC_E4M3, HC_E5M2, HC_E4M3FNUZ, HC_E5M2FNUZ, HC_FORMAT_COUNT};

bool hc_fingerprint_usual(const struct hc_backend *backend, enum hc_format format)
{
    bool names_it = false;
    for (int i = 0; backend->units && backend->units[i]; i++)
        names_it |= hc_model_fits(backend->units[i], format);
    return !hc_is_fp8(format) || names_it || (backend->free_order && !hc_is_fnuz(format));
}

/* A call of gemm as the fingerprint makes it. */
static struct hc_call call_of(const struct hc_fingerprint *f)
{
    enum hc_format format = f->format == HC_TF32 ? HC_FP32 : f->format;
    struct hc_gemm_shape s = f->main.shape;
    struct hc_call call = {.op = HC_OP_gemm,
                           .params.gemm = {.alpha = 1, .tf32 = f->format == HC_TF32}};
    call.in[HC_GEMM_A] = hc_tensor2(format, s.side, s.terms, NULL);
    call.in[HC_GEMM_B] = hc_tensor2(format, s.terms, s.side, NULL);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, s.side, s.side, NULL);
    return call;
}

/* Whether bounds of `a` hold for `b`, too; what becomes of subnormals apart. */
static bool covers(const struct hc_accumulator *a, struct hc_accumulator b)
{
    b.flushes = a->flushes;
    b.aligns_subnormals = a->aligns_subnormals;
    return hc_fingerprint_against(&b, a) != HC_FOUND_COARSER;
}

/* The finest accumulator that bounds may assume: plain fp32 is in the contract of every sum, which
   a library may choose for another size. False where neither covers the other. */
static bool finest(const struct hc_accumulator *found, struct hc_accumulator *finest)
{
    *finest = covers(found, plain) ? *found : plain;
    finest->flushes = found->flushes;
    finest->aligns_subnormals = found->aligns_subnormals;
    return covers(found, plain) || covers(&plain, *found);
}

static void describe(const struct hc_accumulator *a, char text[96])
{
    (void)snprintf(text, 96, "%d bits, %d at once, %d more, %s%s%s", a->precision, a->block,
                   a->extra_bits, a->truncates ? "cut" : "to nearest",
                   a->flushes ? ", small ones flushed" : "",
                   a->aligns_subnormals ? ", small factors raised" : "");
}

/* The line, and the accumulator for calls from now on. Bounds take half a block for tf32. */
static void use(const struct hc_backend *backend, enum hc_format format, struct hc_accumulator is,
                const struct hc_accumulator *stated, bool coarser, char line[HC_FOUND_LINE])
{
    char found[96];
    char states[96];
    describe(&is, found);
    describe(stated, states);
    (void)snprintf(line, HC_FOUND_LINE, "gemm of %s sums %s than bounds assume: %s, not %s",
                   hc_formats[format].name, coarser ? "more coarsely" : "finer", found, states);
    if (format == HC_TF32 && is.block > 1)
        is.block *= 2;
    hc_backend_found(backend->name, format, &is, coarser ? line : NULL);
}

/* No accumulator follows. A line says so, and results are doubted if two products alone are added
   more coarsely than bounds assume. */
static enum hc_found_against use_unknown(const struct hc_backend *backend,
                                         const struct hc_fingerprint *f,
                                         const struct hc_accumulator *stated,
                                         char line[HC_FOUND_LINE])
{
    char states[96];
    bool tf32 = f->format == HC_TF32;
    const struct hc_findings_of_shape *m = &f->main;
    bool coarser = hc_fingerprint_breaks(m, stated) && !(tf32 && !hc_fingerprint_breaks(m, &plain));
    for (int i = 0; i < f->other_count && !coarser; i++)
        if (!f->other[i].same) {
            m = &f->other[i].found;
            coarser =
                hc_fingerprint_breaks(m, stated) && !(tf32 && !hc_fingerprint_breaks(m, &plain));
        }
    describe(stated, states);
    if (!coarser) {
        (void)snprintf(line, HC_FOUND_LINE,
                       "gemm of %s: how it sums is not known well enough to compare it with what "
                       "bounds assume: %s",
                       hc_formats[f->format].name, states);
        return HC_FOUND_ALIKE;
    }
    (void)snprintf(line, HC_FOUND_LINE,
                   "gemm of %s sums more coarsely than bounds assume: %d fraction bits of two "
                   "products, not %s",
                   hc_formats[f->format].name, m->products.fraction, states);
    hc_backend_found(backend->name, f->format, stated, line);
    return HC_FOUND_COARSER;
}

enum hc_found_against hc_fingerprint_use(const struct hc_backend *backend,
                                         const struct hc_fingerprint *f, char line[HC_FOUND_LINE])
{
    struct hc_accumulator found;
    struct hc_accumulator fine;
    bool tf32 = f->format == HC_TF32;
    line[0] = '\0';
    if (f->format == HC_FP32)
        return HC_FOUND_ALIKE;
    struct hc_call call = call_of(f);
    struct hc_accumulator stated = hc_backend_accumulator(backend, &call);
    if (tf32)
        stated.block = stated.block > 1 ? stated.block / 2 : 1;
    if (!hc_fingerprint_accumulator(f, &found))
        return use_unknown(backend, f, &stated, line);
    enum hc_found_against against = hc_fingerprint_against(&found, &stated);
    if (against == HC_FOUND_COARSER && tf32 && !found.flushes && covers(&plain, found))
        return HC_FOUND_ALIKE; /* The bound of tf32 allows plain fp32, too. */
    if (against == HC_FOUND_COARSER) {
        use(backend, f->format, found, &stated, true, line);
        return against;
    }
    if (against == HC_FOUND_ALIKE || !finest(&found, &fine) ||
        hc_fingerprint_against(&fine, &stated) != HC_FOUND_FINER)
        return HC_FOUND_ALIKE;
    use(backend, f->format, fine, &stated, false, line);
    return against;
}

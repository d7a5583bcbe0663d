#include "check/fingerprint/models.h"

#include <math.h>

#include "num/bits.h"

static const enum hc_unit_rounding unit_roundings[HC_FOUND_ROUNDINGS] = {
    [HC_FOUND_NEAREST] = HC_ROUND_NEAREST,
    [HC_FOUND_CUT] = HC_ROUND_CUT,
    [HC_FOUND_FLOOR] = HC_ROUND_FLOOR,
    [HC_FOUND_ODD] = HC_ROUND_ODD,
};

static bool is_model(enum hc_found_rounding rounding)
{
    return rounding != HC_FOUND_OTHER && rounding != HC_FOUND_AWAY && rounding != HC_FOUND_EXACT;
}

/* The rules of src/unit that an order may follow, and the products of an instruction. */
static bool rule_of(const struct hc_findings_of_shape *f, struct hc_unit *u)
{
    u->piece = u->k = f->piece;
    switch (f->order) {
    case HC_SUM_IN_ORDER:
        u->rule = HC_UNIT_CHAIN;
        return true;
    case HC_SUM_ODD_FIRST:
        u->rule = HC_UNIT_CHAIN;
        u->last_first = true;
        u->piece = u->k = 2;
        return true;
    case HC_SUM_TWO_CHAINS:
        u->rule = HC_UNIT_TWO_CHAINS;
        return true;
    case HC_SUM_PAIRS:
        u->rule = f->piece == 2 ? HC_UNIT_PAIR_THEN_C : HC_UNIT_PAIRWISE;
        return f->piece <= 4;
    case HC_SUM_PIECES:
        u->rule = HC_UNIT_FUSED;
        u->fraction = f->products.fraction;
        return f->products.fraction > 0 && is_model(f->products.rounding);
    case HC_SUM_EXACT:
        u->rule = HC_UNIT_EXACT;
        return true;
    default:
        return false;
    }
}

bool hc_model_of_findings(enum hc_format format, const struct hc_findings_of_shape *f,
                          struct hc_model *model)
{
    struct hc_unit *u = &model->unit;
    *model = (struct hc_model){.c_last = f->c == HC_SUM_C_LAST, .rounded = f->rounded};
    *u = (struct hc_unit){.name = "what was found", .title = "", .instruction = "", .source = ""};
    u->a = u->b = hc_operand_of(format);
    u->c = u->d = HC_OPERAND_FP32;
    bool flushes = f->small_results == HC_SMALL_FLUSHED || f->small_c == HC_SMALL_FLUSHED;
    bool plain = f->order == HC_SUM_IN_ORDER && !flushes && f->result.rounding == HC_FOUND_NEAREST;
    if (!rule_of(f, u) || !is_model(f->result.rounding) || f->normalized || (f->rounded && !plain))
        return false;
    u->alignment =
        is_model(f->products.rounding) ? unit_roundings[f->products.rounding] : HC_ROUND_NEAREST;
    u->output = unit_roundings[f->result.rounding];
    u->output_fraction = f->result.fraction < 0 ? 23 : f->result.fraction;
    u->zero = f->zero_exponent == HC_ZERO_LOW ? HC_ZERO_IGNORED
              : f->zero_of_operand            ? HC_ZERO_OPERAND
                                              : HC_ZERO_FIXED;
    u->zero_exponent = u->zero_c_exponent = f->zero_exponent;
    u->inputs = f->factors == HC_SMALL_FLUSHED ? HC_INPUTS_SIGNED_ZERO : HC_INPUTS_KEPT;
    u->underflow = flushes ? HC_UNDERFLOW_FLUSHED_UNBOUNDED : HC_UNDERFLOW_GRADUAL;
    u->nans = HC_NANS_ANY;
    u->nan = f->nan[0];
    return true;
}

bool hc_model_fits(const struct hc_unit *u, enum hc_format format)
{
    enum hc_operand operand = hc_operand_of(format);
    return u->a == operand && u->b == operand && u->c == HC_OPERAND_FP32 &&
           u->d == HC_OPERAND_FP32 && u->scale == HC_OPERAND_NONE;
}

/* In fp64 a product of two numbers of fp32 is exact. */
static float rounded_products(const struct hc_probe *p, const uint32_t *a, const uint32_t *b,
                              float c)
{
    float sum = c;
    for (int k = 0; k < p->shape.terms; k++)
        sum += (float)(hc_decode(p->format, a[k]) * hc_decode(p->format, b[k]));
    return sum;
}

static uint32_t answer(const struct hc_probe *p, const struct hc_model *m, int sum)
{
    size_t at = (size_t)sum * (size_t)p->shape.terms;
    uint32_t c = p->c[sum];
    uint32_t first = m->c_last ? 0 : c;
    uint32_t d = m->rounded
                     ? hc_fp32_bits(rounded_products(p, p->a + at, p->b + at, hc_fp32_value(first)))
                     : hc_unit_dot(&m->unit, p->a + at, p->b + at, NULL, p->shape.terms, first);
    return m->c_last && p->takes_c ? hc_fp32_bits(hc_fp32_value(d) + hc_fp32_value(c)) : d;
}

static bool is_nan(uint32_t code)
{
    return (code & 0x7fffffff) > 0x7f800000;
}

/* A C that a library adds makes a NaN of its own. */
static bool same(const struct hc_model *m, uint32_t want, uint32_t got)
{
    return hc_unit_same(&m->unit, want, got) || (m->c_last && is_nan(want) && is_nan(got));
}

int hc_model_differences(const struct hc_probe *p, const struct hc_model *m, int most)
{
    int different = 0;
    for (int i = 0; i < p->count && different <= most; i++)
        different += !same(m, answer(p, m, i), p->got[i]);
    return different;
}

static int products_of(const struct hc_probe *p, int sum)
{
    size_t at = (size_t)sum * (size_t)p->shape.terms;
    int count = 0;
    for (int k = 0; k < p->shape.terms; k++)
        count += (p->a[at + (size_t)k] | p->b[at + (size_t)k]) != 0;
    return count;
}

/* How hard a difference is to read: by its products, and worse if it is about no numbers. */
static int hardness(const struct hc_probe *p, int sum, uint32_t want)
{
    int products = products_of(p, sum);
    bool number = isfinite(hc_decode(HC_FP32, want)) && isfinite(hc_probe_value(p, sum));
    return products + (number ? 0 : 100) + (products < 2 ? 50 : 0);
}

/* The difference that is the easiest to read, or -1. */
static int first_difference(const struct hc_probe *p, const struct hc_model *m, uint32_t *want)
{
    int first = -1;
    for (int i = 0; i < p->count; i++) {
        uint32_t other = answer(p, m, i);
        if (same(m, other, p->got[i]) ||
            (first >= 0 && hardness(p, i, other) >= hardness(p, first, *want)))
            continue;
        first = i;
        *want = other;
    }
    return first;
}

static void keep_difference(const struct hc_probe *p, const struct hc_model *m,
                            struct hc_nearest_model *n)
{
    enum { TERMS = sizeof n->a / sizeof n->a[0] };
    int sum = first_difference(p, m, &n->want);
    size_t at = (size_t)sum * (size_t)p->shape.terms;
    int kept = 0;
    n->terms = products_of(p, sum);
    for (int k = 0; k < p->shape.terms && kept < TERMS; k++) {
        uint32_t a = p->a[at + (size_t)k];
        uint32_t b = p->b[at + (size_t)k];
        if ((a | b) == 0)
            continue;
        n->index[kept] = k;
        n->a[kept] = hc_decode(p->format, a);
        n->b[kept++] = hc_decode(p->format, b);
    }
    n->c = hc_decode(HC_FP32, p->c[sum]);
    n->got = p->got[sum];
}

/* Sums of all kinds that most models fail. */
enum { SCREEN = 288 };

void hc_find_models(const struct hc_probe *p, struct hc_fingerprint *f)
{
    struct hc_model model = {.c_last = f->main.c == HC_SUM_C_LAST};
    struct hc_probe screen = *p;
    int count;
    int least = SCREEN + 1;
    const struct hc_unit *units = hc_units(&count);
    screen.count = p->count < SCREEN ? p->count : SCREEN;
    f->sums = p->count;
    for (int i = 0; i < count; i++) {
        if (!hc_model_fits(&units[i], p->format))
            continue;
        model.unit = units[i];
        int different = hc_model_differences(&screen, &model, least);
        bool equal = different == 0 && hc_model_differences(p, &model, 0) == 0;
        if (equal && f->equal_count < HC_FINGERPRINT_MODELS)
            f->equals[f->equal_count++] = &units[i];
        if (different < least) {
            least = different;
            f->nearest.unit = &units[i];
        }
    }
    if (f->nearest.unit && f->equal_count == 0) {
        model.unit = *f->nearest.unit;
        f->nearest.different = hc_model_differences(p, &model, p->count);
        keep_difference(p, &model, &f->nearest);
    }
    f->in_words = hc_model_of_findings(p->format, &f->main, &model) &&
                  hc_model_differences(p, &model, 0) == 0;
}

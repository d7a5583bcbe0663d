/* Rules that others have made, as rows: for scales, and where these differ; of matrix units; and of
   wrappers of data parallel training. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/amaxes.h"
#include "check/record/json.h"
#include "cli/lines.h"
#include "cli/lists.h"
#include "cli/scale/answer.h"
#include "num/bits.h"
#include "reference_scale.h"
#include "train/parallel/wrapper.h"
#include "unit/unit.h"

/* Scale rules as rows, and where they differ. The second table is made by running the rules'
   independent statements over directed amaxes. */

static void put(json_t *o, const char *key, const char *text)
{
    (void)json_object_set_new(o, key, text ? hc_json_text(text) : json_null());
}

static json_t *row(json_t *rows, const char *name)
{
    json_t *o = json_object();
    put(o, "name", name);
    (void)json_array_append_new(rows, o);
    return o;
}

/* "0 00, inf fe, nan ff": the scales, as programs answer verify, of blocks of zeros, and of such
   with one infinity or one NaN; of tensors with such an amax. */
static void put_specials(json_t *o, int rule)
{
    static const char *const names[] = {"0", "inf", "nan"};
    static const uint32_t special[] = {0, 0x7f800000, 0x7fc00000};
    static struct hc_scale_oracle oracle;
    const struct hc_gen options = {.codes = -1, .from = -1};
    struct hc_scale_plan plan;
    char name[64], text[96] = "";
    (void)snprintf(name, sizeof name, "scale/%s", hc_scale_rules[rule].name);
    if (hc_scale_plan_for("list", name, &options, &plan) != HC_AS_CLAIMED)
        return;
    hc_scale_begin(&oracle, &plan);
    bool has_levels = hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS;
    for (int i = 0; i < 3; i++) {
        uint32_t words[1 + HC_SCALE_BLOCK] = {special[i], has_levels ? special[i] : 0};
        uint32_t scale = hc_scale_next(&oracle, words).scale;
        bool is_fp32 = hc_scale_format((enum hc_scale_rule)rule) == HC_FP32;
        if (is_fp32 && isnan(hc_fp32_value(scale)))
            scale = 0x7fc00000;
        hc_append(text, sizeof text, "%s%s ", i ? ", " : "", names[i]);
        if (i == 2 && rule == HC_SCALE_NVFP4_TE) /* its kernel and its reference differ there */
            hc_append(text, sizeof text, "-");
        else
            hc_append(text, sizeof text, "%0*x", is_fp32 ? 8 : 2, (unsigned)scale);
    }
    put(o, "specials", text);
}

void hc_list_scales(json_t *rows)
{
    static const char *const kinds[] = {
        [HC_SCALE_OF_FP32] = "one fp32 scale",
        [HC_SCALE_OF_E8M0] = "a power of two a block",
        [HC_SCALE_OF_LEVELS] = "ue4m3 a block, fp32 a tensor",
    };
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++) {
        const struct hc_scale_rule_info *rule = &hc_scale_rules[r];
        json_t *o = row(rows, rule->name);
        put(o, "scales", kinds[rule->kind]);
        put(o, "title", rule->title);
        put(o, "source", rule->source);
        put(o, "defects", rule->defects);
        put_specials(o, r);
    }
    for (int r = 0; r < HC_DELAYED_RULE_COUNT; r++) {
        const struct hc_delayed_rule_info *rule = &hc_delayed_rules[r];
        json_t *o = row(rows, rule->name);
        put(o, "scales", "one fp32 scale, from a history");
        put(o, "title", rule->title);
        put(o, "source", rule->source);
        put(o, "defects", rule->defects);
        put(o, "specials", NULL); /* its history matters, too */
    }
}

/* How one rule differs from another over a list of amaxes. */
struct difference {
    int of, scales, elements; /* amaxes; where the scale differs; where what elements are multiplied
                                 by does, under the same scale */
    uint32_t amax;            /* the first of the first kind, or else of the second */
    double want, got;         /* decoding scales there, or factors of elements */
    double loss;              /* of the largest element, where it is above M times the scale */
};

static bool same(double x, double y)
{
    return x == y || (isnan(x) && isnan(y));
}

/* The tensor's amax for rules of two levels is 3072. */
enum { TENSOR = 0x45400000, TIE_NEIGHBOURS = 2 };

/* What saturation takes from the block's largest element, as a part of it. */
static double loss_of(enum hc_scale_rule rule, enum hc_format codes,
                      const struct hc_stated_scale *s, double amax)
{
    double most = hc_format_max(codes) * s->decode *
                  hc_stated_tensor_scale(rule, codes, (double)hc_fp32_value(TENSOR));
    if (amax > (double)hc_fp32_value(TENSOR) && hc_scale_rules[rule].kind == HC_SCALE_OF_LEVELS)
        return 0; /* no block of this tensor has it */
    return isfinite(amax) && amax > most && s->decode > 0 ? (amax - most) / amax : 0;
}

static void compare_rules(struct difference *d, enum hc_scale_rule base, enum hc_scale_rule rule,
                          enum hc_format codes, uint32_t bits)
{
    double amax = (double)hc_fp32_value(bits);
    double tensor = (double)hc_fp32_value(TENSOR);
    struct hc_stated_scale want = hc_stated_scale(base, codes, HC_FP32, tensor, amax);
    struct hc_stated_scale got = hc_stated_scale(rule, codes, HC_FP32, tensor, amax);
    bool scale = same(want.decode, got.decode);
    bool element = !scale || same(want.encode, got.encode);
    d->of++;
    d->loss = fmax(d->loss, loss_of(rule, codes, &got, amax));
    if ((!scale && d->scales == 0) || (!element && d->scales == 0 && d->elements == 0)) {
        d->amax = bits;
        d->want = scale ? want.encode : want.decode;
        d->got = scale ? got.encode : got.decode;
    }
    d->scales += !scale;
    d->elements += !element;
}

/* The rule that those of a kind are compared with: the one that loses nothing, or the kernel's. */
static enum hc_scale_rule base_of(enum hc_scale_rule rule)
{
    static const enum hc_scale_rule bases[] = {[HC_SCALE_OF_FP32] = HC_SCALE_TE_CURRENT,
                                               [HC_SCALE_OF_E8M0] = HC_SCALE_MX_RP,
                                               [HC_SCALE_OF_LEVELS] = HC_SCALE_NVFP4_TE};
    return bases[hc_scale_rules[rule].kind];
}

static void put_text_of(json_t *o, const char *key, const char *format, double x, bool has)
{
    char text[40];
    (void)snprintf(text, sizeof text, format, x);
    put(o, key, has ? text : NULL);
}

static void add_difference(json_t *rows, enum hc_scale_rule rule, enum hc_format codes,
                           const uint32_t *amaxes, int count)
{
    struct difference d = {0};
    for (int i = 0; i < count; i++)
        compare_rules(&d, base_of(rule), rule, codes, amaxes[i]);
    char witness[16];
    (void)snprintf(witness, sizeof witness, "%08x", (unsigned)d.amax);
    bool has = d.scales + d.elements > 0;
    json_t *o = row(rows, hc_scale_rules[rule].name);
    put(o, "against", hc_scale_rules[base_of(rule)].name);
    put(o, "codes", hc_formats[codes].name);
    (void)json_object_set_new(o, "amaxes", json_integer(d.of));
    (void)json_object_set_new(o, "other scale", json_integer(d.scales));
    (void)json_object_set_new(o, "other elements", json_integer(d.elements));
    put(o, "first amax", has ? witness : NULL);
    put_text_of(o, "want", "%a", d.want, has);
    put_text_of(o, "got", "%a", d.got, has);
    put_text_of(o, "worst loss", "%.1f %%", 100 * d.loss, true);
}

/* Amaxes whose scale in ue4m3, under this tensor's, lies about the tie behind a power of two, where
   rounding takes the largest part of a scale. Returns how many there are now. */
static int add_ties(enum hc_scale_rule rule, enum hc_format codes, uint32_t *amaxes, int count)
{
    double tensor = hc_stated_tensor_scale(rule, codes, (double)hc_fp32_value(TENSOR));
    for (int k = hc_formats[HC_UE4M3].emin; k < hc_formats[HC_UE4M3].emax; k++) {
        double tie = ldexp(1 + ldexp(1, -hc_formats[HC_UE4M3].precision), k);
        uint32_t bits = hc_fp32_bits((float)(tie * tensor * hc_format_max(codes)));
        for (int i = -TIE_NEIGHBOURS; i <= TIE_NEIGHBOURS && count < HC_MOST_AMAXES; i++)
            amaxes[count++] = bits + (uint32_t)i;
    }
    return count;
}

void hc_list_scale_differences(json_t *rows)
{
    static const enum hc_format codes_of[] = {HC_E4M3, HC_E5M2, HC_E2M1};
    static uint32_t amaxes[HC_MOST_AMAXES];
    for (int c = 0; c < 3; c++) {
        struct hc_amaxes which = {.codes = codes_of[c], .stride = 1, .neighbours = 5};
        int count = hc_amaxes(&which, amaxes, HC_MOST_AMAXES);
        for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT; r++) {
            enum hc_scale_rule rule = (enum hc_scale_rule)r;
            bool levels = hc_scale_rules[r].kind == HC_SCALE_OF_LEVELS;
            if (rule != base_of(rule) && (codes_of[c] == HC_E2M1 || !levels) &&
                (codes_of[c] == HC_E4M3 || hc_scale_rules[r].kind != HC_SCALE_OF_FP32))
                add_difference(rows, rule, codes_of[c], amaxes,
                               levels ? add_ties(rule, codes_of[c], amaxes, count) : count);
        }
    }
}

/* Matrix units as rows. */

/* A column that is empty where the unit's rule does not read it. */
static void put_number(json_t *o, const char *key, bool has, int number)
{
    (void)json_object_set_new(o, key, has ? json_integer(number) : json_null());
}

static bool aligns(const struct hc_unit *u)
{
    return u->rule == HC_UNIT_FUSED || u->rule == HC_UNIT_GROUPED || u->rule == HC_UNIT_FLOORED ||
           u->rule == HC_UNIT_FLOORED_HALVES;
}

static json_t *description(const struct hc_unit *u)
{
    static const char *const inputs[] = {
        [HC_INPUTS_KEPT] = "kept",
        [HC_INPUTS_SIGNED_ZERO] = "zeros of their sign",
        [HC_INPUTS_POSITIVE_ZERO] = "+0",
    };
    static const char *const underflow[] = {
        [HC_UNDERFLOW_GRADUAL] = "gradual",
        [HC_UNDERFLOW_FLUSHED_AFTER] = "flushed after rounding",
        [HC_UNDERFLOW_FLUSHED_UNBOUNDED] = "flushed after rounding with unbounded exponent",
    };
    static const char *const nans[] = {
        [HC_NANS_CANONICAL] = "one code",
        [HC_NANS_ANY] = "any",
        [HC_NANS_FIRST] = "the first operand's",
    };
    static const char *const zeros[] = {
        [HC_ZERO_IGNORED] = "ignored",
        [HC_ZERO_FIXED] = "fixed",
        [HC_ZERO_OPERAND] = "of the operand",
    };
    json_t *o = json_object();
    char nan[16];
    (void)snprintf(nan, sizeof nan, "%0*x", hc_operands[u->d].bits / 4, u->nan);
    put(o, "machine", u->title);
    put(o, "instruction", u->instruction);
    put(o, "a", hc_operands[u->a].name);
    put(o, "b", hc_operands[u->b].name);
    put(o, "c", hc_operands[u->c].name);
    put(o, "d", hc_operands[u->d].name);
    put(o, "scale", u->scale == HC_OPERAND_NONE ? NULL : hc_operands[u->scale].name);
    put_number(o, "block", u->block > 0, u->block);
    put_number(o, "group", u->group > 0, u->group);
    put(o, "alignment", aligns(u) ? hc_unit_rounding_names[u->alignment] : NULL);
    put_number(o, "floor fraction", u->floor_fraction > 0, u->floor_fraction);
    put_number(o, "total fraction", u->total_fraction > 0, u->total_fraction);
    put(o, "zero product", aligns(u) ? zeros[u->zero] : NULL);
    put_number(o, "exponent of a zero C", aligns(u), u->zero_c_exponent);
    put(o, "subnormal operands", inputs[u->inputs]);
    put(o, "underflow", underflow[u->underflow]);
    put(o, "NaN", nans[u->nans]);
    put(o, "NaN code", nan);
    put(o, "variant of", u->variant_of);
    return o;
}

void hc_list_units(json_t *rows)
{
    int n;
    const struct hc_unit *units = hc_units(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_unit *u = &units[i];
        json_t *o = json_object();
        char operands[64];
        (void)snprintf(operands, sizeof operands, "%s*%s+%s=%s", hc_operands[u->a].name,
                       hc_operands[u->b].name, hc_operands[u->c].name, hc_operands[u->d].name);
        put(o, "name", u->name);
        put(o, "operands", operands);
        put(o, "rule", hc_unit_rule_names[u->rule]);
        put_number(o, "k", true, u->k);
        put_number(o, "piece", true, u->piece);
        put_number(o, "fraction bits", aligns(u), u->fraction);
        put(o, "rounding", hc_unit_rounding_names[u->output]);
        put_number(o, "bits of d", true, u->output_fraction);
        put_number(o, "zero exponent", aligns(u) && u->zero != HC_ZERO_IGNORED, u->zero_exponent);
        put(o, "certainty", hc_unit_certainty_names[u->certainty]);
        put(o, "source", u->source);
        (void)json_object_set_new(o, "description", description(u));
        (void)json_array_append_new(rows, o);
    }
}

/* Wrappers of data parallel training as rows. */

static void put_buckets(json_t *o, const struct hc_wrapper *w)
{
    static const char *const units[] = {[HC_UNIT_ELEMENTS] = "elements", [HC_UNIT_BYTES] = "bytes"};
    char text[128];
    if (w->bucketing == HC_BUCKET_OF_FORMAT)
        (void)snprintf(text, sizeof text, "one of each format");
    else if (w->bucketing == HC_BUCKET_OF_LAYER)
        (void)snprintf(text, sizeof text, "one of each layer and format");
    else if (w->first_bucket == w->bucket)
        (void)snprintf(text, sizeof text, "at %s %lld %s",
                       w->bucketing == HC_BUCKET_AT_LEAST ? "least" : "most", (long long)w->bucket,
                       units[w->unit]);
    else
        (void)snprintf(text, sizeof text, "at least %lld %s, then %lld", (long long)w->first_bucket,
                       units[w->unit], (long long)w->bucket);
    put(o, "buckets", text);
}

void hc_list_wrappers(json_t *rows)
{
    static const char *const divisions[] = {
        [HC_DIVIDE_SPLIT] = "before by predivide, after by the rest",
        [HC_DIVIDE_BEFORE] = "before",
        [HC_DIVIDE_ROOT] = "before by about the root, after by the rest",
        [HC_DIVIDE_ROOT_OF_FP16] = "before; in fp16 by about the root, after by the rest",
    };
    int n;
    const struct hc_wrapper *wrappers = hc_wrappers(&n);
    for (int i = 0; i < n; i++) {
        const struct hc_wrapper *w = &wrappers[i];
        json_t *o = json_object();
        put(o, "name", w->name);
        put_buckets(o, w);
        put(o, "algorithm", hc_collective_names[w->algorithm]);
        put(o, "sums in", hc_reduce_names[w->reduce]);
        put(o, "divides", divisions[w->division]);
        put(o, "title", w->title);
        put(o, "source", w->source);
        put(o, "defects", w->defects);
        (void)json_array_append_new(rows, o);
    }
}

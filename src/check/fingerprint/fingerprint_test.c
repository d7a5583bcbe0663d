/* Published units are named, changed ones are not. */
#include "check/fingerprint/testing.h"

/* Whether gemm takes the unit's factors and gives its result. */
static bool is_gemm(const struct hc_unit *u)
{
    static const enum hc_operand taken[] = {HC_OPERAND_FP16, HC_OPERAND_BF16, HC_OPERAND_TF32,
                                            HC_OPERAND_FP32};
    bool known = false;
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        known |= u->a == taken[i] && u->b == taken[i];
    return known && u->c == HC_OPERAND_FP32 && u->d == HC_OPERAND_FP32 &&
           u->scale == HC_OPERAND_NONE;
}

/* Whether the sums of any two products have the same bits on both: they differ in their names, or
   in how many pieces an instruction has. */
static bool has_same_bits(struct hc_unit a, const struct hc_unit *b)
{
    bool chained = a.rule == HC_UNIT_FUSED || a.rule == HC_UNIT_CHAIN;
    a.name = b->name;
    a.title = b->title;
    a.instruction = b->instruction;
    a.source = b->source;
    a.variant_of = b->variant_of;
    a.certainty = b->certainty;
    if (chained)
        a.k = b->k;
    return memcmp(&a, b, sizeof a) == 0;
}

static bool was_tried(const struct hc_unit *units, int i)
{
    for (int before = 0; before < i; before++)
        if (has_same_bits(units[i], &units[before]))
            return true;
    return false;
}

/* The accumulators that the bounds of these units assume, or would. */
static const struct {
    const char *name;
    struct hc_accumulator want;
} accumulators[] = {{"v100-fp16-fp32", {24, 4, 0, true, false, true, false}},
                    {"t4-fp16-fp32", {24, 8, 1, true, false, true, false}},
                    {"h100mma-fp16-fp32", {24, 16, 2, true, false, true, false}},
                    {"mi100-fp16-fp32", {24, 1, 0, false, false, false, false}},
                    {"mi250x-fp16-fp32", {24, 1, 0, false, true, false, false}},
                    {"mi300x-fp16-fp32", {24, 8, 1, true, false, true, false}},
                    {"amx-bf16-fp32", {24, 1, 0, false, true, false, false}},
                    {"avx512bf16-bf16-fp32", {24, 1, 0, false, true, false, false}},
                    {"bfmmla-bf16-fp32", {24, 1, 24, true, true, false, false}}};
enum { ACCUMULATORS = sizeof accumulators / sizeof accumulators[0] };

static int compare_accumulator(const struct hc_unit *u, const struct hc_fingerprint *f)
{
    for (int i = 0; i < ACCUMULATORS; i++) {
        const struct hc_accumulator *w = &accumulators[i].want;
        struct hc_accumulator a;
        if (strcmp(accumulators[i].name, u->name) != 0)
            continue;
        cr_assert(hc_fingerprint_accumulator(f, &a), "%s", u->name);
        cr_expect(a.precision == w->precision && a.block == w->block &&
                      a.extra_bits == w->extra_bits && a.truncates == w->truncates &&
                      a.flushes == w->flushes && a.aligns_subnormals == w->aligns_subnormals,
                  "%s: %d %d %d %d %d", u->name, a.precision, a.block, a.extra_bits, a.truncates,
                  a.flushes);
        return 1;
    }
    return 0;
}

Test(fingerprint, names_every_published_unit_and_no_other)
{
    int n;
    int tried = 0;
    int compared = 0;
    const struct hc_unit *units = hc_units(&n);
    bool few = getenv("HALFCHECK_SHORT_TESTS"); /* one unit of each rule */
    bool known[HC_UNIT_RULE_COUNT] = {false};
    for (int i = 0; i < n; i++) {
        if (!is_gemm(&units[i]) || was_tried(units, i) || (few && known[units[i].rule]))
            continue;
        known[units[i].rule] = true;
        struct hc_fingerprint f = fingerprint_of_unit(&units[i]);
        tried++;
        compared += compare_accumulator(&units[i], &f);
        cr_expect(is_named(&f, units[i].name), "%s", units[i].name);
        for (int e = 0; e < f.equal_count; e++)
            cr_expect(has_same_bits(units[i], f.equals[e]), "%s is not told from %s", units[i].name,
                      f.equals[e]->name);
    }
    cr_expect_gt(tried, few ? 5 : 20);
    cr_expect(few || compared == ACCUMULATORS, "%d", compared);
}

/* One change of a description. */
static void one_bit_more(struct hc_unit *u)
{
    u->fraction++;
}

static void one_bit_less(struct hc_unit *u)
{
    u->fraction--;
}

static void half_a_piece(struct hc_unit *u)
{
    u->piece /= 2;
}

static void floored(struct hc_unit *u)
{
    u->alignment = HC_ROUND_FLOOR;
}

static void rounded_output(struct hc_unit *u)
{
    u->output = HC_ROUND_NEAREST;
}

static void other_zero(struct hc_unit *u)
{
    u->zero_exponent--;
    u->zero_c_exponent--;
}

Test(fingerprint, gives_no_name_to_a_unit_that_was_changed)
{
    static const char *const subjects[] = {"a100-bf16-fp32", "h100wgmma-bf16-fp32"};
    static void (*const changes[])(struct hc_unit *) = {one_bit_more, one_bit_less,   half_a_piece,
                                                        floored,      rounded_output, other_zero};
    for (size_t s = getenv("HALFCHECK_SHORT_TESTS") ? 1 : 0; s < 2; s++)
        for (size_t c = 0; c < sizeof changes / sizeof changes[0]; c++) {
            struct hc_unit changed = *hc_unit_by_name(subjects[s]);
            changes[c](&changed);
            struct hc_fingerprint f = fingerprint_of_unit(&changed);
            cr_expect_eq(f.equal_count, 0, "%s, change %zu: %s", subjects[s], c,
                         f.equal_count ? f.equals[0]->name : "");
            cr_expect(f.in_words, "%s, change %zu: what was found explains it", subjects[s], c);
            cr_assert_not_null(f.nearest.unit);
            cr_expect_gt(f.nearest.different, 0);
            cr_expect_neq(f.nearest.want, f.nearest.got);
        }
}

Test(fingerprint, finds_what_was_changed)
{
    struct hc_unit changed = *hc_unit_by_name("a100-bf16-fp32");
    other_zero(&changed);
    one_bit_more(&changed);
    floored(&changed);
    rounded_output(&changed);
    struct hc_findings_of_shape f = fingerprint_of_unit(&changed).main;
    cr_expect_eq(f.order, HC_SUM_PIECES);
    cr_expect_eq(f.piece, 8);
    cr_expect_eq(f.products.fraction, 25);
    cr_expect_eq(f.products.rounding, HC_FOUND_FLOOR);
    cr_expect_eq(f.result.fraction, 23);
    cr_expect_eq(f.result.rounding, HC_FOUND_NEAREST);
    cr_expect_eq(f.c, HC_SUM_C_FUSED);
    cr_expect_eq(f.zero_exponent, -133);
    cr_expect_eq(f.nan[0], 0x7fffffffu);
}

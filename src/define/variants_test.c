/* Variants of the library: what is right by one of them alone is found, and no wrong result. */
#include "define/draw.h"
#include "define/judge.h"
#include "define/library.h"
#include "define/testing.h"

enum { PLACES = 64 };

/* A gated scan as a tree: in each round each place takes in what lies d places before. */
static void scan_as_tree(float *a, float *b)
{
    for (int d = 1; d < PLACES; d *= 2)
        for (int t = PLACES - 1; t >= d; t--) {
            b[t] += a[t] * b[t - d];
            a[t] *= a[t - d];
        }
}

/* Elements that are wrong by a variant of gated_scan; NULL: by its own equations. */
static int64_t wrong_of(const char *variant, enum hc_family family, bool loses_start, uint64_t seed)
{
    static float x[PLACES];
    static float a[PLACES];
    static float decay[PLACES];
    static float h[PLACES];
    float start = 0.75F;
    struct hc_formula_error error;
    struct hc_defined_output output;
    struct hc_definition *d =
        hc_definition_read_variant(hc_library_find("gated_scan"), variant, &error);
    cr_assert(d, "%s", error.what);
    struct hc_instance in = {.definition = d, .io = HC_FP32, .freedoms = hc_usual_freedoms};
    in.input[0] = hc_tensor2(HC_FP32, PLACES, 1, x);
    in.input[1] = hc_tensor2(HC_FP32, PLACES, 1, a);
    in.input[2] = hc_tensor1(HC_FP32, 1, &start);
    hc_family_draw(&in.input[0], family, 0, seed, 0);
    hc_family_draw(&in.input[1], HC_FAMILY_NORMAL, 0, seed, 1);
    for (int t = 0; t < PLACES; t++) {
        decay[t] = a[t];
        h[t] = (1 - a[t]) * x[t];
    }
    scan_as_tree(decay, h);
    for (int t = 0; t < PLACES && !loses_start; t++)
        h[t] += decay[t] * start;
    struct hc_tensor got = hc_tensor2(HC_FP32, PLACES, 1, h);
    cr_assert_eq(hc_instance_bind(&in), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_define_judge(&in, d->result[0], &got, true, &output), HC_OK);
    hc_definition_free(d);
    return output.wrong;
}

/* The same of twenty draws. */
static int64_t wrong_by(const char *variant, enum hc_family family, bool loses_start)
{
    int64_t wrong = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        wrong += wrong_of(variant, family, loses_start, seed);
    return wrong;
}

Test(variants, a_scan_that_is_a_tree_keeps_to_its_variant_and_to_nothing_else)
{
    cr_expect_gt(wrong_by(NULL, HC_FAMILY_NORMAL, false), 0);
    cr_expect_eq(wrong_by("tree", HC_FAMILY_NORMAL, false), 0);
    cr_expect_eq(wrong_by("tree", HC_FAMILY_CANCELLING, false), 0);
    cr_expect_gt(wrong_by("tree", HC_FAMILY_NORMAL, true), 0);
}

Test(variants, every_variant_of_the_library_computes_the_same_real_numbers)
{
    int compared = 0;
    for (const struct hc_library_text *row = hc_library; row->name; row++) {
        struct hc_formula_error error;
        struct hc_definition *d = hc_definition_read(row->text, &error);
        cr_assert(d, "%s: %s", row->name, error.what);
        struct hc_instance in = drawn_instance(d, HC_FP32, NULL);
        for (int v = 0; v < d->variants; v++) {
            struct hc_definition *other =
                hc_definition_read_variant(row->text, d->variant[v], &error);
            struct hc_instance with = in;
            with.definition = other;
            cr_assert_eq(hc_instance_bind(&with), HC_OK, "%s", hc_message());
            struct hc_evaluator *a = hc_evaluator_new(&in);
            struct hc_evaluator *b = hc_evaluator_new(&with);
            for (int64_t i = 0; i < hc_instance_count(&in, d->result[0]); i++, compared++) {
                struct hc_exact want = value_at(a, d->result[0], i).want;
                struct hc_exact got = value_at(b, other->result[0], i).want;
                cr_expect(fabs(want.hi - got.hi + (want.lo - got.lo)) <= 0x1p-60 * fabs(want.hi),
                          "%s, %s: [%lld] is %.17g, and %.17g by the variant", row->name,
                          d->variant[v], (long long)i, want.hi, got.hi);
            }
            hc_evaluator_free(a);
            hc_evaluator_free(b);
            hc_definition_free(other);
        }
        free_inputs(&in);
        hc_definition_free(d);
    }
    cr_expect_gt(compared, 50, "%d", compared);
}

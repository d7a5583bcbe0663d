/* An overflow detector looks at the gradients before they are divided by the loss scale. One that
   looks at what it has written, in place, sees what the division made of them. */
#include "cases/fixture/scaling.h"

#include <math.h>

enum { ELEMENTS = 65 };

/* The largest number of either sign in turn: a sum of them that overflowed would be an alarm. */
static struct hc_tensor largest(struct hc_check *check, enum hc_format format)
{
    struct hc_tensor t = hc_check_vector(check, format, ELEMENTS);
    for (int64_t i = 0; i < ELEMENTS; i++)
        hc_tensor_set(&t, i, i % 2 ? -hc_format_max(format) : hc_format_max(format));
    return t;
}

/* The largest number over 2^-10 is infinite, and no overflow of the backward pass: gradients are
   looked at before the division, in place, too. An infinity stays one. */
static void before_the_division(struct hc_check *check)
{
    static const enum hc_format places[] = {HC_FP16, HC_BF16, HC_FP32};
    struct hc_comparisons all = {.what = "flags"};
    for (size_t f = 0; f < sizeof places / sizeof *places; f++)
        for (int place = 0; place < 2; place++)
            for (int kind = 0; kind < 3; kind++) {
                bool found;
                struct hc_tensor x = largest(check, places[f]);
                struct hc_tensor out = place ? x : hc_check_vector(check, places[f], ELEMENTS);
                if (kind)
                    hc_tensor_set(&x, kind == 1 ? 0 : ELEMENTS - 1, -(double)INFINITY);
                if (hc_unscale_into(check, &x, 0x1p-10, kind == 2, &out, &found) != HC_OK)
                    return;
                all.checked += 2;
                if (found != (kind > 0))
                    hc_comparisons_wrong(&all, "%s%s: %s is found in gradients that are %s",
                                         hc_formats[places[f]].name, place ? " in place" : "",
                                         found ? "an overflow" : "none",
                                         kind ? "infinite" : "finite");
                if (isfinite(hc_tensor_get(&out, 1)))
                    hc_comparisons_wrong(&all, "%s%s: %g is finite", hc_formats[places[f]].name,
                                         place ? " in place" : "", hc_tensor_get(&out, 1));
            }
    hc_claim_comparisons(check, &all);
}

static const struct hc_case cases[] = {
    {.name = "scaler/detector-before-division",
     .title = "gradients that only the division by the scale makes infinite are no overflow, in "
              "place, too",
     .source = "contract in src/op/elementwise.h: x is looked at before the division",
     .run = before_the_division},
};

HC_CASES(scaler_detector, cases);

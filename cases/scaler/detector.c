/* An overflow detector looks at every gradient, for either infinity and for NaN, and before the
   division. Random gradients test that badly: with many special numbers in one tensor a detector
   may be blind to one kind of them, or to one place, and the others give it away. So each special
   number lies alone here, in every place where a kernel may change its way. */
#include "cases/fixture/scaling.h"

#include <math.h>

enum { LONGEST = 513 };

static const struct {
    const char *name;
    double x; /* NaN or infinite, or, of the last one, finite */
} lone[] = {
    {"+inf", (double)INFINITY}, {"-inf", -(double)INFINITY}, {"NaN", (double)NAN}, {"nothing", 0}};

static const enum hc_format formats[][2] = {{HC_FP16, HC_FP32},
                                            {HC_FP16, HC_FP16},
                                            {HC_BF16, HC_FP32},
                                            {HC_BF16, HC_BF16},
                                            {HC_FP32, HC_FP32}};

/* The first, the middle and the last element, and those on both sides of a power of two, which is
   where vectors, cache lines and threads' shares end. */
static bool is_tried(int64_t at, int64_t n)
{
    bool border = at == 0 || at == n / 2 || at == n - 1;
    for (int64_t b = 4; b <= n && !border; b *= 2)
        border = at == b - 1 || at == b;
    return border;
}

/* The largest number of either sign in turn: a sum of them that overflowed would be an alarm. */
static struct hc_tensor largest(struct hc_check *check, enum hc_format format, int64_t n)
{
    struct hc_tensor t = hc_check_vector(check, format, LONGEST);
    t.shape[0] = n;
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i, i % 2 ? -hc_format_max(format) : hc_format_max(format));
    return t;
}

/* False if a call could not be run. */
static bool try_length(struct hc_check *check, const enum hc_format *format, int64_t n,
                       struct hc_comparisons *all)
{
    struct hc_tensor x = largest(check, format[0], n);
    struct hc_tensor out = hc_check_vector(check, format[1], n);
    for (int64_t at = 0; at < n; at++)
        for (size_t k = 0; is_tried(at, n) && k < sizeof lone / sizeof *lone; k++) {
            bool found;
            bool want = !isfinite(lone[k].x);
            double was = hc_tensor_get(&x, at);
            hc_tensor_set(&x, at, want ? lone[k].x : was);
            enum hc_status status = hc_unscale_into(check, &x, 512, k % 2 == 0, &out, &found);
            hc_tensor_set(&x, at, was);
            if (status != HC_OK)
                return false;
            all->checked++;
            if (found != want)
                hc_comparisons_wrong(all, "%s alone at element %lld of %lld in %s: found is %d",
                                     lone[k].name, (long long)at, (long long)n,
                                     hc_formats[format[0]].name, found);
        }
    return true;
}

static void each_alone(struct hc_check *check)
{
    static const int64_t lengths[] = {1, 2, 9, 33, 64, 65, 130, LONGEST};
    struct hc_comparisons all = {.what = "flags"};
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            if (!try_length(check, formats[f], lengths[i], &all))
                return;
    hc_claim_comparisons(check, &all);
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
                struct hc_tensor x = largest(check, places[f], 65);
                struct hc_tensor out = place ? x : hc_check_vector(check, places[f], 65);
                if (kind)
                    hc_tensor_set(&x, kind == 1 ? 0 : 64, -(double)INFINITY);
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
    {.name = "scaler/detector-each-alone",
     .title = "unscale finds +inf, -inf and NaN that lie alone in any place where a kernel may "
              "change its way, and nothing in the largest numbers",
     .source = "contract in src/op/elementwise.h",
     .run = each_alone},
    {.name = "scaler/detector-before-division",
     .title = "gradients that only the division by the scale makes infinite are no overflow, in "
              "place, too",
     .source = "contract in src/op/elementwise.h: x is looked at before the division",
     .run = before_the_division},
};

HC_CASES(scaler_detector, cases);

/* The numbers of a blog on fastai with Apex: eps first, then a scale that moves.

   It found that Adam's eps of 1e-8 is 0 in half, and it is right. Its remedies are half right: an
   eps of 1e-4 has no NaN, but steps of another size.

   No case: networks that are 80 % larger are a matter of memory. */
#include "cases/fixture/quote.h"

#define BLOG                                                                                       \
    "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "  \
    "Precision'"

static const struct hc_case cases[] = {
    HC_QUOTE("seeds/004-fp16-blog/eps-1e-8-becomes-0", "'Under fp16 encoding, 1e-8 becomes 0'",
             BLOG, .in = "fp32", .formula = "eps = fp16(fp32(1e-8)); limit = fp16(fp32(2^-25))",
             .show = "eps, limit", .says = "0, -", .is = "0, 0", .right = true,
             .lesson = "Everything up to 2^-25 = 2.98e-8 is 0 in half.",
             .shown_by = "eps/1e-8-is-zero-in-half"),
    HC_QUOTE("seeds/004-fp16-blog/eps-1e-7-is-not-0", "'down to 1e-7 can still be handled'", BLOG,
             .in = "fp32", .formula = "eps = fp16(fp32(1e-7))", .show = "eps, fp32(eps) / 1e-7 - 1",
             .says = "1e-7, -", .is = "1.1921e-7, 19.2%", .right = true,
             .lesson = "1e-7 becomes the subnormal 2^-23, which is 19 % more.",
             .shown_by = "eps/1e-7-grows-in-half"),
    HC_QUOTE("seeds/004-fp16-blog/eps-1e-7-is-safe", "'down to 1e-7 can still be handled'", BLOG,
             .in = "fp16", .formula = "g = 5e-3; m = 0.1 * g; v = 0.001 * g * g; w = 1",
             .each = "w = w - 1e-3 * ((m / 0.1) / (sqrt(v / 0.001) + 1e-7))", .steps = 1,
             .show = "w", .says = "0.999", .is = "-41",
             .lesson = "Keep v in fp32: where it underflows, eps alone is left to divide by.",
             .correction = "The blog says that an eps of 1e-7 can still be handled: with Adam's "
                           "state in half a gradient of 5e-3 moves a weight from 1 to -41.",
             .shown_by = "eps/adam-in-half-eps-1e-7"),
    HC_QUOTE("seeds/004-fp16-blog/eps-1e-4-has-no-nan",
             "'The fix is simple, supply a larger epsilon'", BLOG, .in = "fp16",
             .formula = "g = 0; m = 0.1 * g; v = 0.01 * g * g\n"
                        "u_8 = (m / 0.1) / (sqrt(v / 0.01) + 1e-8)\n"
                        "u_4 = (m / 0.1) / (sqrt(v / 0.01) + 1e-4)",
             .show = "u_8, u_4", .says = "nan, 0", .is = "nan, 0", .right = true,
             .lesson = "An eps that half can hold has no 0 / 0."),
    HC_QUOTE(
        "seeds/004-fp16-blog/eps-1e-4-is-the-fix",
        "'AdamW16 = partial(torch.optim.Adam, betas=(0.9,0.99), eps=1e-4)'", BLOG, .in = "fp16",
        .formula = "g = [1e-3, 1e-5]; m = 0.1 * g; v = 0.01 * g * g\n"
                   "u = (m / 0.1) / (sqrt(v / 0.01) + 1e-4)",
        .show = "u", .says = "1, 1", .is = "10, 0.10",
        .lesson = "Put Adam's state into fp32 instead of a larger eps into half.",
        .correction = "The blog says that an eps of 1e-4 makes Adam safe for half: there is no "
                      "NaN, but first steps are 10 and 0.1 times the right size for gradients "
                      "of 1e-3 and 1e-5.",
        .shown_by = "eps/adam-in-half-eps-1e-4"),
    HC_QUOTE("seeds/004-fp16-blog/amp-still-has-nan",
             "'Even after adding AMP to your configuration, you might still see NaNs'", BLOG,
             .in = "fp32",
             .formula = "g = 0; m = 0.1 * g; v = 0.01 * g * g\n"
                        "u = (m / 0.1) / (sqrt(v / 0.01) + 1e-8)",
             .show = "u", .says = "nan", .is = "0",
             .lesson = "Look for NaN elsewhere: under AMP weights and Adam's state are fp32.",
             .correction =
                 "The blog gives Adam's eps of 1e-8 as a cause of NaN under AMP, too: AMP keeps "
                 "Adam's state in fp32, where a zero gradient makes a step of 0.",
             .shown_by = "eps/adam-fp32-eps-1e-8"),
    HC_QUOTE("seeds/004-fp16-blog/adam-named-adamw", "'create fp16-safe AdamW'", BLOG, .in = "fp32",
             .formula = "w = 1; m = 0; v = 0; adamw = 1",
             .each = "g = 1e-2 * w; m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * g; "
                     "w -= 1e-3 * (m / (1 - 0.9^step)) / (sqrt(v / (1 - 0.99^step)) + 1e-4); "
                     "adamw *= 1 - 1e-3 * 1e-2",
             .steps = 100, .show = "w, adamw", .says = "0.999, 0.999", .is = "0.902, 0.999",
             .lesson = "torch.optim.Adam puts decay into the gradient; AdamW does not.",
             .correction = "The blog names torch.optim.Adam AdamW: with a decay of 1e-2 and a rate "
                           "of 1e-3 a hundred steps leave 0.902 of a weight, AdamW leaves 0.999.",
             .shown_by = "decay/l2-is-not-decoupled-under-adam"),
    HC_QUOTE("seeds/004-fp16-blog/static-512-not-as-far",
             "'in some cases won't get you as far as dynamic loss scaling'", BLOG, .in = "fp32",
             .formula = "static = fp16(5e-11 * 512); dynamic = fp16(5e-11 * 65536)",
             .show = "static, dynamic > 0, fp16(127.97 * 512), fp16(127.96 * 512)",
             .says = "0, 1, -, -", .is = "0, 1, inf, 65504 exact", .right = true,
             .lesson = "A scale of 512 covers gradients from 5.83e-11 to 127.96.",
             .shown_by = "underflow/static-512-range"),
    HC_QUOTE("seeds/004-fp16-blog/dynamic-scale-adapts",
             "'the scaling factor is continuously adapted'", BLOG, .in = "fp32",
             .formula = "down = 65536; up = 65536; until_0 = 1; until_inf = 1",
             .each = "down /= 2; up *= 2; until_0 += down > 0; until_inf += isfinite(up)",
             .steps = 170, .show = "down < 65536, up > 65536, until_0, until_inf",
             .says = "1, 1, -, -", .is = "1, 1, 166 exact, 112 exact", .right = true,
             .lesson = "Give the scale a floor and a cap: 166 halvings make 0, 112 doublings inf.",
             .shown_by = "scaler/overflows-without-end"),
    HC_QUOTE(
        "seeds/004-fp16-blog/eps-added-to-the-denominator",
        "'an epsilon argument which is added to possibly small denominators'", BLOG, .in = "fp32",
        .formula = "v = 1e-12; outside = 1 / (sqrt(v) + 1e-8); inside = 1 / sqrt(v + 1e-8)",
        .show = "outside > inside, outside / inside", .says = "1, -", .is = "1, 99.0",
        .right = true, .lesson = "Say where eps stands: inside the root it counts 99-fold here.",
        .shown_by = "eps/inside-or-outside-the-root"),
};

HC_CASES(seeds_004_fp16_blog, cases);

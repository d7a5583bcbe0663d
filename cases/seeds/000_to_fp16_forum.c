/* The numbers of a thread about fastai's to_fp16: copies of a model that seem to fall apart.

   The asker multiplies the optimizer's fp32 weights by 1 - wd lr and fears that the half model does
   not follow; the replies explain who owns which copy. The answer to the fear is that the model is
   half(master) after each step, so that the two are never more than a rounding apart.

   No cases: "a fp32 model, a fp16 copy, an fp32 copy of the fp16 batchnorm layers" counts tensors,
   which no rounding changes; "if I modify bn_d, bn_d2 gets modified too" is of a session that is
   not shown (batchnorm/same-storage-is-edited-together has what may have been meant). */
#include "cases/fixture/quote.h"

#define FORUM "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'"

static const struct hc_case cases[] = {
    HC_QUOTE(
        "seeds/000-to-fp16-forum/decay-falls-out-of-sync",
        "'if you simply modify the data, I think it will slowly fall out of sync with the "
        "fp16 model'",
        FORUM ", its first post", .in = "fp32", .formula = "w = 1; apart = 0",
        .each = "w *= 1 - 1e-2 * 1e-3; model = fp16(w); apart = max(apart, abs(model - w) / w)",
        .steps = 1000, .show = "apart > 2^-11, apart", .says = "1, -", .is = "0, 2.45e-4",
        .lesson = "Decay the masters: the model is half(master) again after each step.",
        .correction = "The post says that decay on the masters makes the half model fall out "
                      "of sync: after each of 1000 steps the two are at most a rounding apart.",
        .shown_by = "decay/model-is-half-of-master"),
    HC_QUOTE("seeds/000-to-fp16-forum/decay-of-the-fp32-leaves",
             "'true_wd just multiplies the original parameters (leaf nodes) by (1-wd*lr)'",
             FORUM ", its first post", .in = "fp32", .formula = "w = 1; half_w = fp16(1)",
             .each = "w *= 1 - 1e-2 * 1e-3; half_w *= 1 - 1e-2 * 1e-3", .steps = 10000,
             .show = "w < 1, w, half_w", .says = "1, -, -", .is = "1, 0.904715, 1 exact",
             .right = true,
             .lesson = "Decay in fp32: 1 - 1e-5 is 1 in half, and weights there never decay.",
             .shown_by = "decay/factor-is-one-in-half"),
    HC_QUOTE("seeds/000-to-fp16-forum/stale-reference",
             "'(tensor([2., 2., 2., 2.]), tensor([1., 1., 1., 1.]))' for bn_d and bn_d2 after bn_d "
             "+= 1",
             FORUM ", a reply", .in = "fp32", .formula = "bn_d = 1; bn_d2 = fp32(fp16(bn_d))",
             .each = "bn_d += 1", .steps = 1, .show = "bn_d, bn_d2", .says = "2 exact, 1 exact",
             .is = "2 exact, 1 exact", .right = true,
             .lesson = "Take .data after the conversion: half() and float() make new storage.",
             .shown_by = "batchnorm/stale-reference"),
    HC_QUOTE("seeds/000-to-fp16-forum/half-and-back-unlikely-to-matter",
             "'if your BN stats are so sensitive that the fp32->fp16->fp32 reduces performance "
             "you're probably in trouble anyway'",
             FORUM ", a reply", .in = "fp32",
             .formula = "x = [1234.567, 65519, 70000, 1e-8]; back = fp32(fp16(x))\n"
                        "kept = abs(back - x) <= abs(x) * 2^-11",
             .show = "back, kept", .says = "-, -, -, -, 1, 1, 1, 1",
             .is = "1235 exact, 65504 exact, inf, 0, 1, 1, 0, 0",
             .lesson = "Leave batch norm out of half() instead of casting it back.",
             .correction =
                 "The reply says that fp32 -> fp16 -> fp32 hardly matters: it costs 2^-11 "
                 "from 2^-14 to 65519, but 70000 comes back as inf and 1e-8 as 0.",
             .shown_by = "batchnorm/half-and-back"),
    HC_QUOTE("seeds/000-to-fp16-forum/optimizer-is-fp32",
             "'this returns torch.float32, and so does every other one'", FORUM ", its first post",
             .in = "fp32", .formula = "w = 1; in_half = fp16(w)",
             .each = "w += 2^-23; in_half += 2^-23", .steps = 1, .show = "w > 1, in_half > 1",
             .says = "1, -", .is = "1, 0", .right = true,
             .lesson = "What the optimizer holds tells whether small updates arrive.",
             .shown_by = "master/optimizer-sees-fp32"),
    HC_QUOTE("seeds/000-to-fp16-forum/updates-overwritten-at-step-end",
             "'any updates you make outside of this will be overwritten at on_step_end'",
             FORUM ", a reply", .in = "fp32", .formula = "master = 1; model = fp16(master) + 1",
             .each = "master -= 0.25; model = fp16(master)", .steps = 1, .show = "model",
             .says = "0.75 exact", .is = "0.75 exact", .right = true,
             .lesson = "Edit the masters: the copy is made anew from them.",
             .shown_by = "master/edit-of-the-copy-is-overwritten"),
    HC_QUOTE("seeds/000-to-fp16-forum/other-norms-stay-in-half",
             "'fastai only does this special handling for batchnorm layers, not other types of "
             "normalisation layers'",
             FORUM ", a reply", .in = "fp16",
             .formula = "x = 0; y = x / sqrt(x * x + 1e-12); s = sum(1024, 8 * 8)",
             .show = "y, s, fp32(x) / sqrt(fp32(x) + 1e-12)", .says = "nan, inf, -",
             .is = "nan, inf, 0", .right = true,
             .lesson = "Keep all norms in fp32: half makes NaN of a layer norm's row of zeros.",
             .shown_by = "eps/layer-norm-1e-12"),
    HC_QUOTE("seeds/000-to-fp16-forum/validation-loss-explodes",
             "'The training loss keeps improving normally, but the validation loss just explodes'",
             FORUM ", the asker's report", .in = "fp32",
             .formula = "x = 100; batch = log1p(exp((x - 90) / sqrt(25)))\n"
                        "first = log1p(exp((x - 0) / sqrt(1)))",
             .show = "first > batch, batch, first", .says = "1, -, -", .is = "1, 2.13, inf",
             .right = true,
             .lesson = "Evaluation reads the running statistics: sync them, too "
                       "(batchnorm/validation-explodes trains such a network)."),
};

HC_CASES(seeds_000_to_fp16_forum, cases);

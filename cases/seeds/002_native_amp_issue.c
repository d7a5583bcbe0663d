/* The numbers of the issue that brought PyTorch's own mixed precision to fastai.

   It has few: what autocast and GradScaler must do shows in what happens where they do not.

   No cases: that torch.topk was broken for half is a wrong integer key (halfcheck list reports has
   topk-half-radix); that Apex's checkpoints are flaky is a report without a number
   (checkpoint/masters-made-again); that the effects of autocast are local is about code. */
#include "cases/fixture/quote.h"

#define ISSUE                                                                                      \
    "fastai/fastai2 issue 241, 'Native automatic mixed precision for fastai2', "                   \
    "https://github.com/fastai/fastai2/issues/241"

static const struct hc_case cases[] = {
    HC_QUOTE("seeds/002-native-amp-issue/params-are-fp32",
             "'model params are FP32 and == params stepped by the optimizer'", ISSUE, .in = "fp32",
             .formula = "w = 1; in_half = fp16(1)", .each = "w -= 1e-4; in_half -= 1e-4",
             .steps = 10, .show = "w < 1, w, in_half", .says = "1, -, -",
             .is = "1, 0.9990, 1 exact", .right = true,
             .lesson = "Under autocast leave the parameters in fp32: no half(), no "
                       "masters."),
    HC_QUOTE("seeds/002-native-amp-issue/save-the-scaler",
             "'For bitwise accurate saving/restoring, you should include scaler.state_dict()'",
             ISSUE, .in = "fp32", .formula = "scale = 65536; skipped = 0",
             .each = "skipped += scale > 256; scale = select(scale > 256, scale / 2, scale)",
             .steps = 12, .show = "skipped > 0, skipped", .says = "1, -", .is = "1, 8 exact",
             .right = true,
             .lesson = "Save the scaler: a resume at 65536 instead of 256 skips 8 steps.",
             .shown_by = "checkpoint/scaler-state-not-saved"),
    HC_QUOTE("seeds/002-native-amp-issue/clipping-needs-work",
             "'it will need some additional work for some other callbacks like gradient clipping'",
             ISSUE, .in = "fp32",
             .formula = "g = 0.5; n = g * 65536; late = n * min(1, 1 / n) / 65536",
             .show = "late != g, g / late", .says = "1, -", .is = "1, 32768 exact", .right = true,
             .lesson = "Unscale before clipping: a norm of 0.5 at scale 65536 looks like 32768.",
             .shown_by = "order/clip-before-unscale"),
    HC_QUOTE("seeds/002-native-amp-issue/gradient-penalty",
             "'i don't even know if it can be hacked to handle double backward/gradient penalty'",
             ISSUE, .in = "fp32",
             .formula = "norm = 1; penalty = (norm - 1) * (norm - 1)\n"
                        "s = norm * 65536; scaled = (s - 1) * (s - 1)",
             .show = "scaled > penalty, penalty, scaled", .says = "1, -, -", .is = "1, 0, 4.295e9",
             .right = true,
             .lesson = "Unscale the gradients before a penalty is computed from them.",
             .shown_by = "order/gradient-penalty"),
};

HC_CASES(seeds_002_native_amp_issue, cases);

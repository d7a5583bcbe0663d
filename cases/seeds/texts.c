/* The numbers of five texts on training in half, judged. */
#include "cases/fixture/quote.h"

/* The numbers of a thread about fastai's to_fp16: copies of a model that seem to fall apart.

   The asker multiplies the optimizer's fp32 weights by 1 - wd lr and fears that the half model does
   not follow; the replies explain who owns which copy. The answer to the fear is that the model is
   half(master) after each step, so that the two are never more than a rounding apart.

   No cases: "a fp32 model, a fp16 copy, an fp32 copy of the fp16 batchnorm layers" counts tensors,
   which no rounding changes; "if I modify bn_d, bn_d2 gets modified too" is of a session that is
   not shown (batchnorm/same-storage-is-edited-together has what may have been meant). */

#define FORUM "fast.ai forums, 'I think to_fp16 behaves in a weird way internally'"

/* The numbers of fastai's notebook on mixed precision, which made the recipe known.

   It keeps fp32 masters of a half model and scales the loss by 512. Its arithmetic holds in most
   places. Where it does not, a power of two became a power of ten, a number is taken to be one of
   half's, or a remedy is taken to be whole.

   No cases: that flat masters begin with a gradient of uninitialised memory, and that a missing
   gradient stops them, is a matter of memory (underflow/flat-masters-step-on-garbage,
   order/none-gradients); half the space in memory is no rounding. */

#define NOTEBOOK "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb"

/* The numbers of the issue that brought PyTorch's own mixed precision to fastai.

   It has few: what autocast and GradScaler must do shows in what happens where they do not.

   No cases: that torch.topk was broken for half is a wrong integer key (halfcheck list reports has
   topk-half-radix); that Apex's checkpoints are flaky is a report without a number
   (checkpoint/masters-made-again); that the effects of autocast are local is about code. */

#define ISSUE                                                                                      \
    "fastai/fastai2 issue 241, 'Native automatic mixed precision for fastai2', "                   \
    "https://github.com/fastai/fastai2/issues/241"

/* The numbers of PyTorch's first thread on training in half.

   Its rules stand to this day: batch norm in fp32, and an fp32 copy of the parameters.

   No cases: that half is not supported on the CPU is a matter of a version; that fp32 batch norm
   and half tensors break the backward pass is an error of types; 15 %, 50 % and twofold speed are
   of machines; "issues with fp16 overflow" has no number (field/activations/t5-ffn-overflow has
   one). */

#define THREAD                                                                                     \
    "PyTorch forums, 'Training with Half Precision', "                                             \
    "https://discuss.pytorch.org/t/training-with-half-precision/11815"

/* The numbers of a blog on fastai with Apex: eps first, then a scale that moves.

   It found that Adam's eps of 1e-8 is 0 in half, and it is right. Its remedies are half right: an
   eps of 1e-4 has no NaN, but steps of another size.

   No case: networks that are 80 % larger are a matter of memory. */

#define BLOG                                                                                       \
    "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "  \
    "Precision'"

static const struct hc_case cases[] = {
    HC_QUOTE(
        "seeds/000-to-fp16-forum/decay-falls-out-of-sync",
        "'if you simply modify the data, I think it will slowly fall out of sync with the fp16 "
        "model'",
        FORUM ", its first post", .in = "fp32", .formula = "w = 1; apart = 0",
        .each = "w *= 1 - 1e-2 * 1e-3; model = fp16(w); apart = max(apart, abs(model - w) / w)",
        .steps = 1000, .show = "apart > 2^-11, apart", .says = "1, -", .is = "0, 2.45e-4",
        .lesson = "Decay the masters: the model is half(master) again after each step.",
        .correction = "The post says that decay on the masters makes the half model fall out of "
                      "sync: after each of 1000 steps the two are at most a rounding apart.",
        .shown_by = "decay/model-is-half-of-master"),
    HC_QUOTE("seeds/000-to-fp16-forum/decay-of-the-fp32-leaves",
             "'true_wd just multiplies the original parameters (leaf nodes) by (1-wd*lr)'",
             FORUM ", its first post", .in = "fp32", .formula = "w = 1; half_w = fp16(1)",
             .each = "w *= 1 - 1e-2 * 1e-3; half_w *= 1 - 1e-2 * 1e-3", .steps = 10000,
             .show = "w < 1, w, half_w", .says = "1, -, -", .is = "1, 0.904715, 1 exact",
             .right = true,
             .lesson = "Decay in fp32: 1 - 1e-5 is 1 in half, and weights there never decay.",
             .shown_by = "decay/factor-is-one-in-half"),
    HC_QUOTE(
        "seeds/000-to-fp16-forum/stale-reference",
        "'(tensor([2., 2., 2., 2.]), tensor([1., 1., 1., 1.]))' for bn_d and bn_d2 after bn_d += 1",
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
             .correction = "The reply says that fp32 -> fp16 -> fp32 hardly matters: it costs "
                           "2^-11 from 2^-14 to 65519, but 70000 comes back as inf and 1e-8 as 0.",
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
    HC_QUOTE("seeds/001-fp16-notebook/1-plus-2e-10",
             "'half-precision floating points can only represent 1, 1+2e-10, 1+2*2e-10'", NOTEBOOK,
             .in = "fp16", .formula = "a = 1 + 2e-10; b = 1 + 2^-10", .show = "a - 1, b - 1",
             .says = "2e-10, -", .is = "0, 9.765625e-4 exact",
             .lesson = "The number after 1 is 1 + 2^-10 in half, and 1 + 2^-7 in bf16.",
             .correction = "The notebook says that 1 + 2e-10 follows 1 in half: 2^-10 is meant, "
                           "which is 9.765625e-4."),
    HC_QUOTE("seeds/001-fp16-notebook/numbers-after-1",
             "'in standard notation are 1, 1.0009765625, 1.001953125'", NOTEBOOK, .in = "fp32",
             .formula = "x = fp16(list(4097, fp32(1) + i * 2^-21))",
             .show = "max(x), distinct(x), x[2048]",
             .says = "1.001953125 exact, 3 exact, 1.0009765625 exact",
             .is = "1.001953125 exact, 3 exact, 1.0009765625 exact", .right = true,
             .lesson = "From 1 to 2 the numbers of half are 2^-10 apart."),
    HC_QUOTE("seeds/001-fp16-notebook/update-of-1e-4-has-no-effect",
             "'(e.g. w=1 and lr*w.grad=0.0001) the update will make no effect'", NOTEBOOK,
             .in = "fp16", .formula = "w = 1; up = w + 2^-11; down = w - 2^-12",
             .each = "w = w - 1e-4", .steps = 1000, .show = "w, up, down", .says = "1 exact, -, -",
             .is = "1 exact, 1 exact, 1 exact", .right = true,
             .lesson = "From 1, half loses updates up to 2^-11 upwards and 2^-12 downwards.",
             .shown_by = "master/update-1e-4-lost-in-half"),
    HC_QUOTE("seeds/001-fp16-notebook/one-update-on-a-master",
             "'it will be 1.0001 and the original model will not be able to tell the difference'",
             NOTEBOOK, .in = "fp32", .formula = "master = 1", .each = "master += 1e-4", .steps = 1,
             .show = "master, fp16(master)", .says = "1.0001, 1 exact", .is = "1.000100, 1 exact",
             .right = true, .lesson = "An fp32 master keeps what the half model cannot show yet."),
    HC_QUOTE("seeds/001-fp16-notebook/five-updates-on-a-master",
             "'if it is updated five times the new weight value will be 1.0005 and the original "
             "model will incorporate it as 1.0005'",
             NOTEBOOK, .in = "fp32",
             .formula = "master = 1; falling = 1; seen_up = 1; seen_down = 1",
             .each = "master += 1e-4; falling -= 1e-4; seen_up += fp16(master) == 1; seen_down += "
                     "fp16(falling) == 1",
             .steps = 5, .show = "master, fp16(master), fp16(falling), seen_up, seen_down",
             .says = "1.0005, 1.0005, -, -, -",
             .is = "1.00050008, 1.0009765625 exact, 0.99951171875 exact, 5 exact, 3 exact",
             .lesson = "The half model moves by its own ulp: at step 5 upwards, 3 downwards.",
             .correction = "The notebook says that the half model becomes 1.0005 after five "
                           "updates of 1e-4: it becomes 1.0009765625.",
             .shown_by = "master/crosses-at-step-5-upwards"),
    HC_QUOTE("seeds/001-fp16-notebook/gradients-underflow",
             "'Your gradients may be replaced by 0 because they are too low (underflow)'", NOTEBOOK,
             .in = "fp32", .formula = "lost = fp16(fp32(2^-25)); kept = fp16(fp32(2.99e-8))",
             .show = "lost, kept", .says = "0, -", .is = "0, 5.96e-8", .right = true,
             .lesson = "In half a gradient up to 2^-25 = 2.98e-8 is 0.",
             .shown_by = "underflow/lost-below-2-to-minus-25"),
    HC_QUOTE("seeds/001-fp16-notebook/activations-overflow",
             "'Activations or loss may hit nan/infinity (overflow)'", NOTEBOOK, .in = "fp32",
             .formula = "kept = fp16(fp32(65519)); x = fp16(fp32(65520))", .show = "kept, x, x - x",
             .says = "-, inf, nan", .is = "65504 exact, inf, nan", .right = true,
             .lesson = "From 65520 on a half is infinite, and infinities make NaN.",
             .shown_by = "rounding/overflow-threshold"),
    HC_QUOTE("seeds/001-fp16-notebook/activations-in-single-precision",
             "'we will simply keep our batchnorms in single-precision (so our activations are in "
             "single precision)'",
             NOTEBOOK, .in = "fp16", .formula = "y = sum(100, 700)", .show = "y, fp32(70000)",
             .says = "70000, 70000", .is = "inf, 70000 exact",
             .lesson = "Scale or clamp what leaves a half convolution: fp32 norms come too late.",
             .correction =
                 "The notebook says that with batch norm in fp32 activations are in single "
                 "precision: what a half convolution gives is half, and 70000 is inf."),
    HC_QUOTE("seeds/001-fp16-notebook/loss-in-single-precision",
             "'our loss in single-precision (done by converting the last output of the model to "
             "single precision before passing it to the loss)'",
             NOTEBOOK, .in = "fp32", .formula = "gradient = 1e-8; to_the_model = fp16(gradient)",
             .show = "gradient, to_the_model", .says = "1e-8, 1e-8", .is = "1e-8, 0",
             .lesson = "Scale an fp32 loss, too: its gradient goes back as half.",
             .correction =
                 "The notebook says that a loss in fp32 is enough for overflow and divergence: its "
                 "gradient is cast to half on the way back, and 1e-8 is 0."),
    HC_QUOTE("seeds/001-fp16-notebook/unscale-in-fp32",
             "'we will rescale the gradients to the original scale by dividing by scale'", NOTEBOOK,
             .in = "fp32", .formula = "scaled = fp16(1e-9 * 65536)",
             .show = "fp32(scaled) / 65536, scaled / 65536", .says = "1.00e-9, -",
             .is = "1.0004e-9, 0", .right = true,
             .lesson = "Unscale in fp32, as the notebook does: in half the gradient is lost again.",
             .shown_by = "underflow/unscale-in-half-loses"),
    HC_QUOTE("seeds/001-fp16-notebook/scale-512-prevents-underflow",
             "'To avoid gradient underflow, we scale the gradients'", NOTEBOOK, .in = "fp32",
             .formula = "g = fp32(fp16(1e-8 * 512)) / 512; alone = fp16(1e-8)", .show = "g, alone",
             .says = "1.00e-8, 0", .is = "1.00117e-8, 0", .right = true,
             .lesson = "A scale of 512 keeps gradients from 5.83e-11 on."),
    HC_QUOTE(
        "seeds/001-fp16-notebook/scale-512-is-never-checked",
        "'a scale factor to place the values in a scale that FP16 can handle with more precision'",
        NOTEBOOK, .in = "fp32",
        .formula = "g = fp32(fp16(512 * [127.9, 128, 5.82e-11, 5.83e-11])) / 512", .show = "g",
        .says = "127.9, 128, 5.8e-11, 5.8e-11", .is = "127.875 exact, inf, 0, 1.16e-10",
        .lesson = "Check the gradients for infinities, or let the scale move.",
        .correction = "The notebook says that a scale (512) puts gradients where half can handle "
                      "them: from 127.97 on they are inf, up to 5.82e-11 they are 0.",
        .shown_by = "underflow/static-512-range"),
    HC_QUOTE("seeds/001-fp16-notebook/masters-of-a-half-model",
             "'Get a copy of the model params in FP32'", NOTEBOOK, .in = "fp32",
             .formula = "w = [0.1, 1e-8, 70000]; master = fp32(fp16(w))", .show = "master",
             .says = "0.1000, 1.00e-8, 70000", .is = "0.099975586, 0, inf",
             .lesson = "Copy the masters before half().",
             .correction =
                 "The notebook says that masters are fp32 copies of the parameters: they are made "
                 "after half(), so that 0.1 is 0.099976, 1e-8 is 0, 70000 is inf.",
             .shown_by = "master/made-from-rounded-weights"),
    HC_QUOTE("seeds/001-fp16-notebook/masters-made-anew-at-each-fit",
             "'the updated weight will be kept in FP32 in the master model'", NOTEBOOK,
             .in = "fp32", .formula = "model = fp16(1); kept = 1",
             .each = "master = fp32(model); master += 1e-4; master += 1e-4; master += 1e-4; master "
                     "+= 1e-4; model = fp16(master); kept += 4e-4",
             .steps = 10, .show = "model, kept", .says = "1.004, 1.004", .is = "1 exact, 1.0040",
             .lesson = "Keep the masters from fit to fit.",
             .correction =
                 "The notebook says that updates stay in the masters: each fit makes them anew "
                 "from halves, and ten fits of four updates of 1e-4 leave 1, not 1.004.",
             .shown_by = "master/made-anew-at-each-fit"),
    HC_QUOTE("seeds/002-native-amp-issue/params-are-fp32",
             "'model params are FP32 and == params stepped by the optimizer'", ISSUE, .in = "fp32",
             .formula = "w = 1; in_half = fp16(1)", .each = "w -= 1e-4; in_half -= 1e-4",
             .steps = 10, .show = "w < 1, w, in_half", .says = "1, -, -",
             .is = "1, 0.9990, 1 exact", .right = true,
             .lesson = "Under autocast leave the parameters in fp32: no half(), no masters."),
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
    HC_QUOTE("seeds/003-half-forum/batch-norm-accumulates-in-fp32",
             "'BatchNormalization layers use float32 for accumulation or you will have convergence "
             "issues'",
             THREAD ", colesbury", .in = "fp16", .formula = "m = 0; b = bf16(0); s = sum(4096, 1)",
             .each = "m = m * 0.99 + 0.01 * fp16(1000); b = b * 0.99 + 0.01 * bf16(1000)",
             .steps = 2000, .show = "m < 999, m, b, s", .says = "1, -, -, -",
             .is = "1, 998.5 exact, 520 exact, 2048 exact", .right = true,
             .lesson = "Running statistics in half stand still short of what they average.",
             .shown_by = "batchnorm/statistics-stall-in-half"),
    HC_QUOTE("seeds/003-half-forum/weight-norm-in-fp32",
             "'Is it the same situation with weight norm? It should use float32?'",
             THREAD ", a question without an answer", .in = "fp16",
             .formula = "s = sum(64, 32 * 32); w = 32 / sqrt(s)",
             .show = "isinf(s), w, fp32(32) / sqrt(fp32(65536))", .says = "1, -, -",
             .is = "1, 0, 0.125 exact", .right = true,
             .lesson = "Yes: 64 weights of 32 have a norm of 256, and a square that half has not.",
             .shown_by = "field/norm-overflow/weight-norm-half"),
    HC_QUOTE("seeds/003-half-forum/keep-a-32-bit-copy",
             "'You also need to be sure to maintain a full 32 bit copy of your parameters'",
             THREAD ", Trevor Standley", .in = "fp32", .formula = "in_half = fp16(1); master = 1",
             .each = "in_half += 1e-4; master += 1e-4", .steps = 1000,
             .show = "in_half == 1, master", .says = "1, -", .is = "1, 1.1000", .right = true,
             .lesson = "1000 updates of 1e-4 are 0.1 on an fp32 master, and nothing in half.",
             .shown_by = "master/drift-over-a-thousand-updates"),
    HC_QUOTE("seeds/003-half-forum/all-parameters-nan",
             "'Typecasting network and data to HalfTensor results in all parameters = NaN'",
             THREAD ", the title of a thread that refers to it", .in = "fp16",
             .formula = "g = [0, 1e-5]; m = 0.1 * g; v = 0.001 * g * g; w = 1",
             .each = "w = w - 1e-3 * ((m / 0.1) / (sqrt(v / 0.001) + 1e-8))", .steps = 1,
             .show = "w", .says = "nan, -", .is = "nan, -inf", .right = true,
             .lesson = "Keep Adam's state in fp32: in half its eps of 1e-8 is 0.",
             .shown_by = "eps/adam-in-half-zero-gradient"),
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
    HC_QUOTE("seeds/004-fp16-blog/eps-1e-4-is-the-fix",
             "'AdamW16 = partial(torch.optim.Adam, betas=(0.9,0.99), eps=1e-4)'", BLOG,
             .in = "fp16",
             .formula = "g = [1e-3, 1e-5]; m = 0.1 * g; v = 0.01 * g * g\n"
                        "u = (m / 0.1) / (sqrt(v / 0.01) + 1e-4)",
             .show = "u", .says = "1, 1", .is = "10, 0.10",
             .lesson = "Put Adam's state into fp32 instead of a larger eps into half.",
             .correction =
                 "The blog says that an eps of 1e-4 makes Adam safe for half: there is no NaN, but "
                 "first steps are 10 and 0.1 times the right size for gradients of 1e-3 and 1e-5.",
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
             .each =
                 "g = 1e-2 * w; m = 0.9 * m + 0.1 * g; v = 0.99 * v + 0.01 * g * g; w -= 1e-3 * (m "
                 "/ (1 - 0.9^step)) / (sqrt(v / (1 - 0.99^step)) + 1e-4); adamw *= 1 - 1e-3 * 1e-2",
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

HC_CASES(seeds_texts, cases);

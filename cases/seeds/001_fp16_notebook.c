/* The numbers of fastai's notebook on mixed precision, which made the recipe known.

   It keeps fp32 masters of a half model and scales the loss by 512. Its arithmetic holds in most
   places. Where it does not, a power of two became a power of ten, a number is taken to be one of
   half's, or a remedy is taken to be whole.

   No cases: that flat masters begin with a gradient of uninitialised memory, and that a missing
   gradient stops them, is a matter of memory (underflow/flat-masters-step-on-garbage,
   order/none-gradients); half the space in memory is no rounding. */
#include "cases/fixture/quote.h"

#define NOTEBOOK "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb"

static const struct hc_case cases[] = {
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
    HC_QUOTE(
        "seeds/001-fp16-notebook/five-updates-on-a-master",
        "'if it is updated five times the new weight value will be 1.0005 and the original "
        "model will incorporate it as 1.0005'",
        NOTEBOOK, .in = "fp32", .formula = "master = 1; falling = 1; seen_up = 1; seen_down = 1",
        .each = "master += 1e-4; falling -= 1e-4; "
                "seen_up += fp16(master) == 1; seen_down += fp16(falling) == 1",
        .steps = 5, .show = "master, fp16(master), fp16(falling), seen_up, seen_down",
        .says = "1.0005, 1.0005, -, -, -",
        .is = "1.00050008, 1.0009765625 exact, 0.99951171875 exact, 5 exact, 3 exact",
        .lesson = "The half model moves by its own ulp: at step 5 upwards, 3 downwards.",
        .correction = "The notebook says that the half model becomes 1.0005 after five updates "
                      "of 1e-4: it becomes 1.0009765625.",
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
                 "The notebook says that a loss in fp32 is enough for overflow and "
                 "divergence: its gradient is cast to half on the way back, and 1e-8 is 0."),
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
    HC_QUOTE("seeds/001-fp16-notebook/scale-512-is-never-checked",
             "'a scale factor to place the values in a scale that FP16 can handle with more "
             "precision'",
             NOTEBOOK, .in = "fp32",
             .formula = "g = fp32(fp16(512 * [127.9, 128, 5.82e-11, 5.83e-11])) / 512", .show = "g",
             .says = "127.9, 128, 5.8e-11, 5.8e-11", .is = "127.875 exact, inf, 0, 1.16e-10",
             .lesson = "Check the gradients for infinities, or let the scale move.",
             .correction = "The notebook says that a scale (512) puts gradients where half can "
                           "handle them: from 127.97 on they are inf, up to 5.82e-11 they are 0.",
             .shown_by = "underflow/static-512-range"),
    HC_QUOTE("seeds/001-fp16-notebook/masters-of-a-half-model",
             "'Get a copy of the model params in FP32'", NOTEBOOK, .in = "fp32",
             .formula = "w = [0.1, 1e-8, 70000]; master = fp32(fp16(w))", .show = "master",
             .says = "0.1000, 1.00e-8, 70000", .is = "0.099975586, 0, inf",
             .lesson = "Copy the masters before half().",
             .correction =
                 "The notebook says that masters are fp32 copies of the parameters: they "
                 "are made after half(), so that 0.1 is 0.099976, 1e-8 is 0, 70000 is inf.",
             .shown_by = "master/made-from-rounded-weights"),
    HC_QUOTE("seeds/001-fp16-notebook/masters-made-anew-at-each-fit",
             "'the updated weight will be kept in FP32 in the master model'", NOTEBOOK,
             .in = "fp32", .formula = "model = fp16(1); kept = 1",
             .each = "master = fp32(model); master += 1e-4; master += 1e-4; master += 1e-4; "
                     "master += 1e-4; model = fp16(master); kept += 4e-4",
             .steps = 10, .show = "model, kept", .says = "1.004, 1.004", .is = "1 exact, 1.0040",
             .lesson = "Keep the masters from fit to fit.",
             .correction =
                 "The notebook says that updates stay in the masters: each fit makes them "
                 "anew from halves, and ten fits of four updates of 1e-4 leave 1, not "
                 "1.004.",
             .shown_by = "master/made-anew-at-each-fit"),
};

HC_CASES(seeds_001_fp16_notebook, cases);

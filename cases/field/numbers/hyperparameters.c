/* A hyperparameter that is another number in 16 bits.

   Betas are close to 1, and so are decays. Below 1 the numbers of bf16 are 2^-8 apart: 0.999 and
   0.9999 are both 1 when they are rounded to the nearest, and both 1 - 2^-8 when they are cut. What
   counts of a beta is its distance from 1, which is then 0, or 4 and 40 times too large. Learning
   rates and the factors of schedules leave the range of half: everything up to 2^-25 is 0 in it,
   and 65520 is infinite. Nothing warns, since the optimizer that runs is a valid one.

   The rule of thumb: scalars stay Python floats, that is fp64, until they meet an fp32 tensor. */
#include "cases/fixture/bug.h"

static const struct hc_case cases[] = {
    HC_BUG("field/hyperparameters/betas-truncated-bf16",
           "Adam with beta2 = 0.999 and with beta2 = 0.9999 runs the same trajectory, that of "
           "0.99609.",
           "tenstorrent/tt-metal issue 55935, '[Bounty $1000] moreh_adam / moreh_adamw silently "
           "run different hyperparameters than requested: bf16 truncation turns beta2=0.999 into "
           "0.99609', https://github.com/tenstorrent/tt-metal/issues/55935",
           .show = "beta2, horizon",
           .buggy = {.in = "fp32",
                     .formula = "beta2 = bf16_rz([0.999, 0.9999]); horizon = 1 / (1 - fp32(beta2))",
                     .prints = "0.99609375 exact, 0.99609375 exact, 256 exact, 256 exact"},
           .fixed = {.in = "fp32",
                     .formula = "beta2 = fp32([0.999, 0.9999]); horizon = 1 / (1 - fp32(beta2))",
                     .prints = "0.999, 0.9999, 1000, 1.000e4"},
           .fault = "adam-beta2-in-bf16",
           .lesson = "Pass betas as fp32 or fp64: cut to bf16 they are 1 - 2^-8, and rounded to "
                     "nearest 1."),
    HC_BUG("field/hyperparameters/beta2-rounds-to-1-bf16",
           "LAMB and Adam in bf16 give NaN at step 1: the bias correction 1 - beta2^t is 0.",
           "keras-team/keras PR 21238, 'fix lamb bug', "
           "https://github.com/keras-team/keras/pull/21238",
           .formula = "beta2 = 0.999; g = [0.5, 0]; v = g * g * 0.001; v_hat = v / (1 - beta2)",
           .show = "beta2, v_hat", .buggy = {.in = "bf16", .prints = "1 exact, inf, nan"},
           .fixed = {.in = "fp32", .prints = "0.999, 0.2500, 0"}, .fault = "adam-beta2-in-bf16",
           .lesson = "Compute 1 - beta^t in fp32 or fp64: bf16's largest number below 1 is 0.996.",
           .correction = "The NaN is said to be v / 0: that is infinite, and its step 0, wherever "
                         "the gradient is not 0; 0 / 0 is NaN."),
    HC_BUG("field/hyperparameters/lr-schedule-in-half",
           "A OneCycle schedule built in half begins with a learning rate of 0 and ends with NaN.",
           "tinygrad/tinygrad PR 2981, 'adjsut div factor to avoid underflow for cifar in fp16', "
           "https://github.com/tinygrad/tinygrad/pull/2981",
           .formula = "max_lr = 1.76 * 58 / 512; initial_lr = max_lr / 1e16\n"
                      "final_div = 4e-15                        # 1 / (1e16 * 0.025)\n"
                      "min_lr = initial_lr / final_div",
           .show = "max_lr, initial_lr, min_lr",
           .buggy = {.in = "fp16", .prints = "0.1993, 0, nan"},
           .fixed = {.in = "fp32", .prints = "0.1994, 1.994e-17, 0.004984"},
           .fault = "arithmetic-rate-in-half",
           .lesson = "Build schedules in fp64 and cast the rate of the step: half ends at 6e-8 and "
                     "at 65504."),
};

HC_CASES(field_numbers_hyperparameters, cases);

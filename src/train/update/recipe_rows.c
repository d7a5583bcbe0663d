/* The systems as rows. A row names its system's own choices; what many have in common stands in
   these lists. The optimizer is the AdamW of fastai's nb_004b (the one-cycle's betas and 0.99,
   decay 1e-2 on everything) unless a row says otherwise, so that recipes differ in precision alone.
   For the same reason its roundings have our own order in every row but those that are about an
   order: in fp32 the orders differ by less than seeds do, and `--set order=torch-fused` shows a row
   in PyTorch's. */
#include <string.h>

#include "train/update/recipe.h"

#define ADAMW                                                                                      \
    .optimizer = HC_OPTIMIZER_ADAM, .beta2 = 0.99, .weight_decay = 1e-2, .decay_norm = true
#define NORM_FP32   .norm = HC_FP32, .statistics = HC_FP32, .loss = HC_FP32
#define UPDATE_FP32 .gradient = HC_FP32, .state = HC_FP32, .arithmetic = HC_FP32
#define UPDATE_FP16 .gradient = HC_FP16, .state = HC_FP16, .arithmetic = HC_FP16
#define UPDATE_BF16 .gradient = HC_BF16, .state = HC_BF16, .arithmetic = HC_BF16

/* Everything in fp32. */
#define SINGLE .model = HC_FP32, NORM_FP32, UPDATE_FP32

/* 16-bit parameters and activations, batch norm and loss in fp32. */
#define MIXED_FP16 .model = HC_FP16, NORM_FP32, UPDATE_FP32
#define MIXED_BF16 .model = HC_BF16, NORM_FP32, UPDATE_FP32

/* model.half(): nothing is left in fp32. */
#define HALF .model = HC_FP16, .norm = HC_FP16, .statistics = HC_FP16, .loss = HC_FP16, UPDATE_FP16

static const struct hc_recipe table[] = {
    {.name = "fp32",
     .title = "everything in single precision",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, the first run",
     SINGLE,
     ADAMW,
     .eps = 1e-8},
    {.name = "tf32",
     .title = "single precision, products of matrices and convolutions in tf32",
     .source = "pytorch 2.15.0 torch.backends.cuda.matmul.allow_tf32 and "
               "torch.backends.cudnn.allow_tf32",
     SINGLE,
     ADAMW,
     .eps = 1e-8,
     .tf32 = true},
    {.name = "fp64",
     .title = "everything in double precision: what drift is measured against",
     .source = "no system's: the arithmetic that all others stand for",
     .model = HC_FP64,
     .norm = HC_FP64,
     .statistics = HC_FP64,
     .loss = HC_FP64,
     .gradient = HC_FP64,
     .state = HC_FP64,
     .arithmetic = HC_FP64,
     ADAMW,
     .eps = 1e-8},

    {.name = "fp16-pure",
     .title = "half everywhere: model, batch norm and its statistics, loss, optimizer",
     .source = "PyTorch forums 1765, 'Adam+Half Precision = NaNs?': model.half(), eps 1e-8",
     .defects =
         "eps is 0 in half: a gradient that underflows makes the weight NaN at the first step",
     HALF,
     ADAMW,
     .eps = 1e-8},
    {.name = "fp16-pure-fused",
     .title =
         "half everywhere, but AdamW computes in fp32 on what it holds in half: PyTorch's fused "
         "kernel",
     .source = "pytorch 2.4 and later, AdamW(fused=True): "
               "aten/src/ATen/native/cpu/FusedAdamKernel.cpp and cuda/fused_adam_utils.cuh; the "
               "model.half() and eps 1e-8 of PyTorch forums 1765",
     .defects =
         "no NaN of eps, which fp32 holds; but where v underflows in half and the gradient is 0 "
         "the next step divides by eps alone, and updates below half an ulp are lost",
     .model = HC_FP16,
     .norm = HC_FP16,
     .statistics = HC_FP16,
     .loss = HC_FP16,
     .gradient = HC_FP16,
     .state = HC_FP16,
     .arithmetic = HC_FP32,
     ADAMW,
     .eps = 1e-8,
     .order = HC_ORDER_TORCH_FUSED},
    {.name = "fp16-bn32",
     .title = "half model and optimizer, batch norm in single, no masters, no scaler",
     .source = "PyTorch forums 11815, 'Training with Half Precision', post 2: model.half(), then "
               "float() of the batch norms; eps 1e-4 as thread 1765 advises",
     .defects = "updates below half an ulp are lost; eps 1e-4 makes steps for gradients below it "
                "too small",
     .model = HC_FP16,
     NORM_FP32,
     UPDATE_FP16,
     ADAMW,
     .eps = 1e-4,
     .norm_rounded = true},
    {.name = "adamw16",
     .title = "half everywhere, with the eps of 1e-4 that the threads advise",
     .source = "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's "
               "Automatic Mixed Precision': AdamW16 with eps=1e-4",
     .defects = "no NaN, but updates below half an ulp are lost and steps have a wrong size",
     HALF,
     ADAMW,
     .eps = 1e-4},
    {.name = "sum-loss-fp16",
     .title = "half weights, momentum and summed loss, batch norm in single, SGD whose velocity "
              "holds the rate",
     .source =
         "davidcpage/cifar10-fast @f79e8b89 torch_backend.py: Network.half() of all but "
         "BatchNorm2d, nesterov_update, backward's loss.sum(); dawn.py: rate 0.4 / 512, decay "
         "5e-4 * batch",
     .defects = "the scale is the size of the batch, whatever the gradients need; rate * gradient "
                "up to 2^-25 is 0, and updates below half an ulp are lost",
     .model = HC_FP16,
     .norm = HC_FP32,
     .statistics = HC_FP32,
     .loss = HC_FP16,
     UPDATE_FP16,
     .sum_loss = true,
     .optimizer = HC_OPTIMIZER_SGD,
     .nesterov = true,
     .rate_inside = true,
     .rate = 0.26,
     .decay = HC_DECAY_L2,
     .weight_decay = 5e-4 * 64,
     .decay_norm = true},

#include "train/update/rows/apex.inc"
#include "train/update/rows/fastai.inc"

    {.name = "amp",
     .title = "autocast to half (batch norm and loss in single), fp32 weights, GradScaler",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py with torch/amp/autocast_mode.py",
     MIXED_FP16,
     ADAMW,
     .eps = 1e-8,
     .masters = HC_MASTERS_FROM_FP32,
     .scaler = {.rule = HC_SCALER_TORCH},
     .reciprocal = true},
    {.name = "amp-bf16",
     .title = "autocast to bf16, fp32 weights, no scaler",
     .source = "pytorch 2.15.0 torch/amp/autocast_mode.py, autocast(dtype=torch.bfloat16)",
     MIXED_BF16,
     ADAMW,
     .eps = 1e-8,
     .masters = HC_MASTERS_FROM_FP32},
    {.name = "bf16-pure",
     .title = "bf16 model and optimizer, batch norm in single, no masters",
     .source =
         "pytorch 2.15.0 Module.bfloat16; arXiv 2010.06192v2, 'Revisiting BFloat16 Training', its "
         "16-bit-FPU training with nearest rounding",
     .defects = "updates below half an ulp, 2^-9 of the weight, are lost",
     .model = HC_BF16,
     NORM_FP32,
     UPDATE_BF16,
     ADAMW,
     .eps = 1e-8,
     .norm_rounded = true},
    {.name = "bf16-sr",
     .title =
         "bf16 model and momenta, the optimizer's fp32 weight rounded stochastically, no masters",
     .source =
         "pytorch/ao @36027d82 torchao/optim/adam.py, _AdamW with bf16_stochastic_round=True: "
         "single_param_adam, _fp32_to_bf16_sr; arXiv 2010.06192v2, 'Revisiting BFloat16 "
         "Training', stochastic rounding of weight updates",
     .defects =
         "each weight carries noise of up to an ulp, 2^-7 of it; batch norm's gain and shift, "
         "in fp32, are not rounded",
     .model = HC_BF16,
     NORM_FP32,
     .gradient = HC_BF16,
     .state = HC_BF16,
     .arithmetic = HC_FP32,
     ADAMW,
     .eps = 1e-8,
     .norm_rounded = true,
     .stochastic = true},
    {.name = "bf16-kahan",
     .title = "bf16 model and optimizer, each weight with Kahan's compensation in bf16, no masters",
     .source =
         "arXiv 2010.06192v2, 'Revisiting BFloat16 Training', Kahan summation of weight updates; "
         "warner-benjamin/optimi 0.3.3 optimi/adam.py, kahan_sum (which decays the weight itself)",
     .defects = "two bytes more a weight; the network sees the bf16 weight alone",
     .model = HC_BF16,
     NORM_FP32,
     UPDATE_BF16,
     ADAMW,
     .eps = 1e-8,
     .norm_rounded = true,
     .kahan = true},
#include "train/update/rows/quant.inc"
};

enum { COUNT = sizeof table / sizeof table[0] };

const struct hc_recipe *hc_recipes(int *n)
{
    *n = COUNT;
    return table;
}

const struct hc_recipe *hc_recipe_by_name(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

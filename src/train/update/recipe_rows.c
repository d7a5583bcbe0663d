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
#define ADAMW_1E8   ADAMW, .eps = 1e-8
#define NORM_FP32   .norm = HC_FP32, .statistics = HC_FP32, .loss = HC_FP32
#define UPDATE_FP32 .gradient = HC_FP32, .state = HC_FP32, .arithmetic = HC_FP32
#define UPDATE_FP16 .gradient = HC_FP16, .state = HC_FP16, .arithmetic = HC_FP16
#define UPDATE_BF16 .gradient = HC_BF16, .state = HC_BF16, .arithmetic = HC_BF16

/* Everything in fp32. */
#define SINGLE .model = HC_FP32, NORM_FP32, UPDATE_FP32

/* 16-bit parameters and activations, batch norm and loss in fp32. */
#define MIXED_FP16 .model = HC_FP16, NORM_FP32, UPDATE_FP32
#define MIXED_BF16 .model = HC_BF16, NORM_FP32, UPDATE_FP32

/* The same under AdamW with fp32 masters: of the fp32 model, or of one that was rounded. */
#define BF16_FROM_FP32  MIXED_BF16, ADAMW_1E8, .masters = HC_MASTERS_FROM_FP32
#define FP16_FROM_MODEL MIXED_FP16, ADAMW_1E8, .masters = HC_MASTERS_FROM_MODEL

/* model.half(): nothing is left in fp32. */
#define HALF .model = HC_FP16, .norm = HC_FP16, .statistics = HC_FP16, .loss = HC_FP16, UPDATE_FP16

static const struct hc_recipe table[] = {
    {.name = "fp32",
     .title = "everything in single precision",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb, the first run",
     SINGLE,
     ADAMW_1E8},
    {.name = "tf32",
     .title = "single precision, products of matrices and convolutions in tf32",
     .source = "pytorch 2.15.0 torch.backends.cuda.matmul.allow_tf32 and "
               "torch.backends.cudnn.allow_tf32",
     SINGLE,
     ADAMW_1E8,
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
     ADAMW_1E8},

    {.name = "fp16-pure",
     .title = "half everywhere: model, batch norm and its statistics, loss, optimizer",
     .source = "PyTorch forums 1765, 'Adam+Half Precision = NaNs?': model.half(), eps 1e-8",
     .defects =
         "eps is 0 in half: a gradient that underflows makes the weight NaN at the first step",
     HALF,
     ADAMW_1E8},
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
     ADAMW_1E8,
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

    {.name = "apex-O0",
     .title = "Apex's fp32: no casts, no masters, scale 1",
     .source = "NVIDIA/apex @e13873de apex/amp/frontend.py, class O0; handle.py: a static scale "
               "of 1 without masters is passed over",
     SINGLE,
     ADAMW_1E8},
    {.name = "apex-O1",
     .title = "half inside patched functions, fp32 parameters, Apex's dynamic scale",
     .source = "NVIDIA/apex @e13873de apex/amp/frontend.py, class O1; scaler.py",
     .defects = "no floor: overflows without end bring the scale to 0, and the run to an end",
     MIXED_FP16,
     ADAMW_1E8,
     .masters = HC_MASTERS_FROM_FP32,
     .scaler = {.rule = HC_SCALER_APEX_AMP},
     .reciprocal = true},
    {.name = "apex-O2",
     .title = "half model, batch norm in single, masters, Apex's dynamic scale",
     .source = "NVIDIA/apex @e13873de apex/amp/frontend.py, class O2; _process_optimizer.py: "
               "masters are copies of the half parameters",
     .defects = "no floor: overflows without end bring the scale to 0, and the run to an end; "
                "masters are made from rounded weights",
     FP16_FROM_MODEL,
     .scaler = {.rule = HC_SCALER_APEX_AMP},
     .reciprocal = true},
    {.name = "apex-O3",
     .title = "Apex's pure half: batch norm too, no masters, scale 1",
     .source = "NVIDIA/apex @e13873de apex/amp/frontend.py, class O3",
     .defects = "as fp16-pure: eps is 0 in half",
     HALF,
     ADAMW_1E8},
    {.name = "apex-fp16opt-static",
     .title = "half model, batch norm in single, masters, static scale 128",
     .source = "NVIDIA/apex @48343d94 apex/fp16_utils/fp16_optimizer.py, "
               "FP16_Optimizer(static_loss_scale); 128 in examples/imagenet; network_to_half "
               "rounds batch norm on the way",
     .defects = "a static scale never looks; masters are made from rounded weights",
     FP16_FROM_MODEL,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_STATIC, .initial = 128},
     .reciprocal = true},
    {.name = "apex-fp16opt-dynamic",
     .title = "half model, batch norm in single, masters, 2^32 halved down to 1",
     .source = "NVIDIA/apex @48343d94 apex/fp16_utils/fp16_optimizer.py, "
               "FP16_Optimizer(dynamic_loss_scale=True); network_to_half rounds batch norm",
     .defects = "the first scales are far too large: a run begins with skips; no cap; at scale 1 "
                "it skips for ever; masters are made from rounded weights",
     FP16_FROM_MODEL,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_APEX_FP16UTILS},
     .reciprocal = true},
    /* fastai 1 always keeps norms and biases in a parameter group of their
   own (split_bn_bias). A row says so only if it changes a bit, which it does not as long as both
   groups have one rate and one decay. */
    {.name = "fastai-004b",
     .title = "half model, batch norm in single, masters, static scale 512",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: MixedPrecision()",
     .defects = "no overflow check: one infinity poisons the masters for ever; masters are made "
                "from rounded weights",
     FP16_FROM_MODEL,
     .apart = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_STATIC, .initial = 512}},
    {.name = "fastai-004b-flat",
     .title = "half model, batch norm in single, flat masters, static scale 512",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
               "MixedPrecision(flat_master=True)",
     .defects = "no overflow check: one infinity poisons the masters for ever; masters are made "
                "from rounded weights",
     FP16_FROM_MODEL,
     .flat = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_STATIC, .initial = 512}},
    {.name = "fastai-1.0.61",
     .title =
         "half model, batch norm in single, masters, 2^16 halved, doubled after 1000 clean steps",
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py: MixedPrecision(dynamic=True)",
     .defects = "a step that overflows still steps: momenta move, decay applies; at scale 1 it "
                "overlooks what it finds; masters are made from rounded weights",
     FP16_FROM_MODEL,
     .apart = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_FASTAI}},
    {.name = "fastai-1.0.61-flat",
     .title = "the same with flat masters",
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py: MixedPrecision(flat_master=True)",
     .defects = "as fastai-1.0.61, and an overflow at the first step steps on uninitialised memory "
                "(here bytes of 0xcd)",
     FP16_FROM_MODEL,
     .flat = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_FASTAI}},
    {.name = "fastai-1.0.61-static",
     .title = "half model, batch norm in single, masters, static scale 512",
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py: MixedPrecision(dynamic=False)",
     .defects = "as fastai-004b, whose rule it is",
     FP16_FROM_MODEL,
     .apart = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_STATIC, .initial = 512}},
    {.name = "fastai-1.0.61-clip",
     .title = "as fastai-1.0.61, the gradients of weights, and those of norms and biases, clipped "
              "to a norm of 0.1 each",
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py: MixedPrecision(dynamic=True, clip=0.1), "
               "on_backward_end: clip_grad_norm_ for each group of split_no_wd_params; 0.1 as "
               "fastai/train.py's clip_grad has it",
     .defects = "as fastai-1.0.61; the norm is each group's, so that clipping turns the gradient; "
                "at scale 1 an infinity that it overlooks makes all others of its group 0",
     FP16_FROM_MODEL,
     .apart = true,
     .norm_rounded = true,
     .scaler = {.rule = HC_SCALER_FASTAI},
     .split_bn_bias = true,
     .clip = 0.1,
     .clip_groups = true},
    {.name = "fastai2-nonnative",
     .title =
         "half model, batch norm in single, masters, 2^24 halved, doubled after 500 good steps",
     .source = "fastai 2.0.0 to 2.1.10 fastai/callback/fp16.py, MixedPrecision (2.2.0 to 2.8.12: "
               "NonNativeMixedPrecision); Adam's eps 1e-5 and wd_bn_bias=False as Learner has them",
     .defects = "no floor and no cap: the scale halves to 0 and doubles to infinity; masters are "
                "made from rounded weights",
     MIXED_FP16,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-5,
     .weight_decay = 1e-2,
     .masters = HC_MASTERS_FROM_MODEL,
     .scaler = {.rule = HC_SCALER_FASTAI2}},
    {.name = "fastai2-native",
     .title = "autocast and GradScaler inside fastai v2",
     .source = "fastai 2.8.12 fastai/callback/fp16.py, MixedPrecision (2.0.0 to 2.1.10: "
               "NativeMixedPrecision); Adam's eps 1e-5 and wd_bn_bias=False as Learner has them",
     MIXED_FP16,
     .optimizer = HC_OPTIMIZER_ADAM,
     .beta2 = 0.99,
     .eps = 1e-5,
     .weight_decay = 1e-2,
     .masters = HC_MASTERS_FROM_FP32,
     .scaler = {.rule = HC_SCALER_TORCH},
     .reciprocal = true},

    {.name = "amp",
     .title = "autocast to half (batch norm and loss in single), fp32 weights, GradScaler",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py with torch/amp/autocast_mode.py",
     MIXED_FP16,
     ADAMW_1E8,
     .masters = HC_MASTERS_FROM_FP32,
     .scaler = {.rule = HC_SCALER_TORCH},
     .reciprocal = true},
    {.name = "amp-bf16",
     .title = "autocast to bf16, fp32 weights, no scaler",
     .source = "pytorch 2.15.0 torch/amp/autocast_mode.py, autocast(dtype=torch.bfloat16)",
     BF16_FROM_FP32},
    {.name = "bf16-pure",
     .title = "bf16 model and optimizer, batch norm in single, no masters",
     .source =
         "pytorch 2.15.0 Module.bfloat16; arXiv 2010.06192v2, 'Revisiting BFloat16 Training', its "
         "16-bit-FPU training with nearest rounding",
     .defects = "updates below half an ulp, 2^-9 of the weight, are lost",
     .model = HC_BF16,
     NORM_FP32,
     UPDATE_BF16,
     ADAMW_1E8,
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
     ADAMW_1E8,
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
     ADAMW_1E8,
     .norm_rounded = true,
     .kahan = true},
    /* Products of convolutions below half (train/quant/quant.h), bf16
   between them, fp32 masters. */
    {.name = "fp8-te-delayed",
     .title = "e4m3 and e5m2, delayed scaling",
     .source = "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
               "DelayedScaling",
     .defects = "one infinity freezes a scale for as many steps as its history is long",
     BF16_FROM_FP32,
     .quant = HC_BY_TE_DELAYED},
    {.name = "fp8-te-current",
     .title = "e4m3 and e5m2, a scale a tensor",
     .source = "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
               "Float8CurrentScaling",
     .defects = "one outlier takes the small numbers of its whole tensor",
     BF16_FROM_FP32,
     .quant = HC_BY_TE_CURRENT},
    {.name = "fp8-torchao-tensor",
     .title = "e4m3 and e5m2, a scale a tensor",
     .source = "pytorch/ao 0.18.0 torchao/float8/config.py, Float8LinearRecipeName.TENSORWISE",
     .defects = "an infinity makes the scale 0; one outlier takes the small numbers of its "
                "whole tensor",
     BF16_FROM_FP32,
     .quant = HC_BY_TORCHAO_TENSOR},
    {.name = "fp8-torchao-rowwise",
     .title = "e4m3, a power of two a row",
     .source = "pytorch/ao 0.18.0 torchao/float8/config.py, Float8LinearRecipeName.ROWWISE",
     BF16_FROM_FP32,
     .quant = HC_BY_TORCHAO_ROWWISE},
    {.name = "fp8-torchao-rowwise-gw-hp",
     .title = "e4m3, a power of two a row; the gradient of weights in bf16",
     .source = "pytorch/ao 0.18.0 torchao/float8/config.py, "
               "Float8LinearRecipeName.ROWWISE_WITH_GW_HP",
     BF16_FROM_FP32,
     .quant = HC_BY_TORCHAO_ROWWISE_GW_HP},
    {.name = "fp8-te-block",
     .title = "e4m3, a power of two for 128 numbers, or 128 by 128 of a weight",
     .source = "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
               "Float8BlockScaling",
     BF16_FROM_FP32,
     .quant = HC_BY_TE_BLOCK},
    {.name = "fp8-deepgemm",
     .title = "e4m3, an fp32 scale for 128 numbers, or 128 by 128 of a weight",
     .source = "deepseek-ai/DeepGEMM @54e22612 deep_gemm/utils/math.py; arXiv 2412.19437v2, "
               "'DeepSeek-V3 Technical Report', 3.3",
     .defects = "blocks below 1e-4 lose bits",
     BF16_FROM_FP32,
     .quant = HC_BY_DEEPGEMM},
    {.name = "mxfp8-rp",
     .title = "e4m3, a power of two for 32 numbers, so large that none saturates",
     .source = "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
               "MXFP8BlockScaling",
     BF16_FROM_FP32,
     .quant = HC_BY_MXFP8_RP},
    {.name = "mxfp8-floor",
     .title = "e4m3, a power of two for 32 numbers by OCP's rule",
     .source = "pytorch/ao 0.18.0 torchao/prototype/mx_formats/config.py, "
               "ScaleCalculationMode.FLOOR; OCP MX 1.0, 6.3",
     .defects = "up to an eighth is cut off the largest numbers of blocks",
     BF16_FROM_FP32,
     .quant = HC_BY_MXFP8_FLOOR},
    {.name = "nvfp4",
     .title = "e2m1 in two levels, Hadamard, stochastic rounding",
     .source = "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
               "NVFP4BlockScaling",
     BF16_FROM_FP32,
     .quant = HC_BY_NVFP4},
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

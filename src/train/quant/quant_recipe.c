/* Rows of data. An operand is {codes, rule, rows and columns of a block}, and for those of NVFP4
   {..., Hadamard, random bits}: 8, as TransformerEngine's own rounding in software takes
   (common/util/ptx.cuh). Without TransformerEngine's fast accumulation, which it uses forward
   alone, Hopper's units promote a sum every 128 products. */
#include "train/quant/quant.h"

#include <stddef.h>

const struct hc_quant_recipe hc_quant_recipes[HC_QUANT_ROWS] = {
    [HC_BY_NONE] = {.name = "none", .title = "nothing below half", .source = "every other recipe"},
    [HC_BY_IM2COL] =
        {
            .name = "im2col",
            .title = "products by im2col in the format of the model, nothing quantised",
            .source = "what the other rows are compared with",
            .product = {[HC_QUANT_Y] = {.plain = true},
                        [HC_QUANT_DX] = {.plain = true},
                        [HC_QUANT_DW] = {.plain = true}},
        },
    [HC_BY_TE_DELAYED] =
        {
            .name = "te-delayed",
            .title =
                "e4m3 forward and e5m2 backward, a scale a tensor from the largest of the last "
                "1024 amaxes",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "DelayedScaling",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_GIVEN, 0, 0},
                                        .b = {HC_E4M3, HC_SCALE_GIVEN, 0, 0}},
                        [HC_QUANT_DX] = {.a = {HC_E5M2, HC_SCALE_GIVEN, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_GIVEN, 0, 0},
                                         .promote = 128},
                        [HC_QUANT_DW] = {.a = {HC_E5M2, HC_SCALE_GIVEN, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_GIVEN, 0, 0},
                                         .promote = 128}},
            .delayed = true,
            .delayed_rule = HC_DELAYED_TE,
            .history = 1024,
        },
    [HC_BY_TE_CURRENT] =
        {
            .name = "te-current",
            .title = "e4m3 forward and e5m2 backward, a scale a tensor from its own amax",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "Float8CurrentScaling",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_TE_CURRENT, 0, 0},
                                        .b = {HC_E4M3, HC_SCALE_TE_CURRENT, 0, 0}},
                        [HC_QUANT_DX] = {.a = {HC_E5M2, HC_SCALE_TE_CURRENT, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_TE_CURRENT, 0, 0},
                                         .promote = 128},
                        [HC_QUANT_DW] = {.a = {HC_E5M2, HC_SCALE_TE_CURRENT, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_TE_CURRENT, 0, 0},
                                         .promote = 128}},
        },
    [HC_BY_TORCHAO_TENSOR] =
        {
            .name = "torchao-tensor",
            .title = "e4m3 forward and e5m2 backward, a scale a tensor",
            .source =
                "pytorch/ao 0.18.0 torchao/float8/config.py, Float8LinearRecipeName.TENSORWISE",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_TORCHAO, 0, 0},
                                        .b = {HC_E4M3, HC_SCALE_TORCHAO, 0, 0}},
                        [HC_QUANT_DX] = {.a = {HC_E5M2, HC_SCALE_TORCHAO, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_TORCHAO, 0, 0}},
                        [HC_QUANT_DW] = {.a = {HC_E5M2, HC_SCALE_TORCHAO, 0, 0},
                                         .b = {HC_E4M3, HC_SCALE_TORCHAO, 0, 0}}},
        },
    [HC_BY_TORCHAO_ROWWISE] =
        {
            .name = "torchao-rowwise",
            .title = "e4m3, a power of two a row",
            .source = "pytorch/ao 0.18.0 torchao/float8/config.py, Float8LinearRecipeName.ROWWISE",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0},
                                        .b = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0}},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0},
                                         .b = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0}},
                        [HC_QUANT_DW] = {.a = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0},
                                         .b = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0}}},
        },
    [HC_BY_TORCHAO_ROWWISE_GW_HP] =
        {
            .name = "torchao-rowwise-gw-hp",
            .title = "e4m3, a power of two a row; the gradient of the weight is not quantised",
            .source = "pytorch/ao 0.18.0 torchao/float8/config.py, "
                      "Float8LinearRecipeName.ROWWISE_WITH_GW_HP",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0},
                                        .b = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0}},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 1, 0},
                                         .b = {HC_E4M3, HC_SCALE_TORCHAO_POW2, 0, 0}},
                        [HC_QUANT_DW] = {.plain = true}},
        },
    [HC_BY_TE_BLOCK] =
        {
            .name = "te-block",
            .title = "e4m3, a scale for 128 numbers of x and dy, and for 128 by 128 of w; sums "
                     "promoted every 128",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "Float8BlockScaling",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_TE_BLOCK, 1, 128},
                                        .b = {HC_E4M3, HC_SCALE_TE_BLOCK, 128, 128},
                                        .promote = 128},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_TE_BLOCK, 1, 128},
                                         .b = {HC_E4M3, HC_SCALE_TE_BLOCK, 128, 128},
                                         .promote = 128},
                        [HC_QUANT_DW] = {.a = {HC_E4M3, HC_SCALE_TE_BLOCK, 1, 128},
                                         .b = {HC_E4M3, HC_SCALE_TE_BLOCK, 1, 128},
                                         .promote = 128}},
        },
    [HC_BY_DEEPGEMM] =
        {
            .name = "deepgemm",
            .title = "e4m3, a scale for 128 numbers of x and dy, and for 128 by 128 of w; sums "
                     "promoted every 128",
            .source =
                "deepseek-ai/DeepGEMM @54e22612 deep_gemm/utils/math.py; arXiv 2412.19437v2, 3.3",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_DEEPGEMM, 1, 128},
                                        .b = {HC_E4M3, HC_SCALE_DEEPGEMM, 128, 128},
                                        .promote = 128},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_DEEPGEMM, 1, 128},
                                         .b = {HC_E4M3, HC_SCALE_DEEPGEMM, 128, 128},
                                         .promote = 128},
                        [HC_QUANT_DW] = {.a = {HC_E4M3, HC_SCALE_DEEPGEMM, 1, 128},
                                         .b = {HC_E4M3, HC_SCALE_DEEPGEMM, 1, 128},
                                         .promote = 128}},
        },
    [HC_BY_MXFP8_RP] =
        {
            .name = "mxfp8-rp",
            .title = "e4m3, a power of two for 32 numbers",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "MXFP8BlockScaling",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_MX_RP, 1, 32},
                                        .b = {HC_E4M3, HC_SCALE_MX_RP, 1, 32}},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_MX_RP, 1, 32},
                                         .b = {HC_E4M3, HC_SCALE_MX_RP, 1, 32}},
                        [HC_QUANT_DW] = {.a = {HC_E4M3, HC_SCALE_MX_RP, 1, 32},
                                         .b = {HC_E4M3, HC_SCALE_MX_RP, 1, 32}}},
        },
    [HC_BY_MXFP8_FLOOR] =
        {
            .name = "mxfp8-floor",
            .title = "e4m3, a power of two for 32 numbers",
            .source = "pytorch/ao 0.18.0 torchao/prototype/mx_formats/config.py, "
                      "ScaleCalculationMode.FLOOR; OCP MX 1.0, 6.3",
            .product = {[HC_QUANT_Y] = {.a = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32},
                                        .b = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32}},
                        [HC_QUANT_DX] = {.a = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32},
                                         .b = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32}},
                        [HC_QUANT_DW] = {.a = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32},
                                         .b = {HC_E4M3, HC_SCALE_MX_FLOOR, 1, 32}}},
        },
    [HC_BY_NVFP4] =
        {
            .name = "nvfp4",
            .title =
                "e2m1 in two levels: 16 numbers of x and dy, 16 by 16 of w; dy stochastically; "
                "Hadamard for dw",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "NVFP4BlockScaling",
            .product = {[HC_QUANT_Y] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16},
                                        .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DX] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, false, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DW] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 0}}},
        },
    [HC_BY_NVFP4_NO_RHT] =
        {
            .name = "nvfp4-no-rht",
            .title = "nvfp4 without the Hadamard transform",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "NVFP4BlockScaling, disable_rht",
            .product = {[HC_QUANT_Y] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16},
                                        .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DX] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, false, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DW] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, false, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16}}},
        },
    [HC_BY_NVFP4_NO_SR] =
        {
            .name = "nvfp4-no-sr",
            .title = "nvfp4 with dy rounded to nearest",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "NVFP4BlockScaling, disable_stochastic_rounding",
            .product = {[HC_QUANT_Y] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16},
                                        .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DX] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 16, 16}},
                        [HC_QUANT_DW] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 0},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 0}}},
        },
    [HC_BY_NVFP4_1D] =
        {
            .name = "nvfp4-1d",
            .title = "nvfp4 with 16 numbers of w in a block",
            .source =
                "NVIDIA/TransformerEngine @d0067d0d transformer_engine/common/recipe/__init__.py, "
                "NVFP4BlockScaling, disable_2d_quantization",
            .product = {[HC_QUANT_Y] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16},
                                        .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16}},
                        [HC_QUANT_DX] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, false, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16}},
                        [HC_QUANT_DW] = {.a = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 8},
                                         .b = {HC_E2M1, HC_SCALE_NVFP4_TE, 1, 16, true, 0}}},
        },
};

const char *const hc_quant_names[HC_QUANT_ROWS + 1] = {"none",
                                                       "im2col",
                                                       "te-delayed",
                                                       "te-current",
                                                       "torchao-tensor",
                                                       "torchao-rowwise",
                                                       "torchao-rowwise-gw-hp",
                                                       "te-block",
                                                       "deepgemm",
                                                       "mxfp8-rp",
                                                       "mxfp8-floor",
                                                       "nvfp4",
                                                       "nvfp4-no-rht",
                                                       "nvfp4-no-sr",
                                                       "nvfp4-1d",
                                                       NULL};

bool hc_quant_is_random(const struct hc_quant_recipe *recipe)
{
    bool random = false;
    for (int p = 0; p < HC_QUANT_PRODUCTS; p++)
        random |= recipe->product[p].a.random_bits > 0 || recipe->product[p].b.random_bits > 0;
    return random;
}

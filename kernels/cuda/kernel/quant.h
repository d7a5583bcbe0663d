/* Arguments of the kernels in quant.c. Device code has no table of formats, so that what it needs
   of them comes along. */
#ifndef HC_KERNELS_CUDA_KERNEL_QUANT_H
#define HC_KERNELS_CUDA_KERNEL_QUANT_H

#include "kernels/element/scale_formats.h"
#include "num/narrow8.h"
#include "op/call.h"

/* A matrix of codes, cut into blocks. */
struct hc_dk_matrix {
    int64_t rows, columns;
    int64_t block_rows, block_columns; /* at least 1 */
    int64_t across;                    /* blocks side by side */
    int64_t blocks;
};

/* The call's scratch has a number for each block: the bits of its amax, and then its encoding
   factor. */
struct hc_dk_quantize {
    struct hc_call call;
    struct hc_dk_matrix matrix;
    struct hc_scale_formats formats;
    struct hc_narrow8 narrow;
    int scale_bytes; /* of one that is stored */
};

struct hc_dk_dequantize {
    struct hc_call call;
    struct hc_dk_matrix matrix;
    struct hc_format_info codes;
    struct hc_format_info scales;
};

/* 1-byte formats and up to 16 random bits go by `narrow`, which takes few operations. */
struct hc_dk_stochastic_cast {
    struct hc_call call;
    struct hc_format_info to;
    struct hc_narrow8 narrow;
    bool is_narrow;
};

struct hc_dk_delayed {
    struct hc_call call;
    float max; /* M of the codes */
};

#endif

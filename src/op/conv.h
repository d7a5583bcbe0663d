/* Convolutions and average pooling, channels last. Slots of the convolutions:
     x, dx     images [N, H, W, C]
     w, dw     filters [K, R, S, C]
     y, dy     results [N, P, Q, K]; P = (H + 2 pad - R) / stride + 1, and Q likewise
   Both inputs are float or fp64 and have one format; the output is float, or fp64 if they are. The
   accumulator is fp32, the order of the sum is free, and the output is rounded once.

   Padding is where there is no image: in all three ops a product of a weight or a gradient with it
   is no term of the sum, even if that factor is infinite or NaN (there is no 0 * inf). A sum
   without terms is +0. Between the pixels that a stride skips there are no gradients either.

   tf32: as in op/gemm.h. */
#ifndef HC_OP_CONV_H
#define HC_OP_CONV_H

#include <stdbool.h>

/* conv2d: y from x and w. */
enum { HC_CONV_X, HC_CONV_W };
enum { HC_CONV_Y };

/* conv2d_bwd_data: dx, of x's shape, from dy and w. */
enum { HC_CONV_BWD_DATA_DY, HC_CONV_BWD_DATA_W };
enum { HC_CONV_BWD_DATA_DX };

/* conv2d_bwd_filter: dw, of w's shape, from x and dy. */
enum { HC_CONV_BWD_FILTER_X, HC_CONV_BWD_FILTER_DY };
enum { HC_CONV_BWD_FILTER_DW };

/* The same slots in code that is generic over the three: the two factors and the sums. */
enum { HC_CONV_FIRST, HC_CONV_SECOND };
enum { HC_CONV_RESULT };

struct hc_conv {
    int stride;
    int pad;
    bool tf32;
};

/* avg_pool: y [N, H / window, W / window, C] = the fp32 sum over a window of x [N, H, W, C], in row
   order, divided by window^2, rounded. Extents are multiples of the window.
     x, y      float, or all fp64 */
enum { HC_POOL_X };
enum { HC_POOL_Y };

/* avg_pool_bwd: dx = round(fp32: dy / window^2).
     dy, dx    float, or all fp64 */
enum { HC_POOL_BWD_DY };
enum { HC_POOL_BWD_DX };

struct hc_pool {
    int window;
};

#endif

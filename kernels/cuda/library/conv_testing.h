/* Convolutions for the tests that run through the stand-ins. */
#ifndef HC_KERNELS_CUDA_LIBRARY_CONV_TESTING_H
#define HC_KERNELS_CUDA_LIBRARY_CONV_TESTING_H

#include "kernels/cuda/emulate/testing.h"

/* n, h, w, c, k, r, s, stride, pad */
static const int shapes[][9] = {
    {2, 5, 4, 3, 6, 3, 3, 1, 1}, {1, 6, 7, 2, 5, 3, 3, 2, 1}, {2, 4, 4, 7, 8, 1, 1, 1, 0},
    {1, 7, 5, 4, 3, 2, 3, 3, 0}, {1, 3, 3, 1, 1, 3, 3, 1, 0}, {1, 2, 2, 9, 2, 3, 3, 1, 2},
    {1, 8, 8, 3, 4, 1, 1, 2, 0}, {0, 4, 4, 2, 3, 3, 3, 1, 1}, {2, 4, 4, 0, 3, 3, 3, 1, 1},
    {2, 4, 4, 3, 0, 3, 3, 1, 1},
};

static inline struct hc_call convolution(enum hc_op op, const int s[9], enum hc_format in,
                                         enum hc_format out)
{
    struct hc_tensor x = hc_tensor4(in, s[0], s[1], s[2], s[3], NULL);
    struct hc_tensor w = hc_tensor4(in, s[4], s[5], s[6], s[3], NULL);
    struct hc_tensor y = hc_tensor4(in, s[0], (s[1] + 2 * s[8] - s[5]) / s[7] + 1,
                                    (s[2] + 2 * s[8] - s[6]) / s[7] + 1, s[4], NULL);
    struct hc_tensor role[3][3] = {{x, w, y}, {y, w, x}, {x, y, w}};
    struct hc_tensor *t = role[op - HC_OP_conv2d];
    struct hc_call call = {.op = op, .params.conv = {.stride = s[7], .pad = s[8]}};
    t[2].format = out;
    call.in[HC_CONV_FIRST] = integers(t[0], 1);
    call.in[HC_CONV_SECOND] = integers(t[1], 2);
    call.out[HC_CONV_RESULT] = aligned(t[2]);
    return call;
}

#endif

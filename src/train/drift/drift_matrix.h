/* im2col and col2im (op/quant.h) in fp64, in which no backend has them. Tensors lie in host memory.
   */
#ifndef HC_TRAIN_DRIFT_DRIFT_MATRIX_H
#define HC_TRAIN_DRIFT_DRIFT_MATRIX_H

#include "op/call.h"

/* The numbers of codes: a code times its scale, which fp64 holds, and times its second factor. */
void hc_matrix_decode(const struct hc_call *quantize, double *to);

/* What is quantised, before it is: x or its transpose, and where the call says so 16 neighbours
   each times the signs and Hadamard's matrix. */
void hc_matrix_take(const struct hc_call *quantize, double *to);

void hc_matrix_gather(const struct hc_call *im2col);
void hc_matrix_scatter(const struct hc_call *col2im);

#endif

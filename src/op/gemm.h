/* Slots of gemm. */
#ifndef HC_OP_GEMM_H
#define HC_OP_GEMM_H

enum { HC_GEMM_A, HC_GEMM_B, HC_GEMM_C };
enum { HC_GEMM_OUT };

#endif

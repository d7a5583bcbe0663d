/* Products by the CPU's own bf16 instructions, where it has some: gemm and the convolutions on
   tensors in bf16, and with AMX the convolutions in fp16, too, whose numbers are sums of two bf16
   numbers each (product16.h). Other formats, and other CPUs, multiply in fp32 (onednn.h). With
   VDPBF16PS the four products that one in fp16 takes would be slower than one in fp32. */
#ifndef HC_KERNELS_HOST_NATIVE_NATIVE_H
#define HC_KERNELS_HOST_NATIVE_NATIVE_H

#include "kernels/host/host.h"
#include "kernels/host/native/product16.h"

/* What multiplies. */
struct hc_native {
    const char *name;      /* as `--set native=NAME` takes it */
    const char *fact;      /* for the record */
    const char *fact_fp16; /* the same of convolutions in fp16; NULL: it makes none */
    hc_product16 *product;
    bool (*runs)(void);
    bool (*pays)(void); /* whether it is faster than fp32; NULL: always */
};

/* What is used here: what was set, else the first unit that runs and pays. NULL: fp32. */
const struct hc_native *hc_native(void);

/* Uses the unit of that name; "off": none; "on": what is used if nothing is set. HC_INVALID, with a
   line, if there is none of that name here. */
enum hc_status hc_native_set(const char *name);

/* Whether hc_native_run takes the call. Where infinities or NaN in fp16 would meet a 0 that the
   definition has not, in the padding or as the low part of a number, it returns HC_UNSUPPORTED
   without a message, and the call is to be done in fp32. */
bool hc_native_takes(const struct hc_call *call);
hc_kernel hc_native_run;
size_t hc_native_scratch(struct hc_queue *queue, const struct hc_call *call);

/* By op. */
hc_kernel hc_native_gemm, hc_native_conv, hc_native_filter;
size_t hc_native_gemm_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_native_conv_scratch(struct hc_queue *queue, const struct hc_call *call);
size_t hc_native_filter_scratch(struct hc_queue *queue, const struct hc_call *call);

/* Rows of a result that one thread computes at a time. No result depends on them. */
enum { HC_NATIVE_ROWS = 64 };

/* Bytes, or bf16 numbers, up to a whole number of cache lines. */
static inline int64_t hc_native_rounded(int64_t n)
{
    return (n + 63) / 64 * 64;
}

#endif

/* Tensors: a format, a shape and a pointer. They own nothing. */
#ifndef HC_OP_TENSOR_H
#define HC_OP_TENSOR_H

#include <stddef.h>
#include <stdint.h>

#include "num/format.h"

#define HC_MAX_RANK 4

/* Dense, row-major, channels last: activations are [N, H, W, C], filters [K, R, S, C]. data may be
   NULL while planning, and in an optional slot of a call to say that it is absent. */
struct hc_tensor {
    enum hc_format format;
    int rank;
    int64_t shape[HC_MAX_RANK];
    void *data;
};

struct hc_tensor hc_tensor1(enum hc_format format, int64_t n, void *data);
struct hc_tensor hc_tensor2(enum hc_format format, int64_t rows, int64_t columns, void *data);
struct hc_tensor hc_tensor3(enum hc_format format, int64_t a, int64_t b, int64_t c, void *data);
struct hc_tensor hc_tensor4(enum hc_format format, int64_t n, int64_t h, int64_t w, int64_t c,
                            void *data);

/* Elements, and bytes of storage; a tensor with a zero extent is empty and legal. */
static inline int64_t hc_tensor_count(const struct hc_tensor *t)
{
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->shape[d];
    return n;
}

static inline size_t hc_tensor_bytes(const struct hc_tensor *t)
{
    return (size_t)hc_tensor_count(t) * (size_t)hc_formats[t->format].bytes;
}

/* Elements of a tensor in host memory, as bits and as values; hc_tensor_set rounds to nearest. */
uint64_t hc_tensor_bits(const struct hc_tensor *t, int64_t i);
void hc_tensor_set_bits(const struct hc_tensor *t, int64_t i, uint64_t bits);
double hc_tensor_get(const struct hc_tensor *t, int64_t i);
void hc_tensor_set(const struct hc_tensor *t, int64_t i, double value);

#endif

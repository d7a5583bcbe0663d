/* The arithmetic of the stand-in. NCCL states no order; this one begins each element's sum at
   another rank, as a ring does, and rounds after each addition. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/standin/nccl/clique.h"
#include "num/format.h"

static const struct {
    ncclDataType_t type;
    size_t bytes;
    enum hc_format format; /* HC_FORMAT_COUNT: it is not added here */
} types[] = {
    {ncclInt8, 1, HC_FORMAT_COUNT},  {ncclUint8, 1, HC_FORMAT_COUNT},
    {ncclInt32, 4, HC_FORMAT_COUNT}, {ncclUint32, 4, HC_FORMAT_COUNT},
    {ncclInt64, 8, HC_FORMAT_COUNT}, {ncclUint64, 8, HC_FORMAT_COUNT},
    {ncclFloat16, 2, HC_FP16},       {ncclFloat32, 4, HC_FP32},
    {ncclFloat64, 8, HC_FP64},       {ncclBfloat16, 2, HC_BF16},
};
enum { TYPES = sizeof types / sizeof types[0] };

size_t hc_standin_nccl_bytes(ncclDataType_t type)
{
    for (int t = 0; t < TYPES; t++)
        if (types[t].type == type)
            return types[t].bytes;
    return 0;
}

static enum hc_format format_of(ncclDataType_t type)
{
    for (int t = 0; t < TYPES; t++)
        if (types[t].type == type)
            return types[t].format;
    return HC_FORMAT_COUNT;
}

static double number(const void *data, size_t i, size_t bytes, enum hc_format format)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)data + i * bytes, bytes);
    return hc_decode(format, bits);
}

/* A sum of two numbers of at most 24 bits in fp64 rounds into their format as the exact one. */
void hc_standin_nccl_sum(const struct hc_standin_meeting *meeting, int size)
{
    const struct hc_standin_call *call = meeting->call;
    size_t bytes = hc_standin_nccl_bytes(call->type);
    enum hc_format format = format_of(call->type);
    char *sums = malloc(call->count * bytes + 1);
    if (!sums)
        abort();
    if (format == HC_FORMAT_COUNT || call->op != ncclSum) {
        hc_standin_nccl_find("the stand-in has no all-reduce of this type and operation");
        free(sums);
        return;
    }
    for (size_t i = 0; i < call->count; i++) {
        int first = (int)(i % (size_t)size);
        double sum = number(call[first].send, i, bytes, format);
        for (int r = 1; r < size; r++)
            sum = hc_round(format, sum + number(call[(first + r) % size].send, i, bytes, format));
        uint64_t bits = hc_encode(format, sum, 0, HC_NEAREST);
        memcpy(sums + i * bytes, &bits, bytes);
    }
    for (int r = 0; r < size; r++)
        memcpy(call[r].receive, sums, call->count * bytes);
    free(sums);
}

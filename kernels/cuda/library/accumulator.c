/* Sources: Fasi, Higham, Mikaitis and Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ CS
   2021 (V100, A100); Khattak and Mikaitis, models of tensor cores (L40S, H100, H200, B200); FTTN,
   arXiv 2403.00232. All of these units cut towards zero, and align
   products by the exponents of their factors. */
#include "kernels/cuda/library/accumulator.h"

static const struct {
    int major;
    int minor;
    struct hc_accumulator accumulator;
} known[] = {
    {7, 0, {24, 4, 0, true, false, true, false}},   /* V100 */
    {8, 0, {24, 8, 1, true, false, true, false}},   /* A100 */
    {8, 9, {24, 8, 1, true, false, true, false}},   /* L40S */
    {9, 0, {24, 16, 2, true, false, true, false}},  /* H100, H200 */
    {10, 0, {24, 16, 2, true, false, true, false}}, /* B200 */
};

struct hc_accumulator hc_cuda_accumulator(int major, int minor)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].major == major && known[i].minor == minor)
            return known[i].accumulator;
    return known[0].accumulator;
}

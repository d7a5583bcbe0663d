#include "kernels/cuda/launch.h"

int hc_blocks_for(int64_t n, int threads, int most)
{
    int64_t blocks = (n + threads - 1) / threads;
    return blocks < most ? (int)blocks : most;
}

#include "num/rng.h"

#include <math.h>

#include "num/clones.h"

HC_FLAT_CLONES void hc_random_row(uint64_t seed, uint64_t stream, uint64_t first, int n,
                                  uint64_t *to)
{
    for (int i = 0; i < n; i++)
        to[i] = hc_random(seed, stream, first + (uint64_t)i);
}

double hc_random_normal(uint64_t seed, uint64_t stream, uint64_t index)
{
    uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)stream,
                           (uint32_t)(stream >> 32)};
    struct hc_philox c = hc_philox(key, counter);
    double radius = ((double)c.word[0] + 0.5) * 0x1p-32;
    double angle = (double)c.word[1] * 0x1p-32;
    return sqrt(-2 * log(radius)) * cos(6.283185307179586 * angle);
}

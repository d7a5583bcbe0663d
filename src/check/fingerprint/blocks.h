/* Blocks of any lengths, as libraries cut long sums to fit a cache. */
#ifndef HC_CHECK_FINGERPRINT_BLOCKS_H
#define HC_CHECK_FINGERPRINT_BLOCKS_H

#include "check/fingerprint/probe.h"

enum { HC_BLOCKS = 32 };

/* Products end[b - 1] to end[b] - 1 belong to block b. */
struct hc_sum_blocks {
    int count;
    int end[HC_BLOCKS];
    int longest;
};

/* Finds the blocks of a sum that takes one product after the other in each block, and one block
   after the other. If the sum is no such sum, what is found explains nothing; count is then 0, or
   hc_blocks_under differs from what comes out. */
enum hc_status hc_find_blocks(struct hc_probe *probe, struct hc_sum_blocks *blocks);

/* The products under the meeting of i < j (structure.c). */
int hc_blocks_under(const struct hc_sum_blocks *blocks, int i, int j);

#endif

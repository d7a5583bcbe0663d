#include "check/fingerprint/blocks.h"

#include "check/fingerprint/structure.h"

/* The products under the meeting of 0 and j. */
static enum hc_status ask(struct hc_probe *p, int j, int *under)
{
    hc_probe_begin(p);
    int sum = hc_probe_ones_but(p, 0, j);
    hc_probe_huge(p, 0, 1);
    hc_probe_huge(p, j, -1);
    enum hc_status status = hc_probe_run(p);
    *under = status == HC_OK ? hc_probe_under(p, sum) : 0;
    return status;
}

/* Whether the end is one: behind the last one, and not behind the sum. */
static bool add(struct hc_sum_blocks *b, int end, int n)
{
    int last = b->count ? b->end[b->count - 1] : 0;
    if (end <= last || end > n || b->count == HC_BLOCKS)
        return false;
    b->end[b->count++] = end;
    b->longest = end - last > b->longest ? end - last : b->longest;
    return true;
}

/* Within the first block, products 0 and j have j + 1 under them; behind it, all to the end of j's
   block. So the first end is found by halving, and each other one from the one before. */
enum hc_status hc_find_blocks(struct hc_probe *p, struct hc_sum_blocks *b)
{
    int n = p->shape.terms;
    int inside = 1;
    int outside = n;
    int under = 0;
    enum hc_status status = HC_OK;
    *b = (struct hc_sum_blocks){0};
    while (outside - inside > 1 && status == HC_OK) {
        int middle = (inside + outside) / 2;
        status = ask(p, middle, &under);
        *(under == middle + 1 ? &inside : &outside) = middle;
    }
    bool more = status == HC_OK && add(b, outside, n);
    while (more && b->end[b->count - 1] < n && status == HC_OK) {
        status = ask(p, b->end[b->count - 1], &under);
        more = status == HC_OK && add(b, under, n);
    }
    if (!more)
        b->count = 0;
    return status;
}

static int block_of(const struct hc_sum_blocks *b, int i)
{
    int block = 0;
    while (block + 1 < b->count && i >= b->end[block])
        block++;
    return block;
}

int hc_blocks_under(const struct hc_sum_blocks *b, int i, int j)
{
    int block = block_of(b, j);
    int start = block ? b->end[block - 1] : 0;
    return block_of(b, i) == block ? j - start + 1 : b->end[block];
}

/* What each order of additions loses next to a huge product and its negative (structure.c). */
#include "check/fingerprint/orders.h"

#include <stddef.h>

/* The products under the meeting of i < j, in pieces of p, of n in all. */
static int one_by_one(int i, int j, int p, int n)
{
    (void)i;
    (void)p;
    (void)n;
    return j + 1;
}

static int odd_first(int i, int j, int p, int n)
{
    return one_by_one(0, (i ^ 1) > (j ^ 1) ? i ^ 1 : j ^ 1, p, n);
}

static int fused(int i, int j, int p, int n)
{
    (void)i;
    (void)n;
    return p * (j / p + 1);
}

/* Within a piece nothing is lost. Otherwise the sum so far, and the piece of i, are rounded before
   j comes. */
static int exact(int i, int j, int p, int n)
{
    (void)n;
    return i / p == j / p ? 2 : p * (j / p) + 1;
}

/* The smallest block of a power of two that holds both; then one piece after another. */
static int pairs(int i, int j, int p, int n)
{
    int size = 2;
    while (size < p && i / size != j / size)
        size *= 2;
    return i / size == j / size ? size : fused(i, j, p, n);
}

static int two_chains(int i, int j, int p, int n)
{
    bool chain = i / p == j / p && i % 2 == j % 2;
    return chain ? j % p / 2 + 1 : i / p == j / p ? p : fused(i, j, p, n);
}

static int blocks(int i, int j, int p, int n)
{
    return i / p == j / p ? j % p + 1 : fused(i, j, p, n);
}

static int whole(int i, int j, int p, int n)
{
    (void)i;
    (void)j;
    (void)p;
    (void)n;
    return 2;
}

/* The products that are added to C before j or with it, if C comes first. */
static int c_one_by_one(int j, int p)
{
    (void)p;
    return j + 1;
}

static int c_odd_first(int j, int p)
{
    (void)p;
    return (j ^ 1) + 1;
}

static int c_piece(int j, int p)
{
    return p * (j / p + 1);
}

static int c_exact(int j, int p)
{
    return p * (j / p) + 1;
}

static int c_whole(int j, int p)
{
    (void)j;
    (void)p;
    return 1;
}

/* The simple ones first: a rule that needs no pieces explains more with less. */
const struct hc_order_rule hc_order_rules[] = {
    {HC_SUM_IN_ORDER, one_by_one, c_one_by_one, 1, false},
    {HC_SUM_ODD_FIRST, odd_first, c_odd_first, 1, false},
    {HC_SUM_WHOLE, whole, c_whole, 1, false},
    {HC_SUM_PIECES, fused, c_piece, 2, true},
    {HC_SUM_PAIRS, pairs, c_piece, 2, true},
    {HC_SUM_EXACT, exact, c_exact, 2, true},
    {HC_SUM_TWO_CHAINS, two_chains, c_piece, 4, true},
    {HC_SUM_BLOCKS, blocks, c_piece, 4, true},
    {HC_SUM_UNKNOWN, NULL, NULL, 0, false}};

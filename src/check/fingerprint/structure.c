/* Product i is M, product j is -M, and all others are 1 (times a power of two), so small that M
   swallows as many of them as a sum can have. A 1 that is added to something with M or -M in it is
   lost. What comes out is how many were not. So n minus it, here called "under", is the number of
   products below the place where i and j meet. Each order makes a table of these numbers of its
   own. */
#include "check/fingerprint/structure.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "check/fingerprint/fingerprint.h"
#include "check/fingerprint/probe.h"

enum { HC_BLOCKS = 32 };

/* Products end[b - 1] to end[b] - 1 belong to block b. */
struct hc_sum_blocks {
    int count;
    int end[HC_BLOCKS];
    int longest;
};

struct hc_order_rule {
    enum hc_sum_order order;
    /* The products under the meeting of i < j, in pieces of p, of n in all. */
    int (*under)(int i, int j, int p, int n);
    /* The products that are added to C before j or with it, if C comes first. */
    int (*under_c)(int j, int p);
    int least; /* piece; the others are twice that, four times, ... */
    bool sized;
};

/* The simple ones first: a rule that needs no pieces explains more with less. The last one has no
   functions. */
extern const struct hc_order_rule hc_order_rules[];

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

/* The products under the meeting of 0 and j. */
static enum hc_status ask_blocks(struct hc_probe *p, int j, int *under)
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
static bool add_block(struct hc_sum_blocks *b, int end, int n)
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
/* Finds the blocks of a sum that takes one product after the other in each block, and one block
   after the other. If the sum is no such sum, what is found explains nothing; count is then 0, or
   blocks_under differs from what comes out. */
static enum hc_status hc_find_blocks(struct hc_probe *p, struct hc_sum_blocks *b)
{
    int n = p->shape.terms;
    int inside = 1;
    int outside = n;
    int under = 0;
    enum hc_status status = HC_OK;
    *b = (struct hc_sum_blocks){0};
    while (outside - inside > 1 && status == HC_OK) {
        int middle = (inside + outside) / 2;
        status = ask_blocks(p, middle, &under);
        *(under == middle + 1 ? &inside : &outside) = middle;
    }
    bool more = status == HC_OK && add_block(b, outside, n);
    while (more && b->end[b->count - 1] < n && status == HC_OK) {
        status = ask_blocks(p, b->end[b->count - 1], &under);
        more = status == HC_OK && add_block(b, under, n);
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

/* The products under the meeting of i < j. */
static int blocks_under(const struct hc_sum_blocks *b, int i, int j)
{
    int block = block_of(b, j);
    int start = block ? b->end[block - 1] : 0;
    return block_of(b, i) == block ? j - start + 1 : b->end[block];
}

enum { PLACES = 18, RESIDUE = -1 };

struct table {
    int n;
    int places;
    int place[PLACES];
    int sum[PLACES][PLACES]; /* the number of the probe's sum, for places i < j */
    int sum_c[PLACES];
};

/* Exponents of a huge product and of a small one. Their distance is more than an fp64 accumulator
   has bits, where the format has room for that. Fp8 has less, but so have its units. */
static void scales(enum hc_format format, int *huge, int *one)
{
    const struct hc_format_info *f = &hc_formats[format];
    bool wide = f->emax > 100;
    *huge = wide ? 60 : 2 * f->emax;
    *one = wide ? -40 : f->emax < 10 ? 2 * (f->emin - 3) : 2 * f->emin;
}

/* A unit keeps up to 25 bits below the huge one; one more, so that a sum of ones is no tie. */
int hc_structure_most_terms(enum hc_format format)
{
    enum { KEPT = 26, MOST = 20 };
    int huge, one;
    scales(format, &huge, &one);
    int bits = huge - one - KEPT;
    return 1 << (bits < MOST ? bits : MOST);
}

static double probe_one_value(const struct hc_probe *p)
{
    int huge, one;
    scales(p->format, &huge, &one);
    return ldexp(1, one);
}

static double probe_huge_value(const struct hc_probe *p)
{
    int huge, one;
    scales(p->format, &huge, &one);
    return ldexp(1, huge);
}

void hc_probe_huge(struct hc_probe *p, int k, int sign)
{
    int huge, one;
    scales(p->format, &huge, &one);
    hc_probe_scaled(p, k, sign, huge);
}

static void probe_one(struct hc_probe *p, int k)
{
    int huge, one;
    scales(p->format, &huge, &one);
    hc_probe_scaled(p, k, 1, one);
}

/* Neighbours, and what lies on either side of powers of two; fewer of these in a long sum. */
static void choose_places(struct table *t, int n)
{
    static const int few[PLACES] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 63};
    static const int many[PLACES] = {0,  1,  2,  3,   4,   5,   7,   8,    15,
                                     16, 31, 32, 127, 128, 256, 511, 1022, 1023};
    t->n = n;
    t->places = 0;
    for (int i = 0; i < PLACES; i++)
        if ((n > 64 ? many : few)[i] < n)
            t->place[t->places++] = (n > 64 ? many : few)[i];
}

int hc_probe_ones_but(struct hc_probe *p, int i, int j)
{
    int sum = hc_probe_sum(p);
    for (int k = 0; k < p->shape.terms; k++)
        if (k != i && k != j)
            probe_one(p, k);
    return sum;
}

static void ask(struct hc_probe *p, struct table *t)
{
    hc_probe_begin(p);
    for (int j = 0; j < t->places; j++) {
        for (int i = 0; i < j; i++) {
            t->sum[i][j] = hc_probe_ones_but(p, t->place[i], t->place[j]);
            hc_probe_huge(p, t->place[i], 1);
            hc_probe_huge(p, t->place[j], -1);
        }
        if (!p->takes_c)
            continue;
        t->sum_c[j] = hc_probe_ones_but(p, t->place[j], t->place[j]);
        hc_probe_c(p, probe_huge_value(p));
        hc_probe_huge(p, t->place[j], -1);
    }
}

/* How many products are under it, or RESIDUE: the huge ones did not cancel, since an addition
   changed one. */
int hc_probe_under(const struct hc_probe *p, int sum)
{
    double left = hc_probe_value(p, sum) / probe_one_value(p);
    bool whole_number = left >= 0 && left <= p->shape.terms && left == floor(left);
    return whole_number ? p->shape.terms - (int)left : RESIDUE;
}

/* An addition may change M only where something was lost in it. */
static bool agrees(int got, int want, int n, int least)
{
    want = want < n ? want : n;
    return got == want || (got == RESIDUE && want > least);
}

static bool explains(const struct hc_order_rule *r, int piece, const struct hc_probe *p,
                     const struct table *t)
{
    int clear = 0;
    for (int j = 0; j < t->places; j++)
        for (int i = 0; i < j; i++) {
            int got = hc_probe_under(p, t->sum[i][j]);
            clear += got != RESIDUE;
            if (!agrees(got, r->under(t->place[i], t->place[j], piece, t->n), t->n, 2))
                return false;
        }
    return clear > 2;
}

/* Where C is added, if the order is the rule's (NULL: unknown). */
static enum hc_sum_c place_of_c(const struct hc_order_rule *r, int piece, const struct hc_probe *p,
                                const struct table *t)
{
    bool first = r != NULL;
    bool last = true;
    for (int j = 0; j < t->places; j++) {
        int got = hc_probe_under(p, t->sum_c[j]);
        first = first && agrees(got, r->under_c(t->place[j], piece), t->n, 1);
        last = last && got == t->n;
    }
    /* A C that joins all products at once comes neither first nor last. */
    return first ? HC_SUM_C_FIRST : last ? HC_SUM_C_LAST : HC_SUM_C_UNKNOWN;
}

void hc_structure_places(const struct hc_findings_of_shape *found, int place[4])
{
    static const int in_order[] = {0, 1, 2, 3};
    static const int odd[] = {1, 0, 3, 2};
    static const int even[] = {0, 2, 4, 6};
    const int *from = found->order == HC_SUM_ODD_FIRST    ? odd
                      : found->order == HC_SUM_TWO_CHAINS ? even
                                                          : in_order;
    memcpy(place, from, 4 * sizeof *place);
}

/* Whether C is aligned with the products of its piece: then it is lost next to M - M. */
static enum hc_status find_fusion(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    bool pieces = found->order == HC_SUM_PIECES;
    if (found->c != HC_SUM_C_FIRST || !pieces) {
        if (found->c == HC_SUM_C_FIRST &&
            (found->order == HC_SUM_EXACT || found->order == HC_SUM_WHOLE))
            found->c = HC_SUM_C_FUSED;
        return HC_OK;
    }
    hc_probe_begin(p);
    int sum = hc_probe_sum(p);
    hc_probe_huge(p, 0, 1);
    hc_probe_huge(p, 1, -1);
    hc_probe_c(p, probe_one_value(p));
    enum hc_status status = hc_probe_run(p);
    if (status == HC_OK && hc_probe_value(p, sum) != probe_one_value(p))
        found->c = HC_SUM_C_FUSED;
    return status;
}

/* Blocks of other lengths than powers of two. The caller's table is of sums that are gone after
   this. */
static enum hc_status find_blocks(struct hc_probe *p, const struct table *t, const int *under,
                                  struct hc_findings_of_shape *found)
{
    struct hc_sum_blocks b;
    enum hc_status status = hc_find_blocks(p, &b);
    bool all = status == HC_OK && b.count > 1;
    for (int j = 0; j < t->places && all; j++)
        for (int i = 0; i < j; i++)
            all = all && under[i * PLACES + j] == blocks_under(&b, t->place[i], t->place[j]);
    if (all) {
        found->order = HC_SUM_BLOCKS;
        found->piece = b.longest;
    }
    return status;
}

enum hc_status hc_find_structure(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    struct table t;
    const struct hc_order_rule *rule = NULL;
    choose_places(&t, p->shape.terms);
    ask(p, &t);
    enum hc_status status = hc_probe_run(p);
    if (status != HC_OK)
        return status;
    found->order = HC_SUM_UNKNOWN;
    found->piece = 1;
    for (const struct hc_order_rule *r = hc_order_rules; r->under && !rule; r++)
        for (int piece = r->least; piece <= t.n && !rule; piece *= 2) {
            if (explains(r, piece, p, &t)) {
                rule = r;
                found->order = rule->order;
                found->piece = piece;
            }
            if (!r->sized)
                break;
        }
    found->c = p->takes_c ? place_of_c(rule, found->piece, p, &t) : HC_SUM_C_NONE;
    if (!rule) {
        int under[PLACES * PLACES];
        for (int j = 0; j < t.places; j++)
            for (int i = 0; i < j; i++)
                under[i * PLACES + j] = hc_probe_under(p, t.sum[i][j]);
        return find_blocks(p, &t, under, found);
    }
    return find_fusion(p, found);
}

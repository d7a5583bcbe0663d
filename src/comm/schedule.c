#include "comm/schedule.h"

#include <assert.h>

static const struct hc_move nothing = {.to = -1, .from = -1};

/* The number of halvings of 2^k ranks: k, for the largest 2^k within `ranks`. */
static int halvings(int ranks)
{
    int k = 0;
    while (ranks >> (k + 1))
        k++;
    return k;
}

static bool is_power_of_two(int ranks)
{
    return (ranks & (ranks - 1)) == 0;
}

/* The rank sends its whole vector, and receives nothing; or the other way round. */
static struct hc_move sends(int to, int64_t count, bool adds)
{
    return (struct hc_move){.to = to, .out = {0, count}, .from = -1, .adds = adds};
}

static struct hc_move receives(int from, int64_t count, bool adds)
{
    return (struct hc_move){.to = -1, .from = from, .in = {0, count}, .adds = adds};
}

/* The chunk of a ring: the first count mod ranks of them have one number more. */
static struct hc_span chunk(int ranks, int64_t count, int c)
{
    int64_t size = count / ranks;
    int64_t larger = count % ranks;
    return (struct hc_span){c * size + (c < larger ? c : larger), size + (c < larger)};
}

/* Chunk c begins at rank c + 1 and has met everybody when it comes to rank c, after ranks - 1
   moves. As many again bring it round. So in move i rank r sends chunk r - 1 - i. */
static struct hc_move ring(int ranks, int rank, int64_t count, int i)
{
    int out = ((rank - 1 - i) % ranks + ranks) % ranks;
    int in = ((rank - 2 - i) % ranks + ranks) % ranks;
    return (struct hc_move){.to = (rank + 1) % ranks,
                            .out = chunk(ranks, count, out),
                            .from = (rank + ranks - 1) % ranks,
                            .in = chunk(ranks, count, in),
                            .adds = i < ranks - 1};
}

/* The halves of a span that one of a pair keeps: the lower rank the first half. */
static struct hc_span half(struct hc_span span, bool upper)
{
    int64_t lower = span.count - span.count / 2;
    if (upper)
        return (struct hc_span){span.first + lower, span.count - lower};
    return (struct hc_span){span.first, lower};
}

/* 2^k ranks exchange halves with the rank at distance[0], distance[1], ..., and then, on the way
   back, give what they have. The distances are 1, 2, 4, ... or the other way round. Partners have
   kept the same halves before, as their ranks differ in no other bit. */
static struct hc_move exchange(int k, bool far_first, int rank, int64_t count, int i)
{
    bool adds = i < k;
    int depth = adds ? i : 2 * k - 1 - i;
    struct hc_span span = {0, count};
    int distance = 0;
    for (int level = 0; level <= depth; level++) {
        distance = 1 << (far_first ? k - 1 - level : level);
        if (level < depth)
            span = half(span, rank & distance);
    }
    struct hc_span mine = half(span, rank & distance);
    struct hc_span other = half(span, !(rank & distance));
    int partner = rank ^ distance;
    return (struct hc_move){.to = partner,
                            .out = adds ? other : mine,
                            .from = partner,
                            .in = adds ? mine : other,
                            .adds = adds};
}

/* Any number of ranks, with those from 2^k on sending theirs to the first ones in a move before,
   and getting the sums in a move after. */
static struct hc_move halving(int ranks, int rank, int64_t count, int i)
{
    int k = halvings(ranks);
    int power = 1 << k;
    int more = ranks - power;
    if (more == 0)
        return exchange(k, true, rank, count, i);
    bool first = i == 0;
    if (!first && i <= 2 * k)
        return rank < power ? exchange(k, true, rank, count, i - 1) : nothing;
    if (rank < more)
        return first ? receives(rank + power, count, true) : sends(rank + power, count, false);
    if (rank >= power)
        return first ? sends(rank - power, count, true) : receives(rank - power, count, false);
    return nothing;
}

/* How many levels a tree over so many leaves has. */
static int levels(int ranks)
{
    return halvings(ranks) + !is_power_of_two(ranks);
}

/* At a level of distance d the blocks of 2 d ranks add their upper half, whose sum is at rank d of
   the block, to their lower one, whose sum is at its first rank. A block that has no upper half
   waits. */
static struct hc_move binomial(int ranks, int rank, int64_t count, int i)
{
    int n = levels(ranks);
    bool adds = i < n;
    int d = 1 << (adds ? i : 2 * n - 1 - i);
    bool lower = rank % (2 * d) == 0 && rank + d < ranks;
    bool upper = rank % (2 * d) == d;
    if (lower)
        return adds ? receives(rank + d, count, true) : sends(rank + d, count, false);
    if (upper)
        return adds ? sends(rank - d, count, true) : receives(rank - d, count, false);
    return nothing;
}

static struct hc_move tree(int ranks, int rank, int64_t count, int i)
{
    return is_power_of_two(ranks) ? exchange(halvings(ranks), false, rank, count, i)
                                  : binomial(ranks, rank, count, i);
}

int hc_schedule_moves(enum hc_collective algorithm, int ranks)
{
    assert(ranks >= 1 && (unsigned)algorithm < HC_COLLECTIVE_LIBRARY);
    switch (algorithm) {
    case HC_COLLECTIVE_RING:
        return 2 * (ranks - 1);
    case HC_COLLECTIVE_HALVING:
        return 2 * halvings(ranks) + (is_power_of_two(ranks) ? 0 : 2);
    default:
        return 2 * levels(ranks);
    }
}

struct hc_move hc_schedule_move(enum hc_collective algorithm, int ranks, int rank, int64_t count,
                                int i)
{
    static struct hc_move (*const by_algorithm[])(int ranks, int rank, int64_t count, int i) = {
        [HC_COLLECTIVE_TREE] = tree,
        [HC_COLLECTIVE_RING] = ring,
        [HC_COLLECTIVE_HALVING] = halving,
    };
    assert(rank >= 0 && rank < ranks && i >= 0 && i < hc_schedule_moves(algorithm, ranks));
    struct hc_move move = by_algorithm[algorithm](ranks, rank, count, i);
    if (move.out.count == 0)
        move.to = -1;
    if (move.in.count == 0)
        move.from = -1;
    return move;
}

struct hc_sent hc_schedule_sent(enum hc_collective algorithm, int ranks, int rank, int64_t count,
                                size_t bytes)
{
    struct hc_sent sent = {0, 0};
    for (int i = 0; i < hc_schedule_moves(algorithm, ranks); i++) {
        struct hc_move move = hc_schedule_move(algorithm, ranks, rank, count, i);
        sent.messages += move.to >= 0;
        sent.bytes += move.out.count * (int64_t)bytes;
    }
    return sent;
}

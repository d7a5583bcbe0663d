#include "comm/model.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { RANKS = 1024 };

/* NCCL 2.20.3, src/graph/tuning.cc (commit b6475625): baseLat and hwLat of rings, in microseconds;
   rings of LL carry 4 bytes of 8 and are taken at a quarter of a link's rate, those of LL128 at
   0.92 of it; llMaxBws of Hopper inside one machine, and of more than two machines with CPUs of
   AMD. latencyInter, which depends on the card, is left out. */
static const struct hc_protocol rings[] = {
    {"LL", 6.6e-6, 0.6e-6, 2.7e-6, 0.25, 87.7e9, 19.0e9},
    {"LL128", 14.0e-6, 1.9e-6, 4.0e-6, 0.92, HUGE_VAL, HUGE_VAL},
    {"Simple", 8.4e-6, 3.4e-6, 14.0e-6, 1, HUGE_VAL, HUGE_VAL},
};

const struct hc_cluster hc_cluster_h100 = {
    .name = "DGX H100",
    .source = "18 links of NVLink 4, which NCCL takes for 20.6 GB/s each (src/graph/topo.h, "
              "SM90_NVLINK_BW; 25 on the data sheet); 8 cards ConnectX-7 of 400 Gb/s (DGX H100 "
              "User Guide); NCCL 2.20.3 src/graph/tuning.cc",
    .gpus = 8,
    .inside = 18 * 20.6e9,
    .across = 400e9 / 8,
    .cards = 8,
    .stripes = true,
    .protocols = rings,
    .n = sizeof rings / sizeof rings[0],
};

/* The messages of one move that leave each machine. */
static void count_crossings(const struct hc_cluster *c, enum hc_collective algorithm, int ranks,
                            int64_t count, int i, int crossings[RANKS])
{
    memset(crossings, 0, RANKS * sizeof *crossings);
    for (int r = 0; r < ranks; r++) {
        int to = hc_schedule_move(algorithm, ranks, r, count, i).to;
        if (to >= 0 && to / c->gpus != r / c->gpus)
            crossings[r / c->gpus]++;
    }
}

static double rate_of(const struct hc_cluster *c, const struct hc_protocol *p, bool crosses,
                      int crossings, bool machines)
{
    double rate = c->inside;
    if (crosses) {
        double shared = c->cards * c->across / crossings;
        rate = fmin(rate, c->stripes ? shared : fmin(shared, c->across));
    }
    return fmin(rate * p->share, machines ? p->most_across : p->most_inside);
}

/* at[r] is when rank r can begin a move; after it, when it can begin the next. A rank that sends is
   free when its bytes have left; one that receives goes on when they have come. */
static void move(const struct hc_cluster *c, const struct hc_protocol *p,
                 enum hc_collective algorithm, int ranks, int64_t count, size_t bytes, int i,
                 double at[RANKS])
{
    int crossings[RANKS];
    double next[RANKS];
    memcpy(next, at, sizeof next);
    count_crossings(c, algorithm, ranks, count, i, crossings);
    for (int r = 0; r < ranks; r++) {
        struct hc_move m = hc_schedule_move(algorithm, ranks, r, count, i);
        if (m.to < 0)
            continue;
        bool crosses = m.to / c->gpus != r / c->gpus;
        double left = at[r] + (double)m.out.count * (double)bytes /
                                  rate_of(c, p, crosses, crossings[r / c->gpus], ranks > c->gpus);
        next[r] = fmax(next[r], left);
        next[m.to] = fmax(next[m.to], left + (crosses ? p->across : p->inside));
    }
    memcpy(at, next, sizeof next);
}

double hc_model_all_reduce(const struct hc_cluster *cluster, enum hc_collective algorithm,
                           int ranks, int64_t count, size_t bytes)
{
    double least = HUGE_VAL;
    assert(ranks >= 1 && ranks <= RANKS);
    if (ranks == 1 || count == 0)
        return 0;
    for (int p = 0; p < cluster->n; p++) {
        double at[RANKS] = {0};
        double last = 0;
        for (int i = 0; i < hc_schedule_moves(algorithm, ranks); i++)
            move(cluster, &cluster->protocols[p], algorithm, ranks, count, bytes, i, at);
        for (int r = 0; r < ranks; r++)
            last = fmax(last, at[r]);
        least = fmin(least, cluster->protocols[p].base + last);
    }
    return least;
}

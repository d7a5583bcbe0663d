/* What an all-reduce of GPUs costs on paper: the messages of the schedule (schedule.h), each with a
   latency and a time for each byte (the model of Hockney, "The communication challenge for MPP",
   1994), on machines with links inside and network cards across.

   Nothing here was measured by halfcheck. The figures are what NVIDIA publishes of its machines,
   and what NCCL itself reckons with when it chooses among its algorithms. */
#ifndef HC_COMM_MODEL_H
#define HC_COMM_MODEL_H

#include "comm/schedule.h"

/* How NCCL moves bytes: three ways, of which it takes the one that it thinks the fastest. Seconds,
   and bytes a second. */
struct hc_protocol {
    const char *name;
    double base;        /* once for an all-reduce */
    double inside;      /* latency of a message inside a machine */
    double across;      /* and between machines */
    double share;       /* of a link's rate that is payload */
    double most_inside; /* rate of an all-reduce inside one machine; HUGE_VAL: any */
    double most_across;
};

/* Machines of the same kind. Bytes a second, each way. */
struct hc_cluster {
    const char *name;
    const char *source;
    int gpus;      /* of a machine */
    double inside; /* of a GPU to others of its machine */
    double across; /* of a machine's network card */
    int cards;     /* of a machine */
    bool stripes;  /* a message to another machine goes over all of its cards (NCCL's rings, which
                      are several, cross at different GPUs); otherwise over one */
    const struct hc_protocol *protocols;
    int n;
};

/* DGX H100: eight GPUs with NVLink 4, eight cards of 400 Gb/s. */
extern const struct hc_cluster hc_cluster_h100;

/* Seconds from the moment at which all ranks are ready until the last rank has all sums, by the
   protocol for which it is least. Rank r is GPU r mod gpus of machine r / gpus. A rank sends when
   it has what it sends and its link is free; a message takes its latency and its bytes; what leaves
   a machine in one move shares its cards. `algorithm` has a stated order; ranks up to 1024. */
double hc_model_all_reduce(const struct hc_cluster *cluster, enum hc_collective algorithm,
                           int ranks, int64_t count, size_t bytes);

#endif

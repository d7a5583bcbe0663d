/* Which gradients travel together.

   A bucket is flattened into one vector, in the order of its list, and averaged by one all-reduce.
   What shares a bucket decides where in the vector an element lies, and so in which order a ring
   adds it. */
#ifndef HC_TRAIN_PARALLEL_BUCKETS_H
#define HC_TRAIN_PARALLEL_BUCKETS_H

#include "train/parallel/wrapper.h"

/* The gradient of one parameter. */
struct hc_gradient {
    enum hc_format format; /* of `data` */
    enum hc_format held;   /* hc_wrapper_held */
    int64_t count;
    int layer; /* of its network's */
    void *data;
};

struct hc_bucket {
    enum hc_format held; /* of all its gradients */
    int first;           /* place in `order` of its first gradient */
    int n;
    int64_t count; /* elements */
};

struct hc_buckets {
    int n;
    struct hc_bucket *bucket; /* in the order in which they are reduced */
    int *order;               /* numbers of gradients, bucket by bucket */
};

/* HC_NO_MEMORY. Gradients without elements are in a bucket too. n may be 0. */
enum hc_status hc_buckets_open(struct hc_buckets *buckets, const struct hc_wrapper *wrapper,
                               const struct hc_gradient *gradients, int n);
void hc_buckets_close(struct hc_buckets *buckets);

#endif

/* The order of the images in an epoch is a uniform permutation, and each epoch has another one.

   A shuffle may look right and be none: Sattolo's, which draws from one place less, leaves no image
   where it was and reaches only the cycles; one that draws from all places each time favours some
   orders; one without the epoch repeats itself. So permutations of four images are counted.

   The bounds: of E = 24,000 epochs each of the 24 orders is expected 1000 times, with a variance of
   at most 1000. Bernstein's inequality gives P(|count - 1000| >= 250) <= 2 exp(-250^2 / (2 (1000 +
   250 / 3))) < 6e-13, and less than 2e-11 for all of them. Two epochs that follow each other have
   the same order in one of 24 cases: 1000 times again. Of 50 images one stays in place on average,
   whatever their number; over 2000 epochs that are 2000 with a variance of 2000, and P(|fixed -
   2000| >= 500) < 2 exp(-500^2 / (2 (2000 + 500 * 50 / 3))) = 2 exp(-12.1) by the same inequality,
   in which one epoch has at most 50; the seeds are fixed, so this is decided once for each. */
#include <stdio.h>

#include "case.h"
#include "train/data/batch_stream.h"

enum { FEW = 4, ORDERS = 24, EPOCHS = 24000, MANY = 50, LONG = 2000 };

/* The number of a permutation of four, by Lehmer's code. */
static int number_of(const int32_t *order)
{
    int number = 0;
    for (int i = 0; i < FEW; i++) {
        int smaller = 0;
        for (int k = i + 1; k < FEW; k++)
            smaller += order[k] < order[i];
        number = number * (FEW - i) + smaller;
    }
    return number;
}

static bool is_permutation(const int32_t *order, int n)
{
    bool seen[MANY] = {false};
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]])
            return false;
        seen[order[i]] = true;
    }
    return true;
}

static void uniform(struct hc_check *check)
{
    struct hc_dataset set = {.train = {.count = FEW}};
    struct hc_batch_stream stream = {
        .set = &set, .train = true, .batch = 1, .seed = hc_check_seed(check)};
    int32_t order[MANY];
    int count[ORDERS] = {0};
    int same = 0;
    int before = -1;
    bool permutations = true;
    for (int64_t epoch = 0; epoch < EPOCHS; epoch++) {
        hc_batch_stream_order(&stream, epoch, order);
        permutations &= is_permutation(order, FEW);
        int number = permutations ? number_of(order) : 0;
        count[number]++;
        same += number == before;
        before = number;
    }
    hc_claim_true(check, "each order has every image once", permutations);
    const double each = (double)EPOCHS / ORDERS;
    for (int i = 0; i < ORDERS; i++) {
        char what[40];
        (void)snprintf(what, sizeof what, "epochs with order %d", i);
        hc_claim_within(check, what, each, count[i], 250);
    }
    hc_claim_within(check, "epochs with the order before", each, same, 250);
    int fixed = 0;
    set.train.count = MANY;
    for (int64_t epoch = 0; epoch < LONG; epoch++) {
        hc_batch_stream_order(&stream, epoch, order);
        for (int i = 0; i < MANY; i++)
            fixed += order[i] == i;
    }
    hc_claim_within(check, "images that stay in place", LONG, fixed, 500);
}

static const struct hc_case cases[] = {
    {.name = "data/order-is-uniform",
     .title = "the order of an epoch's images is a uniform permutation, another one each epoch",
     .source = "Knuth, The Art of Computer Programming, vol. 2, 3.4.2, algorithm P",
     .level = HC_STANDARD,
     .once = true,
     .run = uniform},
};

HC_CASES(data_order, cases);

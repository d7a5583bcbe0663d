/* The images that the network of a training sees, from the first batch to the last. Their pixels
   tell, in integers (cases/fixture/training/restated.h), which image it is, where it was cut and
   whether it was flipped; that is held to the specification. Only the loop runs; nothing is
   multiplied. */
#include <math.h>

#include "cases/fixture/training/restated.h"

enum {
    BATCH = 4,
    SIDE = HC_RESTATED_SIDE,
    COLOURS = HC_RESTATED_COLOURS,
    VALUES = SIDE * SIDE * COLOURS,
    PAD = 4,
    SHIFTS = 2 * PAD + 1,
    EPOCHS = 24,
    DRAWN = 20, /* images of an epoch */
    BATCHES = DRAWN / BATCH,
    TESTS = 10
};

/* Images that do not fill a batch are left out of an epoch. */
struct plan {
    int images;
    uint64_t seed; /* added to the check's */
    bool own_memory;
};

struct look {
    int number; /* of the image; -1: none */
    int down;   /* -4 .. 4 */
    int right;
    bool flip;
};

struct watch {
    struct hc_restated net;
    struct hc_restated_place place;
    float pixels[BATCH * VALUES]; /* of the last batch */
    bool trains;
    int batches; /* of training images */
    int tests;   /* test images of this evaluation */
    int evaluations;
    struct look look[EPOCHS][DRAWN]; /* in the order in which they came */
};

/* Reflection that does not repeat the edge. */
static int reflected(int at)
{
    return at < 0 ? -at : at >= SIDE ? 2 * (SIDE - 1) - at : at;
}

/* An image as bytes. A value is (byte / 255 - mean) / deviation rounded to fp32 once, the rest
   being in fp64, whose three roundings come to less than 2^-48. */
static void read_bytes(struct hc_check *check, const float *values, uint8_t bytes[VALUES])
{
    struct hc_comparisons c = {.what = "pixels of a batch", .checked = VALUES};
    for (int i = 0; i < VALUES; i++) {
        double mean = hc_restated_mean[i % COLOURS];
        double deviation = hc_restated_deviation[i % COLOURS];
        double got = (double)values[i];
        double byte = nearbyint(255 * (got * deviation + mean));
        double want = (byte / 255 - mean) / deviation;
        bool is = byte >= 0 && byte <= 255 && fabs(got - want) <= 0x1p-24 * fabs(want) + 0x1p-48;
        bytes[i] = is ? (uint8_t)byte : 0;
        if (!is)
            hc_comparisons_wrong(&c, "colour %d of pixel %d: no byte gives %.9g", i % COLOURS,
                                 i / COLOURS, got);
    }
    hc_claim_comparisons(check, &c);
}

static bool is_cut(const uint8_t *bytes, const struct look *look)
{
    for (int i = 0; i < VALUES; i++) {
        int y = i / COLOURS / SIDE;
        int x = i / COLOURS % SIDE;
        int from = look->flip ? SIDE - 1 - x : x;
        if (bytes[i] != hc_restated_pixel(look->number, reflected(y + look->down),
                                          reflected(from + look->right), i % COLOURS))
            return false;
    }
    return true;
}

/* Finds which image it is and how it was cut out of the padded one. */
static struct look find(struct hc_check *check, const float *values)
{
    uint8_t bytes[VALUES];
    struct look look = {0};
    read_bytes(check, values, bytes);
    look.number = bytes[0] % 8 + 8 * (bytes[1] % 8);
    for (int way = 0; way < 2 * SHIFTS * SHIFTS; way++) {
        look.flip = way % 2;
        look.down = way / 2 % SHIFTS - PAD;
        look.right = way / 2 / SHIFTS - PAD;
        if (is_cut(bytes, &look))
            return look;
    }
    (void)hc_claim_true(check, "an image is cut out of one padded by 4, or its mirror image",
                        false);
    return (struct look){.number = -1};
}

static void see_training(struct watch *w, struct hc_check *check, const struct hc_tensor *labels)
{
    int epoch = w->batches / BATCHES;
    int at = w->batches % BATCHES * BATCH;
    w->batches++;
    if (!hc_claim_true(check, "a training has no batch too many, and each is full",
                       epoch < EPOCHS && labels->shape[0] == BATCH))
        return;
    for (int i = 0; i < BATCH; i++) {
        struct look *look = &w->look[epoch][at + i];
        *look = find(check, w->pixels + (size_t)i * VALUES);
        hc_claim_value(check, "label of an image", hc_restated_label(look->number),
                       hc_tensor_get(labels, i));
    }
}

/* Images beyond the last test image must not count. */
static void see_test(struct watch *w, struct hc_check *check, const struct hc_tensor *labels)
{
    int left = TESTS - w->tests;
    int count = left < BATCH ? left : BATCH;
    hc_claim_value(check, "test images that count", count, (double)labels->shape[0]);
    for (int i = 0; i < count && i < labels->shape[0]; i++) {
        struct look look = find(check, w->pixels + (size_t)i * VALUES);
        hc_claim_value(check, "a test image", HC_RESTATED_TESTS + w->tests + i, look.number);
        hc_claim_true(check, "a test image is whole and not flipped",
                      look.down == 0 && look.right == 0 && !look.flip);
        hc_claim_value(check, "label of a test image", hc_restated_label(look.number),
                       hc_tensor_get(labels, i));
    }
    w->tests += count;
    if (w->tests < TESTS)
        return;
    w->tests = 0;
    w->evaluations++;
    hc_claim_value(check, "batches before evaluation", w->evaluations * BATCHES, w->batches);
}

static void see(struct hc_observed *observed, const struct hc_call *there,
                const struct hc_call *copy)
{
    struct watch *w = observed->context;
    int at;
    if (there->op == HC_OP_xent && w->trains)
        see_training(w, observed->check, &copy->in[HC_XENT_LABELS]);
    else if (there->op == HC_OP_xent)
        see_test(w, observed->check, &copy->in[HC_XENT_LABELS]);
    if (!hc_restated_follow(observed->check, &w->net, &w->place, there, &at) || at > 0)
        return;
    w->trains = w->place.trains;
    const struct hc_tensor *x = &copy->in[HC_CONV_X];
    if (there->op == HC_OP_conv2d && hc_claim_value(observed->check, "values of a batch",
                                                    BATCH * VALUES, (double)hc_tensor_count(x)))
        for (int i = 0; i < BATCH * VALUES; i++)
            w->pixels[i] = (float)hc_tensor_get(x, i);
}

/* Claims a share of n draws, each with a chance of `want`. It is further away than the bound with a
   chance of 2 exp(-2 n bound^2) = 2^-39 at most (Hoeffding). */
static void claim_share(struct hc_check *check, const char *what, double want, int got, int n)
{
    hc_claim_within(check, what, want, (double)got / n, sqrt(14 / (double)n));
}

/* That n = 480 draws miss one of 9 places has a chance of 9 (8/9)^480 = 2^-78. */
static void claim_crops(struct hc_check *check, const struct watch *w)
{
    int n = EPOCHS * DRAWN;
    int downs[SHIFTS] = {0};
    int rights[SHIFTS] = {0};
    int flips = 0;
    int diagonal = 0;
    int repeated = 0;
    for (int k = 0; k < n; k++) {
        const struct look *look = &w->look[k / DRAWN][k % DRAWN];
        const struct look *next = &w->look[(k + 1) % n / DRAWN][(k + 1) % DRAWN];
        downs[look->down + PAD]++;
        rights[look->right + PAD]++;
        flips += look->flip;
        diagonal += look->down == look->right;
        repeated += look->down == next->down && look->right == next->right;
    }
    for (int s = 0; s < SHIFTS; s++) {
        hc_claim_true(check, "a crop begins in every row and column", downs[s] && rights[s]);
        claim_share(check, "crops that begin in a row", 1.0 / SHIFTS, downs[s], n);
        claim_share(check, "crops that begin in a column", 1.0 / SHIFTS, rights[s], n);
    }
    claim_share(check, "flipped images", 0.5, flips, n);
    claim_share(check, "crops as far down as right", 1.0 / SHIFTS, diagonal, n);
    claim_share(check, "crops as the image before", 1.0 / (SHIFTS * SHIFTS), repeated, n);
}

/* Where image i stands in an epoch, or NULL if it is left out. */
static const struct look *place_of(const struct watch *w, int epoch, int i)
{
    for (int k = 0; k < DRAWN; k++)
        if (w->look[epoch][k].number == i)
            return &w->look[epoch][k];
    return NULL;
}

/* An image is left out of all 24 epochs with a chance of (2/22)^24 = 2^-83. */
static void claim_order(struct hc_check *check, const struct watch *w, int images)
{
    int same = 0;
    int moved = 0;
    int still = 0;
    for (int i = 0; i < images; i++) {
        int times = 0;
        for (int e = 0; e < EPOCHS; e++) {
            const struct look *here = place_of(w, e, i);
            const struct look *next = place_of(w, (e + 1) % EPOCHS, i);
            int found = 0;
            for (int k = 0; k < DRAWN; k++)
                found += w->look[e][k].number == i;
            times += found;
            hc_claim_true(check, "an image comes once in an epoch",
                          found == 1 || (found == 0 && images > DRAWN));
            moved += here && next && here - w->look[e] == next - w->look[(e + 1) % EPOCHS];
            same += here && next && here->down == next->down && here->right == next->right;
            still += here == &w->look[e][i % DRAWN];
        }
        hc_claim_true(check, "every image has its turn", times > 0);
    }
    int n = EPOCHS * DRAWN;
    claim_share(check, "at the same place next epoch", 1.0 / DRAWN, moved, n);
    claim_share(check, "images at their own place", 1.0 / DRAWN, still, n);
    claim_share(check, "with the same crop next epoch", 1.0 / (SHIFTS * SHIFTS), same, n);
}

static bool train(struct hc_check *check, const struct plan *plan, struct watch *w)
{
    struct hc_train_result result;
    struct hc_observed observed = {
        .check = check, .see = see, .context = w, .own_memory = plan->own_memory};
    struct hc_train_options options = {.epochs = EPOCHS, .batch = BATCH, .seed = plan->seed};
    observed.reads[HC_OP_conv2d] = true;
    observed.reads[HC_OP_xent] = true;
    w->place.layer = -1;
    w->net = hc_restated_small(1, 10);
    return hc_restated_train(&observed, &w->net, plan->images, TESTS, &options, &result) &&
           hc_claim_value(check, "batches of a training", EPOCHS * BATCHES, w->batches) &&
           hc_claim_value(check, "evaluations of a training", EPOCHS, w->evaluations);
}

/* Trainings with one seed have the same order of images; another seed gives another order. */
static void images(struct hc_check *check)
{
    static const struct plan plans[] = {{DRAWN, 0, false}, {DRAWN, 1, true}, {DRAWN + 2, 0, true}};
    enum { PLANS = sizeof plans / sizeof plans[0] };
    struct watch *w = hc_check_memory(check, PLANS * sizeof *w);
    for (int p = 0; p < PLANS; p++) {
        if (!train(check, &plans[p], &w[p]))
            return;
        claim_crops(check, &w[p]);
        claim_order(check, &w[p], plans[p].images);
    }
    int same = 0;
    for (int k = 0; k < EPOCHS * DRAWN; k++)
        same += w[0].look[k / DRAWN][k % DRAWN].number == w[1].look[k / DRAWN][k % DRAWN].number;
    claim_share(check, "another seed: the same place", 1.0 / DRAWN, same, EPOCHS * DRAWN);
}

static const struct hc_case cases[] = {
    {"training/restated-images",
     "a training's images come once an epoch, in another order each time, normalised, cropped by "
     "up to 4 and mirrored half of the time, with their labels; test images come as they are",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: cifar_norm, TfmCrop(size=32, "
     "padding=4), flip_lr(p=0.5), by reflection",
     .level = HC_STANDARD, .run = images},
};

HC_CASES(training_restated_images, cases);

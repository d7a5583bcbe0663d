#include "train/data/data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/rng.h"
#include "op/typed.h"
#include "train/data/cifar.h"

enum hc_status hc_images_open(struct hc_images *images, int64_t count)
{
    images->count = count;
    images->pixels = malloc((size_t)count * HC_IMAGE_BYTES);
    images->labels = malloc((size_t)count * sizeof *images->labels);
    if (images->pixels == NULL || images->labels == NULL)
        return hc_fail(HC_NO_MEMORY, "no memory for %lld images", (long long)count);
    return HC_OK;
}

void hc_images_close(struct hc_images *images)
{
    free(images->pixels);
    free(images->labels);
    *images = (struct hc_images){0};
}

/* Images that stand in where no data is given: learnable, and the same on every machine. */

enum { STREAM = 0x53594e54 }; /* in the upper half of the stream's number; the image in the lower */

/* Draws of one image, before those of its pixels' noise. */
enum { PHASE, CONTRAST, BRIGHTNESS, COLOUR, NOISE = COLOUR + HC_IMAGE_CHANNELS };

struct pattern {
    double phase;
    double waves; /* along the side */
    int down;     /* 1: it varies along y, 0: along x */
    double offset[HC_IMAGE_CHANNELS];
    double amplitude[HC_IMAGE_CHANNELS];
};

/* -1..1, of period 1. */
static double triangle(double x)
{
    double t = x - (double)(int)x;
    return t < 0.5 ? 4 * t - 1 : 3 - 4 * t;
}

static const double waves[HC_CLASSES / 2] = {2, 3, 4, 5, 6};

static struct pattern draw_pattern(uint64_t seed, uint64_t stream, int kind)
{
    struct pattern p = {.phase = hc_random_uniform(seed, stream, PHASE),
                        .waves = waves[kind / 2],
                        .down = kind % 2};
    double contrast = 0.7 + 0.6 * hc_random_uniform(seed, stream, CONTRAST);
    double brightness = 0.8 * (hc_random_uniform(seed, stream, BRIGHTNESS) - 0.5);
    for (uint64_t c = 0; c < HC_IMAGE_CHANNELS; c++) {
        double colour = hc_random_uniform(seed, stream, COLOUR + c);
        p.offset[c] = brightness;
        p.amplitude[c] = contrast * (0.4 + 1.2 * colour);
    }
    return p;
}

static uint8_t to_byte(double x)
{
    double scaled = 255 * x + 0.5;
    return (uint8_t)(scaled < 0 ? 0 : scaled > 255 ? 255 : scaled);
}

static void paint(uint64_t seed, uint64_t stream, const struct pattern *p, const double *mean,
                  const double *deviation, uint8_t *pixels)
{
    uint64_t noise[HC_IMAGE_BYTES / 4];
    double clean[HC_IMAGE_SIDE][HC_IMAGE_CHANNELS]; /* without noise, along the side */
    for (unsigned along = 0; along < HC_IMAGE_SIDE; along++)
        for (unsigned c = 0; c < HC_IMAGE_CHANNELS; c++)
            clean[along][c] =
                p->offset[c] +
                p->amplitude[c] * triangle(p->phase + p->waves * along / HC_IMAGE_SIDE);
    hc_random_row(seed, stream, NOISE, HC_IMAGE_BYTES / 4, noise);
    for (unsigned i = 0; i < HC_IMAGE_BYTES; i++) {
        unsigned pixel = i / HC_IMAGE_CHANNELS;
        unsigned c = i % HC_IMAGE_CHANNELS;
        unsigned along = p->down ? pixel / HC_IMAGE_SIDE : pixel % HC_IMAGE_SIDE;
        uint64_t bits = noise[i / 4] >> i % 4 * 16;
        /* The sum of two bytes: a triangular distribution with deviation 1.04 after scaling. */
        double n = ((double)((bits & 0xff) + (bits >> 8 & 0xff)) - 255) / 100;
        pixels[i] = to_byte(mean[c] + deviation[c] * (clean[along][c] + n));
    }
}

/* Fills pixels and labels of images->count images, labels 0..classes-1 in turn. The class's kind
   (0..9, kind[label]) sets a stripe pattern: its direction (across or down) and its wave number (2
   to 6 a side). Phase, colour, contrast, brightness and noise are drawn for each image and say
   nothing of its class; neither does a crop or a flip. Only fp64 additions and products of Philox
   numbers are used, no libm, so that the bytes are the same everywhere. `first` is the number of
   the first image in the seed's stream. */
static void synthetic_fill(uint64_t seed, int64_t first, const double mean[HC_IMAGE_CHANNELS],
                           const double deviation[HC_IMAGE_CHANNELS], const int *kind, int classes,
                           struct hc_images *images)
{
    for (int64_t i = 0; i < images->count; i++) {
        uint64_t stream = (uint64_t)STREAM << 32 | (uint64_t)(first + i);
        int label = (int)(i % classes);
        struct pattern p = draw_pattern(seed, stream, kind[label]);
        images->labels[i] = label;
        paint(seed, stream, &p, mean, deviation, images->pixels + i * HC_IMAGE_BYTES);
    }
}

enum { OFFICIAL_RECORDS = 10000, TRAIN_PER_CLASS = 500, TEST_PER_CLASS = 100 };

/* Of the 50,000 training images. */
static const double cifar_mean[] = {0.49139968, 0.48215841, 0.44653091};
static const double cifar_deviation[] = {0.24703223, 0.24348513, 0.26158784};

static enum hc_status unknown(const char *name, size_t length)
{
    struct hc_nearest nearest = hc_nearest_to(name, length);
    for (int class = 0; class < HC_CLASSES; class ++)
        hc_nearest_try(&nearest, hc_cifar_names[class]);
    const char *hint = hc_nearest_hint(&nearest);
    return hc_fail(HC_INVALID,
                   "unknown class \"%.*s\"%s there are airplane, automobile, bird, cat, deer, dog, "
                   "frog, horse, ship, truck",
                   length < 40 ? (int)length : 40, name, hint[0] ? hint : ";");
}

/* Fills names and classes of the set, and kind[label], the class's official number. */
static enum hc_status choose_classes(const char *list, struct hc_dataset *set, int kind[HC_CLASSES])
{
    if (list == NULL)
        list = "airplane,automobile,bird,cat,deer,dog,frog,horse,ship,truck";
    for (const char *at = list; at != NULL;) {
        const char *name;
        size_t length;
        int class = 0;
        enum hc_status status = hc_list_next("--classes", list, &at, &name, &length);
        if (status != HC_OK)
            return status;
        while (class < HC_CLASSES && (strlen(hc_cifar_names[class]) != length ||
                                      memcmp(name, hc_cifar_names[class], length) != 0))
            class ++;
        if (class == HC_CLASSES)
            return unknown(name, length);
        for (int i = 0; i < set->classes; i++)
            if (kind[i] == class)
                return hc_fail(HC_INVALID, "class %s is named twice", hc_cifar_names[class]);
        kind[set->classes] = class;
        (void)snprintf(set->names[set->classes++], sizeof set->names[0], "%s",
                       hc_cifar_names[class]);
    }
    if (set->classes < 2)
        return hc_fail(HC_INVALID, "one class alone cannot be learnt: name two or more");
    return HC_OK;
}

static enum hc_status synthesise(const struct hc_data_options *options, const int *kind,
                                 struct hc_dataset *set)
{
    int train = options->train_per_class > 0 ? options->train_per_class : TRAIN_PER_CLASS;
    int test = options->test_per_class > 0 ? options->test_per_class : TEST_PER_CLASS;
    enum hc_status status = hc_images_open(&set->train, (int64_t)train * set->classes);
    if (status == HC_OK)
        status = hc_images_open(&set->test, (int64_t)test * set->classes);
    if (status != HC_OK)
        return status;
    synthetic_fill(options->seed, 0, set->mean, set->deviation, kind, set->classes, &set->train);
    synthetic_fill(options->seed, set->train.count, set->mean, set->deviation, kind, set->classes,
                   &set->test);
    (void)snprintf(set->origin, sizeof set->origin,
                   "SYNTHETIC images (seed %llu), not CIFAR-10: no --data was given",
                   (unsigned long long)options->seed);
    return HC_OK;
}

/* Parts the last `share` training images of each class from the others, both in their order. */
static enum hc_status hold_out(int64_t share, struct hc_dataset *set)
{
    struct hc_images *train = &set->train;
    int64_t left[HC_CLASSES] = {0};
    for (int64_t i = 0; i < train->count; i++)
        left[train->labels[i]]++;
    if (share >= left[0])
        return hc_fail(HC_INVALID, "holding out %lld images of each class leaves none of %lld",
                       (long long)share, (long long)left[0]);
    hc_images_close(&set->test);
    enum hc_status status = hc_images_open(&set->test, share * set->classes);
    int64_t kept = 0;
    int64_t held = 0;
    for (int64_t i = 0; status == HC_OK && i < train->count; i++) {
        int32_t label = train->labels[i];
        bool holds = left[label]-- <= share;
        struct hc_images *to = holds ? &set->test : train;
        int64_t at = holds ? held++ : kept++;
        memmove(to->pixels + at * HC_IMAGE_BYTES, train->pixels + i * HC_IMAGE_BYTES,
                HC_IMAGE_BYTES);
        to->labels[at] = label;
    }
    train->count = status == HC_OK ? kept : train->count;
    size_t used = strlen(set->origin);
    (void)snprintf(set->origin + used, sizeof set->origin - used,
                   "; tested on %lld held-out training images of each class", (long long)share);
    return status;
}

static enum hc_status read_official(const struct hc_data_options *options, const int *kind,
                                    struct hc_dataset *set)
{
    int label[HC_CLASSES];
    for (int i = 0; i < HC_CLASSES; i++)
        label[i] = -1;
    for (int i = 0; i < set->classes; i++)
        label[kind[i]] = i;
    (void)snprintf(set->origin, sizeof set->origin, "CIFAR-10 from %s", options->directory);
    return hc_cifar_read(options->directory, OFFICIAL_RECORDS, label, &set->train, &set->test);
}

enum hc_status hc_dataset_open(const struct hc_data_options *options, struct hc_dataset *set)
{
    int kind[HC_CLASSES] = {0};
    *set = (struct hc_dataset){.synthetic = options->directory == NULL};
    if (options->text)
        return hc_text_open(options, set);
    memcpy(set->mean, cifar_mean, sizeof set->mean);
    memcpy(set->deviation, cifar_deviation, sizeof set->deviation);
    enum hc_status status = choose_classes(options->classes, set, kind);
    if (status != HC_OK)
        return status;
    status = set->synthetic ? synthesise(options, kind, set) : read_official(options, kind, set);
    if (status == HC_OK && options->hold_out_per_class > 0)
        status = hold_out(options->hold_out_per_class, set);
    return status;
}

void hc_dataset_close(struct hc_dataset *set)
{
    hc_images_close(&set->train);
    hc_images_close(&set->test);
    free(set->text.byte);
    set->text.byte = NULL;
}

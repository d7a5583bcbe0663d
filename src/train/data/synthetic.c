#include "train/data/synthetic.h"

#include "num/rng.h"

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

static struct pattern draw(uint64_t seed, uint64_t stream, int kind)
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
    uint64_t noise = 0;
    double clean[HC_IMAGE_SIDE][HC_IMAGE_CHANNELS]; /* without noise, along the side */
    for (unsigned along = 0; along < HC_IMAGE_SIDE; along++)
        for (unsigned c = 0; c < HC_IMAGE_CHANNELS; c++)
            clean[along][c] =
                p->offset[c] +
                p->amplitude[c] * triangle(p->phase + p->waves * along / HC_IMAGE_SIDE);
    for (unsigned i = 0; i < HC_IMAGE_BYTES; i++) {
        unsigned pixel = i / HC_IMAGE_CHANNELS;
        unsigned c = i % HC_IMAGE_CHANNELS;
        unsigned along = p->down ? pixel / HC_IMAGE_SIDE : pixel % HC_IMAGE_SIDE;
        if (i % 4 == 0)
            noise = hc_random(seed, stream, NOISE + i / 4);
        /* The sum of two bytes: a triangular distribution with deviation 1.04 after scaling. */
        double n = ((double)((noise & 0xff) + (noise >> 8 & 0xff)) - 255) / 100;
        noise >>= 16;
        pixels[i] = to_byte(mean[c] + deviation[c] * (clean[along][c] + n));
    }
}

void hc_synthetic_fill(uint64_t seed, int64_t first, const double mean[HC_IMAGE_CHANNELS],
                       const double deviation[HC_IMAGE_CHANNELS], const int *kind, int classes,
                       struct hc_images *images)
{
    for (int64_t i = 0; i < images->count; i++) {
        uint64_t stream = (uint64_t)STREAM << 32 | (uint64_t)(first + i);
        int label = (int)(i % classes);
        struct pattern p = draw(seed, stream, kind[label]);
        images->labels[i] = label;
        paint(seed, stream, &p, mean, deviation, images->pixels + i * HC_IMAGE_BYTES);
    }
}

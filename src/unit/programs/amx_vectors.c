/* Writes golden vectors of TDPBF16PS, measured on this machine, in the form of those in
   src/unit/vectors. It is not part of the build, since few machines have AMX:

       cc -O2 -mamx-tile -mamx-bf16 src/unit/programs/amx_vectors.c -o amx_vectors
       ./amx_vectors >src/unit/vectors/amx-bf16-fp32.txt */
#define _GNU_SOURCE
#include <immintrin.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { K = 32, LINES = 40 };

static uint64_t state = 14;

static uint32_t draw(void)
{
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(z >> 32);
}

/* A code whose exponent field is one of `count` from `first` on. */
static uint32_t bf16(uint32_t first, uint32_t count)
{
    return (draw() & 0x8000) | (first + draw() % count) << 7 | (draw() & 0x7f);
}

static uint32_t fp32(uint32_t first, uint32_t count)
{
    return (draw() & 0x80000000u) | (first + draw() % count) << 23 | (draw() & 0x7fffff);
}

static void fill(uint32_t *a, uint32_t *b, uint32_t first, uint32_t count)
{
    for (int i = 0; i < K; i++) {
        a[i] = bf16(first, count);
        b[i] = bf16(first, count);
    }
}

static void normal(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 120, 10);
    *c = fp32(120, 12);
}

static void range(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 90, 74);
    *c = fp32(60, 140);
}

/* Products that take each other away, but for one. */
static void cancel(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 100, 50);
    for (int i = 0; i < K - 4; i += 4)
        for (int j = 0; j < 2; j++) {
            a[i + 2 + j] = a[i + j] ^ 0x8000;
            b[i + 2 + j] = b[i + j];
        }
    *c = fp32(100, 60);
}

/* Sums around the smallest normal number. */
static void tiny(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 50, 16);
    *c = draw() % 2 ? fp32(0, 4) : 0;
}

static void subnormal(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 0, 2);
    for (int i = 0; i < K; i++)
        b[i] = bf16(0, 255);
    *c = fp32(0, 2);
}

/* 2^-126 less half a unit of its lower neighbours: what is rounded up to it, and what is not. */
static void sliver(uint32_t *a, uint32_t *b, uint32_t *c)
{
    memset(a, 0, K * sizeof *a);
    memset(b, 0, K * sizeof *b);
    uint32_t i = draw() % (K - 4), less = draw() % 6;
    a[i] = b[i] = 64 << 7;
    a[i + 2] = 0x8000 | (51 << 7) | (draw() & 0x7f);
    b[i + 2] = (48 + less) << 7;
    *c = 0;
}

static void overflow(uint32_t *a, uint32_t *b, uint32_t *c)
{
    fill(a, b, 186, 8);
    *c = fp32(245, 10);
}

static void zeros(uint32_t *a, uint32_t *b, uint32_t *c)
{
    for (int i = 0; i < K; i++) {
        a[i] = draw() & 0x8000;
        b[i] = draw() % 8 ? draw() & 0x8000 : bf16(1, 254);
    }
    *c = draw() & 0x80000000u;
}

/* Infinities and NaNs of several payloads, and Inf * 0. */
static void special(uint32_t *a, uint32_t *b, uint32_t *c)
{
    static const uint32_t codes[] = {0x7f80, 0xff80, 0x7f81, 0xffc3, 0x7fc5, 0, 0x8000, 0x0003};
    normal(a, b, c);
    for (uint32_t n = draw() % 4; n < 4; n++) {
        a[draw() % K] = codes[draw() % 8];
        b[draw() % K] = codes[draw() % 8];
    }
    if (draw() % 3 == 0)
        *c = codes[draw() % 5] << 16 | (draw() & 0xff);
}

static const struct {
    const char *name;
    void (*draw)(uint32_t *a, uint32_t *b, uint32_t *c);
} categories[] = {
    {"normal", normal},     {"exprange", range},  {"cancel", cancel},
    {"subout", tiny},       {"subin", subnormal}, {"sliver", sliver},
    {"overflow", overflow}, {"zeros", zeros},     {"special", special},
};

/* One row, one column, 16 pairs. The compiler does not see that tiles are loaded from memory. */
static uint32_t multiply(const uint32_t *a, const uint32_t *b, uint32_t c)
{
    struct {
        uint8_t palette, row, reserved[14];
        uint16_t bytes[16];
        uint8_t rows[16];
    } config = {.palette = 1, .bytes = {4, 64, 4}, .rows = {1, 1, 16}};
    uint16_t x[K], y[K];
    for (int i = 0; i < K; i++) {
        x[i] = (uint16_t)a[i];
        y[i] = (uint16_t)b[i];
    }
    __asm__ volatile("" ::: "memory");
    _tile_loadconfig(&config);
    _tile_loadd(0, &c, 4);
    _tile_loadd(1, x, 64);
    _tile_loadd(2, y, 4);
    _tile_dpbf16ps(0, 1, 2);
    _tile_stored(0, &c, 4);
    _tile_release();
    __asm__ volatile("" ::: "memory");
    return c;
}

int main(void)
{
    if (syscall(SYS_arch_prctl, 0x1023, 18) != 0) {
        (void)fputs("amx_vectors: this machine has no AMX\n", stderr);
        return 2;
    }
    printf(
        "# unit: Intel AMX-BF16, one element; a, b: bf16, c, d: fp32\n"
        "# instruction: tdpbf16ps, one row of 16 pairs\n# K: 32\n"
        "# source: measured on an Intel Xeon (Sapphire Rapids) by src/unit/programs/amx_vectors.c\n"
        "# columns: category, a (K), b (K), c, d; bits in hex; NaN payloads are exact here\n");
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        for (int n = 0; n < LINES; n++) {
            uint32_t a[K], b[K], c;
            categories[i].draw(a, b, &c);
            (void)fputs(categories[i].name, stdout);
            for (int j = 0; j < K; j++)
                printf(" %04x", (unsigned)a[j]);
            for (int j = 0; j < K; j++)
                printf(" %04x", (unsigned)b[j]);
            printf(" %08x %08x\n", (unsigned)c, (unsigned)multiply(a, b, c));
        }
    return 0;
}

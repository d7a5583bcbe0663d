/* A program as a backend of halfcheck, with the C library alone. It has axpy in fp32 and bf16:
   out = alpha * x + y, rounded once in fp32, and then into the format of out.

   cc -O2 -ffp-contract=off -o program program.c -lm
   halfcheck run 'op/axpy*' --backend pipe:./program */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static char line[1 << 16];
static unsigned char *memory; /* large tensors lie here */
static size_t mapped;

/* The number that follows "key": behind `at`; 0 if there is none. Keys stand in a fixed order. */
static double number(const char *at, const char *key)
{
    char quoted[40];
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    at = strstr(at, quoted);
    if (!at)
        return 0;
    at += strlen(quoted);
    return strtod(at + (*at == '"'), NULL); /* reals are strings such as "0x1.8p-1" */
}

struct tensor {
    char format[8];
    size_t bytes;
    void *data;
};

/* A slot behind `group`, say "x": {"format": "bf16", "shape": [37], "bytes": 74}. */
static struct tensor slot(const char *group, const char *name, size_t shared)
{
    struct tensor t = {.format = "?"};
    char quoted[40];
    const char *at = strstr(line, group);
    snprintf(quoted, sizeof quoted, "\"%s\": {", name);
    at = at ? strstr(at + strlen(group), quoted) : NULL;
    if (!at)
        exit(1);
    sscanf(at + strlen(quoted), "\"format\": \"%7[a-z0-9]\"", t.format);
    t.bytes = (size_t)number(at, "bytes");
    t.data = shared ? memory + (size_t)number(at, "at") : malloc(t.bytes + 1);
    return t;
}

static float get(const struct tensor *t, size_t i)
{
    if (t->format[0] == 'f')
        return ((const float *)t->data)[i];
    uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Into bf16 to nearest, ties to even; a NaN stays one. */
static void set(const struct tensor *t, size_t i, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    if (t->format[0] == 'f')
        ((float *)t->data)[i] = value;
    else if (isnan(value))
        ((uint16_t *)t->data)[i] = (uint16_t)(bits >> 16 | 0x40);
    else
        ((uint16_t *)t->data)[i] = (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Where everything is in the shared memory, there is nothing to be read or written. */
static void answer(size_t shared)
{
    struct tensor x = slot("\"in\": ", "x", shared);
    struct tensor y = slot("\"in\": ", "y", shared);
    struct tensor out = slot("\"out\": ", "out", shared);
    float alpha = (float)number(strstr(line, "\"params\""), "alpha");
    size_t n = out.bytes / (out.format[0] == 'f' ? 4 : 2);
    if (!shared &&
        (fread(x.data, 1, x.bytes, stdin) < x.bytes || fread(y.data, 1, y.bytes, stdin) < y.bytes))
        exit(1);
    if (strcmp(y.format, "fp16") == 0 || strcmp(out.format, "fp16") == 0) {
        printf("no fp16\n");
    } else {
        for (size_t i = 0; i < n; i++)
            set(&out, i, fmaf(alpha, get(&x, i), get(&y, i)));
        printf("ok\n");
        if (!shared)
            fwrite(out.data, 1, out.bytes, stdout);
    }
    fflush(stdout);
    if (!shared) {
        free(x.data);
        free(y.data);
        free(out.data);
    }
}

int main(void)
{
    if (!fgets(line, sizeof line, stdin))
        return 1;
    int file = (int)number(line, "shared"); /* 0: there is no shared memory */
    printf("{\"pipe\": 1, \"name\": \"program\", \"shared\": %s, "
           "\"ops\": {\"axpy\": {\"formats\": [\"fp32\", \"bf16\"]}}}\n",
           file ? "true" : "false");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        size_t shared = (size_t)number(line, "shared");
        if (shared > mapped) { /* it has grown */
            memory = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
            mapped = shared;
        }
        answer(shared);
    }
    return 0;
}

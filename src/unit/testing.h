/* For the tests of units: codes and numbers, and the lines of golden vectors. */
#ifndef HC_UNIT_TESTING_H
#define HC_UNIT_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/unit.h"

/* The code of a number that the operand holds. */
static inline uint32_t code(enum hc_operand operand, double value)
{
    const struct hc_operand_info *o = &hc_operands[operand];
    int x;
    double f = frexp(fabs(value), &x); /* f in [0.5, 1) */
    uint32_t sign = (uint32_t)(signbit(value) != 0) << (o->bits - 1);
    if (value == 0)
        return sign;
    int field = x - 1 + o->bias;
    double significand = ldexp(f, o->fraction + 1 - (field > 0 ? 0 : 1 - field));
    cr_assert_eq(significand, floor(significand), "%s has no %a", o->name, value);
    cr_assert(field < 1 << o->exponent, "%s has no %a", o->name, value);
    return sign | (((uint32_t)(field > 0 ? field - 1 : 0) << o->fraction) + (uint32_t)significand);
}

static inline double value_of(enum hc_operand operand, uint32_t code)
{
    struct hc_operand_value v = hc_operand_decode(operand, code);
    double size = ldexp(v.significand, v.exponent - hc_operands[operand].fraction);
    if (v.class_ == HC_CLASS_NAN)
        return NAN;
    if (v.class_ == HC_CLASS_INFINITE)
        size = INFINITY;
    return v.negative ? -size : size;
}

/* A category has at most nine letters; the longest chain has four instructions of at most 64
   products with at most four scales a side. */
enum { CHAIN_MOST = 4, PRODUCTS_MOST = CHAIN_MOST * 64, SCALES_MOST = CHAIN_MOST * 4 };

/* One line: the operands and the answers of the two published versions. Where they agree there is
   one answer. `raises` says that the older one ends in an exception. */
struct vector {
    char category[16];
    int64_t n;
    uint32_t a[PRODUCTS_MOST], b[PRODUCTS_MOST], scale_a[SCALES_MOST], scale_b[SCALES_MOST];
    uint32_t c, d, older;
    bool disputed, raises;
};

/* The next word of *text, which is cut off there, or NULL. One space parts two words. */
static inline char *next_word(char **text)
{
    char *word = *text;
    if (!word || !*word || *word == ' ')
        return NULL;
    *text = strchr(word, ' ');
    if (*text)
        *(*text)++ = 0;
    return word;
}

/* `word` as a code of the operand: lower-case hexadecimal digits, all of them. */
static inline bool read_code(const char *word, enum hc_operand operand, uint32_t *code)
{
    int bits = hc_operands[operand].bits;
    if (!word || (int)strlen(word) > 8 || strspn(word, "0123456789abcdef") != strlen(word))
        return false;
    unsigned long value = strtoul(word, NULL, 16);
    *code = (uint32_t)value;
    return (int)strlen(word) == (bits + 3) / 4 && value >> (bits - 1) < 2;
}

static inline bool read_codes(char **text, enum hc_operand operand, int64_t n, uint32_t *codes)
{
    for (int64_t i = 0; i < n; i++)
        if (!read_code(next_word(text), operand, &codes[i]))
            return false;
    return true;
}

/* "ties" is one instruction, "ties.x3" a chain of three; 0 where it is neither. */
static inline int read_chain(struct vector *v, const char *word)
{
    size_t letters = word ? strspn(word, "abcdefghijklmnopqrstuvwxyz") : 0;
    if (letters == 0 || letters >= sizeof v->category)
        return 0;
    (void)snprintf(v->category, sizeof v->category, "%.*s", (int)letters, word);
    if (!word[letters])
        return 1;
    bool suffix = strncmp(word + letters, ".x", 2) == 0 && word[letters + 2] >= '2' &&
                  word[letters + 2] <= '0' + CHAIN_MOST && !word[letters + 3];
    return suffix ? word[letters + 2] - '0' : 0;
}

/* Whether `line`, which is written to, is a vector of the unit. */
static inline bool read_vector(const struct hc_unit *u, char *line, struct vector *v)
{
    int chain = read_chain(v, next_word(&line));
    int blocks = u->block ? u->k / u->block : 0;
    v->n = (int64_t)chain * u->k;
    if (!chain || !read_codes(&line, u->a, v->n, v->a) || !read_codes(&line, u->b, v->n, v->b) ||
        !read_codes(&line, u->scale, chain * blocks, v->scale_a) ||
        !read_codes(&line, u->scale, chain * blocks, v->scale_b) ||
        !read_code(next_word(&line), u->c, &v->c))
        return false;
    char *first = next_word(&line), *second = next_word(&line);
    v->disputed = second != NULL;
    v->raises = second && strcmp(first, "-") == 0;
    if (!read_code(second ? second : first, u->d, &v->d) || line)
        return false;
    v->older = v->d;
    return !v->disputed || v->raises || read_code(first, u->d, &v->older);
}

/* The unit's answer to a vector. */
static inline uint32_t answer(const struct hc_unit *u, const struct vector *v)
{
    struct hc_unit_scales scales = {v->scale_a, v->scale_b};
    return hc_unit_dot(u, v->a, v->b, u->scale == HC_OPERAND_NONE ? NULL : &scales, v->n, v->c);
}

/* Reads the next vector of a file, skipping lines that begin with '#'. Returns 1, 0 at the end, and
   -1 at a line that is none; *number is the line's. */
static inline int next_vector(FILE *in, const struct hc_unit *u, struct vector *v, int *number)
{
    char line[4096];
    while (fgets(line, sizeof line, in)) {
        ++*number;
        size_t length = strcspn(line, "\n");
        if (line[length] != '\n')
            return -1;
        line[length] = 0;
        if (line[0] != '#')
            return read_vector(u, line, v) ? 1 : -1;
    }
    return 0;
}

#endif

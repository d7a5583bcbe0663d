#include "formula/value.h"

#include <stdlib.h>

/* A value and its memory. `value` is the first member, so that its address is that of the whole. */
struct hc_held {
    struct hc_value value;
    int64_t room; /* elements */
    double *own_got;
    struct hc_held *next;
};

static void free_held(struct hc_held *held)
{
    for (int64_t i = 0; held->value.real && i < held->room; i++)
        if (held->value.real[i])
            hc_real_free(held->value.real[i]);
    free(held->value.real);
    free(held->value.real_rad);
    free(held->value.want);
    free(held->value.rad);
    free(held->own_got);
    free(held);
}

static struct hc_held *new_held(const struct hc_values *values, int64_t n)
{
    struct hc_held *held = calloc(1, sizeof *held);
    if (!held)
        return NULL;
    size_t count = (size_t)n;
    struct hc_value *v = &held->value;
    held->room = n;
    v->want = malloc(count * sizeof *v->want);
    v->rad = malloc(count * sizeof *v->rad);
    v->real = calloc(count, sizeof(struct hc_real *));
    v->real_rad = malloc(count * sizeof *v->real_rad);
    held->own_got = values->got ? malloc(count * sizeof *held->own_got) : NULL;
    v->got = values->got ? held->own_got : v->want;
    if (!v->want || !v->rad || !v->real || !v->real_rad || !v->got) {
        free_held(held);
        return NULL;
    }
    for (int64_t i = 0; i < n; i++)
        v->real[i] = hc_real_new_bits(0, values->precision);
    return held;
}

/* An idle value with enough room, but not with far too much, or a new one. */
static struct hc_held *find_held(struct hc_values *values, int64_t n)
{
    for (struct hc_held **at = &values->idle; *at; at = &(*at)->next)
        if ((*at)->room >= n && (*at)->room / 4 <= n) {
            struct hc_held *found = *at;
            *at = found->next;
            return found;
        }
    return new_held(values, n);
}

static bool push(struct hc_values *values, struct hc_held *held)
{
    if (values->count == values->room) {
        int room = values->room ? 2 * values->room : 32;
        struct hc_held **more = realloc(values->temporary, (size_t)room * sizeof(struct hc_held *));
        if (!more)
            return false;
        values->temporary = more;
        values->room = room;
    }
    values->temporary[values->count++] = held;
    return true;
}

static void rest(struct hc_values *values, struct hc_held *held)
{
    held->next = values->idle;
    values->idle = held;
}

struct hc_value *hc_values_new(struct hc_values *values, bool list, int64_t n)
{
    struct hc_held *held = find_held(values, n);
    if (!held)
        return NULL;
    if (!push(values, held)) {
        free_held(held);
        return NULL;
    }
    held->value.constant = false;
    held->value.format = HC_FORMAT_COUNT;
    held->value.list = list;
    held->value.n = n;
    return &held->value;
}

void hc_values_release(struct hc_values *values, int mark, const struct hc_value *kept)
{
    struct hc_held *keep = NULL;
    while (values->count > mark) {
        struct hc_held *held = values->temporary[--values->count];
        if (&held->value == kept)
            keep = held;
        else
            rest(values, held);
    }
    if (keep)
        values->temporary[values->count++] = keep;
}

struct hc_value *hc_values_own(struct hc_values *values, struct hc_value *v)
{
    for (int i = values->count - 1; i >= 0; i--)
        if (&values->temporary[i]->value == v) {
            values->temporary[i] = values->temporary[--values->count];
            return v;
        }
    struct hc_value *copy = hc_values_new(values, v->list, v->n);
    if (!copy)
        return NULL;
    values->count--;
    hc_value_like(copy, v);
    for (int64_t i = 0; i < v->n; i++)
        hc_value_copy(copy, i, v, i);
    return copy;
}

void hc_values_drop(struct hc_values *values, struct hc_value *v)
{
    if (v)
        rest(values, (struct hc_held *)v);
}

void hc_values_close(struct hc_values *values)
{
    hc_values_release(values, 0, NULL);
    while (values->idle) {
        struct hc_held *held = values->idle;
        values->idle = held->next;
        free_held(held);
    }
    free(values->temporary);
}

void hc_value_copy(struct hc_value *y, int64_t i, const struct hc_value *x, int64_t j)
{
    hc_real_copy(y->real[i], x->real[j]);
    y->real_rad[i] = x->real_rad[j];
    if (x->constant)
        return;
    y->want[i] = x->want[j];
    y->got[i] = x->got[j];
    y->rad[i] = x->rad[j];
}

void hc_value_like(struct hc_value *y, const struct hc_value *x)
{
    y->constant = x->constant;
    y->format = x->format;
}

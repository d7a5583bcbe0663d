/* The words about one claim. */
#include <math.h>

#include "check/story/story.h"
#include "op/text.h"

bool hc_claimed_held(const struct hc_claimed *c)
{
    return c->error <= c->bound;
}

/* A number, and the code that stands for it in HC_CLAIMED_BITS. */
static void put_number(char *text, size_t size, const struct hc_claimed *c, double x, uint64_t bits)
{
    if (c->kind == HC_CLAIMED_BITS)
        (void)hc_text_write(text, size, "%.9g (0x%0*llx)", x, hc_formats[c->format].bytes * 2,
                            (unsigned long long)bits);
    else
        (void)hc_text_write(text, size, "%.9g", x);
}

/* "want 1, got 2, error 1, bound 0.5"; no error where there is none. */
static void put_numbers(char *text, size_t size, const struct hc_claimed *c)
{
    char want[64];
    char got[64];
    char distance[64] = "";
    bool bounded = c->kind == HC_CLAIMED_WITHIN || c->kind == HC_CLAIMED_SAMPLE;
    put_number(want, sizeof want, c, c->want, c->want_bits);
    put_number(got, sizeof got, c, c->got, c->got_bits);
    if (bounded && c->error == 0 && isfinite(c->want))
        (void)hc_text_write(distance, sizeof distance, ", bound %.3g", c->bound);
    else if (bounded && c->error != 0)
        (void)hc_text_write(distance, sizeof distance, ", error %.3g, bound %.3g", c->error,
                            c->bound);
    (void)hc_text_write(text, size, "want %s, got %s%s", want, got, distance);
}

void hc_claimed_failure(const struct hc_claimed *c, char *text, size_t size)
{
    char numbers[240];
    put_numbers(numbers, sizeof numbers, c);
    if (c->kind == HC_CLAIMED_TRUE)
        (void)hc_text_write(text, size, "not so: %s", c->what);
    else if (c->kind == HC_CLAIMED_SWEEP)
        (void)hc_text_write(text, size, "%lld of %lld differ; first %s", (long long)c->wrong,
                            (long long)c->checked, c->first ? c->first : "not given");
    else if (c->kind == HC_CLAIMED_SAMPLE)
        (void)hc_text_write(text, size, "%s: %lld of %lld are wrong, the farthest [%lld]: %s",
                            c->what, (long long)c->wrong, (long long)c->checked,
                            (long long)c->index, numbers);
    else
        (void)hc_text_write(text, size, "%s: %s", c->what, numbers);
}

void hc_claimed_line(const struct hc_claimed *c, char *text, size_t size)
{
    char numbers[240];
    put_numbers(numbers, sizeof numbers, c);
    if (c->kind == HC_CLAIMED_TRUE)
        (void)hc_text_write(text, size, "%-32s %s", c->what, hc_claimed_held(c) ? "yes" : "NO");
    else if (c->kind == HC_CLAIMED_SWEEP)
        (void)hc_text_write(text, size, "%s: %lld, %lld differ%s%s", c->what, (long long)c->checked,
                            (long long)c->wrong, c->first ? "; first " : "",
                            c->first ? c->first : "");
    else if (c->kind == HC_CLAIMED_SAMPLE)
        (void)hc_text_write(text, size,
                            "%s: %lld of %lld elements; nearest to its bound [%lld]: %s", c->what,
                            (long long)c->checked, (long long)c->of, (long long)c->index, numbers);
    else
        (void)hc_text_write(text, size, "%-32s %s", c->what, numbers);
}

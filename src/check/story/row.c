#include "check/story/row.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check.h"

/* What stands for a number in `words`. No claim's name has it. */
enum { MARK = '\1' };

static size_t digits(const char *at)
{
    return strspn(at, "0123456789");
}

/* The sign and the digits of an exponent, 0 if there are no digits. */
static size_t exponent(const char *at)
{
    size_t sign = *at == '-' || *at == '+';
    size_t n = digits(at + sign);
    return n ? sign + n : 0;
}

/* The length of the number that begins at `at` within `text`; 0 if none does. */
static size_t number_at(const char *text, const char *at)
{
    char before = (char)(at > text ? at[-1] : ' ');
    char beyond = (char)(at > text + 1 ? at[-2] : ' ');
    size_t n = digits(at);
    if (n == 0 || isalnum((unsigned char)before) || before == '.' || before == '_' ||
        (before == '-' && isalnum((unsigned char)beyond)))
        return 0;
    if (at[n] == '.' && digits(at + n + 1) > 0)
        n += 1 + digits(at + n + 1);
    if (at[n] == 'e' && exponent(at + n + 1) > 0)
        n += 1 + exponent(at + n + 1);
    else if (at[n] == '^' && exponent(at + n + 1) > 0)
        n += 1 + exponent(at + n + 1);
    return isalnum((unsigned char)at[n]) || n >= sizeof((struct hc_story_number *)0)->text ? 0 : n;
}

static struct hc_story_number read_number(const char *at, size_t length)
{
    struct hc_story_number number;
    (void)snprintf(number.text, sizeof number.text, "%.*s", (int)length, at);
    char *end;
    number.value = strtod(number.text, &end);
    if (*end == '^')
        number.value = pow(number.value, strtod(end + 1, NULL));
    return number;
}

void hc_story_name_read(struct hc_story_name *name, const char *what)
{
    char *to = name->words;
    name->count = 0;
    (void)snprintf(name->text, sizeof name->text, "%s", what);
    for (const char *at = name->text; *at;) {
        size_t n = name->count < HC_NAME_NUMBERS ? number_at(name->text, at) : 0;
        if (n)
            name->number[name->count++] = read_number(at, n);
        *to++ = (char)(n ? MARK : *at);
        at += n ? n : 1;
    }
    *to = '\0';
}

void hc_story_name_write(char *text, size_t size, const struct hc_story_name *name,
                         const struct hc_story_number *low, const struct hc_story_number *high)
{
    size_t used = 0;
    int k = 0;
    *text = '\0';
    for (const char *at = name->words; *at && used + 1 < size; at++) {
        if (*at != MARK) {
            text[used++] = *at;
            text[used] = '\0';
            continue;
        }
        bool one = low[k].value == high[k].value;
        used += (size_t)snprintf(text + used, size - used, "%s%s%s", low[k].text, one ? "" : "..",
                                 one ? "" : high[k].text);
        k++;
    }
}

static struct hc_story_row_range range_of(double x)
{
    return (struct hc_story_row_range){
        .low = x, .high = x, .some = !isnan(x), .finite = isfinite(x), .nan = isnan(x)};
}

struct hc_story_row hc_story_row_of(const struct hc_claimed *c)
{
    bool many = c->kind == HC_CLAIMED_SWEEP || c->kind == HC_CLAIMED_SAMPLE;
    struct hc_story_row row = {.kind = c->kind,
                               .claims = 1,
                               .checked = many ? c->checked : 1,
                               .of = c->of,
                               .wrong = many ? c->wrong : !hc_claimed_held(c),
                               .want = range_of(c->want),
                               .got = range_of(c->got),
                               .boundless = isinf(c->bound),
                               .ratio = hc_ratio(c->error, c->bound),
                               .number = 1,
                               .index = c->index,
                               .bits = c->got_bits};
    if (c->kind == HC_CLAIMED_BITS && isfinite(c->want))
        row.digits = hc_formats[c->format].bytes * 2;
    hc_story_name_read(&row.name, c->what);
    memcpy(row.low, row.name.number, sizeof row.low);
    memcpy(row.high, row.name.number, sizeof row.high);
    memcpy(row.at, row.name.number, sizeof row.at);
    return row;
}

bool hc_story_row_matches(const struct hc_story_row *row, const struct hc_story_row *next,
                          bool alike)
{
    return row->kind == next->kind && (alike ? strcmp(row->name.words, next->name.words) == 0
                                             : strcmp(row->name.text, next->name.text) == 0);
}

static void join_range(struct hc_story_row_range *range, const struct hc_story_row_range *next)
{
    if (next->some) {
        range->low = range->some ? fmin(range->low, next->low) : next->low;
        range->high = range->some ? fmax(range->high, next->high) : next->high;
    }
    range->some |= next->some;
    range->finite |= next->finite;
    range->nan |= next->nan;
}

void hc_story_row_join(struct hc_story_row *row, const struct hc_story_row *next)
{
    bool nearer = next->ratio > row->ratio;
    if (nearer) {
        row->ratio = next->ratio;
        row->number = row->claims + next->number;
        row->index = next->index;
        memcpy(row->at, next->at, sizeof row->at);
    }
    if (row->kind != HC_CLAIMED_SAMPLE) {
        join_range(&row->want, &next->want);
        join_range(&row->got, &next->got);
    } else if (nearer) {
        row->want = next->want;
        row->got = next->got;
    }
    for (int k = 0; k < row->name.count && k < next->name.count; k++) {
        if (next->low[k].value < row->low[k].value)
            row->low[k] = next->low[k];
        if (next->high[k].value > row->high[k].value)
            row->high[k] = next->high[k];
    }
    row->boundless |= next->boundless;
    row->claims += next->claims;
    row->checked += next->checked;
    row->of += next->of;
    row->wrong += next->wrong;
}

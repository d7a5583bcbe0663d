#include "check/story/row.h"

#include <math.h>
#include <string.h>

#include "check/check.h"

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

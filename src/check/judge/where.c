/* Where the wrong elements lie, if a short sentence says it: in one image or channel, in the last
   rows, in every k-th column, at the border. It is said only if it is true of all wrong elements,
   and of few that are right. */
#include <stdio.h>
#include <string.h>

#include "check/judge/judge.h"

enum { RIGHT = 1, WRONG = 2 };

/* Along one dimension the wrong elements are first, first + step, ..., last. */
struct along {
    int64_t first;
    int64_t last;
    int64_t step; /* 0: they have one coordinate */
    int64_t seen; /* different ones were met at least so often */
};

struct pattern {
    struct along of[HC_MAX_RANK];
    bool border; /* of rows and columns, which are otherwise free */
};

static void coordinates(const struct hc_tensor *t, int64_t index, int64_t at[HC_MAX_RANK])
{
    for (int d = t->rank - 1; d >= 0; d--) {
        at[d] = index % t->shape[d];
        index /= t->shape[d];
    }
}

static int64_t divisor(int64_t a, int64_t b)
{
    while (b) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool at_border(const struct hc_tensor *t, const int64_t *at)
{
    return at[1] == 0 || at[1] == t->shape[1] - 1 || at[2] == 0 || at[2] == t->shape[2] - 1;
}

/* The tightest pattern that has all wrong elements. */
static void find(const struct hc_tensor *t, const unsigned char *judged, struct pattern *p)
{
    bool begun = false;
    int64_t at[HC_MAX_RANK] = {0};
    p->border = t->rank == 4 && t->shape[1] > 2 && t->shape[2] > 2;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        if (judged[i] != WRONG)
            continue;
        coordinates(t, i, at);
        for (int d = 0; d < t->rank; d++) {
            struct along *a = &p->of[d];
            if (!begun)
                *a = (struct along){at[d], at[d], 0, 1};
            int64_t far = at[d] > a->first ? at[d] - a->first : a->first - at[d];
            a->seen += at[d] < a->first || at[d] > a->last;
            a->step = divisor(a->step, far);
            a->first = at[d] < a->first ? at[d] : a->first;
            a->last = at[d] > a->last ? at[d] : a->last;
        }
        begun = true;
        p->border = p->border && at_border(t, at);
    }
}

/* Two coordinates have a distance, but no step. */
static bool every(const struct along *a)
{
    return a->step > 1 && a->seen > 2;
}

static bool has(const struct pattern *p, const struct hc_tensor *t, const int64_t *at)
{
    for (int d = 0; d < t->rank; d++) {
        const struct along *a = &p->of[d];
        if (p->border && (d == 1 || d == 2))
            continue;
        if (at[d] < a->first || at[d] > a->last)
            return false;
        if (every(a) && (at[d] - a->first) % a->step != 0)
            return false;
    }
    return !p->border || at_border(t, at);
}

static const char *name_of(const struct hc_tensor *t, bool filters, int dimension)
{
    static const char *const names[][4] = {
        {"element"}, {"row", "column"}, {"", "", ""}, {"image", "row", "column", "channel"}};
    if (filters && dimension == 0)
        return "filter";
    return t->rank < 1 || t->rank > 4 || t->rank == 3 ? "" : names[t->rank - 1][dimension];
}

static const char *ordinal(int64_t n)
{
    static const char *const ends[] = {"th", "st", "nd", "rd"};
    return n % 10 > 3 || n / 10 % 10 == 1 ? "th" : ends[n % 10];
}

/* "channel 3", "the last 5 columns", "every 4th row from 1 on"; "" where all are meant. */
static void tell(const struct hc_tensor *t, const char *name, int d, const struct along *a,
                 char *text, size_t size)
{
    int64_t all = t->shape[d];
    long long n = (long long)(a->last - a->first + 1);
    text[0] = '\0';
    if (all == 1)
        return;
    if (a->first == a->last)
        (void)snprintf(text, size, "%s %lld", name, (long long)a->first);
    else if (every(a))
        (void)snprintf(text, size, "every %lld%s %s from %lld on", (long long)a->step,
                       ordinal(a->step), name, (long long)a->first);
    else if (n == all)
        return;
    else if (a->last == all - 1)
        (void)snprintf(text, size, "the last %lld %ss", n, name);
    else if (a->first == 0)
        (void)snprintf(text, size, "the first %lld %ss", n, name);
    else
        (void)snprintf(text, size, "%ss %lld to %lld", name, (long long)a->first,
                       (long long)a->last);
}

static void tell_all(const struct hc_tensor *t, bool filters, const struct pattern *p, char *text,
                     size_t size)
{
    size_t used = 0;
    for (int d = 0; d < t->rank; d++) {
        char one[80];
        if (p->border && d == 2)
            continue;
        if (p->border && d == 1)
            (void)snprintf(one, sizeof one, "the border");
        else
            tell(t, name_of(t, filters, d), d, &p->of[d], one, sizeof one);
        if (one[0] && used + strlen(one) + 2 < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used ? ", " : "", one);
    }
}

void hc_judge_where(const struct hc_tensor *t, bool filters, const unsigned char *judged,
                    char *text, size_t size)
{
    struct pattern p = {.border = false};
    int64_t wrong = 0;
    int64_t right = 0;
    int64_t at[HC_MAX_RANK] = {0};
    text[0] = '\0';
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        wrong += judged[i] == WRONG;
    if (wrong < 2 || name_of(t, filters, 0)[0] == '\0')
        return;
    find(t, judged, &p);
    /* A side of the border is told as a row or a column. */
    p.border = p.border && p.of[1].first != p.of[1].last && p.of[2].first != p.of[2].last;
    for (int64_t i = 0; i < hc_tensor_count(t); i++) {
        coordinates(t, i, at);
        right += judged[i] == RIGHT && has(&p, t, at);
    }
    if (right * 4 <= wrong)
        tell_all(t, filters, &p, text, size);
}

#include "op/typed.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { SHORTEST_START = 3 };

enum hc_status hc_list_next(const char *what, const char *list, const char **at,
                            const char **element, size_t *length)
{
    const char *start = *at + strspn(*at, " \t");
    size_t n = strcspn(start, ",");
    *at = start[n] == ',' ? start + n + 1 : NULL;
    while (n > 0 && (start[n - 1] == ' ' || start[n - 1] == '\t'))
        n--;
    *element = start;
    *length = n;
    return n > 0 ? HC_OK : hc_fail(HC_INVALID, "%s '%s': an element is empty", what, list);
}

struct hc_nearest hc_nearest_to(const char *typed, size_t length)
{
    struct hc_nearest nearest = {.distance = INT_MAX};
    if (length <= HC_LONGEST_NAME)
        memcpy(nearest.typed, typed, length);
    return nearest;
}

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* By dynamic programming over the rows of the table d[i][j], the distance of the first i letters of
   a to the first j of b (optimal string alignment). */
static int distance(const char *a, const char *b)
{
    int rows[3][HC_LONGEST_NAME + 1];
    int *before = rows[0];
    int *last = rows[1];
    int *now = rows[2];
    int n = (int)strlen(b);
    for (int j = 0; j <= n; j++)
        last[j] = j;
    for (int i = 1; a[i - 1]; i++) {
        now[0] = i;
        for (int j = 1; j <= n; j++) {
            now[j] = least(least(now[j - 1], last[j]) + 1, last[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                now[j] = least(now[j], before[j - 2] + 1);
        }
        int *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[n];
}

void hc_nearest_try(struct hc_nearest *nearest, const char *name)
{
    size_t length = strlen(nearest->typed);
    if (length == 0 || strlen(name) > HC_LONGEST_NAME)
        return;
    int d = distance(nearest->typed, name);
    if (length >= SHORTEST_START && strncmp(name, nearest->typed, length) == 0)
        d = least(d, 1);
    if (d >= nearest->distance)
        return;
    nearest->distance = d;
    (void)snprintf(nearest->best, sizeof nearest->best, "%s", name);
}

void hc_nearest_take(struct hc_nearest *nearest, const char *name)
{
    nearest->distance = 0;
    (void)snprintf(nearest->best, sizeof nearest->best, "%s", name);
}

const char *hc_nearest_hint(struct hc_nearest *nearest)
{
    int near = ((int)strlen(nearest->typed) + 2) / 4;
    nearest->hint[0] = '\0';
    if (nearest->distance <= (near ? near : 1) && nearest->best[0])
        (void)snprintf(nearest->hint, sizeof nearest->hint, "; did you mean '%s'?", nearest->best);
    return nearest->hint;
}

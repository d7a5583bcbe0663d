#include "cli/picture/spreads.h"

#include <stdlib.h>
#include <string.h>

/* Results come in the order of their names. */
static struct hc_spread_group *group_of(struct hc_spreads *g, const char *name)
{
    for (int i = g->count - 1; i >= 0; i--)
        if (strcmp(g->all[i].name, name) == 0)
            return &g->all[i];
    if (g->count == g->room) {
        int room = g->room ? 2 * g->room : 64;
        struct hc_spread_group *all = realloc(g->all, (size_t)room * sizeof *all);
        g->no_memory |= !all;
        if (!all)
            return NULL;
        g->all = all;
        g->room = room;
    }
    g->all[g->count] = (struct hc_spread_group){0};
    (void)snprintf(g->all[g->count].name, sizeof g->all->name, "%.120s", name);
    return &g->all[g->count++];
}

static int series_of(struct hc_spreads *g, const char *name)
{
    for (int s = 0; s < g->series.count; s++)
        if (strcmp(g->series.text[s], name) == 0)
            return s;
    if (g->series.count == HC_MAX_FRAME_SERIES)
        return -1;
    if (!g->series.text)
        g->series.text = calloc(HC_MAX_FRAME_SERIES, sizeof *g->series.text);
    char *copy = g->series.text ? strdup(name) : NULL;
    g->no_memory |= !copy;
    if (copy)
        g->series.text[g->series.count++] = copy;
    return copy ? g->series.count - 1 : -1;
}

static void collect(struct hc_spreads *g, const struct hc_drawing *d,
                    const struct hc_spread_kind *kind)
{
    char name[128];
    char text[512];
    for (int r = 0; r < d->count; r++)
        for (int i = 0; i < d->records[r].record.count; i++) {
            const struct hc_row *row = &d->records[r].record.rows[i];
            if (!json_object_get(row->spread, kind->member))
                continue;
            kind->name(name, row->name);
            struct hc_spread_group *group = group_of(g, name);
            int series = series_of(g, hc_series_name(text, d, r, row->backend));
            if (group && series >= 0)
                hc_spread_add(&group->spread[series], row->spread);
            else
                g->left_out++;
        }
}

static void forget(struct hc_spreads *g)
{
    for (int s = 0; s < g->series.count; s++)
        free(g->series.text[s]);
    free(g->series.text);
    free(g->all);
}

void hc_spreads_make(struct hc_drawing *d, const struct hc_frames_axes *axes,
                     const struct hc_spread_kind *kind)
{
    struct hc_spreads g = {0};
    struct hc_frames f;
    collect(&g, d, kind);
    if (g.count == 0 || g.no_memory) {
        (void)snprintf(d->why_not, sizeof d->why_not, "%s",
                       g.no_memory ? "there is no memory"
                                   : "no result says how its errors are spread");
    } else {
        hc_frames_begin(&f, d, axes);
        for (int s = 0; s < g.series.count; s++)
            hc_frames_series(&f, g.series.text[s]);
        for (int i = 0; i < g.count && hc_frames_next(&f, g.all[i].name, ""); i++)
            for (int s = 0; s < g.series.count; s++)
                kind->put(&f, s + 1, &g.all[i].spread[s]);
        hc_frames_end(&f);
        kind->answer(&g, d->answer);
        if (g.left_out > 0)
            (void)fprintf(d->answer, " %d results of other backends are not shown.", g.left_out);
        (void)fprintf(d->alt, "%s, on logarithmic axes, in %d small frames.", kind->alt, g.count);
    }
    forget(&g);
}

/* Pictures of small records in tests. */
#ifndef HC_CLI_PICTURE_TESTING_H
#define HC_CLI_PICTURE_TESTING_H

#include <math.h>

#include "cli/picture/pictures.h"
#include "cli/report/wellformed.h"
#include "cli/testing.h"

/* A record's text with these results; `more` are other members, each with a comma before it. */
static inline char *record_text(const char *results, const char *more)
{
    static char text[1 << 20];
    (void)snprintf(text, sizeof text, "{\"schema\": 1, \"environment\": {}, \"results\": [%s]%s}",
                   results, more);
    return text;
}

/* A result, with hex or any other numbers as text. */
static inline const char *result_text(const char *name, const char *error, const char *bound,
                                      const char *more)
{
    static char text[8][1 << 16];
    static int next;
    char *to = text[next++ % 8];
    (void)snprintf(
        to, sizeof text[0],
        "{\"case\": \"%s\", \"backend\": \"exact\", \"verdict\": \"PASS\", \"checked\": 1,"
        " \"error\": \"%s\", \"bound\": \"%s\", \"unit\": \"abs\", \"seed\": \"1\","
        " \"seconds\": 0, \"note\": \"\", \"repro\": \"\"%s}",
        name, error, bound, more);
    return to;
}

struct drawn_pictures {
    struct hc_page_record records[3];
    int record_count;
    struct hc_page_pictures pictures;
    const struct hc_page_picture *list;
    int count;
};

static inline void add_record(struct drawn_pictures *d, const char *name, const char *text)
{
    json_t *document = json_loads(text, 0, NULL);
    cr_assert_not_null(document, "%s", text);
    struct hc_page_record *record = &d->records[d->record_count++];
    record->name = name;
    cr_assert_eq(hc_record_of(name, document, &record->record), HC_OK, "%s", hc_message());
}

/* Draws into a folder of its own in the current one. Without gnuplot there are only words. */
static inline void draw_pictures(struct drawn_pictures *d)
{
    char folder[] = "./drawing-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    hc_page_draw(d->records, d->record_count, folder, &d->pictures);
    d->list = d->pictures.list;
    d->count = d->pictures.count;
    cr_assert(!d->pictures.why_not[0] || strstr(d->pictures.why_not, "not installed"), "%s",
              d->pictures.why_not);
    cr_assert_eq(rmdir(folder), 0, "files were left behind");
}

static inline const struct hc_page_picture *picture_of(const struct drawn_pictures *d,
                                                       const char *id)
{
    for (int i = 0; i < d->count; i++)
        if (strcmp(d->list[i].id, id) == 0)
            return &d->list[i];
    cr_assert_fail("no picture %s", id);
    return NULL;
}

static inline void forget_pictures(struct drawn_pictures *d)
{
    hc_page_free_pictures(&d->pictures);
    for (int r = 0; r < d->record_count; r++)
        hc_record_free(&d->records[r].record);
}

/* Every picture is drawn or says why not; what is drawn is a well-formed SVG whose ids are its own
   and whose coordinates are numbers. */
static inline void expect_sound(const struct drawn_pictures *d)
{
    for (int i = 0; i < d->count; i++) {
        const struct hc_page_picture *p = &d->list[i];
        cr_expect((p->svg == NULL) == (p->why_not != NULL), "%s: %s", p->id,
                  p->why_not ? p->why_not : "nothing");
        cr_expect(p->why_not == NULL || strstr(p->why_not, "gnuplot failed") == NULL, "%s: %s",
                  p->id, p->why_not);
        if (!p->svg)
            continue;
        char own[64];
        cr_expect_null(hc_malformed(p->svg), "%s: %.60s", p->id, hc_malformed(p->svg));
        (void)snprintf(own, sizeof own, "%s-", p->id);
        for (const char *at = p->svg; (at = strstr(at, " id=")) != NULL; at += 5)
            cr_expect_eq(strncmp(at + 5, own, strlen(own)), 0, "%s: %.40s", p->id, at);
        cr_expect_null(strstr(p->svg, "nan,"), "%s", p->id);
        cr_expect_null(strstr(p->svg, "inf,"), "%s", p->id);
        cr_expect(strlen(p->data) <= HC_PICTURE_DATA && p->answer[0] && p->alt[0], "%s", p->id);
    }
}

#endif

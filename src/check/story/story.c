#include "check/story/story.h"

#include <stdlib.h>
#include <string.h>

#include "check/story/row.h"
#include "op/memory_stream.h"
#include "op/text.h"
#include "op/wrap.h"

enum {
    ROWS = 16,
    FAILURES = 6, /* claims whose words are kept */
    /* If the case says more than HEAD + TAIL + 1 lines, its middle is left out. */
    HEAD = 14,
    TAIL = 6
};

struct hc_story {
    bool all;
    FILE *said;
    char *text; /* what was said, */
    size_t size;
    bool alike; /* names that differ in numbers alone share a row */
    int count;
    struct hc_story_row rows[ROWS + 1]; /* the last is that of the others */
    int64_t failed;
    char failures[FAILURES][320];
};

struct hc_story *hc_story_new(bool all)
{
    struct hc_story *story = calloc(1, sizeof *story);
    if (story) {
        story->all = all;
        story->said = hc_memory_stream(&story->text, &story->size);
    }
    if (!story || !story->said) {
        free(story);
        (void)hc_fail(HC_NO_MEMORY, "no memory for the text of the case");
        return NULL;
    }
    return story;
}

void hc_story_free(struct hc_story *story)
{
    if (!story)
        return;
    (void)fclose(story->said);
    free(story->text);
    free(story);
}

void hc_story_say(struct hc_story *story, const char *format, va_list arguments)
{
    (void)fputs("  ", story->said);
    hc_vprint(story->said, format, arguments);
    (void)fputc('\n', story->said);
}

/* Joins the rows whose names differ in numbers alone. */
static void join_alike(struct hc_story *story)
{
    int kept = 0;
    story->alike = true;
    for (int r = 0; r < story->count; r++) {
        int k = 0;
        while (k < kept && !hc_story_row_matches(&story->rows[k], &story->rows[r], true))
            k++;
        if (k < kept)
            hc_story_row_join(&story->rows[k], &story->rows[r]);
        else
            story->rows[kept++] = story->rows[r];
    }
    story->count = kept;
}

static void add_row(struct hc_story *story, const struct hc_story_row *row)
{
    for (int r = 0; r < story->count && r < ROWS; r++)
        if (hc_story_row_matches(&story->rows[r], row, story->alike)) {
            hc_story_row_join(&story->rows[r], row);
            return;
        }
    if (story->count == ROWS && !story->alike) {
        join_alike(story);
        add_row(story, row);
    } else if (story->count <= ROWS) {
        story->rows[story->count] = *row;
        story->rows[story->count].others = story->count == ROWS;
        story->count++;
    } else {
        hc_story_row_join(&story->rows[ROWS], row);
    }
}

void hc_story_claim(struct hc_story *story, const struct hc_claimed *claimed)
{
    if (story->all) {
        char line[512];
        hc_claimed_line(claimed, line, sizeof line);
        (void)fprintf(story->said, "  %s\n", line);
        return;
    }
    if (!hc_claimed_held(claimed) && story->failed++ < FAILURES)
        hc_claimed_failure(claimed, story->failures[story->failed - 1], sizeof story->failures[0]);
    struct hc_story_row row = hc_story_row_of(claimed);
    add_row(story, &row);
}

/* Prints what was said, without its middle if that is long. */
static void print_said(const struct hc_story *story, FILE *out)
{
    int lines = 0;
    int line = 0;
    for (const char *at = story->text; (at = strchr(at, '\n')) != NULL; at++)
        lines++;
    bool cut = !story->all && lines > HEAD + TAIL + 1;
    for (const char *at = story->text; *at; line++) {
        int length = (int)strcspn(at, "\n");
        if (!cut || line < HEAD || line >= lines - TAIL)
            (void)fprintf(out, "%.*s\n", length, at);
        else if (line == HEAD)
            (void)fprintf(out, "  ... %d lines; --all shows them\n", lines - HEAD - TAIL);
        at += length + (at[length] == '\n');
    }
}

static void print_failures(const struct hc_story *story, FILE *out)
{
    for (int f = 0; f < FAILURES && f < story->failed; f++)
        hc_print_wrapped(out, fprintf(out, "  FAILED  "), 10, story->failures[f]);
    if (story->failed > FAILURES)
        (void)fprintf(out, "  and %lld more claims FAILED; --all shows them\n",
                      (long long)(story->failed - FAILURES));
}

void hc_story_print(struct hc_story *story, FILE *out)
{
    (void)fflush(story->said);
    print_said(story, out);
    if (story->count && story->size)
        (void)fputc('\n', out);
    print_failures(story, out);
    hc_story_rows_print(story->rows, story->count, out);
}

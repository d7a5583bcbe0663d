#include "cli/calc/grid.h"

#include <stdlib.h>
#include <string.h>

#include "op/memory_stream.h"
#include "op/wrap.h"

enum { GAP = 2 };

enum hc_status hc_grid_new(struct hc_grid *grid, int rows, int columns)
{
    *grid = (struct hc_grid){.rows = rows, .columns = columns};
    grid->label = calloc((size_t)rows, sizeof *grid->label);
    grid->column = calloc((size_t)columns, sizeof *grid->column);
    grid->cell = calloc((size_t)rows * (size_t)columns, sizeof *grid->cell);
    return grid->label && grid->column && grid->cell
               ? HC_OK
               : hc_fail(HC_NO_MEMORY, "no memory for a table");
}

void hc_grid_free(struct hc_grid *grid)
{
    free(grid->label);
    free(grid->column);
    free(grid->cell);
    *grid = (struct hc_grid){0};
}

static int larger(int a, int b)
{
    return a > b ? a : b;
}

static int label_width(const struct hc_grid *grid)
{
    int width = (int)strlen(grid->corner);
    for (int r = 0; r < grid->rows; r++)
        width = larger(width, (int)strlen(grid->label[r]));
    return width;
}

static int column_width(const struct hc_grid *grid, int column)
{
    int width = (int)strlen(grid->column[column].head);
    for (int r = 0; r < grid->rows; r++)
        width = larger(width, (int)strlen(grid->cell[r * grid->columns + column]));
    return width;
}

static bool same_group(const struct hc_grid *grid, int a, int b)
{
    return strcmp(grid->column[a].group, grid->column[b].group) == 0;
}

/* Some of a grid's columns. */
struct block {
    const struct hc_grid *grid;
    bool *has; /* by column */
};

static int block_width(const struct block *b)
{
    int width = label_width(b->grid);
    for (int c = 0; c < b->grid->columns; c++)
        if (b->has[c])
            width += GAP + column_width(b->grid, c);
    return width;
}

/* Texts of a line, and the blanks that stand between one and the next. */
struct line {
    FILE *out;
    int blanks;
};

static void put(struct line *line, const char *text, int width)
{
    int length = (int)strlen(text);
    if (length > 0)
        (void)fprintf(line->out, "%*s%s", line->blanks, "", text);
    line->blanks = (length > 0 ? 0 : line->blanks) + larger(width - length, 0) + GAP;
}

static void end(struct line *line)
{
    (void)fputc('\n', line->out);
    line->blanks = 0;
}

/* The names of groups. One that is longer than its columns goes on over the next group's only if
   there is none. */
static void print_groups(const struct block *b, struct line *line)
{
    const struct hc_grid *grid = b->grid;
    bool any = false;
    for (int c = 0; c < grid->columns; c++)
        any |= b->has[c] && grid->column[c].group[0];
    if (!any)
        return;
    put(line, "", label_width(grid));
    for (int c = 0; c < grid->columns;) {
        int width = -GAP;
        int first = c;
        for (; c < grid->columns && same_group(grid, first, c); c++)
            if (b->has[c])
                width += GAP + column_width(grid, c);
        char name[HC_GRID_TEXT];
        const char *group = grid->column[first].group;
        int room = larger(width, 8);
        bool cut = (int)strlen(group) > room && c < grid->columns;
        (void)snprintf(name, sizeof name, "%.*s%s", cut ? room - 3 : HC_GRID_TEXT - 1, group,
                       cut ? "..." : "");
        if (width > 0)
            put(line, name, width);
    }
    end(line);
}

static void print_block(const struct block *b, FILE *out)
{
    const struct hc_grid *grid = b->grid;
    struct line line = {.out = out};
    int labels = label_width(grid);
    print_groups(b, &line);
    for (int r = -1; r < grid->rows; r++) {
        const char *label = r < 0 ? grid->corner : grid->label[r];
        if (grid->labels_right)
            line.blanks = labels - (int)strlen(label);
        put(&line, label, grid->labels_right ? 0 : labels);
        for (int c = 0; c < grid->columns; c++)
            if (b->has[c])
                put(&line, r < 0 ? grid->column[c].head : grid->cell[r * grid->columns + c],
                    column_width(grid, c));
        end(&line);
    }
}

/* A block of the columns of a group from `next` on that fit, at least one, and of its last one if
   that is shared and fits, too. Returns the first column that is left. */
static int choose(struct block *b, int next, int behind)
{
    const struct hc_grid *grid = b->grid;
    int last = behind - 1;
    int first = next;
    memset(b->has, false, (size_t)grid->columns);
    b->has[next++] = true;
    b->has[last] |= grid->column[last].shared;
    if (block_width(b) >= HC_COLUMNS && first < last)
        b->has[last] = false;
    for (; next < behind && !b->has[next]; next++) {
        b->has[next] = true;
        if (block_width(b) >= HC_COLUMNS) {
            b->has[next] = false;
            break;
        }
    }
    return next;
}

/* Prints the columns first to behind - 1, which belong to one group, in as many blocks as they
   need. If the shared one, the last, has been in a block, it needs no other. */
static void print_group(struct block *b, int first, int behind, FILE *out)
{
    bool shared = false;
    for (int next = first; next < behind - shared;) {
        if (next > first)
            (void)fputc('\n', out);
        next = choose(b, next, behind);
        shared |= b->has[behind - 1] && b->grid->column[behind - 1].shared;
        print_block(b, out);
    }
}

bool hc_grid_fits(const struct hc_grid *grid)
{
    int width = label_width(grid);
    for (int c = 0; c < grid->columns; c++)
        width += GAP + column_width(grid, c);
    return width < HC_COLUMNS;
}

void hc_grid_print(const struct hc_grid *grid, FILE *out)
{
    struct block b = {.grid = grid, .has = calloc((size_t)grid->columns, sizeof(bool))};
    if (b.has && hc_grid_fits(grid)) {
        memset(b.has, true, (size_t)grid->columns);
        print_block(&b, out);
    } else if (b.has) {
        for (int first = 0, c = 0; first < grid->columns; first = c) {
            for (c = first; c < grid->columns && same_group(grid, first, c);)
                c++;
            if (first > 0)
                (void)fputc('\n', out);
            print_group(&b, first, c, out);
        }
    }
    if (!b.has)
        hc_memory_lost_one();
    free(b.has);
}

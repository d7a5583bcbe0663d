/* The table of a calculation, in as many blocks as a terminal of 80 columns needs. */
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calc/calc.h"
#include "cli/calc/number.h"
#include "op/memory_stream.h"
#include "op/status.h"
#include "op/wrap.h"

enum { GRID_TEXT = 72 };

struct grid_column {
    const char *group; /* stands above the columns of a group; "" for none */
    char head[GRID_TEXT];
    bool shared; /* the last one of its group, stands in each block of it where there is room */
};

struct hc_grid {
    int rows;
    int columns;
    char (*label)[GRID_TEXT]; /* [rows] */
    bool labels_right;        /* are aligned to the right */
    char corner[16];          /* above the labels */
    struct grid_column *column;
    char (*cell)[GRID_TEXT]; /* [rows][columns] */
};

enum { GAP = 2 };

/* Allocates all texts; HC_NO_MEMORY if there is none. Free the grid in any case. */
static enum hc_status grid_new(struct hc_grid *grid, int rows, int columns)
{
    *grid = (struct hc_grid){.rows = rows, .columns = columns};
    grid->label = calloc((size_t)rows, sizeof *grid->label);
    grid->column = calloc((size_t)columns, sizeof *grid->column);
    grid->cell = calloc((size_t)rows * (size_t)columns, sizeof *grid->cell);
    return grid->label && grid->column && grid->cell
               ? HC_OK
               : hc_fail(HC_NO_MEMORY, "no memory for a table");
}

static void grid_free(struct hc_grid *grid)
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
        char name[GRID_TEXT];
        const char *group = grid->column[first].group;
        int room = larger(width, 8);
        bool cut = (int)strlen(group) > room && c < grid->columns;
        (void)snprintf(name, sizeof name, "%.*s%s", cut ? room - 3 : GRID_TEXT - 1, group,
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

/* Whether all columns fit beside each other. */
static bool grid_fits(const struct hc_grid *grid)
{
    int width = label_width(grid);
    for (int c = 0; c < grid->columns; c++)
        width += GAP + column_width(grid, c);
    return width < HC_COLUMNS;
}

/* All columns beside each other if they fit; otherwise a block for each group, and for the parts of
   a group that is too wide. */
static void grid_print(const struct hc_grid *grid, FILE *out)
{
    struct block b = {.grid = grid, .has = calloc((size_t)grid->columns, sizeof(bool))};
    if (b.has && grid_fits(grid)) {
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

/* Labels of rows are cut to this if the table does not fit otherwise; names of groups always. */
enum { SHORT_LABEL = 24, LONGEST_HEAD = 32 };

void hc_calc_name(const struct hc_calc_run *run, int item, int most, char name[HC_CALC_NAME])
{
    const struct hc_calc_item *what = &run->item[item];
    const struct hc_statement *shown = &run->calc->shown->statement[what->expression];
    char element[24] = "";
    if (what->element >= 0)
        (void)snprintf(element, sizeof element, "[%" PRId64 "]", what->element);
    int room = most - (int)strlen(element);
    bool cut = shown->length > room;
    (void)snprintf(name, HC_CALC_NAME, "%.*s%s%s", cut ? room - 3 : shown->length, shown->at,
                   cut ? "..." : "", element);
    for (; *name; name++)
        if ((unsigned char)*name < ' ')
            *name = ' ';
}

static void calc_cell_text(const struct hc_calc *calc, const struct hc_calc_cell *cell, char *text,
                           size_t size)
{
    char number[HC_NUMBER_TEXT];
    char bits[HC_NUMBER_TEXT] = "";
    hc_number_text(number, cell->format, cell->want, calc->digits);
    if (calc->hex)
        hc_bits_text(bits, cell->format, cell->want);
    (void)snprintf(text, size, "%s%s%s", number, bits[0] ? " " : "", bits);
}

/* Whether the text of the real number is that of an arm's number which is another one. */
static bool misleads(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                     const char *real)
{
    for (int a = 0; a < run->calc->arms; a++) {
        const struct hc_calc_cell *cell = &row->cell[item][a];
        char number[HC_NUMBER_TEXT];
        hc_number_text(number, cell->format, cell->want, 0);
        if (!hc_calc_nearest(cell, &row->real[item]) && strcmp(number, real) == 0)
            return true;
    }
    return false;
}

void hc_calc_real_text(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                       char *text, size_t size)
{
    const struct hc_calc_real *real = &row->real[item];
    char number[HC_NUMBER_TEXT];
    int digits = run->calc->digits ? run->calc->digits : HC_LEAST_REAL_DIGITS;
    hc_real_text(number, &real->value, digits);
    while (digits < HC_MAX_DIGITS && misleads(run, row, item, number))
        hc_real_text(number, &real->value, ++digits);
    if (fabs(real->value.hi) <= real->rad && real->rad < 0x1p-160)
        (void)snprintf(number, sizeof number, "0");
    if (real->outside)
        (void)snprintf(number, sizeof number, "%s",
                       real->value.hi == 0  ? "below 5e-324"
                       : real->value.hi < 0 ? "below -1.79e308"
                                            : "above 1.79e308");
    bool known = real->rad <= fabs(real->value.hi) * 0x1p-30 || real->rad < 0x1p-160;
    (void)snprintf(text, size, "%s%s", number, known || isnan(real->value.hi) ? "" : " ?");
}

static void fill_row(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                     char (*cell)[GRID_TEXT])
{
    int arms = run->calc->arms;
    for (int a = 0; a < arms; a++)
        calc_cell_text(run->calc, &row->cell[item][a], cell[a], GRID_TEXT);
    hc_calc_real_text(run, row, item, cell[arms], GRID_TEXT);
}

/* The columns of one shown number, or of all. */
static void head(const struct hc_calc *calc, const char *group, struct grid_column *column)
{
    for (int a = 0; a <= calc->arms; a++) {
        column[a].group = group;
        column[a].shared = a == calc->arms;
        const char *arm = a == calc->arms ? "real" : calc->arm[a].text;
        bool cut = strlen(arm) > LONGEST_HEAD;
        (void)snprintf(column[a].head, GRID_TEXT, "%.*s%s", cut ? LONGEST_HEAD - 3 : 99, arm,
                       cut ? "..." : "");
    }
}

static enum hc_status print_loop(const struct hc_calc_run *run, FILE *out)
{
    struct hc_grid grid;
    char name[HC_CALC_ITEMS][HC_CALC_NAME];
    int columns = run->calc->arms + 1;
    enum hc_status status = grid_new(&grid, run->rows.count, run->items * columns);
    for (int i = 0; i < run->items && status == HC_OK; i++) {
        hc_calc_name(run, i, SHORT_LABEL, name[i]);
        head(run->calc, name[i], grid.column + i * columns);
        for (int r = 0; r < grid.rows; r++)
            fill_row(run, &run->rows.row[r], i, grid.cell + r * grid.columns + i * columns);
    }
    if (status == HC_OK) {
        (void)snprintf(grid.corner, sizeof grid.corner, "step");
        grid.labels_right = true;
        for (int r = 0; r < grid.rows; r++)
            (void)snprintf(grid.label[r], GRID_TEXT, "%" PRId64, run->rows.row[r].step);
        grid_print(&grid, out);
    }
    grid_free(&grid);
    return status;
}

static void label_rows(const struct hc_calc_run *run, int most, struct hc_grid *grid)
{
    for (int i = 0; i < run->items; i++) {
        char name[HC_CALC_NAME];
        hc_calc_name(run, i, most, name);
        (void)snprintf(grid->label[i], GRID_TEXT, "%s", name);
    }
}

enum hc_status hc_calc_print_table(const struct hc_calc_run *run, FILE *out)
{
    struct hc_grid grid;
    if (run->calc->loop)
        return print_loop(run, out);
    enum hc_status status = grid_new(&grid, run->items, run->calc->arms + 1);
    for (int i = 0; i < run->items && status == HC_OK; i++)
        fill_row(run, &run->last, i, grid.cell + i * grid.columns);
    if (status == HC_OK) {
        head(run->calc, "", grid.column);
        label_rows(run, HC_CALC_NAME - 1, &grid);
        if (!grid_fits(&grid))
            label_rows(run, SHORT_LABEL, &grid);
        grid_print(&grid, out);
    }
    grid_free(&grid);
    return status;
}

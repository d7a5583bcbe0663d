#include "cli/calc/table.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/calc/grid.h"
#include "cli/calc/number.h"

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

void hc_calc_cell_text(const struct hc_calc *calc, const struct hc_calc_cell *cell, char *text,
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

static void fill(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                 char (*cell)[HC_GRID_TEXT])
{
    int arms = run->calc->arms;
    for (int a = 0; a < arms; a++)
        hc_calc_cell_text(run->calc, &row->cell[item][a], cell[a], HC_GRID_TEXT);
    hc_calc_real_text(run, row, item, cell[arms], HC_GRID_TEXT);
}

/* The columns of one shown number, or of all. */
static void head(const struct hc_calc *calc, const char *group, struct hc_grid_column *column)
{
    for (int a = 0; a <= calc->arms; a++) {
        column[a].group = group;
        column[a].shared = a == calc->arms;
        const char *arm = a == calc->arms ? "real" : calc->arm[a].text;
        bool cut = strlen(arm) > LONGEST_HEAD;
        (void)snprintf(column[a].head, HC_GRID_TEXT, "%.*s%s", cut ? LONGEST_HEAD - 3 : 99, arm,
                       cut ? "..." : "");
    }
}

static enum hc_status print_loop(const struct hc_calc_run *run, FILE *out)
{
    struct hc_grid grid;
    char name[HC_CALC_ITEMS][HC_CALC_NAME];
    int columns = run->calc->arms + 1;
    enum hc_status status = hc_grid_new(&grid, run->rows.count, run->items * columns);
    for (int i = 0; i < run->items && status == HC_OK; i++) {
        hc_calc_name(run, i, SHORT_LABEL, name[i]);
        head(run->calc, name[i], grid.column + i * columns);
        for (int r = 0; r < grid.rows; r++)
            fill(run, &run->rows.row[r], i, grid.cell + r * grid.columns + i * columns);
    }
    if (status == HC_OK) {
        (void)snprintf(grid.corner, sizeof grid.corner, "step");
        grid.labels_right = true;
        for (int r = 0; r < grid.rows; r++)
            (void)snprintf(grid.label[r], HC_GRID_TEXT, "%" PRId64, run->rows.row[r].step);
        hc_grid_print(&grid, out);
    }
    hc_grid_free(&grid);
    return status;
}

static void label_rows(const struct hc_calc_run *run, int most, struct hc_grid *grid)
{
    for (int i = 0; i < run->items; i++) {
        char name[HC_CALC_NAME];
        hc_calc_name(run, i, most, name);
        (void)snprintf(grid->label[i], HC_GRID_TEXT, "%s", name);
    }
}

enum hc_status hc_calc_print_table(const struct hc_calc_run *run, FILE *out)
{
    struct hc_grid grid;
    if (run->calc->loop)
        return print_loop(run, out);
    enum hc_status status = hc_grid_new(&grid, run->items, run->calc->arms + 1);
    for (int i = 0; i < run->items && status == HC_OK; i++)
        fill(run, &run->last, i, grid.cell + i * grid.columns);
    if (status == HC_OK) {
        head(run->calc, "", grid.column);
        label_rows(run, HC_CALC_NAME - 1, &grid);
        if (!hc_grid_fits(&grid))
            label_rows(run, SHORT_LABEL, &grid);
        hc_grid_print(&grid, out);
    }
    hc_grid_free(&grid);
    return status;
}

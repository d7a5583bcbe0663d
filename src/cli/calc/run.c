/* The evaluation: all arms in lock step, and after each step a row of what is shown.

   Nothing that is kept grows with the number of steps: the rows of the table are few, a curve has a
   limited number of samples, and of each number in each arm the row of its last change is kept,
   from which on it may turn out to stand still.

   The real numbers have 256 bits and a bound on their own error. A formula may use these bits up:
   a chaotic one loses some at every step, and a difference of nearly equal numbers loses many at
   once. Once the bound says that a shown real number has fewer than 30 good bits left (and is not
   0 to within 2^-160, which is below every format's smallest number but fp64's), all is evaluated
   again with twice the bits, up to 2048. More would not help: the bound is a number of fp64, and
   those end at 2^-1022. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/calc/call.h"
#include "cli/calc/progress.h"
#include "cli/calc/rows.h"
#include "cli/calc/still.h"
#include "cli/command.h"
#include "cli/stop.h"

/* How often it is asked whether anything changes at all. */
enum { STILL_EVERY = 64 };

int hc_calc_refuse(const struct hc_formula_error *error)
{
    char text[1024];
    if (error->length == 0)
        return hc_complain("calc: %s", error->what);
    hc_formula_error_text(error, text, sizeof text);
    (void)fflush(stdout);
    (void)fprintf(stderr, "halfcheck: calc: %s\n", text);
    return HC_WRONG;
}

static int refuse(const struct hc_calc_run *run, int arm, enum hc_evaluated evaluated,
                  const struct hc_formula_error *error)
{
    if (evaluated == HC_EVALUATED_WRONGLY)
        return hc_calc_refuse(error);
    if (hc_evaluation_status(run->arm[arm]) == HC_NO_MEMORY)
        return hc_complain("calc: no memory");
    return hc_complain("calc: %s", hc_message());
}

/* Runs a block in all arms. */
static int run_block(struct hc_calc_run *run, const struct hc_block *block, int64_t step)
{
    struct hc_formula_error error;
    for (int a = 0; block && a < run->calc->arms; a++) {
        enum hc_evaluated evaluated = hc_evaluation_run(run->arm[a], block, step, &error);
        if (evaluated != HC_EVALUATED)
            return refuse(run, a, evaluated, &error);
    }
    return HC_AS_CLAIMED;
}

/* Gives the elements of a shown expression their places. The first row that is whole decides how
   many elements each expression has. */
static int take_items(struct hc_calc_run *run, int expression, const struct hc_value *value)
{
    const struct hc_statement *shown = &run->calc->shown->statement[expression];
    if (run->items + value->n > HC_CALC_ITEMS)
        return hc_complain("calc shows at most %d numbers, and with '%.*s' they are %lld",
                           HC_CALC_ITEMS, shown->length, shown->at,
                           (long long)(run->items + value->n));
    for (int64_t i = 0; i < value->n; i++)
        run->item[run->items++] =
            (struct hc_calc_item){.expression = expression, .element = value->list ? i : -1};
    return HC_AS_CLAIMED;
}

static struct hc_calc_real real_of(const struct hc_calc_run *run, const struct hc_real *x,
                                   double rad)
{
    struct hc_calc_real real = {.value = hc_real_exact(x), .rad = rad};
    bool inside = isfinite(real.value.hi) && real.value.hi != 0;
    real.outside =
        !inside && !hc_real_is_nan(x) && !hc_real_is_inf(x) && hc_real_compare(x, run->zero) != 0;
    return real;
}

static void fill_cells(const struct hc_calc_run *run, const struct hc_value *value, int a, int item,
                       struct hc_calc_row *row)
{
    for (int64_t i = 0; i < value->n; i++, item++) {
        if (a == 0)
            row->real[item] = real_of(run, value->real[i], value->real_rad[i]);
        double constant = value->constant ? hc_real_double(value->real[i]) : 0;
        row->cell[item][a] = (struct hc_calc_cell){
            .format = value->format,
            .want = value->constant ? constant : value->want[i],
            .got = value->constant ? constant : value->got[i],
            .rad = value->constant ? 0 : value->rad[i],
        };
    }
}

/* Evaluates what is shown. Before the loop names may be without a value yet: then there is no row,
   and *there says so. */
static int take_row(struct hc_calc_run *run, int64_t step, struct hc_calc_row *row, bool *there)
{
    struct hc_formula_error error;
    enum hc_evaluated evaluated;
    const struct hc_block *shown = run->calc->shown;
    bool first = run->items == 0;
    *there = false;
    row->step = step;
    for (int a = 0; a < run->calc->arms; a++)
        for (int x = 0, item = 0; x < shown->count; x++) {
            const struct hc_value *value =
                hc_evaluation_show(run->arm[a], shown, x, step, &evaluated, &error);
            if (!value && step == 0 && run->calc->loop && evaluated == HC_EVALUATED_WRONGLY) {
                run->items = 0;
                return HC_AS_CLAIMED;
            }
            if (!value)
                return refuse(run, a, evaluated, &error);
            if (a == 0 && first && take_items(run, x, value) != HC_AS_CLAIMED)
                return HC_WRONG;
            int end = item;
            while (end < run->items && run->item[end].expression == x)
                end++;
            if (value->n != end - item)
                return hc_complain("calc: the length of '%.*s' changes", shown->statement[x].length,
                                   shown->statement[x].at);
            fill_cells(run, value, a, item, row);
            item = end;
        }
    *there = true;
    return HC_AS_CLAIMED;
}

static bool settled(const struct hc_calc_real *real)
{
    double size = fabs(real->value.hi);
    return isnan(size) || isinf(size) || real->rad <= size * 0x1p-30 || real->rad < 0x1p-160;
}

/* Looks at a new row: what has changed in it, what has parted, and whether the table shows it. */
static enum hc_status follow(struct hc_calc_run *run, const struct hc_calc_row *row)
{
    bool shown = hc_calc_is_shown(run->calc, row->step);
    if (run->first < 0)
        run->first = row->step;
    for (int i = 0; i < run->items; i++) {
        if (run->unsettled < 0 && !settled(&row->real[i]))
            run->unsettled = row->step;
        for (int a = 0; a < run->calc->arms; a++) {
            struct hc_calc_course *course = &run->course[i * HC_CALC_ARMS + a];
            const struct hc_calc_cell *cell = &row->cell[i][a];
            double before = run->last.cell[i][a].want;
            if (run->last.step < 0 || memcmp(&before, &cell->want, sizeof before) != 0)
                course->changed = *row;
            bool turns = !course->ended && !isfinite(cell->want);
            course->ended |= turns;
            if (course->parts < 0 && !hc_calc_nearest(cell, &row->real[i])) {
                course->parts = row->step;
                turns = true;
            }
            shown |= turns && i < 2 && !run->calc->every;
        }
    }
    run->last = *row;
    enum hc_status status = shown ? hc_calc_rows_add(&run->rows, row) : HC_OK;
    return status == HC_OK && run->calc->curves ? hc_calc_sample(run, row) : status;
}

/* One step, or with step 0 what stands before the loop. */
static int step_on(struct hc_calc_run *run, int64_t step)
{
    bool there;
    const struct hc_block *block = step == 0 ? run->calc->start : run->calc->loop;
    int status = run_block(run, block, step);
    if (status == HC_AS_CLAIMED)
        status = take_row(run, step, &run->next, &there);
    if (status == HC_AS_CLAIMED && there && follow(run, &run->next) != HC_OK)
        status = hc_complain_message();
    return status;
}

static bool last_precision(const struct hc_calc_run *run)
{
    return run->precision == HC_CALC_PRECISION;
}

static int run_loop(struct hc_calc_run *run)
{
    const struct hc_calc *calc = run->calc;
    struct hc_calc_state *state = calc->loop ? hc_calc_state(run) : NULL;
    struct hc_calc_progress progress = hc_calc_progress(calc->steps);
    int status = step_on(run, 0);
    for (int64_t step = 1; step <= calc->steps && status == HC_AS_CLAIMED && run->still < 0 &&
                           (run->unsettled < 0 || last_precision(run));
         step++) {
        run->stopped_by = hc_stop_signal();
        if (run->stopped_by)
            break;
        if (state && step % STILL_EVERY == 1)
            hc_calc_state_keep(state);
        status = step_on(run, step);
        if (state && step % STILL_EVERY == 1 && step < calc->steps && hc_calc_state_same(state))
            run->still = step - 1;
        hc_calc_progress_show(&progress, step);
    }
    hc_calc_progress_end(&progress);
    hc_calc_state_free(state);
    return status;
}

static void close_run(struct hc_calc_run *run)
{
    for (int a = 0; a < HC_CALC_ARMS; a++)
        if (run->arm[a])
            hc_evaluation_close(run->arm[a]);
    if (run->zero)
        hc_real_free(run->zero);
    free(run->course);
    free(run->rows.row);
    free(run->samples.row);
}

void hc_calc_free(struct hc_calc_run *run)
{
    close_run(run);
    *run = (struct hc_calc_run){.calc = run->calc};
}

static int run_at(struct hc_calc_run *run, const struct hc_calc *calc, long precision)
{
    struct hc_evaluation_options options = {.call = calc->backend ? hc_calc_call : NULL,
                                            .context = (void *)calc,
                                            .precision = precision};
    *run = (struct hc_calc_run){.calc = calc,
                                .precision = precision,
                                .stride = 1,
                                .first = -1,
                                .still = -1,
                                .unsettled = -1};
    run->last.step = -1;
    run->zero = hc_real_new(0);
    run->course = calloc((size_t)HC_CALC_ITEMS * HC_CALC_ARMS, sizeof *run->course);
    if (!run->course)
        return hc_complain("calc: no memory");
    for (int i = 0; i < HC_CALC_ITEMS * HC_CALC_ARMS; i++)
        run->course[i].parts = -1;
    for (int a = 0; a < calc->arms; a++) {
        run->arm[a] = hc_evaluation_open(calc->program, &calc->arm[a], &options);
        if (!run->arm[a])
            return hc_complain_message();
    }
    return run_loop(run);
}

/* Adds the rows from which on a number stands still, and the last row. */
static enum hc_status add_turns(struct hc_calc_run *run)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < run->items && i < 2 && !run->calc->every; i++)
        for (int a = 0; a < run->calc->arms && status == HC_OK; a++)
            if (hc_calc_stalls(run, i, a))
                status = hc_calc_rows_add(&run->rows, &run->course[i * HC_CALC_ARMS + a].changed);
    if (status == HC_OK && run->last.step >= 0)
        status = hc_calc_rows_add(&run->rows, &run->last);
    if (status == HC_OK && run->last.step >= 0 && run->calc->curves)
        status = hc_calc_rows_add(&run->samples, &run->last);
    return status;
}

int hc_calc_run(struct hc_calc_run *run, const struct hc_calc *calc)
{
    int status = run_at(run, calc, HC_REFERENCE_PRECISION);
    while (status == HC_AS_CLAIMED && run->unsettled >= 0 && !last_precision(run) &&
           !run->stopped_by) {
        long precision = 2 * run->precision;
        close_run(run);
        status = run_at(run, calc, precision);
    }
    if (status == HC_AS_CLAIMED && add_turns(run) != HC_OK)
        status = hc_complain_message();
    return status;
}

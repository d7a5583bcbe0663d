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
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/run_call.h"
#include "check/timing.h"
#include "cli/calc/calc.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/stop.h"
#include "formula/evaluate.h"
#include "num/ulp.h"

struct calc_progress {
    bool terminal; /* stderr is one */
    int64_t steps;
    double started; /* hc_clock() */
    double drawn;   /* when the line was last drawn; 0: it is not there */
};

/* Which steps a table shows, and the rows of these. */

enum { ALL_STEPS = 15, FIRST_STEPS = 3, PARTS = 10, MANY_STEPS = 100000 };

static bool is_power_of_ten(int64_t step)
{
    while (step % 10 == 0)
        step /= 10;
    return step == 1;
}

/* The least of 1, 2, 5, 10, 20, 50, ... that makes at most PARTS parts. */
static int64_t even_part(int64_t steps)
{
    static const int factor[] = {1, 2, 5};
    for (int64_t power = 1;; power *= 10)
        for (int i = 0; i < 3; i++)
            if (steps / (factor[i] * power) <= PARTS)
                return factor[i] * power;
}

/* Whether the table has this step in any case: the first steps; the last; and between them each of
   at most ten even parts, or of many steps the powers of ten. */
static bool calc_is_shown(const struct hc_calc *calc, int64_t step)
{
    if (step == 0 || step == calc->steps)
        return true;
    if (calc->every)
        return step % calc->every == 0;
    if (step <= FIRST_STEPS || calc->steps <= ALL_STEPS)
        return true;
    return calc->steps > MANY_STEPS ? is_power_of_ten(step) : step % even_part(calc->steps) == 0;
}

/* Adds a copy of a row at its place, unless its step is there. HC_NO_MEMORY if there is none. */
static enum hc_status calc_rows_add(struct hc_calc_rows *rows, const struct hc_calc_row *row)
{
    int at = rows->count;
    while (at > 0 && rows->row[at - 1].step >= row->step)
        at--;
    if (at < rows->count && rows->row[at].step == row->step)
        return HC_OK;
    if (rows->count == rows->room) {
        int room = rows->room ? 2 * rows->room : 32;
        struct hc_calc_row *more = realloc(rows->row, (size_t)room * sizeof *more);
        if (!more)
            return hc_fail(HC_NO_MEMORY, "no memory for %d rows", room);
        rows->row = more;
        rows->room = room;
    }
    memmove(rows->row + at + 1, rows->row + at, (size_t)(rows->count - at) * sizeof *row);
    rows->row[at] = *row;
    rows->count++;
    return HC_OK;
}

/* Adds a sample to the curves. When there are too many, every other one is dropped, and from then
   on half as many are taken. */
static enum hc_status calc_sample(struct hc_calc_run *run, const struct hc_calc_row *row)
{
    struct hc_calc_rows *samples = &run->samples;
    if (row->step % run->stride != 0 && row->step != run->calc->steps)
        return HC_OK;
    if (samples->count == HC_CALC_SAMPLES) {
        int kept = 1; /* the first one stays */
        run->stride *= 2;
        for (int i = 1; i < samples->count; i++)
            if (samples->row[i].step % run->stride == 0)
                samples->row[kept++] = samples->row[i];
        samples->count = kept;
        return calc_sample(run, row);
    }
    return calc_rows_add(samples, row);
}

/* When a number parts from the real one, and when it stands still.

   A format has done what it can as long as its number is the nearest to the real one. That is the
   question that hc_calc_nearest answers, and the first step at which the answer is no is where the
   two part. The real number is itself known to +-rad only. If it lies so near to the middle between
   two numbers that either may be the nearest, both are accepted. */

bool hc_calc_nearest(const struct hc_calc_cell *cell, const struct hc_calc_real *real)
{
    const struct hc_exact *x = &real->value;
    enum hc_format format = cell->format == HC_FORMAT_COUNT ? HC_FP64 : cell->format;
    if (isnan(x->hi) || isnan(cell->want))
        return isnan(x->hi) && isnan(cell->want);
    if (isinf(cell->want) && isfinite(x->hi))
        return false;
    if (hc_decode(format, hc_encode(format, x->hi, x->lo, HC_NEAREST)) == cell->want)
        return true;
    double distance = fabs((cell->want - x->hi) - x->lo);
    double half = hc_ulp(format, x->hi) / 2;
    return distance <= half + real->rad && real->rad > 0;
}

static bool differ(double a, double b)
{
    return a != b && !(isnan(a) && isnan(b));
}

bool hc_calc_stalls(const struct hc_calc_run *run, int item, int arm)
{
    const struct hc_calc_row *changed = &run->trajectory[item * HC_CALC_ARMS + arm].changed;
    const struct hc_calc_cell *cell = &run->last.cell[item][arm];
    const struct hc_exact *then = &changed->real[item].value;
    const struct hc_exact *now = &run->last.real[item].value;
    bool moved = differ(then->hi, now->hi) || then->lo != now->lo;
    if (!run->calc->loop || hc_calc_nearest(cell, &run->last.real[item]))
        return false;
    return !isfinite(cell->want) || (moved && run->last.step - changed->step > 1);
}

/* Whether a step leaves everything as it was. Then no later step changes anything either, unless a
   formula reads the number of the step. */

enum { LARGEST_LIST = 64 };

/* A copy of one element. */
struct kept {
    double want;
    double got;
    struct hc_real *real;
};

struct calc_state {
    const struct hc_calc_run *run;
    int names;
    struct kept *kept; /* [arms][names][LARGEST_LIST] */
    bool whole;        /* all is kept */
};

static bool reads_step(const struct hc_block *block)
{
    for (int i = 0; i < block->count; i++)
        if (hc_node_reads_step(block->statement[i].value))
            return true;
    return false;
}

/* NULL if formulas read `step`, so that no state can be the last one; or if there is no memory. */
static struct calc_state *calc_state(const struct hc_calc_run *run)
{
    const struct hc_calc *calc = run->calc;
    if (reads_step(calc->loop) || reads_step(calc->shown))
        return NULL;
    struct calc_state *state = calloc(1, sizeof *state);
    int names = hc_program_names(calc->program);
    struct kept *kept = calloc((size_t)calc->arms * (size_t)names * LARGEST_LIST, sizeof *kept);
    if (!state || !kept) {
        free(state);
        free(kept);
        return NULL;
    }
    *state = (struct calc_state){.run = run, .names = names, .kept = kept};
    return state;
}

static struct kept *kept_at(const struct calc_state *state, int arm, int name)
{
    return state->kept + ((size_t)arm * (size_t)state->names + (size_t)name) * LARGEST_LIST;
}

static void calc_state_free(struct calc_state *state)
{
    if (!state)
        return;
    int count = state->run->calc->arms * state->names * LARGEST_LIST;
    for (int i = 0; i < count; i++)
        if (state->kept[i].real)
            hc_real_free(state->kept[i].real);
    free(state->kept);
    free(state);
}

static void keep_value(const struct hc_value *value, struct kept *kept, long precision)
{
    for (int64_t i = 0; i < value->n; i++) {
        if (!kept[i].real)
            kept[i].real = hc_real_new_bits(0, precision);
        hc_real_copy(kept[i].real, value->real[i]);
        kept[i].want = value->constant ? 0 : value->want[i];
        kept[i].got = value->constant ? 0 : value->got[i];
    }
}

/* Keeps a copy of the values of all names in all arms; and says whether they are still the same,
   the real numbers to their last bit. Lists of many elements are never the same. */
static void calc_state_keep(struct calc_state *state)
{
    state->whole = true;
    for (int a = 0; a < state->run->calc->arms && state->whole; a++)
        for (int name = 0; name < state->names && state->whole; name++) {
            const struct hc_value *value = hc_evaluation_value(state->run->arm[a], name);
            state->whole = !value || value->n <= LARGEST_LIST;
            if (value && state->whole)
                keep_value(value, kept_at(state, a, name), state->run->precision);
        }
}

static bool same(double a, double b)
{
    return (a == b && signbit(a) == signbit(b)) || (isnan(a) && isnan(b));
}

static bool same_real(const struct hc_real *a, const struct hc_real *b)
{
    if (hc_real_is_nan(a) || hc_real_is_nan(b))
        return hc_real_is_nan(a) && hc_real_is_nan(b);
    return hc_real_compare(a, b) == 0;
}

static bool same_value(const struct hc_value *value, const struct kept *kept)
{
    for (int64_t i = 0; i < value->n; i++)
        if (!kept[i].real || !same_real(kept[i].real, value->real[i]) ||
            (!value->constant &&
             (!same(kept[i].want, value->want[i]) || !same(kept[i].got, value->got[i]))))
            return false;
    return true;
}

static bool calc_state_same(const struct calc_state *state)
{
    for (int a = 0; a < state->run->calc->arms && state->whole; a++)
        for (int name = 0; name < state->names; name++) {
            const struct hc_value *value = hc_evaluation_value(state->run->arm[a], name);
            if (value && (value->n > LARGEST_LIST || !same_value(value, kept_at(state, a, name))))
                return false;
        }
    return state->whole;
}

/* The progress of a long calculation, on a terminal. */

static struct calc_progress calc_progress(int64_t steps)
{
    return (struct calc_progress){
        .terminal = hc_terminal_draws(stderr), .steps = steps, .started = hc_clock()};
}

/* Removes the line. */
static void calc_progress_end(struct calc_progress *progress)
{
    if (progress->drawn > 0)
        hc_terminal_clear(stderr);
    progress->drawn = 0;
}

static void calc_progress_show(struct calc_progress *progress, int64_t step)
{
    double now = progress->terminal ? hc_clock() : 0;
    double elapsed = now - progress->started;
    if (!progress->terminal || elapsed < 1 || now - progress->drawn < 0.2)
        return;
    double rate = (double)step / elapsed;
    long long left = (long long)((double)(progress->steps - step) / rate);
    char line[160];
    (void)snprintf(line, sizeof line, "step %lld of %lld, %lld:%02lld:%02lld left, %.3g steps/s",
                   (long long)step, (long long)progress->steps, left / 3600, left / 60 % 60,
                   left % 60, rate);
    hc_terminal_redraw(stderr, line);
    progress->drawn = now;
}

/* Operations of a formula on a backend. */

/* Runs a call on calc->backend, between guards (check/guarded.h). `calc` is a struct hc_calc. */
static enum hc_status calc_call(const struct hc_call *call, void *context)
{
    const struct hc_calc *calc = context;
    struct hc_breach breach;
    enum hc_status status = hc_run_call(calc->backend, calc->queue, call, &breach);
    if (breach.text[0])
        return hc_fail(HC_DEVICE, "%s: %s", calc->backend->name, breach.text);
    return status;
}

/* How often it is asked whether anything changes at all. */
enum { COMPARE_EVERY = 64 };

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

static int refuse_evaluation(const struct hc_calc_run *run, int arm, enum hc_evaluated evaluated,
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
            return refuse_evaluation(run, a, evaluated, &error);
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
                return refuse_evaluation(run, a, evaluated, &error);
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
    bool shown = calc_is_shown(run->calc, row->step);
    if (run->first < 0)
        run->first = row->step;
    for (int i = 0; i < run->items; i++) {
        if (run->unsettled < 0 && !settled(&row->real[i]))
            run->unsettled = row->step;
        for (int a = 0; a < run->calc->arms; a++) {
            struct hc_calc_trajectory *trajectory = &run->trajectory[i * HC_CALC_ARMS + a];
            const struct hc_calc_cell *cell = &row->cell[i][a];
            double before = run->last.cell[i][a].want;
            if (run->last.step < 0 || memcmp(&before, &cell->want, sizeof before) != 0)
                trajectory->changed = *row;
            bool turns = !trajectory->ended && !isfinite(cell->want);
            trajectory->ended |= turns;
            if (trajectory->parts < 0 && !hc_calc_nearest(cell, &row->real[i])) {
                trajectory->parts = row->step;
                turns = true;
            }
            shown |= turns && i < 2 && !run->calc->every;
        }
    }
    run->last = *row;
    enum hc_status status = shown ? calc_rows_add(&run->rows, row) : HC_OK;
    return status == HC_OK && run->calc->curves ? calc_sample(run, row) : status;
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
    struct calc_state *state = calc->loop ? calc_state(run) : NULL;
    struct calc_progress progress = calc_progress(calc->steps);
    int status = step_on(run, 0);
    for (int64_t step = 1; step <= calc->steps && status == HC_AS_CLAIMED && run->last_change < 0 &&
                           (run->unsettled < 0 || last_precision(run));
         step++) {
        run->stopped_by = hc_stop_signal();
        if (run->stopped_by)
            break;
        if (state && step % COMPARE_EVERY == 1)
            calc_state_keep(state);
        status = step_on(run, step);
        if (state && step % COMPARE_EVERY == 1 && step < calc->steps && calc_state_same(state))
            run->last_change = step - 1;
        calc_progress_show(&progress, step);
    }
    calc_progress_end(&progress);
    calc_state_free(state);
    return status;
}

static void close_run(struct hc_calc_run *run)
{
    for (int a = 0; a < HC_CALC_ARMS; a++)
        if (run->arm[a])
            hc_evaluation_close(run->arm[a]);
    if (run->zero)
        hc_real_free(run->zero);
    free(run->trajectory);
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
    struct hc_evaluation_options options = {
        .call = calc->backend ? calc_call : NULL, .context = (void *)calc, .precision = precision};
    *run = (struct hc_calc_run){.calc = calc,
                                .precision = precision,
                                .stride = 1,
                                .first = -1,
                                .last_change = -1,
                                .unsettled = -1};
    run->last.step = -1;
    run->zero = hc_real_new(0);
    run->trajectory = calloc((size_t)HC_CALC_ITEMS * HC_CALC_ARMS, sizeof *run->trajectory);
    if (!run->trajectory)
        return hc_complain("calc: no memory");
    for (int i = 0; i < HC_CALC_ITEMS * HC_CALC_ARMS; i++)
        run->trajectory[i].parts = -1;
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
                status = calc_rows_add(&run->rows, &run->trajectory[i * HC_CALC_ARMS + a].changed);
    if (status == HC_OK && run->last.step >= 0)
        status = calc_rows_add(&run->rows, &run->last);
    if (status == HC_OK && run->last.step >= 0 && run->calc->curves)
        status = calc_rows_add(&run->samples, &run->last);
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

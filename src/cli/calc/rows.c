#include "cli/calc/rows.h"

#include <stdlib.h>
#include <string.h>

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

bool hc_calc_is_shown(const struct hc_calc *calc, int64_t step)
{
    if (step == 0 || step == calc->steps)
        return true;
    if (calc->every)
        return step % calc->every == 0;
    if (step <= FIRST_STEPS || calc->steps <= ALL_STEPS)
        return true;
    return calc->steps > MANY_STEPS ? is_power_of_ten(step) : step % even_part(calc->steps) == 0;
}

enum hc_status hc_calc_rows_add(struct hc_calc_rows *rows, const struct hc_calc_row *row)
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

enum hc_status hc_calc_sample(struct hc_calc_run *run, const struct hc_calc_row *row)
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
        return hc_calc_sample(run, row);
    }
    return hc_calc_rows_add(samples, row);
}

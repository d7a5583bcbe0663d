/* What a training step counts, decides and looks up. */
#include <math.h>

#include "check/family/kit.h"
#include "check/generate/integers.h"

/* Rows of a table. */
static const struct hc_op_shape tables[] = {
    {"7", HC_QUICK, true, false, {7}},
    {"1", HC_STANDARD, true, false, {1}},
    {"32", HC_STANDARD, true, false, {32}},
    {"65", HC_STANDARD, true, false, {65}},
    {"5-in-place", HC_STANDARD, true, true, {5}},
    {"1001", HC_STANDARD, false, false, {1001}},
    {.name = NULL},
};

static const struct hc_op_shape scalars[] = {
    {"1", HC_QUICK, true, false, {1}},
    {"1-in-place", HC_STANDARD, true, true, {1}},
    {.name = NULL},
};

static const struct hc_variant clips[] = {
    {.name = "", .params.clip = {1}},
    {.name = "-tenth", .params.clip = {0.1}},
    {.name = "-bare", .params.clip = {5}, .bare = true},
    {.name = NULL},
};

static void open_rates(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)variant;
    call->in[HC_FIRST] = hc_rank2(d[0], HC_TABLE_COLUMNS, false);
}

static void open_log(struct hc_call *call, const int64_t *d, const struct hc_variant *variant)
{
    (void)variant;
    call->in[HC_FIRST] = hc_rank2(d[0], HC_STEP_LOG_COLUMNS, false);
}

static bool has_verdict(const struct hc_call *call)
{
    return hc_tensor_count(&call->in[HC_CLIP_OVERFLOWED]) > 0;
}

/* rates and step_log, with counts of steps at the end of the table, in its middle, and beyond it:
   rates stay at the last row, the log begins again. */
static bool table_integers(struct hc_integers *z)
{
    const struct hc_call *call = &z->call;
    const struct hc_tensor *counts =
        &call->in[call->op == HC_OP_step_log ? HC_STEP_LOG_COUNTS : HC_RATES_COUNTS];
    const struct hc_tensor *table = &call->in[HC_FIRST];
    bool log = call->op == HC_OP_step_log;
    int64_t rows = table->shape[0];
    int64_t columns = table->shape[1];
    const int64_t choice[] = {rows - 1, rows / 2, rows, 2 * rows + 1};
    int64_t steps = choice[z->number % 4];
    int64_t row = log ? steps % rows : steps < rows ? steps : rows - 1;
    const int32_t *in_row = z->value[HC_FIRST] + row * columns;
    for (int64_t i = 0; i < rows * columns; i++) {
        z->value[HC_FIRST][i] = hc_integers_draw(z, 0, i, 200);
        if (log)
            z->want[HC_STEP_LOG_NEW_ROWS][i] = z->value[HC_FIRST][i];
    }
    hc_integers_set(z, HC_FIRST, 1);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(counts, i, 0);
    hc_tensor_set(counts, HC_COUNT_STEPS, (double)steps);
    hc_tensor_set(counts, HC_COUNT_TAKEN, 41);
    for (int i = 0; i < HC_STEP_LOG_COLUMNS && log; i++) {
        hc_tensor_set(&call->in[HC_STEP_LOG_SCALARS + i], 0, 1000 + i);
        z->want[HC_STEP_LOG_NEW_ROWS][row * columns + i] = 1000 + i;
    }
    if (log)
        return true;
    z->want[HC_RATES_HYPER][HC_HYPER_LR] = in_row[HC_TABLE_LR];
    z->want[HC_RATES_HYPER][HC_HYPER_BETA1] = in_row[HC_TABLE_BETA1];
    z->want[HC_RATES_HYPER][HC_HYPER_STEP] = 42;
    return true;
}

static const struct hc_family_extent rows[] = {{HC_EXTENT_TABLE_ROWS, HC_NEVER_ALONE, false},
                                               {HC_EXTENT_COUNT, 0, false}};

/* Sums of squares. */
static const struct hc_bit_scalar squares = {HC_CLIP_SUM_SQUARES,
                                             0,
                                             15,
                                             {0, 1, 0.25, 25, 1e-12, 1e-14, 1e-30, 0x1p-149,
                                              0x1.fffffep127, 3e38, 2, (double)INFINITY,
                                              (double)NAN, -1, -0.0}};

static const char decides[] = "it counts and decides, which cases of its own follow";

const struct hc_family hc_family_rates = {.sets = hc_sets_fp32,
                                          .shapes = tables,
                                          .variants = hc_variants_plain,
                                          .open = open_rates,
                                          .extents = rows,
                                          .integers = table_integers};
const struct hc_family hc_family_step_log = {.sets = hc_sets_fp32,
                                             .shapes = tables,
                                             .variants = hc_variants_bare,
                                             .open = open_log,
                                             .extents = rows,
                                             .integers = table_integers};
const struct hc_family hc_family_clip = {.sets = hc_sets_fp32,
                                         .shapes = scalars,
                                         .variants = clips,
                                         .finds = has_verdict,
                                         .bit_scalar = &squares,
                                         .no_integers = "its result is a root"};
const struct hc_family hc_family_scaler_update = {.sets = hc_sets_none, .no_integers = decides};
const struct hc_family hc_family_overflow_verdict = {.sets = hc_sets_none, .no_integers = decides};
const struct hc_family hc_family_augment = {.sets = hc_sets_none, .no_integers = decides};

/* The sizes past borders, and the tables that they come from. */
#include "check/generate/border.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/generate/cases.h"
#include "check/family/family.h"
#include "check/generate/integers.h"
#include "check/runner.h"
#include "kernels/host/host.h"
#include "kernels/host/norm_tiling.h"
#include "op/defined.h"

static bool has(const struct hc_border_size *sizes, int count, int64_t size)
{
    bool found = false;
    for (int i = 0; i < count; i++)
        found |= sizes[i].size == size;
    return found;
}

static void expect_crossed(enum hc_extent extent, int64_t border)
{
    struct hc_border_size sizes[HC_BORDER_SIZES];
    int count = hc_border_sizes(NULL, 0, extent, sizes);
    const int64_t beside[] = {border - 1, border, border + 1, 2 * border + 7};
    for (int i = 0; i < 4; i++)
        cr_expect(has(sizes, count, beside[i]), "%s: no %lld", hc_extent_names[extent],
                  (long long)beside[i]);
}

Test(border, every_border_of_every_backend_that_is_built_in_is_crossed)
{
    int n;
    const struct hc_backend *const *backends = hc_backends_built_in(&n);
    for (int i = 0; i < n; i++) {
        cr_assert_not_null(backends[i]->borders, "%s states none", backends[i]->name);
        for (const struct hc_border *b = backends[i]->borders; b->size; b++)
            expect_crossed(b->extent, b->size);
    }
}

/* The constants that host's kernels work by: a border that moves is crossed where it has gone. */
Test(border, the_constants_of_hosts_kernels_are_crossed)
{
    expect_crossed(HC_EXTENT_VECTOR, HC_HOST_BLOCK);
    expect_crossed(HC_EXTENT_VECTOR, HC_HOST_SMALL);
    expect_crossed(HC_EXTENT_TERMS, HC_HOST_CHUNKS * HC_HOST_BLOCK);
    expect_crossed(HC_EXTENT_GEMM_K, HC_TILE_TERMS);
    expect_crossed(HC_EXTENT_NORM_ELEMENTS, HC_NORM_CHUNK);
    expect_crossed(HC_EXTENT_NORM_CHANNELS, HC_NORM_BLOCK);
}

Test(border, sizes_are_positive_sorted_and_different)
{
    struct hc_border_size sizes[HC_BORDER_SIZES];
    for (int e = 0; e < HC_EXTENT_COUNT; e++) {
        int count = hc_border_sizes(NULL, 0, (enum hc_extent)e, sizes);
        cr_expect(count > 0, "%s", hc_extent_names[e]);
        for (int i = 0; i < count; i++)
            cr_expect(sizes[i].size > (i ? sizes[i - 1].size : 0), "%s", hc_extent_names[e]);
    }
}

Test(border, a_backend_that_states_none_gets_powers_of_two)
{
    const struct hc_backend silent = {.name = "silent"};
    const struct hc_backend *run = &silent;
    struct hc_border_size sizes[HC_BORDER_SIZES];
    int count = hc_border_sizes(&run, 1, HC_EXTENT_VECTOR, sizes);
    for (int64_t border = 1; border <= 1 << 18; border *= 2)
        cr_expect(has(sizes, count, border + 1) && has(sizes, count, 2 * border + 7), "%lld",
                  (long long)border);
}

Test(border, a_plug_ins_borders_are_crossed_by_all)
{
    static const struct hc_border own[] = {{HC_EXTENT_VECTOR, 777}, {HC_EXTENT_COUNT, 0}};
    const struct hc_backend plugin = {.name = "plug-in", .borders = own};
    const struct hc_backend *run[] = {hc_backend_by_name("host"), &plugin};
    struct hc_border_size sizes[HC_BORDER_SIZES];
    cr_expect(!has(sizes, hc_border_sizes(run, 1, HC_EXTENT_VECTOR, sizes), 778));
    cr_expect(has(sizes, hc_border_sizes(run, 2, HC_EXTENT_VECTOR, sizes), 778));
}

static bool passes(const struct hc_result *result, void *context)
{
    int *count = context;
    cr_expect_eq(result->verdict, HC_PASS, "%s: %s", result->what->name, result->note);
    (*count)++;
    return true;
}

/* All sums of a product stay integers that 14 bits hold. */
Test(border, a_narrow_accumulator_gets_smaller_integers)
{
    struct hc_integers z = {.call = {.op = HC_OP_gemm}, .precision = 14};
    cr_expect_eq(hc_integers_factor(&z, 1 << 13), 0);
    int32_t most = hc_integers_factor(&z, 500);
    cr_expect(most > 0 && 500 * most * most <= 1 << 13, "%d", most);
}

/* The results that integer arithmetic gives are MPFR's. */
static void expect_references(enum hc_op op, int64_t n)
{
    struct hc_opspace space = hc_opspace(op);
    struct hc_op_shape shape = {.d = {n, n, n, n, n, 1, 1, 0}};
    if (hc_ops[op].class_ == HC_CLASS_POOL)
        shape = (struct hc_op_shape){.d = {2, 4, 6, 3, 2}};
    if (hc_ops[op].class_ == HC_CLASS_CONV)
        shape = (struct hc_op_shape){.d = {2, 5, 7, 3, 4, 3, 2, 1}};
    if (hc_ops[op].class_ == HC_CLASS_BATCH_NORM)
        shape = (struct hc_op_shape){.d = {n, 1, 1, 3}};
    if (hc_ops[op].class_ == HC_CLASS_DEFINED) /* of up to five extents, all of them sums' */
        shape = (struct hc_op_shape){.d = {5, 6, 4, 5, 3}};
    for (int number = 0; number < 8; number++) {
        struct hc_variant variant = hc_integers_variant(op, number);
        struct hc_integers z = {.precision = 24, .number = number};
        z.call = hc_op_call(op, &space.sets[0], &shape, &variant);
        for (int i = 0; i < hc_ops[op].inputs; i++) {
            size_t count = (size_t)hc_tensor_count(&z.call.in[i]);
            z.value[i] = calloc(count + 1, sizeof(int32_t));
            if (!hc_op_absent(&z.call, i))
                z.call.in[i].data = calloc(count + 1, 8);
        }
        for (int o = 0; o < hc_ops[op].outputs; o++) {
            z.want[o] = calloc((size_t)hc_tensor_count(&z.call.out[o]) + 1, sizeof(double));
            if (!hc_op_absent(&z.call, hc_ops[op].inputs + o))
                z.call.out[o].data = z.want[o]; /* only that there is one */
        }
        cr_assert(hc_integers_fill(&z), "%s", hc_ops[op].name);
        for (int o = 0; o < hc_ops[op].outputs; o++)
            for (int64_t i = 0; z.call.out[o].data && i < hc_tensor_count(&z.call.out[o]); i++) {
                struct hc_exact want = hc_reference_value(&z.call, o, i);
                double off = fabs(want.hi - z.want[o][i]);
                cr_expect(want.hi == z.want[o][i] || off <= 1e-12 * fabs(want.hi),
                          "%s out%d[%lld]: want %.17g, got %.17g", hc_ops[op].name, o, (long long)i,
                          want.hi, z.want[o][i]);
            }
        for (int s = 0; s < HC_MAX_IN; s++) {
            free(z.value[s]);
            free(z.call.in[s].data);
        }
        for (int o = 0; o < HC_MAX_OUT; o++)
            free(z.want[o]);
    }
}

Test(border, every_op_has_integers_or_a_reason_to_have_none)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        cr_expect(hc_integers_known((enum hc_op)op) || hc_family((enum hc_op)op)->no_integers,
                  "%s has none", hc_ops[op].name);
}

static void expect_unimplemented(const struct hc_result *result, const char *line)
{
    cr_expect_eq(result->verdict, HC_UNIMPLEMENTED, "%s", result->note);
    cr_expect_str_eq(result->note, line);
}

static bool lacks_integers(const struct hc_result *result, void *context)
{
    (void)context;
    expect_unimplemented(result, "the row of add in src/check/family/ has no `integers`");
    return true;
}

static bool lacks_shapes(const struct hc_result *result, void *context)
{
    (void)context;
    expect_unimplemented(result, "the row of add in src/check/family/ has no shapes");
    return true;
}

static void run_one(const struct hc_case_table *table, const char *name,
                    bool (*report)(const struct hc_result *, void *))
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    for (int i = 0; i < table->count; i++) {
        const struct hc_case *only = &table->cases[i];
        struct hc_run_options options = {.cases = &only,
                                         .case_count = 1,
                                         .backends = &exact,
                                         .backend_count = 1,
                                         .level = HC_STANDARD,
                                         .report = report};
        if (strcmp(only->name, name) == 0) {
            cr_assert_eq(hc_run_cases(&options), HC_OK);
            return;
        }
    }
    cr_assert_fail("there is no case %s", name);
}

/* A new op whose row has nothing, or formats alone. */
Test(border, an_op_whose_family_gives_no_filler_is_refused_in_a_sentence)
{
    static const struct hc_format_set sets[] = {{"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
                                                {.name = NULL}};
    static const struct hc_family begun = {.sets = sets};
    (void)hc_family_replace(HC_OP_add, &begun);
    run_one(hc_border_cases(), "border/add", lacks_integers);
    run_one(hc_op_cases(), "op/add", lacks_shapes);
}

Test(border, integer_arithmetic_and_mpfr_agree)
{
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (hc_integers_known((enum hc_op)op))
            expect_references((enum hc_op)op, 23);
}

Test(border, exact_and_host_pass_every_case)
{
    const struct hc_case_table *table = hc_border_cases();
    const struct hc_case **all = malloc((size_t)table->count * sizeof(struct hc_case *));
    const struct hc_backend *backends[] = {hc_backend_by_name("exact"), hc_backend_by_name("host")};
    int count = 0;
    for (int i = 0; i < table->count; i++)
        all[i] = &table->cases[i];
    struct hc_run_options options = {.cases = all,
                                     .case_count = table->count,
                                     .backends = backends,
                                     .backend_count = 2,
                                     .level = HC_STANDARD,
                                     .report = passes,
                                     .context = &count};
    cr_assert_eq(hc_run_cases(&options), HC_OK);
    cr_expect_eq(count, 2 * table->count);
    free(all);
}

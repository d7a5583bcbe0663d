#include "cli/calc/still.h"

#include <math.h>
#include <stdlib.h>

enum { LARGEST_LIST = 64 };

/* A copy of one element. */
struct kept {
    double want;
    double got;
    struct hc_real *real;
};

struct hc_calc_state {
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

struct hc_calc_state *hc_calc_state(const struct hc_calc_run *run)
{
    const struct hc_calc *calc = run->calc;
    if (reads_step(calc->loop) || reads_step(calc->shown))
        return NULL;
    struct hc_calc_state *state = calloc(1, sizeof *state);
    int names = hc_program_names(calc->program);
    struct kept *kept = calloc((size_t)calc->arms * (size_t)names * LARGEST_LIST, sizeof *kept);
    if (!state || !kept) {
        free(state);
        free(kept);
        return NULL;
    }
    *state = (struct hc_calc_state){.run = run, .names = names, .kept = kept};
    return state;
}

static struct kept *kept_at(const struct hc_calc_state *state, int arm, int name)
{
    return state->kept + ((size_t)arm * (size_t)state->names + (size_t)name) * LARGEST_LIST;
}

void hc_calc_state_free(struct hc_calc_state *state)
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

void hc_calc_state_keep(struct hc_calc_state *state)
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

bool hc_calc_state_same(const struct hc_calc_state *state)
{
    for (int a = 0; a < state->run->calc->arms && state->whole; a++)
        for (int name = 0; name < state->names; name++) {
            const struct hc_value *value = hc_evaluation_value(state->run->arm[a], name);
            if (value && (value->n > LARGEST_LIST || !same_value(value, kept_at(state, a, name))))
                return false;
        }
    return state->whole;
}

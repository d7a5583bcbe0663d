#include "define/tape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_STEPS = 1 << 20 };

bool hc_tape_open(struct hc_tape *tape, const struct hc_instance *instance)
{
    bool memory = true;
    *tape = (struct hc_tape){.room = 1 << 10};
    tape->step = calloc((size_t)tape->room, sizeof *tape->step);
    for (int i = 0; i < instance->definition->inputs; i++) {
        tape->elements[i] = hc_tensor_count(&instance->input[i]);
        tape->input[i] = calloc((size_t)tape->elements[i] + 1, sizeof *tape->input[i]);
        memory = memory && tape->input[i];
    }
    hc_tape_clear(tape);
    if (!memory || !tape->step)
        (void)hc_fail(HC_NO_MEMORY, "no memory for derivatives");
    return memory && tape->step;
}

void hc_tape_close(struct hc_tape *tape)
{
    free(tape->step);
    for (int i = 0; i < HC_MAX_DEFINED_TENSORS; i++)
        free(tape->input[i]);
}

void hc_tape_clear(struct hc_tape *tape)
{
    tape->count = 1;
    tape->full = false;
    for (int i = 0; i < HC_MAX_DEFINED_TENSORS; i++)
        if (tape->input[i])
            memset(tape->input[i], 0, (size_t)tape->elements[i] * sizeof *tape->input[i]);
}

int32_t hc_tape_add(struct hc_tape *tape, const struct hc_tape_step *step)
{
    if (tape->count == tape->room && !tape->full) {
        int32_t room = tape->room * 2;
        struct hc_tape_step *more =
            room <= MAX_STEPS ? realloc(tape->step, (size_t)room * sizeof *more) : NULL;
        tape->full = !more;
        tape->step = more ? more : tape->step;
        tape->room = more ? room : tape->room;
    }
    if (tape->full)
        return 0;
    tape->step[tape->count] = *step;
    return tape->count++;
}

int32_t hc_tape_input(struct hc_tape *tape, int tensor, int64_t index, double value)
{
    int32_t *known = &tape->input[tensor][index];
    if (!*known)
        *known = hc_tape_add(
            tape, &(struct hc_tape_step){
                      .expression = -1, .tensor = tensor, .index = index, .value = value});
    return *known;
}

void hc_tape_mark_partial(struct hc_tape *tape, int32_t step)
{
    tape->step[step].partial = true;
}

/* The derivatives of a function by its operands; at a kink, the slope of one side. */
static void slopes(const struct hc_tape_step *s, double *d)
{
    const double *x = s->operand;
    double y = s->value;
    d[0] = 1;
    d[1] = d[2] = 0;
    switch ((int)s->function) {
    case HC_FN_add:
        d[1] = 1;
        break;
    case HC_FN_sub:
        d[1] = -1;
        break;
    case HC_FN_mul:
        d[0] = x[1];
        d[1] = x[0];
        break;
    case HC_FN_div:
        d[0] = 1 / x[1];
        d[1] = -y / x[1];
        break;
    case HC_FN_fma:
        d[0] = x[1];
        d[1] = x[0];
        d[2] = 1;
        break;
    case HC_FN_sqrt:
        d[0] = 0.5 / y;
        break;
    case HC_FN_exp:
        d[0] = y;
        break;
    case HC_FN_log:
        d[0] = 1 / x[0];
        break;
    case HC_FN_log1p:
        d[0] = 1 / (1 + x[0]);
        break;
    case HC_FN_tanh:
        d[0] = 1 - y * y;
        break;
    case HC_FN_cos:
        d[0] = -sin(x[0]);
        break;
    case HC_FN_sin:
        d[0] = cos(x[0]);
        break;
    case HC_FN_erf:
        d[0] = 2 / sqrt(acos(-1.0)) * exp(-x[0] * x[0]);
        break;
    case HC_FN_negate:
        d[0] = -1;
        break;
    case HC_FN_abs:
        d[0] = x[0] < 0 ? -1 : 1;
        break;
    case HC_FN_max:
    case HC_FN_min:
        d[0] = y == x[0] ? 1 : 0;
        d[1] = 1 - d[0];
        break;
    default: /* floor */
        d[0] = 0;
        break;
    }
}

/* Hands the slope of a step down to its operands. */
static void hand_down(struct hc_tape *tape, int32_t at)
{
    const struct hc_tape_step *s = &tape->step[at];
    double d[3];
    if (s->expression < 0 || s->slope == 0)
        return;
    slopes(s, d);
    for (int k = 0; k < 3; k++)
        if (s->of[k] && d[k] != 0)
            tape->step[s->of[k]].slope += s->slope * d[k];
}

void hc_tape_back(struct hc_tape *tape, int32_t from)
{
    for (int32_t i = 0; i <= from; i++) {
        tape->step[i].slope = 0;
        tape->step[i].needed = i == from;
    }
    tape->step[from].slope = 1;
    for (int32_t i = from; i > 0; i--) {
        hand_down(tape, i);
        for (int k = 0; k < 3 && tape->step[i].needed; k++)
            tape->step[tape->step[i].of[k]].needed = true;
    }
}

void hc_tape_slopes(struct hc_tape *tape, const int32_t *steps, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        tape->step[steps[i]].slope = 0;
    tape->step[steps[count - 1]].slope = 1;
    for (int32_t i = count - 1; i >= 0; i--)
        hand_down(tape, steps[i]);
}

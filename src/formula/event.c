/* What happens to numbers, noted as it happens: in operations, and where constants meet a format.
   Only `want` is looked at, so that the events of an arm are the same on every backend. */
#include "formula/event.h"

#include <math.h>
#include <stdlib.h>

#include "formula/evaluation.h"
#include "num/ulp.h"
#include "op/memory_stream.h"

/* Infinity out of numbers, by definition and not by rounding. */
static bool is_pole(enum hc_function f, const double *x)
{
    return (f == HC_FN_div && x[1] == 0) || (f == HC_FN_log && x[0] == 0) ||
           (f == HC_FN_log1p && x[0] == -1);
}

/* Whether a sum or a difference is one of its operands, and the other one is not 0. */
static bool is_absorbed(enum hc_function f, const double *x, const struct hc_defined *y)
{
    double second = f == HC_FN_sub ? -x[1] : x[1];
    return (f == HC_FN_add || f == HC_FN_sub) &&
           ((y->value == x[0] && x[1] != 0) || (y->value == second && x[0] != 0));
}

/* What a cast makes of numbers that its format lacks, where it makes a number of them. A number
   within half an ulp of the largest is only rounded, and so is a tie. */
static enum hc_event_kind kind_of_cast(enum hc_format format, double x, double result)
{
    double most = hc_format_max(format);
    if (x < 0 && result > 0)
        return HC_EVENT_SIGN_LOST;
    if (fabs(result) == most && fabs(x) - most > hc_ulp(format, most) / 2)
        return HC_EVENT_SATURATED;
    return HC_EVENT_KIND_COUNT;
}

static enum hc_event_kind kind_of(const struct hc_operation *operation, const double *x,
                                  const struct hc_defined *y)
{
    enum hc_function f = operation->function;
    bool rounds = hc_functions[f].kind == HC_FUNCTION_OP;
    bool finite = true;
    for (int k = 0; k < hc_functions[f].most; k++) {
        if (isnan(x[k]))
            return HC_EVENT_KIND_COUNT;
        finite &= isfinite(x[k]) != 0;
    }
    if (!rounds && hc_functions[f].kind != HC_FUNCTION_LIBRARY)
        return HC_EVENT_KIND_COUNT;
    if (isnan(y->value))
        return f == HC_FN_cast ? HC_EVENT_OVERFLOWED : HC_EVENT_NAN;
    if (isinf(y->value) && finite)
        return is_pole(f, x) ? HC_EVENT_DIVIDED_BY_0 : HC_EVENT_OVERFLOWED;
    if (y->value == 0 && !y->exact && (rounds || f == HC_FN_exp))
        return HC_EVENT_VANISHED;
    if (f == HC_FN_cast)
        return kind_of_cast(operation->format, x[0], y->value);
    return finite && is_absorbed(f, x, y) ? HC_EVENT_ABSORBED : HC_EVENT_KIND_COUNT;
}

/* The event of this kind at this node, a new one if it is the first. An event that there is no
   memory for counts as a loss. NULL if this is not the first time, or there is no memory. */
static struct hc_event *first_time(struct hc_evaluation *e, const struct hc_operation *operation,
                                   enum hc_event_kind kind)
{
    int *number = &e->event_of[operation->node->id * HC_EVENT_KIND_COUNT + (int)kind];
    if (*number) {
        e->event[*number - 1].last = e->step;
        e->event[*number - 1].times++;
        return NULL;
    }
    if ((e->events & (e->events - 1)) == 0) {
        size_t room = e->events ? 2 * (size_t)e->events : 1;
        struct hc_event *more = realloc(e->event, room * sizeof *more);
        if (!more) {
            hc_memory_lost_one();
            return NULL;
        }
        e->event = more;
    }
    *number = ++e->events;
    struct hc_event *event = &e->event[*number - 1];
    *event = (struct hc_event){.kind = kind,
                               .node = operation->node,
                               .function = operation->function,
                               .implied = operation->implied,
                               .format = operation->format,
                               .direction = operation->direction,
                               .first = e->step,
                               .last = e->step,
                               .times = 1};
    return event;
}

void hc_note(struct hc_evaluation *e, const struct hc_operation *operation, const double *x,
             const struct hc_defined *result)
{
    enum hc_event_kind kind = kind_of(operation, x, result);
    struct hc_event *event = kind == HC_EVENT_KIND_COUNT ? NULL : first_time(e, operation, kind);
    if (!event)
        return;
    event->operands = hc_functions[operation->function].most;
    for (int k = 0; k < event->operands; k++)
        event->operand[k] = x[k];
    event->exact = result->before;
    event->result = result->value;
}

void hc_note_constant(struct hc_evaluation *e, const struct hc_operation *cast,
                      const struct hc_real *x, double result)
{
    double exact = hc_real_double(x);
    bool is_number = !hc_real_is_nan(x) && !hc_real_is_inf(x);
    enum hc_event_kind kind =
        hc_real_is_nan(x) ? HC_EVENT_KIND_COUNT : kind_of_cast(cast->format, exact, result);
    if (result == 0 && hc_real_compare(x, e->scratch.zero) != 0)
        kind = HC_EVENT_LITERAL_ZERO;
    else if (isnan(result) ? !hc_real_is_nan(x) : isinf(result) && is_number)
        kind = HC_EVENT_LITERAL_INF;
    else if (result == 1 && exact > 0 && hc_real_compare(x, e->scratch.one) != 0)
        kind = HC_EVENT_LITERAL_ONE;
    struct hc_event *event = kind == HC_EVENT_KIND_COUNT ? NULL : first_time(e, cast, kind);
    if (!event)
        return;
    event->operands = 1;
    event->operand[0] = event->exact = exact;
    event->result = result;
}

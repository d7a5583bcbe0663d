/* What happened to the numbers of a formula: noted while it runs, and said in sentences. */
#include "formula/event.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/evaluation.h"
#include "num/ulp.h"
#include "op/memory_stream.h"

/* The sentence about an event. Operands are called what they are called in the formula. What is no
   plain number is followed by its value: "g * g = 1e-10". If the sentence is too long for a line,
   it is written again with shorter names. */

enum { COLUMNS = 78, LONGEST_SOURCE = 40, SOURCE_ROOM = LONGEST_SOURCE + 1, TEXT_ROOM = 80 };

/* The source of a node, its blanks made one, cut to `most` columns. */
static void write_source(const struct hc_node *node, int most, char source[SOURCE_ROOM])
{
    int n = 0;
    for (int i = 0; i < node->length && n <= most; i++) {
        char c = node->at[i];
        if (!isspace((unsigned char)c))
            source[n++] = c;
        else if (n > 0 && source[n - 1] != ' ')
            source[n++] = ' ';
    }
    if (n > most)
        memcpy(source + most - 3, "...", 3);
    source[n > most ? most : n] = '\0';
}

static bool is_plain(const struct hc_node *node)
{
    bool minus = node->kind == HC_NODE_APPLY && node->function == HC_FN_negate;
    return (minus ? node->operand[0] : node)->kind == HC_NODE_NUMBER;
}

/* "1e-4", or "lr * g = 1e-7". */
static void write_value(const struct hc_node *node, double value, int most, char text[TEXT_ROOM])
{
    char source[SOURCE_ROOM];
    write_source(node, most, source);
    if (is_plain(node))
        (void)snprintf(text, TEXT_ROOM, "%s", source);
    else
        (void)snprintf(text, TEXT_ROOM, "%s = %.6g", source, value);
}

/* Whether the event happened inside of a function of a list. */
static bool in_list(const struct hc_event *event)
{
    const struct hc_node *node = event->node;
    return !event->implied && (node->kind == HC_NODE_OVER || node->function != event->function ||
                               hc_functions[node->function].kind == HC_FUNCTION_LIST);
}

static const char *name_of_list(const struct hc_event *event)
{
    return event->node->function == HC_FN_tree   ? "a partial sum"
           : event->node->function == HC_FN_prod ? "the product"
                                                 : "the sum";
}

/* What the operation computes, or what is cast: "x * x = 66049". */
static void write_result(const struct hc_event *event, int most, char text[TEXT_ROOM])
{
    const struct hc_node *node = event->node;
    if (in_list(event)) {
        (void)snprintf(text, TEXT_ROOM, "%s = %.6g", name_of_list(event), event->exact);
        return;
    }
    if (event->function == HC_FN_cast && !event->implied)
        node = node->operand[0];
    if (isfinite(event->exact)) {
        write_value(node, event->exact, most, text);
    } else {
        char source[SOURCE_ROOM];
        write_source(node, most, source);
        (void)snprintf(text, TEXT_ROOM, "%s", source);
    }
}

/* Operand k of an addition. */
static void write_operand(const struct hc_event *event, int k, int most, bool value,
                          char text[TEXT_ROOM])
{
    const struct hc_node *node = event->node;
    bool sum = in_list(event) && (k == 0 || node->function == HC_FN_tree);
    if (sum)
        (void)snprintf(text, TEXT_ROOM, value ? "%s = %.6g" : "%s (%.6g)", name_of_list(event),
                       event->operand[k]);
    else if (in_list(event) && node->kind != HC_NODE_OVER)
        (void)snprintf(text, TEXT_ROOM, "a term = %.6g", event->operand[k]);
    else if (value)
        write_value(node->operand[k], event->operand[k], most, text);
    else
        write_source(node->operand[k], most, text);
}

/* Half the distance from x to the next number of the format in the direction of `step`. */
static double half_ulp(enum hc_format format, double x, double step)
{
    bool away = (step > 0) == (x > 0);
    int exponent;
    double significand = fabs(frexp(x, &exponent));
    int last = exponent - hc_formats[format].precision;
    if (!away && significand == 0.5)
        last--;
    int least = hc_formats[format].emin - hc_formats[format].precision + 1;
    return ldexp(1, (last < least ? least : last) - 1);
}

static int absorbed(const struct hc_event *event, int most, char *text, size_t size)
{
    char small[TEXT_ROOM];
    char large[TEXT_ROOM];
    char half[TEXT_ROOM];
    int k = event->result == event->operand[0] ? 0 : 1;
    double step =
        event->function == HC_FN_sub && k == 0 ? -event->operand[1] : event->operand[1 - k];
    double threshold = half_ulp(event->format, event->result, step);
    write_operand(event, 1 - k, most, true, small);
    write_operand(event, k, most, false, large);
    (void)snprintf(half, sizeof half, threshold == 1 ? "1" : "2^%d", ilogb(threshold));
    if (fabs(step) < threshold)
        return snprintf(text, size, "%s is below half an ulp of %s, %s", small, large, half);
    return snprintf(text, size, "%s is half an ulp of %s, %s: a tie goes to even", small, large,
                    half);
}

static int vanished(const struct hc_event *event, int most, char *text, size_t size)
{
    char what[TEXT_ROOM];
    char least[TEXT_ROOM];
    const char *name = hc_formats[event->format].name;
    write_result(event, most, what);
    /* Half of fp64's smallest number is none of fp64. */
    (void)snprintf(least, sizeof least, "2^%d", ilogb(hc_format_tiny(event->format)) - 1);
    if (event->direction != HC_NEAREST)
        return snprintf(text, size, "%s is 0 in %s, rounded %s", what, name,
                        hc_direction_names[event->direction]);
    return snprintf(text, size, "%s is 0 in %s: everything up to %s is", what, name, least);
}

/* With one bit, as in e8m0, a tie goes up: that above 1 is 2. */
static int became_one(const struct hc_event *event, int most, char *text, size_t size)
{
    char what[TEXT_ROOM];
    const struct hc_format_info *f = &hc_formats[event->format];
    write_result(event, most, what);
    if (event->direction != HC_NEAREST)
        return snprintf(text, size, "%s is 1 in %s, rounded %s", what, f->name,
                        hc_direction_names[event->direction]);
    return snprintf(text, size, "%s is 1 in %s: all from 1 - 2^%d to %s1 + 2^%d is", what, f->name,
                    -f->precision - 1, f->precision == 1 ? "below " : "", -f->precision);
}

static int overflowed(const struct hc_event *event, int most, char *text, size_t size)
{
    char what[TEXT_ROOM];
    write_result(event, most, what);
    return snprintf(text, size, "%s is %s in %s, which ends at %.6g", what,
                    isnan(event->result) ? "NaN" : "infinite", hc_formats[event->format].name,
                    hc_format_max(event->format));
}

/* "100 saturates to 28 in e3m2", "-1 is 1 in ue4m3, which has no sign". */
static int replaced(const struct hc_event *event, int most, char *text, size_t size)
{
    char what[TEXT_ROOM];
    const char *name = hc_formats[event->format].name;
    write_result(event, most, what);
    if (event->kind == HC_EVENT_SIGN_LOST)
        return snprintf(text, size, "%s is %.6g in %s, which has no sign", what, event->result,
                        name);
    if (event->direction != HC_NEAREST)
        return snprintf(text, size, "%s is %.6g in %s, rounded %s", what, event->result, name,
                        hc_direction_names[event->direction]);
    return snprintf(text, size, "%s saturates to %.6g in %s", what, event->result, name);
}

/* "0 / 0 is NaN: g / sqrt(v)". */
static int undefined(const struct hc_event *event, int most, char *text, size_t size)
{
    char source[SOURCE_ROOM];
    char shown[TEXT_ROOM];
    const double *x = event->operand;
    const char *name = hc_functions[event->function].spelling;
    write_source(event->node, most, source);
    if (event->operands == 1)
        (void)snprintf(shown, sizeof shown, "%s(%.6g)", name, x[0]);
    else if (event->operands == 3)
        (void)snprintf(shown, sizeof shown, "%s(%.6g, %.6g, %.6g)", name, x[0], x[1], x[2]);
    else
        (void)snprintf(shown, sizeof shown, "%.6g %s %.6g", x[0], name, x[1]);
    const char *result = isnan(event->result) ? "NaN" : event->result < 0 ? "-inf" : "infinite";
    if (strcmp(shown, source) == 0)
        return snprintf(text, size, "%s is %s", shown, result);
    return snprintf(text, size, "%s is %s: %s", shown, result, source);
}

typedef int sentence(const struct hc_event *event, int most, char *text, size_t size);

static sentence *const sentences[HC_EVENT_KIND_COUNT] = {
    [HC_EVENT_LITERAL_ZERO] = vanished,  [HC_EVENT_LITERAL_ONE] = became_one,
    [HC_EVENT_LITERAL_INF] = overflowed, [HC_EVENT_ABSORBED] = absorbed,
    [HC_EVENT_VANISHED] = vanished,      [HC_EVENT_OVERFLOWED] = overflowed,
    [HC_EVENT_NAN] = undefined,          [HC_EVENT_DIVIDED_BY_0] = undefined,
    [HC_EVENT_SATURATED] = replaced,     [HC_EVENT_SIGN_LOST] = replaced,
};

void hc_event_text(const struct hc_event *event, char *buffer, size_t size)
{
    for (int most = LONGEST_SOURCE; most >= 8; most -= 4)
        if (sentences[event->kind](event, most, buffer, size) <= COLUMNS)
            return;
}

/* What happens to numbers, noted as it happens: in operations, and where constants meet a format.
   Only `want` is looked at, so that the events of an arm are the same on every backend. */

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

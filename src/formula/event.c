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

/* What the operands and results of these operations are called, which no formula names. */
static const struct list_words {
    enum hc_function of;
    enum hc_function function;
    const char *operand[2];
    const char *result;
} list_words[] = {
    {HC_FN_tree, HC_FN_add, {"a partial sum", "a partial sum"}, "a partial sum"},
    {HC_FN_prod, HC_FN_mul, {"the product", "a term"}, "the product"},
    {HC_FN_mean, HC_FN_div, {"the sum", "the number of terms"}, "the mean"},
    {HC_FN_mean, HC_FN_cast, {"", ""}, "the number of terms"},
    {HC_FN_softmax, HC_FN_sub, {"a term", "the largest"}, "a term less the largest"},
    {HC_FN_softmax, HC_FN_exp, {"", ""}, "an exponential"},
    {HC_FN_softmax, HC_FN_add, {"the sum", "an exponential"}, "the sum"},
    {HC_FN_softmax, HC_FN_div, {"an exponential", "the sum"}, "an exponential over the sum"},
    {HC_FUNCTION_COUNT, HC_FUNCTION_COUNT, {"the sum", "a term"}, "the sum"},
};

static const struct list_words *words_of(const struct hc_event *event)
{
    const struct list_words *words = list_words;
    while (words->of != HC_FUNCTION_COUNT &&
           (words->of != event->node->function || words->function != event->function))
        words++;
    return words;
}

/* What is cast, where that is no part of the formula: the number of terms of a mean, or a number
   times its scale. NULL otherwise. */
static const char *hidden(const struct hc_event *event)
{
    const struct hc_node *node = event->node;
    bool literal = event->kind == HC_EVENT_LITERAL_INF || event->kind == HC_EVENT_LITERAL_ONE;
    if (event->function != HC_FN_cast ||
        (node->kind != HC_NODE_APPLY && node->kind != HC_NODE_OVER))
        return NULL;
    if (hc_functions[node->function].kind == HC_FUNCTION_SCALE && event->format == node->format)
        return "a scaled number";
    return literal && event->implied && node->function == HC_FN_mean ? words_of(event)->result
                                                                     : NULL;
}

/* What the operation computes, or what is cast: "x * x = 66049". */
static void write_result(const struct hc_event *event, int most, char text[TEXT_ROOM])
{
    const struct hc_node *node = event->node;
    const char *name = hidden(event);
    if (!name && in_list(event))
        name = words_of(event)->result;
    if (name) {
        (void)snprintf(text, TEXT_ROOM, "%s = %.6g", name, event->exact);
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

/* Operand k of an addition. The terms of sum(n, f) are called what f is. */
static void write_operand(const struct hc_event *event, int k, int most, bool value,
                          char text[TEXT_ROOM])
{
    const struct hc_node *node = event->node;
    bool term = node->kind == HC_NODE_OVER && k == 1 && node->function != HC_FN_tree &&
                node->function != HC_FN_softmax;
    if (in_list(event) && !term)
        (void)snprintf(text, TEXT_ROOM, value ? "%s = %.6g" : "%s (%.6g)",
                       words_of(event)->operand[k], event->operand[k]);
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

/* Whether two texts differ in blanks alone. */
static bool same_text(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += strspn(a, " ");
        b += strspn(b, " ");
        if (*a != *b || *a == '\0')
            return *a == *b;
    }
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
    bool divides = event->kind == HC_EVENT_DIVIDED_BY_0 && event->function == HC_FN_div;
    if (divides && same_text(shown, source))
        return snprintf(text, size, "%s is a division by 0", shown);
    if (divides)
        return snprintf(text, size, "%s is a division by 0: %s = %s", source, shown,
                        event->result < 0 ? "-inf" : "inf");
    if (same_text(shown, source))
        return snprintf(text, size, "%s is %s", shown, result);
    return snprintf(text, size, "%s is %s: %s", shown, result, source);
}

/* "ms - m * m = -64: 7 of 8 bits cancel, and m * m was 103 off". What cancels is right in
   both operands; what is left of them is where they were rounded. */
static int cancelled(const struct hc_event *event, int most, char *text, size_t size)
{
    char what[TEXT_ROOM];
    char source[TEXT_ROOM];
    char bits[TEXT_ROOM];
    int precision = hc_formats[event->format].precision;
    int k = event->off[1] > event->off[0] ? 1 : 0;
    write_result(event, most, what);
    write_operand(event, k, most, false, source);
    const char *culprit = in_list(event) ? words_of(event)->operand[k] : source;
    (void)snprintf(bits, sizeof bits, event->bits < precision ? "%d of %d" : "all %d", event->bits,
                   precision);
    return snprintf(text, size, "%s: %s bits cancel, and %s was %.3g off", what, bits, culprit,
                    event->off[k]);
}

/* "w was fp16 and becomes fp32: w * fp32(x)". */
static int reformatted(const struct hc_event *event, int most, char *text, size_t size)
{
    char source[SOURCE_ROOM];
    write_source(event->node, most, source);
    return snprintf(text, size, "%s was %s and becomes %s: %s", event->name,
                    hc_formats[event->before].name, hc_formats[event->format].name, source);
}

typedef int sentence(const struct hc_event *event, int most, char *text, size_t size);

static sentence *const sentences[HC_EVENT_KIND_COUNT] = {
    [HC_EVENT_LITERAL_ZERO] = vanished,  [HC_EVENT_LITERAL_ONE] = became_one,
    [HC_EVENT_LITERAL_INF] = overflowed, [HC_EVENT_ABSORBED] = absorbed,
    [HC_EVENT_VANISHED] = vanished,      [HC_EVENT_OVERFLOWED] = overflowed,
    [HC_EVENT_NAN] = undefined,          [HC_EVENT_DIVIDED_BY_0] = undefined,
    [HC_EVENT_SATURATED] = replaced,     [HC_EVENT_SIGN_LOST] = replaced,
    [HC_EVENT_CANCELLED] = cancelled,    [HC_EVENT_REFORMATTED] = reformatted,
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
           (f == HC_FN_log1p && x[0] == -1) || (f == HC_FN_rsqrt && x[0] == 0) ||
           (f == HC_FN_power && x[0] == 0);
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
    bool may_vanish = rounds || f == HC_FN_exp || f == HC_FN_sigmoid || f == HC_FN_power;
    if (y->value == 0 && !y->exact && may_vanish && finite)
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

/* How far operand k is from its real number, and up to which distance that is not known. */
static double distance(struct hc_evaluation *e, const struct hc_operand *x, int64_t i, double want,
                       double *unknown)
{
    int64_t j = x->at + i * x->stride;
    hc_real_set(e->scratch.operand[0], want);
    (void)hc_real_sub(e->scratch.result, e->scratch.operand[0], x->value->real[j]);
    *unknown += x->value->real_rad[j];
    return hc_real_double(e->scratch.result);
}

/* How many bits of a sum or a difference cancelled; 0 if this is nothing to tell: fewer than half
   of the format's bits, or at least half of the result's bits are right. They are as far as the
   errors that the operands bring along lie below it. A result whose operands have no error has
   none. */
static int bits_cancelled(struct hc_evaluation *e, const struct hc_operation *operation,
                          const struct hc_operand *operands, int64_t i, const double *x,
                          const struct hc_defined *y, double off[2])
{
    int precision = hc_formats[operation->format].precision;
    double most = fmax(fabs(x[0]), fabs(x[1]));
    double size = fabs(y->value);
    double unknown = 0;
    if ((operation->function != HC_FN_add && operation->function != HC_FN_sub) || x[0] == 0 ||
        x[1] == 0 || !isfinite(most) || !isfinite(size) || operands->value->constant ||
        most * hc_format_unit(operation->format) > 0x1p1000)
        return 0;
    int bits = size == 0 ? precision : ilogb(most) - ilogb(size);
    if (2 * bits < precision)
        return 0;
    for (int k = 0; k < 2; k++)
        off[k] = distance(e, &operands[k], i, x[k], &unknown);
    double error = fabs(operation->function == HC_FN_sub ? off[0] - off[1] : off[0] + off[1]);
    if (!(error > 4 * unknown) || error < ldexp(size, -precision / 2))
        return 0;
    off[0] = fabs(off[0]);
    off[1] = fabs(off[1]);
    return bits < precision ? bits : precision;
}

void hc_note(struct hc_evaluation *e, const struct hc_operation *operation,
             const struct hc_operand *operands, int64_t i, const double *x,
             const struct hc_defined *result)
{
    enum hc_event_kind kind = kind_of(operation, x, result);
    double off[2] = {0, 0};
    int bits = 0;
    if (kind == HC_EVENT_KIND_COUNT)
        bits = bits_cancelled(e, operation, operands, i, x, result, off);
    if (bits > 0)
        kind = HC_EVENT_CANCELLED;
    struct hc_event *event = kind == HC_EVENT_KIND_COUNT ? NULL : first_time(e, operation, kind);
    if (!event)
        return;
    event->operands = hc_functions[operation->function].most;
    for (int k = 0; k < event->operands; k++)
        event->operand[k] = x[k];
    event->exact = result->before;
    event->result = result->value;
    event->bits = bits;
    event->off[0] = off[0];
    event->off[1] = off[1];
}

void hc_note_format(struct hc_evaluation *e, const struct hc_node *node, int name,
                    enum hc_format before, enum hc_format format)
{
    struct hc_operation cast = {node, HC_FN_cast, format, HC_NEAREST, true, false};
    struct hc_event *event =
        before == format || before == HC_FORMAT_COUNT || format == HC_FORMAT_COUNT
            ? NULL
            : first_time(e, &cast, HC_EVENT_REFORMATTED);
    if (!event)
        return;
    event->name = hc_program_name(e->program, name);
    event->before = before;
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

#include "cli/contract.h"

#include <assert.h>
#include <stdarg.h>

#include "op/wrap.h"
#include "op/descriptor.h"
#include "op/params.h"

enum { INDENT = 20 };

static const char *shape_of(enum hc_op op, int number, char text[64])
{
    const struct hc_slot *slot = hc_slot(op, number);
    if (slot->shape)
        return slot->shape;
    if (slot->size == HC_SIZE_CHANNELS)
        return "[C]";
    if (slot->size == HC_SIZE_FIXED)
        (void)snprintf(text, 64, "[%d]", slot->count);
    else if (number == HC_FIRST)
        return "any";
    else
        (void)snprintf(text, 64, "as %s", hc_slot(op, HC_FIRST)->name);
    return text;
}

/* What a slot's line says, which is wrapped when it is complete. */
struct line {
    char text[512];
    size_t used;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
say(struct line *line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length =
        vsnprintf(line->text + line->used, sizeof line->text - line->used, format, arguments);
    va_end(arguments);
    assert(length >= 0 && (size_t)length < sizeof line->text - line->used);
    line->used += (size_t)length;
}

static void say_formats(struct line *line, enum hc_op op, int number)
{
    const struct hc_slot *slot = hc_slot(op, number);
    const struct hc_descriptor *d = hc_descriptor(op);
    unsigned formats = hc_slot_formats(op, number, false);
    char text[HC_FORMATS_TEXT];
    bool either = slot->format == HC_ALLOW_LIKE_OR_FP8;
    bool codes = slot->format == HC_ALLOW_LIKE_CODES;
    if (slot->format == HC_ALLOW_LIKE || either || codes) {
        say(line, "%s's format%s", d->in[slot->like].name,
            either || codes ? ", or the other one of e4m3 and e5m2, or of their FNUZ formats" : "");
        return;
    }
    say(line, "%s", hc_formats_text(formats, text));
    if (d->fp64 && formats != hc_slot_formats(op, number, true))
        say(line, " (fp64 if %s is)", d->in[HC_FIRST].name);
}

static void say_shape(struct line *line, enum hc_op op, int number)
{
    const struct hc_slot *slot = hc_slot(op, number);
    char text[64];
    if (slot->size == HC_SIZE_FIRST && number == HC_FIRST && !slot->shape)
        say(line, "; any shape");
    else if (slot->size == HC_SIZE_FIRST && number != HC_FIRST)
        say(line, "; as many elements as %s", hc_slot(op, HC_FIRST)->name);
    else
        say(line, " %s", shape_of(op, number, text));
    for (int e = 0; slot->elements && e < slot->count; e++)
        say(line, "%s%s", e ? ", " : ": ", slot->elements[e]);
}

static void print_slot(FILE *out, enum hc_op op, int number)
{
    const struct hc_slot *slot = hc_slot(op, number);
    struct line line = {0};
    say_formats(&line, op, number);
    say_shape(&line, op, number);
    if (slot->optional && !slot->note)
        say(&line, "; optional");
    if (slot->in_place)
        say(&line, "; may be %s itself", hc_descriptor(op)->in[slot->like].name);
    if (slot->note)
        say(&line, "; %s", slot->note);
    hc_print_wrapped(out, fprintf(out, "  %-*s", INDENT - 2, slot->name), INDENT, line.text);
}

/* "one of a, b and c", "an integer", "3 real numbers", and what it is where nobody says it. */
static void print_param(FILE *out, const struct hc_param *p)
{
    static const char *const kinds[HC_PARAM_KIND_COUNT] = {
        [HC_PARAM_REAL] = "a real number", [HC_PARAM_SINGLE] = "a real number",
        [HC_PARAM_INTEGER] = "an integer", [HC_PARAM_LONG] = "an integer",
        [HC_PARAM_FLAG] = "true or false", [HC_PARAM_WORD] = "",
        [HC_PARAM_FORMAT] = "a format",    [HC_PARAM_SEED] = "a seed",
    };
    char text[1024];
    int used = snprintf(text, sizeof text, "%s", kinds[p->kind]);
    if (p->count)
        used = snprintf(text, sizeof text, "%d numbers", p->count);
    for (int i = 0; p->kind == HC_PARAM_WORD && i < p->word_count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s",
                         i == 0                   ? ""
                         : i == p->word_count - 1 ? " or "
                                                  : ", ",
                         p->words[i]);
    assert((size_t)used < sizeof text - 160);
    (void)snprintf(text + used, sizeof text - (size_t)used, "%s%s; default %s", p->note ? ": " : "",
                   p->note ? p->note : "", p->usual);
    hc_print_wrapped(out, fprintf(out, "  %-*s", INDENT - 2, p->name), INDENT, text);
}

void hc_contract_print(FILE *out, enum hc_op op)
{
    const struct hc_op_info *info = &hc_ops[op];
    (void)fprintf(out, "op/%s: %s\n", info->name, info->title);
    (void)fprintf(out, "  %s%s\n",
                  hc_op_settled(op) ? "every backend gives the same bits"
                                    : "results lie within a derived bound",
                  hc_descriptor(op)->fp64 ? "; can be had in fp64" : "");
    if (hc_descriptor(op)->ordered)
        (void)fputs("  with a 16-bit accumulator every backend gives the same bits\n", out);
    if (info->class_ == HC_CLASS_ELEMENTWISE)
        (void)fputs("  an output may be any input of the same format and size\n", out);
    (void)fprintf(out, "  what it computes stands in %s\n\ninputs\n", hc_op_contract(op));
    for (int i = 0; i < hc_slot_count(op); i++) {
        if (i == info->inputs)
            (void)fputs("\noutputs\n", out);
        print_slot(out, op, i);
    }
    const struct hc_param *params = hc_op_params(op);
    if (params->name)
        (void)fputs("\nparameters (judge --set NAME=VALUE)\n", out);
    for (const struct hc_param *p = params; p->name; p++)
        print_param(out, p);
}

static json_t *name_or_null(bool is, const struct hc_slot *slot)
{
    return is ? json_string(slot->name) : json_null();
}

/* The formats that a slot takes in calls in fp64, or in all others. hc_slot_formats gives the first
   input, and what has its format, those of both. */
static json_t *formats_json(enum hc_op op, int number, bool fp64)
{
    const struct hc_descriptor *d = hc_descriptor(op);
    if (fp64 && !d->fp64)
        return json_null();
    unsigned set = hc_slot_formats(op, number, fp64);
    unsigned first = hc_slot_formats(op, HC_FIRST, fp64);
    if (d->fp64 && set == first)
        set = fp64 ? set & 1u << HC_FP64 : set & ~(1u << HC_FP64);
    json_t *formats = json_array();
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (set >> f & 1)
            (void)json_array_append_new(formats, json_string(hc_formats[f].name));
    return formats;
}

static json_t *elements_json(const struct hc_slot *slot)
{
    json_t *elements = slot->elements ? json_array() : json_null();
    for (int e = 0; slot->elements && e < slot->count; e++)
        (void)json_array_append_new(elements, json_string(slot->elements[e]));
    return elements;
}

static json_t *slots_json(enum hc_op op)
{
    json_t *slots = json_array();
    for (int i = 0; i < hc_slot_count(op); i++) {
        const struct hc_slot *slot = hc_slot(op, i);
        const struct hc_slot *like = &hc_descriptor(op)->in[slot->like];
        char text[64];
        (void)json_array_append_new(
            slots,
            json_pack("{s:s, s:s, s:o, s:o, s:o, s:s, s:s?, s:o, s:b, s:o}", "name", slot->name,
                      "direction", i < hc_ops[op].inputs ? "in" : "out", "formats",
                      formats_json(op, i, false), "formats_fp64", formats_json(op, i, true),
                      "format_of", name_or_null(slot->format == HC_ALLOW_LIKE, like), "shape",
                      shape_of(op, i, text), "note", slot->note, "elements", elements_json(slot),
                      "optional", (int)slot->optional, "in_place",
                      name_or_null(slot->in_place, like)));
    }
    return slots;
}

static json_t *choices_json(const struct hc_param *p)
{
    const char *choice = hc_param_choice(p, 0);
    json_t *choices = choice ? json_array() : json_null();
    for (int i = 0; (choice = hc_param_choice(p, i)) != NULL; i++)
        (void)json_array_append_new(choices, json_string(choice));
    return choices;
}

static json_t *params_json(enum hc_op op)
{
    json_t *params = json_array();
    for (const struct hc_param *p = hc_op_params(op); p->name; p++)
        (void)json_array_append_new(params, json_pack("{s:s, s:s, s:i, s:o, s:s}", "name", p->name,
                                                      "kind", hc_param_kinds[p->kind], "elements",
                                                      p->count ? p->count : 1, "choices",
                                                      choices_json(p), "usual", p->usual));
    return params;
}

void hc_contract_json(json_t *o, enum hc_op op)
{
    (void)json_object_set_new(o, "slots", slots_json(op));
    (void)json_object_set_new(o, "params", params_json(op));
    (void)json_object_set_new(o, "fp64", json_boolean(hc_descriptor(op)->fp64));
    (void)json_object_set_new(o, "same_bits", json_boolean(hc_op_settled(op)));
    (void)json_object_set_new(o, "in_place_any",
                              json_boolean(hc_ops[op].class_ == HC_CLASS_ELEMENTWISE));
    (void)json_object_set_new(o, "contract", json_string(hc_op_contract(op)));
}

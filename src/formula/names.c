/* The words of a program: those of a fixed meaning, and the names that it assigns. */
#include <stdio.h>
#include <string.h>

#include "formula/parser.h"
#include "op/typed.h"

/* Words of a fixed meaning that are no functions, and PyTorch's names of formats. */
static const struct {
    const char *text;
    enum hc_word_kind kind;
    enum hc_format format;
} words[] = {
    {"inf", HC_WORD_NUMBER, HC_FORMAT_COUNT}, {"nan", HC_WORD_NUMBER, HC_FORMAT_COUNT},
    {"pi", HC_WORD_NUMBER, HC_FORMAT_COUNT},  {"step", HC_WORD_STEP, HC_FORMAT_COUNT},
    {"double", HC_WORD_CAST, HC_FP64},        {"float64", HC_WORD_CAST, HC_FP64},
    {"float", HC_WORD_CAST, HC_FP32},         {"float32", HC_WORD_CAST, HC_FP32},
    {"half", HC_WORD_CAST, HC_FP16},          {"float16", HC_WORD_CAST, HC_FP16},
    {"bfloat16", HC_WORD_CAST, HC_BF16},      {"e4m3fn", HC_WORD_CAST, HC_E4M3},
};
enum { WORDS = sizeof words / sizeof words[0] };

static bool is_callable(enum hc_function f)
{
    return strchr("+-*/<>=!^", *hc_functions[f].spelling) == NULL && f != HC_FN_cast;
}

static bool is_cast(const struct hc_program *program, const char *text, struct hc_node *node)
{
    enum hc_format format = hc_format_by_name(text);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind == HC_WORD_CAST && strcmp(words[i].text, text) == 0)
            format = words[i].format;
    node->function = HC_FN_cast;
    node->format = format;
    if (format != HC_FORMAT_COUNT)
        return !hc_is_integer(&hc_formats[format]);
    for (int i = 0; i < program->casts; i++)
        if (strcmp(program->cast[i], text) == 0) {
            (void)snprintf(node->cast_name, sizeof node->cast_name, "%s", text);
            return true;
        }
    return false;
}

/* A cast may end in the direction of its rounding, or in that it saturates. */
static bool is_directed_cast(const struct hc_program *program, char *text, struct hc_node *node)
{
    static const char *const endings[HC_DIRECTION_COUNT] = {
        [HC_TOWARD_ZERO] = "_rz", [HC_UPWARD] = "_ru", [HC_DOWNWARD] = "_rd"};
    if (is_cast(program, text, node))
        return true;
    char *ending = strrchr(text, '_');
    if (ending && strcmp(ending, "_sat") == 0) {
        *ending = '\0';
        node->saturate = true;
        return is_cast(program, text, node);
    }
    for (int d = 0; ending && d < HC_DIRECTION_COUNT; d++)
        if (endings[d] && strcmp(ending, endings[d]) == 0) {
            *ending = '\0';
            node->direction = (enum hc_direction)d;
            return is_cast(program, text, node);
        }
    return false;
}

struct hc_word hc_program_word(const struct hc_program *program, const struct hc_token *token)
{
    struct hc_word word = {.kind = HC_WORD_FREE,
                           .node = {.kind = HC_NODE_APPLY, .format = HC_FORMAT_COUNT}};
    char text[HC_LONGEST_NAME_IN_FORMULA + 1];
    if (token->length > HC_LONGEST_NAME_IN_FORMULA)
        return word;
    (void)snprintf(text, sizeof text, "%.*s", token->length, token->at);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind != HC_WORD_CAST && strcmp(words[i].text, text) == 0)
            word.kind = words[i].kind;
    for (int f = 0; f < HC_FUNCTION_COUNT; f++)
        if (is_callable((enum hc_function)f) && strcmp(hc_functions[f].spelling, text) == 0) {
            word.kind = HC_WORD_FUNCTION;
            word.node.function = (enum hc_function)f;
        }
    if (word.kind == HC_WORD_FREE && is_directed_cast(program, text, &word.node))
        word.kind = HC_WORD_CAST;
    return word;
}

void hc_program_hint(const struct hc_program *program, const struct hc_token *token, bool function,
                     char *hint, size_t size)
{
    struct hc_nearest nearest = hc_nearest_to(token->at, (size_t)token->length);
    for (int i = 0; !function && i < program->names; i++)
        if (program->name[i].kind != HC_NAME_UNUSED)
            hc_nearest_try(&nearest, program->name[i].text);
    for (int i = 0; i < WORDS; i++)
        if ((words[i].kind == HC_WORD_CAST) == function)
            hc_nearest_try(&nearest, words[i].text);
    for (int i = 0; function && i < program->casts; i++)
        hc_nearest_try(&nearest, program->cast[i]);
    for (int i = 0; function && i < HC_FORMAT_COUNT; i++)
        if (!hc_is_integer(&hc_formats[i]))
            hc_nearest_try(&nearest, hc_formats[i].name);
    for (int f = 0; function && f < HC_FUNCTION_COUNT; f++)
        if (is_callable((enum hc_function)f))
            hc_nearest_try(&nearest, hc_functions[f].spelling);
    (void)snprintf(hint, size, "%s", token->length > 1 ? hc_nearest_hint(&nearest) : "");
}

bool hc_program_add_cast(struct hc_program *program, const char *name)
{
    struct hc_token token = hc_token_at(name);
    if (token.kind != HC_TOKEN_NAME || !hc_token_is(&token, name) || token.length > HC_LONGEST_CAST)
        return false;
    for (int i = 0; i < program->casts; i++)
        if (strcmp(program->cast[i], name) == 0)
            return true;
    for (int i = 0; i < program->names; i++)
        if (strcmp(program->name[i].text, name) == 0)
            return false;
    if (hc_program_word(program, &token).kind != HC_WORD_FREE || program->casts == HC_MAX_CASTS)
        return false;
    (void)snprintf(program->cast[program->casts++], HC_LONGEST_CAST + 1, "%s", name);
    return true;
}

/* The index of an inner sum comes later in the list than that of an outer one. */
int hc_parser_find_name(const struct hc_parser *p, const struct hc_token *token, bool read)
{
    int found = -1;
    for (int i = 0; i < p->program->names; i++) {
        const struct hc_name *name = &p->program->name[i];
        if (!hc_token_is(token, name->text) || name->kind == HC_NAME_UNUSED)
            continue;
        if (read ? name->kind == HC_NAME_INDEX || found < 0 : name->kind != HC_NAME_INDEX)
            found = i;
    }
    return found;
}

bool hc_parser_add_name(struct hc_parser *p, const struct hc_token *token,
                        const struct hc_token *place, enum hc_name_kind kind, int *name)
{
    struct hc_program *program = p->program;
    if (token->length > HC_LONGEST_NAME_IN_FORMULA)
        return hc_parser_wrong(p, place->at, place->length, "a name has at most %d characters",
                               HC_LONGEST_NAME_IN_FORMULA);
    struct hc_word meaning = hc_program_word(program, token);
    enum hc_word_kind word = meaning.kind;
    /* `scale` is what everybody calls his scale. A function of that kind is known by its "(". */
    bool is_scale =
        word == HC_WORD_FUNCTION && hc_functions[meaning.node.function].kind == HC_FUNCTION_SCALE;
    if (word != HC_WORD_FREE && !is_scale)
        return hc_parser_wrong(p, place->at, place->length, "%s is %s and can be no name",
                               hc_parser_quote(token->at, token->length).text,
                               word == HC_WORD_FUNCTION ? "a function"
                               : word == HC_WORD_CAST   ? "a format"
                               : word == HC_WORD_STEP   ? "the number of the step"
                                                        : "a number");
    for (*name = 0; *name < program->names; ++*name)
        if (kind == HC_NAME_INDEX && program->name[*name].kind == HC_NAME_UNUSED &&
            hc_token_is(token, program->name[*name].text))
            break;
    if (*name == HC_MAX_NAMES)
        return hc_parser_wrong(p, place->at, place->length, "there are more than %d names",
                               HC_MAX_NAMES);
    if (*name == program->names)
        program->names++;
    struct hc_name *made = &program->name[*name];
    made->kind = kind;
    (void)snprintf(made->text, sizeof made->text, "%.*s", token->length, token->at);
    return true;
}

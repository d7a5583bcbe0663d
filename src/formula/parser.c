/* Tokens, names, and the parser's state. */
#include "formula/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"
#include "op/typed.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";

static const char word_characters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

static const char digits[] = "0123456789";

static const char hexadecimals[] = "0123456789ABCDEFabcdef";

/* Where others keep their functions: what stands before a word there is left out here. */
static const char *const modules[] = {
    "torch.nn.functional.",
    "jax.numpy.",
    "jax.nn.",
    "numpy.",
    "torch.",
    "math.",
    "jnp.",
    "np.",
    "F.",
};

/* Signs, the long ones first. Those that mean nothing are here, too, so that a message quotes them
   whole. */
static const char *const signs[] = {
    "**=", "**", "//", "&&", "||", ":=", "+=", "-=", "*=", "/=", "<=", ">=", "==", "!=", "+",
    "-",   "*",  "/",  "^",  "<",  ">",  "=",  "(",  ")",  "[",  "]",  ",",  ":",  ";",  "\n",
};

/* The length of digits, between which a single '_' may stand. */
static size_t digits_length(const char *text, const char *of)
{
    size_t n = strspn(text, of);
    while (n > 0 && text[n] == '_' && text[n + 1] && strchr(of, text[n + 1]))
        n += 1 + strspn(text + n + 1, of);
    return n;
}

/* The length of the number at `text`; *sound says whether it is one. Letters, digits and points
   that follow it directly belong to it and make it malformed. A hexadecimal number is a significand
   with an exponent of 2. */
static size_t number_length(const char *text, bool *sound)
{
    bool hexadecimal = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
    const char *of = hexadecimal ? hexadecimals : digits;
    size_t start = hexadecimal ? 2 : 0;
    size_t n = start + digits_length(text + start, of);
    size_t whole = n - start;
    size_t fraction = 0;
    if (text[n] == '.') {
        fraction = digits_length(text + n + 1, of);
        n += 1 + fraction;
    }
    if (text[n] && strchr(hexadecimal ? "pP" : "eE", text[n])) {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t exponent = digits_length(text + n + 1 + sign, digits);
        n += exponent ? 1 + sign + exponent : 0;
    }
    size_t more = 0;
    while (text[n + more] == '.' || (text[n + more] && strchr(word_characters, text[n + more])))
        more++;
    *sound = more == 0 && whole + fraction > 0;
    return n + more;
}

static struct hc_token token(enum hc_token_kind kind, const char *at, size_t length)
{
    return (struct hc_token){.kind = kind, .at = at, .length = (int)length};
}

/* The length of the module's name and the point behind it, if a word follows. */
static size_t module_length(const char *text)
{
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++) {
        size_t length = strlen(modules[i]);
        if (strncmp(text, modules[i], length) == 0 && text[length] && strchr(letters, text[length]))
            return length;
    }
    return 0;
}

struct hc_token hc_token_at(const char *text)
{
    text += strspn(text, " \t\r");
    if (*text == '#')
        text += strcspn(text, "\n");
    if (*text == '\0')
        return token(HC_TOKEN_END, text, 0);
    if (strchr(letters, *text)) {
        size_t module = module_length(text);
        struct hc_token name =
            token(HC_TOKEN_NAME, text, module + strspn(text + module, word_characters));
        name.module = (int)module;
        return name;
    }
    const char *digit = text + (*text == '.');
    if (*digit && strchr(digits, *digit)) {
        bool sound;
        size_t length = number_length(text, &sound);
        return token(sound ? HC_TOKEN_NUMBER : HC_TOKEN_MALFORMED, text, length);
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return token(HC_TOKEN_SIGN, text, strlen(signs[i]));
    const char *end = text;
    char character[5];
    (void)hc_text_next(&end, character);
    return token(HC_TOKEN_STRAY, text, (size_t)(end - text));
}

bool hc_token_is(const struct hc_token *token, const char *text)
{
    return (size_t)token->length == strlen(text) &&
           strncmp(token->at, text, (size_t)token->length) == 0;
}

/* The words of a program: those of a fixed meaning, and the names that it assigns. */

/* Words of a fixed meaning that are no function's spelling: those of the grammar, numbers, and the
   names that Python, numpy and PyTorch have for functions and formats. */
static const struct {
    const char *text;
    enum hc_word_kind kind;
    enum hc_function function;
    enum hc_format format;
} words[] = {
    {"if", HC_WORD_GRAMMAR, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"else", HC_WORD_GRAMMAR, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"and", HC_WORD_GRAMMAR, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"or", HC_WORD_GRAMMAR, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"not", HC_WORD_GRAMMAR, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"inf", HC_WORD_NUMBER, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"nan", HC_WORD_NUMBER, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"pi", HC_WORD_NUMBER, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"step", HC_WORD_STEP, HC_FUNCTION_COUNT, HC_FORMAT_COUNT},
    {"pow", HC_WORD_FUNCTION, HC_FN_power, HC_FORMAT_COUNT},
    {"power", HC_WORD_FUNCTION, HC_FN_power, HC_FORMAT_COUNT},
    {"where", HC_WORD_FUNCTION, HC_FN_select, HC_FORMAT_COUNT},
    {"maximum", HC_WORD_FUNCTION, HC_FN_max, HC_FORMAT_COUNT},
    {"minimum", HC_WORD_FUNCTION, HC_FN_min, HC_FORMAT_COUNT},
    {"amax", HC_WORD_FUNCTION, HC_FN_max, HC_FORMAT_COUNT},
    {"amin", HC_WORD_FUNCTION, HC_FN_min, HC_FORMAT_COUNT},
    {"fabs", HC_WORD_FUNCTION, HC_FN_abs, HC_FORMAT_COUNT},
    {"absolute", HC_WORD_FUNCTION, HC_FN_abs, HC_FORMAT_COUNT},
    {"rint", HC_WORD_FUNCTION, HC_FN_round, HC_FORMAT_COUNT},
    {"double", HC_WORD_CAST, HC_FN_cast, HC_FP64},
    {"float64", HC_WORD_CAST, HC_FN_cast, HC_FP64},
    {"float", HC_WORD_CAST, HC_FN_cast, HC_FP32},
    {"float32", HC_WORD_CAST, HC_FN_cast, HC_FP32},
    {"half", HC_WORD_CAST, HC_FN_cast, HC_FP16},
    {"float16", HC_WORD_CAST, HC_FN_cast, HC_FP16},
    {"bfloat16", HC_WORD_CAST, HC_FN_cast, HC_BF16},
    {"e4m3fn", HC_WORD_CAST, HC_FN_cast, HC_E4M3},
    {"float8_e4m3fn", HC_WORD_CAST, HC_FN_cast, HC_E4M3},
    {"float8_e5m2", HC_WORD_CAST, HC_FN_cast, HC_E5M2},
    {"float8_e4m3fnuz", HC_WORD_CAST, HC_FN_cast, HC_E4M3FNUZ},
    {"float8_e5m2fnuz", HC_WORD_CAST, HC_FN_cast, HC_E5M2FNUZ},
};
enum { WORDS = sizeof words / sizeof words[0] };

static bool is_callable(enum hc_function f)
{
    return hc_functions[f].word != HC_FUNCTION_SIGN;
}

enum hc_format hc_format_of_word(const char *word)
{
    word += hc_token_at(word).module;
    enum hc_format format = hc_format_by_name(word);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind == HC_WORD_CAST && strcmp(words[i].text, word) == 0)
            format = words[i].format;
    return format;
}

static bool is_cast(const struct hc_program *program, const char *text, struct hc_node *node)
{
    enum hc_format format = hc_format_of_word(text);
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
    int length = token->length - token->module;
    if (length > HC_LONGEST_NAME_IN_FORMULA)
        return word;
    (void)snprintf(text, sizeof text, "%.*s", length, token->at + token->module);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind != HC_WORD_CAST && strcmp(words[i].text, text) == 0) {
            word.kind = words[i].kind;
            word.node.function = words[i].function;
        }
    for (int f = 0; f < HC_FUNCTION_COUNT; f++)
        if (is_callable((enum hc_function)f) && strcmp(hc_functions[f].spelling, text) == 0) {
            word.kind = HC_WORD_FUNCTION;
            word.node.function = (enum hc_function)f;
        }
    if (word.kind == HC_WORD_FREE && is_directed_cast(program, text, &word.node))
        word.kind = HC_WORD_CAST;
    bool ours = word.kind == HC_WORD_GRAMMAR || word.kind == HC_WORD_STEP;
    if (token->module && ours)
        word.kind = HC_WORD_FREE; /* np.step is not ours */
    return word;
}

void hc_program_hint(const struct hc_program *program, const struct hc_token *token, bool function,
                     char *hint, size_t size)
{
    struct hc_nearest nearest =
        hc_nearest_to(token->at + token->module, (size_t)(token->length - token->module));
    for (int i = 0; !function && i < program->names; i++)
        if (program->name[i].kind != HC_NAME_UNUSED)
            hc_nearest_try(&nearest, program->name[i].text);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind != HC_WORD_GRAMMAR && (words[i].kind >= HC_WORD_FUNCTION) == function)
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
    if (token->module)
        return hc_parser_wrong(p, place->at, place->length, "%s can be no name",
                               hc_parser_quote(token->at, token->length).text);
    if (token->length > HC_LONGEST_NAME_IN_FORMULA)
        return hc_parser_wrong(p, place->at, place->length, "a name has at most %d characters",
                               HC_LONGEST_NAME_IN_FORMULA);
    struct hc_word meaning = hc_program_word(program, token);
    enum hc_word_kind word = meaning.kind;
    /* `scale` is what everybody calls his scale. Such a function is known by its "(". */
    const struct hc_function_info *info = &hc_functions[meaning.node.function];
    bool shared = word == HC_WORD_FUNCTION &&
                  (info->word == HC_FUNCTION_SHARED || !hc_token_is(token, info->spelling));
    if (word != HC_WORD_FREE && !shared)
        return hc_parser_wrong(p, place->at, place->length, "%s is %s and can be no name",
                               hc_parser_quote(token->at, token->length).text,
                               word == HC_WORD_FUNCTION  ? "a function"
                               : word == HC_WORD_CAST    ? "a format"
                               : word == HC_WORD_STEP    ? "the number of the step"
                               : word == HC_WORD_GRAMMAR ? "a word of the language"
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

void hc_parser_next(struct hc_parser *p)
{
    p->end = p->token.at + p->token.length;
    p->token = hc_token_at(p->end);
}

bool hc_parser_is(const struct hc_parser *p, const char *sign)
{
    return p->token.kind == HC_TOKEN_SIGN && hc_token_is(&p->token, sign);
}

bool hc_parser_is_word(const struct hc_parser *p, const char *word)
{
    return p->token.kind == HC_TOKEN_NAME && hc_token_is(&p->token, word);
}

bool hc_parser_take(struct hc_parser *p, const char *sign)
{
    bool here = hc_parser_is(p, sign);
    if (here)
        hc_parser_next(p);
    return here;
}

bool hc_parser_ends(const struct hc_parser *p)
{
    return p->token.kind == HC_TOKEN_END || hc_parser_is(p, ";") || hc_parser_is(p, "\n");
}

bool hc_parser_wrong(struct hc_parser *p, const char *at, long length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(p->error->what, sizeof p->error->what, format, arguments);
    va_end(arguments);
    p->error->at = (int)(at - p->text);
    p->error->length = length > 0 ? (int)length : 1;
    return false;
}

struct hc_quoted hc_parser_quote(const char *at, int length)
{
    struct hc_quoted q = {"'"};
    size_t used = 1;
    char character[5];
    const char *end = at + length;
    while (at < end && used < sizeof q.text - 12)
        used += (size_t)snprintf(q.text + used, sizeof q.text - used, "%.*s",
                                 (int)hc_text_next(&at, character), character);
    (void)snprintf(q.text + used, sizeof q.text - used, "%s'", at < end ? "..." : "");
    return q;
}

bool hc_parser_unexpected(struct hc_parser *p, const char *missing)
{
    static const struct {
        const char *sign;
        const char *what;
    } hints[] = {
        {"=", "'=' assigns; '==' compares"},
        {":=", "':=' stands behind the name of a constant, at the start of a statement"},
        {"//", "'//' is no sign here: write floor(a / b)"},
        {"&&", "'&&' is no sign here: truths are 0 or 1, write a * b"},
        {"||", "'||' is no sign here: truths are 0 or 1, write max(a, b)"},
        {"%", "'%' is no sign here: write a - b*floor(a / b)"},
        {"!", "'!' is no sign here: write a == 0"},
        {".", "'.' is no sign here: write half(x), not x.half()"},
    };
    const struct hc_token *t = &p->token;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hc_token_is(t, hints[i].sign))
            return hc_parser_wrong(p, t->at, t->length, "%s", hints[i].what);
    if (t->kind == HC_TOKEN_MALFORMED)
        return hc_parser_wrong(p, t->at, t->length, "%s is neither a number nor a name",
                               hc_parser_quote(t->at, t->length).text);
    if (t->kind == HC_TOKEN_STRAY)
        return hc_parser_wrong(p, t->at, t->length, "%s means nothing in a formula",
                               hc_parser_quote(t->at, t->length).text);
    if (hc_parser_ends(p))
        return hc_parser_wrong(p, p->end, 1, "%s is missing%s", missing,
                               hc_parser_is(p, "\n") ? ": a formula ends with its line" : "");
    return hc_parser_wrong(p, t->at, t->length, "%s is missing before %s", missing,
                           hc_parser_quote(t->at, t->length).text);
}

bool hc_parser_too_deep(struct hc_parser *p, const char *at, long length)
{
    return hc_parser_wrong(p, at, length, "more than %d operands are nested here",
                           HC_DEEPEST_FORMULA);
}

/* Whether an expression of this function, or of none, is constant if its operands are. */
static bool keeps_constants(const struct hc_node *node)
{
    if (node->kind != HC_NODE_APPLY && node->kind != HC_NODE_OVER)
        return true;
    return node->function != HC_FN_cast && node->function != HC_FN_quantize &&
           node->function != HC_FN_fake_quantize &&
           (hc_functions[node->function].kind != HC_FUNCTION_LIST || node->function == HC_FN_list);
}

bool hc_parser_push(struct hc_parser *p, struct hc_node *node)
{
    if (p->count == p->room) {
        int room = 2 * p->room + 64;
        struct hc_node **stack = realloc(p->stack, (size_t)room * sizeof *stack);
        if (!stack)
            return false;
        p->stack = stack;
        p->room = room;
    }
    p->stack[p->count++] = node;
    return true;
}

bool hc_parser_reduce(struct hc_parser *p, struct hc_node node, const char *start, int operands)
{
    struct hc_node *made = hc_program_allocate(p->program, sizeof *made);
    if (operands)
        node.operand = hc_program_allocate(p->program, (size_t)operands * sizeof made);
    if (!made || (operands && !node.operand))
        return false;
    p->count -= operands;
    node.constant = operands ? keeps_constants(&node) : node.constant;
    for (int i = 0; i < operands; i++) {
        node.operand[i] = p->stack[p->count + i];
        node.constant = node.constant && node.operand[i]->constant;
        node.depth = node.operand[i]->depth > node.depth ? node.operand[i]->depth : node.depth;
    }
    node.constant = node.constant || (node.kind == HC_NODE_APPLY && node.function == HC_FN_len);
    node.id = p->program->nodes++;
    node.at = start;
    node.length = (int)(p->end - start);
    node.operands = operands;
    if (++node.depth > HC_DEEPEST_FORMULA)
        return hc_parser_too_deep(p, start, node.length);
    *made = node;
    return hc_parser_push(p, made);
}

const struct hc_node *hc_parser_top(const struct hc_parser *p)
{
    return p->stack[p->count - 1];
}

bool hc_parser_constant(struct hc_parser *p, const char *rule)
{
    const struct hc_node *node = hc_parser_top(p);
    if (node->constant)
        return true;
    for (int i = 0; i < node->operands && keeps_constants(node); i++)
        if (!node->operand[i]->constant) {
            node = node->operand[i];
            i = -1;
        }
    return hc_parser_wrong(p, node->at, node->length, "%s, and %s is a value", rule,
                           hc_parser_quote(node->at, node->length).text);
}

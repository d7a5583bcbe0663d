/* The grammar of formulas, by recursive descent:

     statements  = { statement ( ";" | newline ) }
     statement   = NAME ( "=" | ":=" | "+=" | "-=" | "*=" | "/=" ) expression
     expression  = operand { infix expression }        by the levels of `infixes`
     operand     = "-" expression | item { "[" expression "]" }
     item        = NUMBER | NAME | "(" expression ")" | "[" expression { "," expression } "]"
                 | FUNCTION "(" [ NAME ":" ] expression { "," expression } ")"

   Each function of the grammar reads its text, leaves one node more on a stack, and returns true;
   or it fills in the error and returns false. `reduce` makes one node of the last few. The stack
   spares the grammar a word about memory. The depth of recursion and the depth of the tree are
   both limited, since ((((1)))) has no depth as a tree, and 1+1+1+1 needs no recursion to read. */
#include "formula/program_inner.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"

enum { LARGEST_EXPONENT = 5000 };

struct parser {
    struct hc_program *program;
    struct hc_formula_error *error;
    const char *text;
    struct hc_token token; /* the next one */
    const char *end;       /* of the last one */
    int depth;
    int count; /* nodes on the stack */
    int room;
    struct hc_node **stack;
};

static void next(struct parser *p)
{
    p->end = p->token.at + p->token.length;
    p->token = hc_token_at(p->end);
}

static bool is(const struct parser *p, const char *sign)
{
    return p->token.kind == HC_TOKEN_SIGN && hc_token_is(&p->token, sign);
}

static bool take(struct parser *p, const char *sign)
{
    bool here = is(p, sign);
    if (here)
        next(p);
    return here;
}

static bool ends(const struct parser *p)
{
    return p->token.kind == HC_TOKEN_END || is(p, ";") || is(p, "\n");
}

/* The error at a piece of the text. Returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static bool
wrong(struct parser *p, const char *at, long length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(p->error->what, sizeof p->error->what, format, arguments);
    va_end(arguments);
    p->error->at = (int)(at - p->text);
    p->error->length = length > 0 ? (int)length : 1;
    return false;
}

/* A token in quotes, for a message: printable, and shortened. */
struct quoted {
    char text[48];
};

static struct quoted quote(const struct hc_token *token)
{
    struct quoted q = {"'"};
    size_t used = 1;
    char character[5];
    const char *at = token->at;
    while (at < token->at + token->length && used < sizeof q.text - 12)
        used += (size_t)snprintf(q.text + used, sizeof q.text - used, "%.*s",
                                 (int)hc_text_next(&at, character), character);
    (void)snprintf(q.text + used, sizeof q.text - used, "%s'",
                   at < token->at + token->length ? "..." : "");
    return q;
}

/* The token cannot stand where it stands; `instead` says what should. */
static bool unexpected(struct parser *p, const char *instead)
{
    static const struct {
        const char *sign;
        const char *what;
    } hints[] = {
        {"=", "'=' assigns; '==' compares"},
        {":=", "':=' stands behind the name of a constant, at the start of a statement"},
        {"**", "'**' is no sign here: write ^ between constants, x*x between values"},
        {"//", "'//' is no sign here: write floor(a / b)"},
        {"&&", "'&&' is no sign here: truths are 0 or 1, write a * b"},
        {"||", "'||' is no sign here: truths are 0 or 1, write max(a, b)"},
        {"%", "'%' is no sign here: write a - b*floor(a / b)"},
        {"!", "'!' is no sign here: write a == 0"},
        {".", "'.' is no sign here: write half(x), not x.half(), and sqrt(x), not torch.sqrt(x)"},
    };
    const struct hc_token *t = &p->token;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hc_token_is(t, hints[i].sign))
            return wrong(p, t->at, t->length, "%s", hints[i].what);
    if (t->kind == HC_TOKEN_MALFORMED)
        return wrong(p, t->at, t->length, "%s is neither a number nor a name", quote(t).text);
    if (t->kind == HC_TOKEN_STRAY)
        return wrong(p, t->at, t->length, "%s means nothing in a formula", quote(t).text);
    if (ends(p))
        return wrong(p, p->end, 1, "%s is missing", instead);
    return wrong(p, t->at, t->length, "%s is missing before %s", instead, quote(t).text);
}

static bool too_deep(struct parser *p, const char *at, long length)
{
    return wrong(p, at, length, "more than %d operands are nested here", HC_DEEPEST_FORMULA);
}

/* Whether an expression of this function, or of none, is constant if its operands are. */
static bool keeps_constants(const struct hc_node *node)
{
    if (node->kind != HC_NODE_APPLY && node->kind != HC_NODE_OVER)
        return true;
    return node->function != HC_FN_cast &&
           (hc_functions[node->function].kind != HC_FUNCTION_LIST || node->function == HC_FN_list);
}

/* Makes a node of the last `operands` ones. Its text is from `start` to the end of the last
   token. A node without operands comes with `constant` filled in. */
static bool reduce(struct parser *p, struct hc_node node, const char *start, int operands)
{
    struct hc_node *made = hc_program_allocate(p->program, sizeof *made);
    if (operands)
        node.operand = hc_program_allocate(p->program, (size_t)operands * sizeof made);
    if (p->count == p->room) {
        int room = 2 * p->room + 64;
        struct hc_node **stack = realloc(p->stack, (size_t)room * sizeof *stack);
        if (!stack)
            return false;
        p->stack = stack;
        p->room = room;
    }
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
        return too_deep(p, start, node.length);
    *made = node;
    p->stack[p->count++] = made;
    return true;
}

static const struct hc_node *top(const struct parser *p)
{
    return p->stack[p->count - 1];
}

/* Checks that the last node is constant; if not, the error is at the first thing that is none. */
static bool constant(struct parser *p, const char *rule)
{
    const struct hc_node *node = top(p);
    if (node->constant)
        return true;
    for (int i = 0; i < node->operands && keeps_constants(node); i++)
        if (!node->operand[i]->constant) {
            node = node->operand[i];
            i = -1;
        }
    struct hc_token token = {.at = node->at, .length = node->length};
    return wrong(p, node->at, node->length, "%s, and %s is a value", rule, quote(&token).text);
}

/* The name of this text that is in scope, or -1: an index hides what has its name, and the index
   of an inner sum, which comes later in the list, hides that of an outer one. */
static int find_name(const struct parser *p, const struct hc_token *token, bool index)
{
    int found = -1;
    for (int i = 0; i < p->program->names; i++) {
        const struct hc_name *name = &p->program->name[i];
        if (!hc_token_is(token, name->text) || name->kind == HC_NAME_UNUSED)
            continue;
        if (index ? name->kind == HC_NAME_INDEX || found < 0 : name->kind != HC_NAME_INDEX)
            found = i;
    }
    return found;
}

/* Gives the token a name of this kind that is not there yet. */
static bool add_name(struct parser *p, const struct hc_token *token, enum hc_name_kind kind,
                     int *name)
{
    struct hc_program *program = p->program;
    if (token->length > HC_LONGEST_NAME_IN_FORMULA)
        return wrong(p, token->at, token->length, "a name has at most %d characters",
                     HC_LONGEST_NAME_IN_FORMULA);
    enum hc_word_kind word = hc_program_word(program, token).kind;
    if (word != HC_WORD_FREE)
        return wrong(p, token->at, token->length, "%s is %s and can be no name", quote(token).text,
                     word == HC_WORD_FUNCTION ? "a function"
                     : word == HC_WORD_CAST   ? "a format"
                     : word == HC_WORD_STEP   ? "the number of the step"
                                              : "a number");
    for (*name = 0; *name < program->names; ++*name)
        if (kind == HC_NAME_INDEX && program->name[*name].kind == HC_NAME_UNUSED &&
            hc_token_is(token, program->name[*name].text))
            break;
    if (*name == HC_MAX_NAMES)
        return wrong(p, token->at, token->length, "there are more than %d names", HC_MAX_NAMES);
    if (*name == program->names)
        program->names++;
    struct hc_name *made = &program->name[*name];
    made->kind = kind;
    (void)snprintf(made->text, sizeof made->text, "%.*s", token->length, token->at);
    return true;
}

static bool expression(struct parser *p, int level);

/* Reads the closing bracket of `open`. */
static bool closing(struct parser *p, const struct hc_token *open, const char *sign)
{
    if (take(p, sign))
        return true;
    if (ends(p))
        return wrong(p, open->at, open->length, "the %s of %s is missing%s", sign, quote(open).text,
                     is(p, "\n") ? ": a formula ends with its line" : "");
    return unexpected(p, hc_token_is(open, "(") ? "an operator or ')'" : "an operator, ',' or ']'");
}

/* Reads expressions between commas and the closing bracket. */
static bool expressions(struct parser *p, const struct hc_token *open, const char *sign,
                        int *operands)
{
    do {
        if (!expression(p, 0))
            return false;
        ++*operands;
    } while (take(p, ","));
    return closing(p, open, sign);
}

/* Reads the operands of a function that takes a list, or a number of terms and a term. The term is
   in the scope of an index. */
static bool terms(struct parser *p, const struct hc_token *open, struct hc_node *node,
                  int *operands)
{
    static const char usual[] = "i";
    struct hc_token index = {.kind = HC_TOKEN_NAME, .at = usual, .length = 1};
    struct hc_token colon = hc_token_at(p->token.at + p->token.length);
    bool named = p->token.kind == HC_TOKEN_NAME && hc_token_is(&colon, ":");
    if (named) {
        index = p->token;
        next(p);
        next(p);
    }
    if (!expression(p, 0))
        return false;
    ++*operands;
    if (!named && !is(p, ","))
        return closing(p, open, ")");
    if (!constant(p, "the number of terms is a constant"))
        return false;
    if (!take(p, ","))
        return unexpected(p, "',' and the term");
    node->kind = HC_NODE_OVER;
    if (!add_name(p, &index, HC_NAME_INDEX, &node->name))
        return false;
    bool read = expressions(p, open, ")", operands);
    p->program->name[node->name].kind = HC_NAME_UNUSED;
    return read;
}

static bool call(struct parser *p, const struct hc_token *name, struct hc_node node)
{
    const struct hc_function_info *info = &hc_functions[node.function];
    struct hc_token open = p->token;
    int operands = 0;
    next(p);
    bool read = is(p, ")")                       ? closing(p, &open, ")")
                : info->kind == HC_FUNCTION_LIST ? terms(p, &open, &node, &operands)
                                                 : expressions(p, &open, ")", &operands);
    if (!read)
        return false;
    if (operands < info->least || operands > info->most)
        return wrong(p, name->at, p->end - name->at, "%s takes %d%s operand%s, not %d",
                     quote(name).text, info->least, info->least < info->most ? " or 2" : "",
                     info->most > 1 ? "s" : "", operands);
    return reduce(p, node, name->at, operands);
}

/* A name, a word of a fixed meaning, or a call. */
static bool word(struct parser *p)
{
    struct hc_token token = p->token;
    int name = find_name(p, &token, true);
    struct hc_word meaning = hc_program_word(p->program, &token);
    char hint[128];
    next(p);
    if (is(p, "(") && meaning.kind >= HC_WORD_FUNCTION)
        return call(p, &token, meaning.node);
    if (is(p, "(") && name >= 0)
        return wrong(p, token.at, token.length, "%s is no function; '*' multiplies",
                     quote(&token).text);
    if (name >= 0) {
        struct hc_node node = {.kind = HC_NODE_NAME,
                               .name = name,
                               .constant = p->program->name[name].kind != HC_NAME_VALUE};
        return reduce(p, node, token.at, 0);
    }
    if (meaning.kind >= HC_WORD_FUNCTION)
        return wrong(p, token.at, token.length, "%s is a function: write %.*s(x)",
                     quote(&token).text, token.length, token.at);
    if (meaning.kind != HC_WORD_FREE) {
        struct hc_node node = {.kind = meaning.kind == HC_WORD_STEP ? HC_NODE_STEP : HC_NODE_NUMBER,
                               .constant = true};
        return reduce(p, node, token.at, 0);
    }
    hc_program_hint(p->program, &token, is(p, "("), hint, sizeof hint);
    return wrong(p, token.at, token.length, "there is no %s%s%s", is(p, "(") ? "function " : "",
                 quote(&token).text, hint);
}

static bool number(struct parser *p)
{
    struct hc_token token = p->token;
    int e = 0;
    int exponent = 0;
    while (e < token.length && token.at[e] != 'e' && token.at[e] != 'E')
        e++;
    for (e++; e < token.length && exponent <= LARGEST_EXPONENT; e++)
        if (token.at[e] >= '0' && token.at[e] <= '9')
            exponent = 10 * exponent + token.at[e] - '0';
    if (exponent > LARGEST_EXPONENT)
        return wrong(p, token.at, token.length, "a decimal exponent is at most %d in magnitude",
                     LARGEST_EXPONENT);
    next(p);
    return reduce(p, (struct hc_node){.kind = HC_NODE_NUMBER, .constant = true}, token.at, 0);
}

static bool item(struct parser *p)
{
    struct hc_token open = p->token;
    int elements = 0;
    if (p->token.kind == HC_TOKEN_NUMBER)
        return number(p);
    if (p->token.kind == HC_TOKEN_NAME)
        return word(p);
    if (take(p, "("))
        return expression(p, 0) && closing(p, &open, ")");
    if (!take(p, "["))
        return unexpected(p, "an expression");
    return expressions(p, &open, "]", &elements) &&
           reduce(p, (struct hc_node){.kind = HC_NODE_LIST}, open.at, elements);
}

/* How tightly operators bind. Comparisons do not chain, and ^ takes its right side first. */
enum { COMPARES = 1, ADDS, MULTIPLIES, NEGATES, RAISES };

static const struct infix {
    enum hc_function function;
    int level;
} infixes[] = {
    {HC_FN_less, COMPARES},    {HC_FN_less_equal, COMPARES},
    {HC_FN_greater, COMPARES}, {HC_FN_greater_equal, COMPARES},
    {HC_FN_equal, COMPARES},   {HC_FN_not_equal, COMPARES},
    {HC_FN_add, ADDS},         {HC_FN_sub, ADDS},
    {HC_FN_mul, MULTIPLIES},   {HC_FN_div, MULTIPLIES},
    {HC_FN_power, RAISES},
};
enum { INFIXES = sizeof infixes / sizeof infixes[0] };

static const struct infix *infix_of(const struct hc_token *token, int length)
{
    struct hc_token sign = {.at = token->at, .length = length};
    for (int i = 0; token->kind == HC_TOKEN_SIGN && i < INFIXES; i++)
        if (hc_token_is(&sign, hc_functions[infixes[i].function].spelling))
            return &infixes[i];
    return NULL;
}

static bool operand(struct parser *p)
{
    const char *start = p->token.at;
    if (take(p, "-"))
        return expression(p, NEGATES) &&
               reduce(p, (struct hc_node){.kind = HC_NODE_APPLY, .function = HC_FN_negate}, start,
                      1);
    if (!item(p))
        return false;
    for (struct hc_token open = p->token; take(p, "["); open = p->token) {
        if (!expression(p, 0) || !constant(p, "an index is a constant") || !closing(p, &open, "]"))
            return false;
        if (!reduce(p, (struct hc_node){.kind = HC_NODE_AT}, start, 2))
            return false;
    }
    return true;
}

/* Reads an expression whose operators bind at least as tightly as `level`. */
static bool expression(struct parser *p, int level)
{
    const char *start = p->token.at;
    const struct infix *infix;
    int compared = 0;
    if (p->depth++ == HC_DEEPEST_FORMULA)
        return too_deep(p, start, p->token.length);
    if (!operand(p))
        return false;
    while ((infix = infix_of(&p->token, p->token.length)) && infix->level >= level) {
        bool raises = infix->level == RAISES;
        if (infix->level == COMPARES && compared++)
            return wrong(p, p->token.at, p->token.length,
                         "comparisons do not chain: write (a < b) * (b < c)");
        static const char rule[] = "^ stands between constants (write x*x for a value's square)";
        if (raises && !constant(p, rule))
            return false;
        next(p);
        if (!expression(p, infix->level + !raises) || (raises && !constant(p, rule)))
            return false;
        if (!reduce(p, (struct hc_node){.kind = HC_NODE_APPLY, .function = infix->function}, start,
                    2))
            return false;
    }
    p->depth--;
    return true;
}

static bool assignment(struct parser *p, const struct hc_token *name, struct hc_statement *made)
{
    struct hc_token sign = hc_token_at(name->at + name->length);
    const struct infix *update = sign.length == 2 ? infix_of(&sign, 1) : NULL;
    made->constant = hc_token_is(&sign, ":=");
    made->name = find_name(p, name, false);
    if (made->name >= 0 &&
        made->constant != (p->program->name[made->name].kind == HC_NAME_CONSTANT))
        return wrong(p, sign.at, sign.length, "%s is a %s, which '%s' assigns", quote(name).text,
                     made->constant ? "value" : "constant", made->constant ? "=" : ":=");
    if (!update)
        next(p);
    else if (!word(p))
        return false;
    next(p);
    if (!expression(p, 0) ||
        (made->constant && !constant(p, "a constant is made of constants alone")))
        return false;
    if (update && !reduce(p, (struct hc_node){.kind = HC_NODE_APPLY, .function = update->function},
                          name->at, 2))
        return false;
    return made->name >= 0 ||
           add_name(p, name, made->constant ? HC_NAME_CONSTANT : HC_NAME_VALUE, &made->name);
}

static bool statement(struct parser *p, struct hc_statement *made)
{
    static const char *const signs[] = {"=", ":=", "+=", "-=", "*=", "/="};
    struct hc_token name = p->token;
    struct hc_token sign = hc_token_at(name.at + name.length);
    bool assigns = false;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        assigns = assigns || hc_token_is(&sign, signs[i]);
    if (name.kind == HC_TOKEN_NAME && assigns)
        return assignment(p, &name, made);
    if (name.kind != HC_TOKEN_NAME && name.kind != HC_TOKEN_NUMBER)
        return unexpected(p, "a name");
    if (hc_token_is(&sign, "["))
        return wrong(p, sign.at, sign.length, "an element cannot be assigned, only a whole list");
    next(p);
    return wrong(p, name.at, name.length, "a statement assigns: NAME = EXPRESSION");
}

static bool blocks(struct parser *p, struct hc_block *block, bool shows)
{
    int most = 1;
    for (const char *at = p->text; *at; at++)
        most += *at == ';' || *at == '\n' || *at == ',';
    struct hc_statement *made =
        hc_program_allocate(p->program, (size_t)most * sizeof(struct hc_statement));
    block->statement = made;
    if (!made)
        return false;
    for (;;) {
        while (take(p, ";") || take(p, "\n"))
            ;
        if (p->token.kind == HC_TOKEN_END && block->count > 0)
            return true;
        if (p->token.kind == HC_TOKEN_END && !shows)
            return true;
        do {
            made->name = -1;
            made->at = p->token.at;
            if (!(shows ? expression(p, 0) : statement(p, made)))
                return false;
            made->length = (int)(p->end - made->at);
            made->value = top(p);
            p->count = 0;
            block->count++;
            made++;
        } while (shows && take(p, ","));
        if (!ends(p))
            return unexpected(p, shows ? "an operator or ','" : "an operator or ';'");
    }
}

bool hc_parse(struct hc_program *program, struct hc_block *block, bool shows,
              struct hc_formula_error *error)
{
    struct parser p = {.program = program, .error = error, .text = block->text};
    p.end = block->text;
    p.token = hc_token_at(block->text);
    bool parsed = blocks(&p, block, shows);
    free(p.stack);
    return parsed;
}

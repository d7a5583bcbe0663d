#include "define/unfold.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "op/typed.h"

#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
static bool
wrong(struct hc_formula_error *error, const char *text, const char *at, int length,
      const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(error->what, sizeof error->what, format, arguments);
    va_end(arguments);
    error->at = (int)(at - text);
    error->length = length > 0 ? length : 1;
    return false;
}

/* The token behind this one. */
static struct hc_token behind(const struct hc_token *token)
{
    return hc_token_at(token->at + token->length);
}

static struct hc_token first_of(const char *statement)
{
    return hc_token_at(statement);
}

/* A block begins with its word, which stands where an equation would have a name and no `=`. */
static bool begins(const char *statement, const char *word)
{
    struct hc_token first = first_of(statement);
    struct hc_token next = behind(&first);
    return hc_token_is(&first, word) && next.kind == HC_TOKEN_NAME;
}

static bool is_block(const char *statement)
{
    return begins(statement, "variant") || begins(statement, "backward");
}

/* "variant NAME:" */
static bool read_variant(const char *text, const char *at, struct hc_blocks *b,
                         struct hc_formula_error *error)
{
    struct hc_token word = first_of(at);
    struct hc_token name = behind(&word);
    struct hc_token colon = behind(&name);
    struct hc_token end = behind(&colon);
    if (b->variants == HC_MAX_VARIANTS)
        return wrong(error, text, word.at, word.length, "there are more than %d variants",
                     HC_MAX_VARIANTS);
    if (!hc_token_is(&colon, ":") || !(hc_token_is(&end, "\n") || end.kind == HC_TOKEN_END))
        return wrong(error, text, name.at, name.length, "this line is 'variant NAME:'");
    if (name.length > HC_LONGEST_DEFINED_NAME || hc_token_is(&name, "any"))
        return wrong(error, text, name.at, name.length,
                     name.length > HC_LONGEST_DEFINED_NAME ? "a name has at most 47 characters"
                                                           : "any is the name of no variant");
    for (int i = 0; i < b->variants; i++)
        if (hc_token_is(&name, b->variant[i].name))
            return wrong(error, text, name.at, name.length, "there is a variant of this name");
    (void)snprintf(b->variant[b->variants].name, sizeof b->variant[0].name, "%.*s", name.length,
                   name.at);
    b->variant[b->variants].head =
        (struct hc_block_part){(int)(word.at - text), (int)(colon.at + 1 - word.at)};
    b->variants++;
    return true;
}

/* "backward given NAME, NAME:" */
static bool read_backward(const char *text, const char *at, struct hc_blocks *b,
                          struct hc_formula_error *error)
{
    struct hc_token word = first_of(at);
    struct hc_token token = behind(&word);
    if (b->backward_head.length)
        return wrong(error, text, word.at, word.length, "there is one backward already");
    if (!hc_token_is(&token, "given"))
        return wrong(error, text, token.at, token.length,
                     "this line is 'backward given NAME, ...:'");
    do {
        token = behind(&token);
        if (token.kind != HC_TOKEN_NAME || b->given == HC_MAX_DEFINED_TENSORS)
            return wrong(error, text, token.at, token.length, "the name of a tensor is missing");
        b->given_name[b->given++] = (struct hc_block_part){(int)(token.at - text), token.length};
        token = behind(&token);
    } while (hc_token_is(&token, ","));
    if (!hc_token_is(&token, ":"))
        return wrong(error, text, token.at, token.length, "':' is missing");
    b->backward_head = (struct hc_block_part){(int)(word.at - text), (int)(token.at + 1 - word.at)};
    return true;
}

bool hc_blocks_find(const char *text, struct hc_blocks *blocks, struct hc_formula_error *error)
{
    struct hc_block_part *body = NULL;
    bool open = false;
    *blocks = (struct hc_blocks){.main = 0};
    for (const char *at = text; *at;) {
        const char *end = hc_statement_end(at);
        if (is_block(at)) {
            bool variant = begins(at, "variant");
            if (!(variant ? read_variant : read_backward)(text, at, blocks, error))
                return false;
            body = variant ? &blocks->variant[blocks->variants - 1].body : &blocks->backward;
            *body = (struct hc_block_part){(int)(end - text), 0};
            open = true;
        } else if (open) {
            body->length = (int)(end - text) - body->from;
        } else {
            blocks->main = (int)(end - text);
        }
        at = end;
    }
    for (int i = 0; i < blocks->variants; i++)
        if (!blocks->variant[i].body.length)
            return wrong(error, text, text + blocks->variant[i].head.from,
                         blocks->variant[i].head.length, "this variant has no equation");
    if (blocks->backward_head.length && !blocks->backward.length)
        return wrong(error, text, text + blocks->backward_head.from, blocks->backward_head.length,
                     "this backward has no equation");
    return true;
}

/* What the statement assigns: the token of its name; of kind END if it is no equation. */
static struct hc_token assigned(const char *statement)
{
    struct hc_token token = first_of(statement);
    if (hc_token_is(&token, "scan")) {
        struct hc_token axis = behind(&token);
        struct hc_token colon = behind(&axis);
        token = behind(&colon);
    }
    bool is = token.kind == HC_TOKEN_NAME && !hc_token_is(&token, "op") &&
              !hc_token_is(&token, "axis") && !hc_token_is(&token, "return");
    return is ? token : (struct hc_token){.kind = HC_TOKEN_END, .at = statement};
}

/* Whether an equation of the body assigns what the statement assigns. */
static bool replaces(const char *body, const char *end, const char *statement)
{
    struct hc_token name = assigned(statement);
    for (const char *at = body; at < end && name.kind == HC_TOKEN_NAME; at = hc_statement_end(at)) {
        struct hc_token other = assigned(at);
        if (other.kind == HC_TOKEN_NAME && other.length == name.length &&
            strncmp(other.at, name.at, (size_t)name.length) == 0)
            return true;
    }
    return false;
}

static int variant_of(const struct hc_blocks *blocks, const char *name,
                      struct hc_formula_error *error)
{
    int i = 0;
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    while (i < blocks->variants && strcmp(blocks->variant[i].name, name) != 0)
        hc_nearest_try(&nearest, blocks->variant[i++].name);
    if (i == blocks->variants) {
        (void)snprintf(error->what, sizeof error->what, "there is no variant '%.40s'%s", name,
                       hc_nearest_hint(&nearest));
        error->length = 0;
        return -1;
    }
    return i;
}

bool hc_blocks_choose(const char *text, const struct hc_blocks *blocks, const char *variant,
                      struct hc_pieces *chosen, struct hc_formula_error *error)
{
    int v = variant ? variant_of(blocks, variant, error) : -1;
    const char *end = text + blocks->main;
    bool put = false;
    if (variant && v < 0)
        return false;
    if (!variant)
        hc_pieces_copy(chosen, text, 0, blocks->main);
    for (const char *at = text; variant && at < end;) {
        const struct hc_block_part *body = &blocks->variant[v].body;
        const char *next = hc_statement_end(at);
        if (!replaces(text + body->from, text + body->from + body->length, at))
            hc_pieces_copy(chosen, text, (int)(at - text), (int)(next - at));
        else if (!put)
            hc_pieces_copy(chosen, text, body->from, body->length);
        if (!put && replaces(text + body->from, text + body->from + body->length, at)) {
            put = true;
            if (chosen->length && chosen->text[chosen->length - 1] != '\n')
                hc_pieces_put(chosen, "\n", 1);
        }
        at = next;
    }
    if (variant && !put)
        return wrong(error, text, text + blocks->variant[v].head.from,
                     blocks->variant[v].head.length, "this variant replaces no equation above");
    error->length = 0;
    return !chosen->failed;
}

/* The head of a backward. */

static void put(struct hc_pieces *p, const char *text)
{
    hc_pieces_put(p, text, (int)strlen(text));
}

/* Whether the name is a word of the text. */
static bool mentions(const char *at, const char *end, const char *name)
{
    while (at < end) {
        struct hc_token token = hc_token_at(at);
        if (token.kind == HC_TOKEN_NAME && hc_token_is(&token, name))
            return true;
        at = token.at + (token.length > 0 ? token.length : 1);
    }
    return false;
}

static void put_tensor(struct hc_pieces *p, const struct hc_definition *d, int tensor,
                       const char *name, bool *first)
{
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    put(p, *first ? "" : ", ");
    put(p, name);
    for (int i = 0; i < t->rank; i++) {
        put(p, i ? ", " : "[");
        put(p, d->axis[t->axis[i]].name);
    }
    put(p, t->rank ? "]" : "");
    if (t->index) {
        put(p, ": index ");
        put(p, t->index_axis >= 0 ? d->axis[t->index_axis].name : "");
    }
    *first = false;
}

/* What the gradient by a result is called: as that which is derived has it. */
static void gradient_name(const struct hc_definition *d, int tensor, char *name, size_t size)
{
    (void)snprintf(name, size, "d%s", d->tensor[tensor].name);
    size_t length = strlen(name);
    while (length + 1 < size &&
           (hc_definition_tensor(d, name) >= 0 || hc_definition_axis(d, name) >= 0 ||
            hc_definition_option(d, name) >= 0)) {
        name[length++] = '_';
        name[length] = '\0';
    }
}

/* Whether the body speaks of an axis that nothing which it reads has, and this input has. */
static bool gives_axis(const struct hc_definition *d, int input, const bool *taken, const char *at,
                       const char *end)
{
    for (int i = 0; i < d->tensor[input].rank; i++) {
        int axis = d->tensor[input].axis[i];
        char extent[HC_LONGEST_DEFINED_NAME + 1] = "";
        bool has = false;
        for (int t = 0; t < d->tensors; t++)
            for (int k = 0; k < d->tensor[t].rank && taken[t]; k++)
                has = has || d->tensor[t].axis[k] == axis;
        for (int c = 0; d->axis[axis].name[c]; c++)
            extent[c] = (char)toupper((unsigned char)d->axis[axis].name[c]);
        if (!has && (mentions(at, end, d->axis[axis].name) || mentions(at, end, extent)))
            return true;
    }
    return false;
}

static void put_head(struct hc_pieces *p, const struct hc_definition *d, const bool *given,
                     const char *at, const char *end)
{
    bool first = true;
    bool taken[HC_MAX_DEFINED_TENSORS] = {false};
    char name[HC_LONGEST_DEFINED_NAME + 8];
    put(p, "op ");
    put(p, d->name);
    put(p, "_backward(");
    for (int t = 0; t < d->tensors; t++)
        taken[t] = t < d->inputs ? mentions(at, end, d->tensor[t].name) : given[t];
    for (int i = 0; i < d->results; i++) {
        gradient_name(d, d->result[i], name, sizeof name);
        taken[d->result[i]] |= mentions(at, end, name);
    }
    for (int t = 0; t < d->inputs; t++) {
        taken[t] = taken[t] || gives_axis(d, t, taken, at, end);
        if (taken[t])
            put_tensor(p, d, t, d->tensor[t].name, &first);
    }
    for (int t = d->inputs; t < d->tensors; t++)
        if (given[t])
            put_tensor(p, d, t, d->tensor[t].name, &first);
    for (int i = 0; i < d->results; i++) {
        gradient_name(d, d->result[i], name, sizeof name);
        if (mentions(at, end, name))
            put_tensor(p, d, d->result[i], name, &first);
    }
    bool options = false;
    for (int i = 0; i < d->options; i++) {
        if (!mentions(at, end, d->option[i].name))
            continue;
        put(p, options ? ", " : "; ");
        put(p, d->option[i].name);
        put(p, " = ");
        hc_pieces_put(p, d->option[i].value->at, d->option[i].value->length);
        options = true;
    }
    put(p, ")\n");
}

bool hc_blocks_backward(const char *text, const struct hc_blocks *blocks,
                        struct hc_definition *definition, struct hc_formula_error *error)
{
    struct hc_definition *d = definition;
    const char *at = text + blocks->backward.from;
    bool given[HC_MAX_DEFINED_TENSORS] = {false};
    for (int i = 0; i < blocks->given; i++) {
        const struct hc_block_part *part = &blocks->given_name[i];
        char name[HC_LONGEST_DEFINED_NAME + 1];
        (void)snprintf(name, sizeof name, "%.*s", part->length, text + part->from);
        int tensor = hc_definition_tensor(d, name);
        if (tensor < d->inputs || d->tensor[tensor].shift)
            return wrong(error, text, text + part->from, part->length,
                         tensor < 0           ? "%s is assigned by no equation above"
                         : tensor < d->inputs ? "%s is an input, which a backward has anyhow"
                                              : "%s is a shift, of which every number may be taken",
                         name);
        given[tensor] = true;
    }
    struct hc_pieces made = {.text = NULL};
    hc_pieces_stand_for(&made, blocks->backward_head.from, blocks->backward_head.length);
    put_head(&made, d, given, at, at + blocks->backward.length);
    hc_pieces_copy(&made, text, blocks->backward.from, blocks->backward.length);
    error->length = 0;
    struct hc_definition *backward = made.failed ? NULL : hc_definition_read(made.text, error);
    error->text = text;
    if (backward)
        d->backward = strdup(made.text);
    else if (error->length)
        hc_pieces_find(&made, &error->at, &error->length);
    hc_definition_free(backward);
    hc_pieces_free(&made);
    return d->backward;
}

/* From an owner's text to a definition: its blocks, what it uses, its equations, its digest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/pieces.h"
#include "define/reader.h"
#include "define/unfold.h"
#include "num/sha256.h"

/* Of the owner's text; what it uses belongs to it. */
static void sign(struct hc_definition *d, const char *text)
{
    struct hc_sha256 hash;
    char digest[HC_SHA256_TEXT];
    hc_sha256_start(&hash);
    hc_sha256_add(&hash, text, strlen(text));
    hc_sha256_end(&hash, digest);
    (void)snprintf(d->digest, sizeof d->digest, "%.16s", digest);
}

/* The first character that steers a terminal: of ASCII's, or of the 32 that come as C2 80 to C2 9F
   in UTF-8. A text is printed, with its comments. NULL: there is none. */
static const char *find_control(const char *text)
{
    for (const char *at = text; *at; at++) {
        unsigned char c = (unsigned char)*at;
        if ((c < 0x20 && !strchr("\n\t\r", c)) || c == 0x7f ||
            (c == 0xc2 && ((unsigned char)at[1] & 0xe0) == 0x80))
            return at;
    }
    return NULL;
}

static bool is_text(const char *text, struct hc_formula_error *error)
{
    *error = (struct hc_formula_error){.text = text, .what = "there is no memory"};
    const char *control = find_control(text);
    error->length = 1;
    if (strlen(text) > HC_LONGEST_DEFINITION) {
        (void)snprintf(error->what, sizeof error->what, "a definition has at most %d characters",
                       HC_LONGEST_DEFINITION);
    } else if (control) {
        (void)snprintf(error->what, sizeof error->what,
                       "a definition has no control characters but new lines and tabs");
        error->at = (int)(control - text);
    } else {
        error->length = 0;
        return true;
    }
    return false;
}

struct hc_definition *hc_definition_read_made(const char *text, struct hc_formula_error *error)
{
    struct hc_pieces expanded = {.text = NULL};
    struct hc_definition *d = NULL;
    *error = (struct hc_formula_error){.text = text, .what = "there is no memory"};
    if (hc_use_expand(text, &expanded, error))
        d = hc_read_equations(expanded.text, true, error);
    if (!d && error->length)
        hc_pieces_find(&expanded, &error->at, &error->length);
    hc_pieces_free(&expanded);
    return d;
}

/* The text with the equations of the variant in the place of others, and with those of each `use`:
   each has its pieces of the text before it, in whose terms errors are told. */
struct hc_definition *hc_definition_read_variant(const char *text, const char *variant,
                                                 struct hc_formula_error *error)
{
    struct hc_blocks blocks = {.variants = 0};
    struct hc_pieces chosen = {.text = NULL};
    struct hc_pieces expanded = {.text = NULL};
    struct hc_definition *d = NULL;
    if (!is_text(text, error) || !hc_blocks_find(text, &blocks, error) ||
        !hc_blocks_choose(text, &blocks, variant, &chosen, error))
        goto clean_up;
    bool used = hc_use_expand(chosen.text, &expanded, error);
    if (used)
        d = hc_read_equations(expanded.text, false, error);
    if (!d && used && error->length)
        hc_pieces_find(&expanded, &error->at, &error->length);
    if (!d && error->length)
        hc_pieces_find(&chosen, &error->at, &error->length);
    if (d) {
        sign(d, blocks.variants || blocks.backward.length ? text : expanded.text);
        d->variants = blocks.variants;
        for (int i = 0; i < blocks.variants; i++)
            (void)snprintf(d->variant[i], sizeof d->variant[i], "%s", blocks.variant[i].name);
        (void)snprintf(d->chosen, sizeof d->chosen, "%s", variant ? variant : "");
    }
    if (d && blocks.backward.length && !hc_blocks_backward(text, &blocks, d, error)) {
        hc_definition_free(d);
        d = NULL;
    }
clean_up:
    hc_pieces_free(&chosen);
    hc_pieces_free(&expanded);
    return d;
}

/* All variants are read, so that none of them is wrong until somebody names it. */
struct hc_definition *hc_definition_read(const char *text, struct hc_formula_error *error)
{
    struct hc_definition *d = hc_definition_read_variant(text, NULL, error);
    for (int i = 0; d && i < d->variants; i++) {
        struct hc_definition *other = hc_definition_read_variant(text, d->variant[i], error);
        if (!other) {
            hc_definition_free(d);
            d = NULL;
        }
        hc_definition_free(other);
    }
    return d;
}

void hc_definition_free(struct hc_definition *definition)
{
    if (!definition)
        return;
    for (int i = 0; i < definition->expressions; i++)
        free(definition->expression[i]);
    free(definition->text);
    free(definition->backward);
    free(definition);
}

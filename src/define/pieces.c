#include "define/pieces.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 1024, MOST = 1 << 20 };

void hc_pieces_free(struct hc_pieces *pieces)
{
    free(pieces->text);
    free(pieces->piece);
    *pieces = (struct hc_pieces){.text = NULL};
}

static bool grow(struct hc_pieces *p, int length)
{
    while (!p->failed && p->length + length + 1 > p->room) {
        int room = p->room ? 2 * p->room : FIRST_ROOM;
        char *text = room <= MOST ? realloc(p->text, (size_t)room) : NULL;
        p->failed = !text;
        p->text = text ? text : p->text;
        p->room = text ? room : p->room;
    }
    return !p->failed;
}

static void begin(struct hc_pieces *p, int from, int length, bool made)
{
    if (p->pieces == p->piece_room) {
        int room = p->piece_room ? 2 * p->piece_room : 16;
        struct hc_piece *piece = realloc(p->piece, (size_t)room * sizeof *piece);
        p->failed |= !piece;
        p->piece = piece ? piece : p->piece;
        p->piece_room = piece ? room : p->piece_room;
    }
    if (!p->failed)
        p->piece[p->pieces++] = (struct hc_piece){p->length, from, length, made};
}

void hc_pieces_put(struct hc_pieces *pieces, const char *text, int length)
{
    if (!grow(pieces, length))
        return;
    memcpy(pieces->text + pieces->length, text, (size_t)length);
    pieces->length += length;
    pieces->text[pieces->length] = '\0';
}

void hc_pieces_copy(struct hc_pieces *pieces, const char *source, int from, int length)
{
    begin(pieces, from, length, false);
    hc_pieces_put(pieces, source + from, length);
}

void hc_pieces_stand_for(struct hc_pieces *pieces, int from, int length)
{
    begin(pieces, from, length, true);
}

void hc_pieces_find(const struct hc_pieces *pieces, int *at, int *length)
{
    int i = pieces->pieces - 1;
    while (i > 0 && pieces->piece[i].at > *at)
        i--;
    if (i < 0)
        return;
    const struct hc_piece *piece = &pieces->piece[i];
    *at = piece->made ? piece->from : piece->from + (*at - piece->at);
    *length = piece->made ? piece->length : *length;
}

bool hc_line_goes_on(const struct hc_token *newline)
{
    static const char *const words[] = {"where", "+", "-", "*", "/", "and", "or", "mod"};
    const char *line = newline->at + newline->length;
    struct hc_token first = hc_token_at(line);
    if (*line != ' ' && *line != '\t')
        return false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (hc_token_is(&first, words[i]))
            return true;
    return false;
}

const char *hc_statement_end(const char *text)
{
    int depth = 0;
    for (;;) {
        struct hc_token token = hc_token_at(text);
        text = token.at + token.length;
        if (token.kind == HC_TOKEN_END)
            return text;
        depth += hc_token_is(&token, "(") || hc_token_is(&token, "[");
        depth -= hc_token_is(&token, ")") || hc_token_is(&token, "]");
        if (hc_token_is(&token, "\n") && depth <= 0 && !hc_line_goes_on(&token))
            return text;
    }
}

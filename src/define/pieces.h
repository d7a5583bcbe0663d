/* A text made of pieces of a source and of replacements for some of them. It remembers where each
   piece comes from, so that an error can be shown at its place in the source. */
#ifndef HC_DEFINE_PIECES_H
#define HC_DEFINE_PIECES_H

#include <stdbool.h>

#include "formula/parser.h"

struct hc_piece {
    int at;     /* where the piece begins in this text */
    int from;   /* where it begins in the source */
    int length; /* its length in the source */
    bool made;  /* a replacement; if false, a copy */
};

struct hc_pieces {
    char *text; /* ends with a zero; NULL: nothing yet, or no memory */
    int length;
    int room;
    struct hc_piece *piece;
    int pieces;
    int piece_room;
    bool failed; /* no memory, or too long: the rest is void */
};

void hc_pieces_free(struct hc_pieces *pieces);

/* Adds a copy of source[from] up to source[from + length - 1]. */
void hc_pieces_copy(struct hc_pieces *pieces, const char *source, int from, int length);

/* What is put from now on, up to the next copy, replaces that part of the source. */
void hc_pieces_stand_for(struct hc_pieces *pieces, int from, int length);
void hc_pieces_put(struct hc_pieces *pieces, const char *text, int length);

/* Finds the place in the source of a place in the text. */
void hc_pieces_find(const struct hc_pieces *pieces, int *at, int *length);

/* The end of the statement that begins at `text`: behind its newline, or the text's end. Between
   brackets a line may end anywhere, and a line that begins with blanks and an operator or `where`
   goes on with the one above. */
const char *hc_statement_end(const char *text);

/* Whether the line behind the newline goes on with the one that it ends. */
bool hc_line_goes_on(const struct hc_token *newline);

#endif

/* What the page is written with: blocks and texts, as HTML or as Markdown. Whatever stands in a
   text, it comes out as text. */
#ifndef HC_CLI_REPORT_PAGE_OUT_H
#define HC_CLI_REPORT_PAGE_OUT_H

#include <stdbool.h>
#include <stdio.h>

struct hc_page_out {
    FILE *file;
    bool markdown;
    const char *const *titles; /* of the table that is open; NULL: none */
    int column;                /* of the cell that comes next */
};

enum hc_page_block {
    HC_BLOCK_PARAGRAPH,
    HC_BLOCK_LIST,
    HC_BLOCK_ITEM,
    HC_BLOCK_ROW,
    HC_BLOCK_CELL,
    HC_BLOCK_COUNT
};

/* Begins and ends a block. `class` is a constant of the caller, or NULL. */
void hc_page_begin(struct hc_page_out *out, enum hc_page_block block, const char *class);
void hc_page_end(struct hc_page_out *out, enum hc_page_block block);

/* Begins and ends a section with a heading of this level, 2 to 4; what is written between
   hc_page_heading and hc_page_heading_end is the heading. `id` is a constant of the caller, or
   NULL. */
void hc_page_heading(struct hc_page_out *out, int level, const char *id);
void hc_page_heading_end(struct hc_page_out *out, int level);

/* Begins and ends an element of HTML that Markdown has not, such as "section". */
void hc_page_open(struct hc_page_out *out, const char *tag, const char *class);
void hc_page_close(struct hc_page_out *out, const char *tag);

/* Texts within a block. A verdict is a word in its colour. */
void hc_page_text(struct hc_page_out *out, const char *text);
void hc_page_code(struct hc_page_out *out, const char *text);
void hc_page_verdict(struct hc_page_out *out, const char *word);
void hc_page_break(struct hc_page_out *out);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_page_print(struct hc_page_out *out, const char *format, ...);

/* A command, or other text whose lines stay lines, as a block of its own. */
void hc_page_pre(struct hc_page_out *out, const char *text);

/* Begins a table, whose columns have these titles, the caller's until hc_page_table_end. A title
   that begins with '#' is that of a column of numbers. On a narrow screen each row becomes a list
   of its cells with their titles; a table that is wider than the screen scrolls within itself, as a
   region with this label. */
void hc_page_table(struct hc_page_out *out, const char *label, const char *const *titles,
                   int count);
void hc_page_table_end(struct hc_page_out *out);
/* Cells; a number is printed by the format. */
void hc_page_cell(struct hc_page_out *out, const char *text);
void hc_page_code_cell(struct hc_page_out *out, const char *text);
void hc_page_verdict_cell(struct hc_page_out *out, const char *word);
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
void hc_page_number_cell(struct hc_page_out *out, const char *format, ...);

/* A list of terms; what is written between hc_page_term and hc_page_term_end says what each is. */
void hc_page_terms(struct hc_page_out *out);
void hc_page_term(struct hc_page_out *out, const char *title);
void hc_page_term_end(struct hc_page_out *out);
void hc_page_terms_end(struct hc_page_out *out);

/* What is hidden until it is opened; Markdown shows it. Between both stands the line that is always
   shown. */
void hc_page_fold(struct hc_page_out *out, bool open);
void hc_page_fold_body(struct hc_page_out *out);
void hc_page_fold_end(struct hc_page_out *out);

/* Writes a count with commas between its thousands, as in 14,173. */
enum { HC_LONGEST_COUNT = 32 };
const char *hc_page_count(long long count, char text[HC_LONGEST_COUNT]);

#endif

/* Tables and numbers of the page. */
#include <stdarg.h>
#include <string.h>

#include "cli/report/page_out.h"
#include "op/text.h"

void hc_page_table(struct hc_page_out *out, const char *label, const char *const *titles, int count)
{
    if (!out->markdown) {
        (void)fputs("<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"",
                    out->file);
        hc_text_markup(out->file, label);
        (void)fputs("\"><table><thead><tr>", out->file);
    }
    out->titles = titles;
    (void)fputs(out->markdown ? "|" : "", out->file);
    for (int i = 0; i < count; i++) {
        bool number = titles[i][0] == '#';
        if (out->markdown)
            (void)fputc(' ', out->file);
        else
            (void)fprintf(out->file, "<th scope=\"col\"%s>", number ? " class=\"n\"" : "");
        hc_page_text(out, titles[i] + number);
        (void)fputs(out->markdown ? " |" : "</th>", out->file);
    }
    (void)fputs(out->markdown ? "\n|" : "</tr></thead><tbody>\n", out->file);
    for (int i = 0; i < count && out->markdown; i++)
        (void)fputs(titles[i][0] == '#' ? "---:|" : "---|", out->file);
    (void)fputs(out->markdown ? "\n" : "", out->file);
}

void hc_page_table_end(struct hc_page_out *out)
{
    out->titles = NULL;
    (void)fputs(out->markdown ? "\n" : "</tbody></table></div>\n", out->file);
}

void hc_page_cell(struct hc_page_out *out, const char *text)
{
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_CELL);
}

void hc_page_code_cell(struct hc_page_out *out, const char *text)
{
    hc_page_begin(out, HC_BLOCK_CELL, "c");
    if (out->markdown && *text)
        hc_page_code(out, text);
    else
        hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_CELL);
}

void hc_page_verdict_cell(struct hc_page_out *out, const char *word)
{
    hc_page_begin(out, HC_BLOCK_CELL, NULL);
    hc_page_verdict(out, word);
    hc_page_end(out, HC_BLOCK_CELL);
}

void hc_page_number_cell(struct hc_page_out *out, const char *format, ...)
{
    char text[64];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    hc_page_begin(out, HC_BLOCK_CELL, "n");
    hc_page_text(out, text);
    hc_page_end(out, HC_BLOCK_CELL);
}

const char *hc_page_count(long long count, char text[HC_LONGEST_COUNT])
{
    char digits[HC_LONGEST_COUNT];
    int n = snprintf(digits, sizeof digits, "%lld", count);
    char *at = text;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0 && digits[i - 1] != '-')
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = '\0';
    return text;
}

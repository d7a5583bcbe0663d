#include "cli/report/page_link.h"

#include <stdlib.h>
#include <string.h>

#include "op/text.h"

/* The length of an address at the beginning of the text; 0 if there is none. A full stop or bracket
   at its end belongs to the sentence. */
static size_t address_length(const char *text)
{
    size_t scheme = strncmp(text, "https://", 8) == 0  ? 8
                    : strncmp(text, "http://", 7) == 0 ? 7
                                                       : 0;
    size_t length = strcspn(text, " \t\n,;<>\"'`{}|\\^");
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || (unsigned char)text[i] >= 0x7f)
            length = i;
    while (length > scheme && strchr(".:!?)]", text[length - 1]))
        length--;
    return scheme && length > scheme ? length : 0;
}

/* An address has none of the characters that would end it in HTML or in Markdown. */
static void write_address(struct hc_page_out *out, const char *address)
{
    if (out->markdown) {
        (void)fprintf(out->file, "<%s>", address);
        return;
    }
    (void)fputs("<a href=\"", out->file);
    hc_text_markup(out->file, address);
    (void)fputs("\">", out->file);
    hc_text_markup(out->file, address);
    (void)fputs("</a>", out->file);
}

void hc_page_write_linked(struct hc_page_out *out, const char *text)
{
    char *copy = strdup(text);
    for (char *at = copy; at && *at;) {
        char *next = at;
        while (*next && !address_length(next))
            next++;
        size_t length = address_length(next);
        char kept = *next;
        *next = '\0';
        hc_page_text(out, at);
        *next = kept;
        kept = next[length];
        next[length] = '\0';
        if (length)
            write_address(out, next);
        next[length] = kept;
        at = next + length;
    }
    free(copy);
}

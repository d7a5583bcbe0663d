#include "check/record/baseline_text.h"

#include <stdlib.h>
#include <string.h>

static const char base64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static bool has_meaning(const char *text, size_t length)
{
    static const char *const words[] = {"backend", "unit", "digits",   "usual", "part",
                                        "results", "end",  "training", "drift"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strlen(words[i]) == length && memcmp(words[i], text, length) == 0)
            return true;
    return false;
}

void hc_baseline_escape(FILE *out, const char *text, size_t length, const char *also, bool begins)
{
    bool escapes = begins && has_meaning(text, length);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c > ' ' && c < 0x7f && c != '%' && !strchr(also, c) && !(escapes && i == 0);
        (void)fprintf(out, plain ? "%c" : "%%%02x", c);
    }
    if (length == 0)
        (void)fputc('%', out);
}

bool hc_baseline_unescape(char *text)
{
    char *to = text;
    if (strcmp(text, "%") == 0)
        *text = '\0';
    for (const char *from = text; *from; to++) {
        char hex[3] = {0};
        char *end;
        if (*from != '%') {
            *to = *from++;
            continue;
        }
        (void)strncpy(hex, from + 1, 2);
        long code = strspn(hex, "0123456789abcdef") == 2 ? strtol(hex, &end, 16) : 0;
        if (code == 0)
            return false;
        *to = (char)code;
        from += 3;
    }
    *to = '\0';
    return true;
}

void hc_baseline_digest(uint64_t digest, char text[HC_BASELINE_DIGEST_TEXT])
{
    for (int i = 0; i < 4; i++)
        text[i] = base64[digest >> (58 - 6 * i) & 63];
    text[4] = '\0';
}

bool hc_baseline_read_digest(const char *text, uint64_t *digest)
{
    *digest = 0;
    for (int i = 0; i < 4; i++) {
        const char *at = text[i] ? strchr(base64, text[i]) : NULL;
        if (!at)
            return false;
        *digest |= (uint64_t)(at - base64) << (58 - 6 * i);
    }
    return text[4] == '\0';
}

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cast/plan.h"

/* Reads a word of up to `digits` hexadecimal digits. */
static bool read_bits(const char *word, int digits, uint32_t *bits)
{
    word += 2 * (word[0] == '0' && (word[1] == 'x' || word[1] == 'X'));
    size_t length = strspn(word, "0123456789abcdefABCDEF");
    *bits = (uint32_t)strtoul(word, NULL, 16);
    return length > 0 && word[length] == '\0' && length <= (size_t)digits;
}

const char *hc_cast_answer_read(const struct hc_cast_plan *plan, const char *line, uint32_t *input,
                                uint32_t *code)
{
    char word[2][24];
    int end = 0;
    if (sscanf(line, "%23s %23s %n", word[0], word[1], &end) != 2 || line[end] != '\0')
        return "the line is not INPUT CODE";
    if (!read_bits(word[0], hc_cast_digits(plan->from), input))
        return "INPUT is not the bits of a number in hexadecimal digits";
    if (!read_bits(word[1], 2, code))
        return "CODE is not one byte in hexadecimal digits";
    return NULL;
}

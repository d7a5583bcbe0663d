/* The command that gives a judgement again, as people paste it. */
#include <string.h>

#include "cli/judge/answer.h"
#include "op/text.h"
#include "op/wrap.h"

void hc_answer_command(FILE *out, size_t indent, const char *command)
{
    size_t column = indent;
    for (const char *next; *command; command = next) {
        bool quoted = false;
        for (next = command; *next && (quoted || *next != ' '); next++)
            quoted ^= *next == '\'' && (quoted || next == command || next[-1] != '\\');
        size_t length = (size_t)(next - command);
        if (column > indent && column + 1 + length + (*next ? 2 : 0) > HC_COLUMNS) {
            (void)fprintf(out, " \\\n%*s", (int)indent, "");
            column = indent;
        }
        char word[4352];
        (void)snprintf(word, sizeof word, "%s%.*s", column > indent ? " " : "", (int)length,
                       command);
        hc_text_line(out, word);
        column += strlen(word);
        next += *next == ' ';
    }
    (void)putc('\n', out);
}

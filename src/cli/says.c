#include "cli/says.h"

#include <stdio.h>
#include <string.h>

#include "op/text.h"
#include "op/wrap.h"

/* More facts than these, as of a GPU with units for all formats, would fill the screen. */
enum { INDENT = 10, MOST = 16 };

/* What a backend tells without a queue is of the machine. It comes first with one, too. The texts
   may be another program's. */
struct facts {
    int of_machine;
    int told;
};

static void count(const char *name, const char *text, void *context)
{
    (void)name;
    (void)text;
    ((struct facts *)context)->of_machine++;
}

static void print(const char *name, const char *text, void *context)
{
    struct facts *facts = context;
    char line[512];
    char safe[512] = "";
    char character[5];
    const char *at = line;
    if (facts->told++ < facts->of_machine || facts->told - facts->of_machine > MOST)
        return;
    (void)snprintf(line, sizeof line, "%s: %s", name, text);
    for (size_t length = 0, more; (more = hc_text_next(&at, character)) > 0; length += more)
        if (length + more < sizeof safe)
            memcpy(safe + length, character, more + 1);
    hc_print_wrapped(stdout, printf("  says    "), INDENT, safe);
}

void hc_print_facts(const struct hc_backend *backend, struct hc_queue *queue, void *context)
{
    struct facts facts = {0};
    (void)context;
    if (!backend->describe)
        return;
    backend->describe(NULL, count, &facts);
    backend->describe(queue, print, &facts);
    if (facts.told - facts.of_machine > MOST)
        printf("  says    and %d more, which a record of `halfcheck run` has\n",
               facts.told - facts.of_machine - MOST);
}

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/findings_text.h"
#include "cli/gate/gate.h"
#include "op/text.h"

void hc_gate_note(struct hc_gate *gate, const char *word, const char *name, const char *backend,
                  const char *format, ...)
{
    char text[1280];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    struct hc_gate_note one = {word != NULL, word, strdup(name), strdup(backend), strdup(text)};
    struct hc_gate_note *notes =
        realloc(gate->notes, ((size_t)gate->note_count + 1) * sizeof *notes);
    if (notes)
        gate->notes = notes;
    if (notes && one.name && one.backend && one.text) {
        notes[gate->note_count++] = one;
        return;
    }
    free(one.name);
    free(one.backend);
    free(one.text);
    gate->findings.no_memory = true;
}

/* Notes that are alike beyond this number are only counted. */
enum { MANY = 8 };

static bool has_word(const struct hc_gate_note *note, const char *word)
{
    return note->alone && strcmp(note->word, word) == 0;
}

static void print_word(FILE *out, const struct hc_gate *gate, const char *word, bool every)
{
    int count = 0;
    bool of_all = false; /* one note about all recipes */
    for (int i = 0; i < gate->note_count; i++)
        if (has_word(&gate->notes[i], word)) {
            count++;
            of_all = gate->notes[i].backend[0] == '\0';
        }
    bool many = count > MANY && strcmp(word, "identical") == 0 && !every;
    (void)fputs(word, out);
    if (!of_all)
        (void)fprintf(out, ": %d recipe%s%s", count, count == 1 ? "" : "s",
                      many ? "; --all lists them" : "");
    (void)fputc('\n', out);
    for (int i = 0; i < gate->note_count && !many; i++) {
        const struct hc_gate_note *note = &gate->notes[i];
        if (!has_word(note, word))
            continue;
        (void)fputs("  ", out);
        hc_findings_print_line(out, note->name);
        (void)fputs(note->backend[0] ? " on " : "", out);
        hc_findings_print_line(out, note->backend);
        (void)fputs("\n    ", out);
        hc_findings_print_text(out, 4, 4, note->text);
    }
}

void hc_gate_notes_print(FILE *out, const struct hc_gate *gate, bool every)
{
    for (int i = 0; i < gate->note_count; i++) {
        bool first = gate->notes[i].alone;
        for (int k = 0; k < i && first; k++)
            first = !has_word(&gate->notes[k], gate->notes[i].word);
        if (first)
            print_word(out, gate, gate->notes[i].word, every);
    }
}

void hc_gate_notes_free(struct hc_gate *gate)
{
    for (int i = 0; i < gate->note_count; i++) {
        free(gate->notes[i].name);
        free(gate->notes[i].backend);
        free(gate->notes[i].text);
    }
    free(gate->notes);
    gate->notes = NULL;
    gate->note_count = 0;
}

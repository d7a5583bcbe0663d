#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/gate/findings_text.h"
#include "cli/gate/gate.h"
#include "op/text.h"

void hc_gate_note(struct hc_gate *gate, bool alone, const char *name, const char *backend,
                  const char *format, ...)
{
    char text[1280];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    struct hc_gate_note one = {alone, strdup(name), strdup(backend), strdup(text)};
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

void hc_gate_notes_print(FILE *out, const struct hc_gate *gate)
{
    for (int i = 0; i < gate->note_count; i++) {
        const struct hc_gate_note *note = &gate->notes[i];
        if (!note->alone)
            continue;
        hc_findings_print_line(out, note->name);
        (void)fputs(" on ", out);
        hc_findings_print_line(out, note->backend);
        (void)fputs("\n    ", out);
        hc_findings_print_text(out, 4, 4, note->text);
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

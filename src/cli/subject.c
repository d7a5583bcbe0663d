#include "cli/subject.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/lines.h"

static const struct hc_subject subjects[] = {
    {"scaler/", "RULE", "seed steps interval initial ", "strict ", hc_scaler_gen, hc_scaler_verify},
    {"cast/", "FORMAT", "kind from round saturate ", "strict from round saturate ", hc_cast_gen,
     hc_cast_verify},
    {"scale/", "RULE", "seed codes from window margin most-recent ", "", hc_scale_gen,
     hc_scale_verify},
};

enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

const struct hc_subject *hc_subject_of(const char *command, const char *name)
{
    char all[80] = "";
    for (size_t i = 0; i < SUBJECTS; i++) {
        const struct hc_subject *s = &subjects[i];
        if (name && strncmp(name, s->folder, strlen(s->folder)) == 0)
            return s;
        hc_append(all, sizeof all, "%s%s%s",
                  i == 0              ? ""
                  : i + 1 == SUBJECTS ? " or "
                                      : ", ",
                  s->folder, s->what);
    }
    (void)hc_complain("%s needs %s%s%s%s; see: halfcheck help %s", command, all,
                      name ? ", not '" : "", name ? name : "", name ? "'" : "", command);
    return NULL;
}

bool hc_subject_takes(const struct hc_subject *subject, const char *command, const char *option,
                      bool given)
{
    char word[32];
    (void)snprintf(word, sizeof word, "%s ", option);
    bool is_gen = strcmp(command, "gen") == 0;
    const char *at = is_gen ? subject->gen_options : subject->verify_options;
    for (; given && *at; at += strcspn(at, " ") + 1)
        if (strncmp(at, word, strlen(word)) == 0)
            return true;
    if (given)
        (void)hc_complain("%s: --%s is not for %s%s; see: halfcheck help %s", command, option,
                          subject->folder, subject->what, command);
    return !given;
}

bool hc_subject_line(char *line, int size, bool *has_nul)
{
    int length = 0;
    int c = 0;
    *has_nul = false;
    while (c != '\n' && length < size - 1 && (c = getc_unlocked(stdin)) != EOF) {
        *has_nul |= c == '\0';
        line[length++] = (char)c;
    }
    line[length] = '\0';
    return length > 0;
}

void hc_subject_drain(void)
{
    char rest[4096];
    while (fgets(rest, sizeof rest, stdin)) {
    }
}

static long long line_number;

int hc_dialogue_refuse(const struct hc_dialogue *d, const char *what, const char *line)
{
    char quoted[HC_DIALOGUE_LINE];
    if (d->quote)
        d->quote(line, quoted);
    else
        (void)snprintf(quoted, sizeof quoted, "%.*s", (int)strcspn(line, "\n"), line);
    return hc_complain("verify: standard input:%lld: %s: '%s'", line_number, what, quoted);
}

int hc_dialogue_read(const struct hc_dialogue *d, void *context)
{
    char line[HC_DIALOGUE_LINE];
    bool has_nul;
    bool begun = false;
    long long answers = 0;
    int status = HC_AS_CLAIMED;
    assert(d->room <= HC_DIALOGUE_LINE);
    for (line_number = 1; status == HC_AS_CLAIMED && hc_subject_line(line, d->room, &has_nul);
         line_number++) {
        if (has_nul)
            return hc_dialogue_refuse(d, d->has_nul, line);
        if (strlen(line) == (size_t)d->room - 1)
            return hc_dialogue_refuse(d, d->too_long, line);
        if (!begun && answers == 0 && d->is_first(line)) {
            status = d->take_first(context, line);
            begun = true;
        } else if (line[0] == '#' || line[strspn(line, d->blanks)] == '\0') {
            continue;
        } else if (!begun && d->too_early) {
            status = hc_dialogue_refuse(d, d->too_early, line);
        } else {
            status = d->take_answer(context, line);
            answers++;
        }
    }
    if (status == HC_AS_CLAIMED && ferror(stdin))
        return hc_complain("verify: standard input: %s", strerror(errno));
    if (status == HC_AS_CLAIMED && answers == 0)
        return hc_complain("verify: standard input has no %s", d->answer);
    return status;
}

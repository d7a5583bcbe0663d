#include "cli/subject.h"

#include <stdio.h>
#include <string.h>

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
        size_t at = strlen(all);
        (void)snprintf(all + at, sizeof all - at, "%s%s%s",
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

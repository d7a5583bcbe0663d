/* --define and --allow of `run` and `explain`: a text of one's own has cases as the library's have,
   and what is stated of an implementation goes into the bounds of all of them. Both are part of the
   line that repeats a result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/definitions.h"
#include "cli/define/define.h"
#include "define/draw.h"
#include "op/text.h"

static struct {
    struct hc_freedoms freedoms;
    bool stated;
    char words[4096]; /* " --define FILE --allow WORD" */
} own;

static bool remember(const char *option, const char *value)
{
    char word[1024];
    size_t used = strlen(own.words);
    if (!hc_text_shell(word, sizeof word, value))
        return false;
    int more = snprintf(own.words + used, sizeof own.words - used, " --%s %s", option, word);
    return more > 0 && (size_t)more < sizeof own.words - used;
}

static int take_text(const char *path)
{
    struct hc_definition *definition = hc_define_open(path, NULL);
    if (!definition)
        return HC_WRONG;
    char *text = hc_define_read_file(path);
    int64_t extent[HC_MAX_AXES];
    enum hc_status status = text ? hc_define_sizes(definition, HC_SIZES_USUAL, extent) : HC_INVALID;
    if (status == HC_OK)
        status = hc_definitions_own(definition->name, text, path);
    hc_definition_free(definition);
    if (!text)
        return HC_WRONG;
    if (status != HC_OK) {
        free(text);
        return hc_complain_message();
    }
    return remember("define", path) ? HC_AS_CLAIMED
                                    : hc_complain("--define: the names of files are too long");
}

static int take_word(const char *word)
{
    if (!own.stated)
        own.freedoms = hc_usual_freedoms;
    own.stated = true;
    if (hc_freedoms_allow(&own.freedoms, word) != HC_OK)
        return hc_complain_message();
    hc_definitions_allow(&own.freedoms);
    return remember("allow", word) ? HC_AS_CLAIMED : hc_complain("--allow: too many words");
}

const struct hc_option *hc_define_own_options(void)
{
    static const struct hc_option rows[] = {
        {.name = "define",
         .value = "FILE",
         .take = take_text,
         .help = "add the cases def/NAME of a definition of yours (docs/definitions.md); may be\n"
                 "repeated"},
        {.name = "allow",
         .value = "WORD",
         .take = take_word,
         .help = "state a property of the implementations of definitions, such as\n"
                 "order=blocks(16) (`halfcheck explain def/NAME` lists such words); may be\n"
                 "repeated"},
        {0},
    };
    return rows;
}

const char *hc_define_own_words(void)
{
    return own.words;
}

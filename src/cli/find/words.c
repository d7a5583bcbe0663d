/* Words are compared by stems and by groups of synonyms. Both are kept simple: a stem is what is
   left without a usual ending, and a group is a bit, so that a text is read once for each search
   and needs no index. */
#include "cli/find/find.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

enum { MOST_PARTS = 4, MOST_MEMBERS = 512 };

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* The ends of a number such as 65,504 or 1e-8 or 2^-24 or 0.5; 0 if none begins here. *length
   becomes what it is without commas. */
static size_t read_number(const char *text, char *word, size_t *length)
{
    size_t i = 0;
    size_t n = 0;
    if (!is_digit(text[0]))
        return 0;
    for (;; i++) {
        char c = text[i];
        bool thousands = c == ',' && is_digit(text[i + 1]) && is_digit(text[i + 2]) &&
                         is_digit(text[i + 3]) && !is_digit(text[i + 4]);
        bool point = c == '.' && is_digit(text[i + 1]);
        bool power = c == '^' && (is_digit(text[i + 1]) || text[i + 1] == '-');
        bool sign = c == '-' && i > 0 && is_digit(text[i + 1]) &&
                    (text[i - 1] == '^' || ((text[i - 1] == 'e' || text[i - 1] == 'E') && i > 1 &&
                                            is_digit(text[i - 2])));
        if (thousands)
            continue;
        if (!is_alnum(c) && !point && !power && !sign)
            break;
        if (n + 1 < HC_WORD_BYTES)
            word[n++] = (char)tolower((unsigned char)c);
    }
    word[n] = '\0';
    *length = n;
    return i;
}

static bool drop_ending(char *stem, size_t *length, const char *ending, size_t least)
{
    size_t e = strlen(ending);
    if (*length < e + least || strcmp(stem + *length - e, ending) != 0)
        return false;
    *length -= e;
    stem[*length] = '\0';
    return true;
}

/* What is left without the usual endings: "updates", "updated", "updating" and "update" have one
   stem. It need not be a word. */
static void find_stem(const char *word, char stem[HC_WORD_BYTES])
{
    size_t n = strlen(word);
    memcpy(stem, word, n + 1);
    if (n > 4 && strcmp(stem + n - 3, "ies") == 0) {
        memcpy(stem + n - 3, "y", 2);
        n -= 2;
    } else if (n > 3 && stem[n - 1] == 's' && !strchr("suia", stem[n - 2])) {
        stem[--n] = '\0';
    }
    (void)drop_ending(stem, &n, "ly", 4);
    (void)(drop_ending(stem, &n, "ations", 4) || drop_ending(stem, &n, "ation", 4) ||
           drop_ending(stem, &n, "ating", 4) || drop_ending(stem, &n, "ated", 4) ||
           drop_ending(stem, &n, "ate", 4) || drop_ending(stem, &n, "ization", 4) ||
           drop_ending(stem, &n, "ing", 3) || drop_ending(stem, &n, "ed", 3) ||
           drop_ending(stem, &n, "tion", 4) || drop_ending(stem, &n, "ness", 4));
    if (n > 3 && stem[n - 1] == stem[n - 2] && !strchr("lsz", stem[n - 1]))
        stem[--n] = '\0'; /* clipp-ing, stopp-ed */
    if (n > 3 && stem[n - 1] == 'e')
        stem[--n] = '\0';
}

/* A member of a group of synonyms: the stems of its words. */
struct member {
    int group;
    int parts;
    char stem[MOST_PARTS][HC_WORD_BYTES];
};

static const char *const groups[] = {
#define HC_SYNONYM(members) members,
#include "cli/find/synonyms.def"
#undef HC_SYNONYM
};
_Static_assert(sizeof groups / sizeof groups[0] <= 64, "a group is a bit");

/* Reads all members of all groups. Returns their number. */
static int read_members(struct member members[MOST_MEMBERS])
{
    int n = 0;
    for (int g = 0; g < (int)(sizeof groups / sizeof groups[0]); g++)
        for (const char *at = groups[g]; *at; at += *at == '|') {
            assert(n < MOST_MEMBERS);
            struct member *m = &members[n++];
            *m = (struct member){.group = g};
            while (*at && *at != '|') {
                char word[HC_WORD_BYTES];
                size_t length = strcspn(at, " |");
                assert(m->parts < MOST_PARTS && length < sizeof word);
                memcpy(word, at, length);
                word[length] = '\0';
                find_stem(word, m->stem[m->parts++]);
                at += length + (at[length] == ' ');
            }
        }
    return n;
}

static void find_meanings(struct hc_find_word *words, int count)
{
    static struct member members[MOST_MEMBERS];
    static int n;
    if (n == 0)
        n = read_members(members);
    for (int w = 0; w < count; w++)
        for (const struct member *m = members; m < members + n; m++) {
            int p = 0;
            while (p < m->parts && w + p < count && strcmp(words[w + p].stem, m->stem[p]) == 0)
                p++;
            for (int i = w; p == m->parts && i < w + p; i++) {
                words[i].meanings |= UINT64_C(1) << m->group;
                words[i].as_phrase |= p > 1 ? UINT64_C(1) << m->group : 0;
            }
        }
}

static bool is_common(const char *word)
{
    static const char *const common[] = {
        "a",    "an",   "the", "is",   "are",  "was",  "be",   "been",  "of",    "to",   "in",
        "on",   "at",   "by",  "for",  "from", "with", "and",  "or",    "but",   "if",   "then",
        "than", "that", "my",  "this", "it",   "its",  "when", "while", "after", "does", "do",
        "did",  "why",  "how", "what", "i",    "as",   "has",  "have",  "had",   "not",  "no",
        "so",   "can",  "get", "gets", "got",  "give", "there"};
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (strcmp(common[i], word) == 0)
            return true;
    return false;
}

int hc_words_of_text(const char *text, struct hc_find_word words[HC_WORDS_OF_TEXT])
{
    int count = 0;
    while (*text && count < HC_WORDS_OF_TEXT) {
        struct hc_find_word *w = &words[count];
        size_t length = 0;
        *w = (struct hc_find_word){.number = is_digit(*text)};
        if (!is_alnum(*text)) {
            text++;
            continue;
        }
        if (w->number) {
            text += read_number(text, w->typed, &length);
        } else {
            for (; is_alnum(*text); text++)
                if (length + 1 < sizeof w->typed)
                    w->typed[length++] = (char)tolower((unsigned char)*text);
            w->typed[length] = '\0';
        }
        if (w->number)
            memcpy(w->stem, w->typed, length + 1);
        else
            find_stem(w->typed, w->stem);
        w->common = is_common(w->typed);
        count++;
    }
    find_meanings(words, count);
    return count;
}

double hc_word_match(const struct hc_find_word *asked, const struct hc_find_word *found)
{
    if (strcmp(asked->typed, found->typed) == 0)
        return 1;
    if (!asked->number && strcmp(asked->stem, found->stem) == 0)
        return 0.95;
    if (asked->meanings & found->meanings)
        return 0.6;
    size_t length = strlen(asked->typed);
    if (!asked->number && length >= 3 && strncmp(found->typed, asked->typed, length) == 0)
        return 0.4;
    return 0;
}

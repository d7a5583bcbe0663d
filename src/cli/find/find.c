/* Finding cases by words, and their order. Words are compared by stems and by groups of synonyms.
   Both are kept simple: a stem is what is left without a usual ending, and a group is a bit, so
   that a text is read once for each search and needs no index. */
#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/find/find.h"
#include "cases/fixture/quote.h"
#include "cases/reports.h"
#include "op/typed.h"

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

/* Whether a word is one of a list, which ends with NULL. */
static bool is_among(const char *word, const char *const *list)
{
    while (*list && strcmp(*list, word) != 0)
        list++;
    return *list != NULL;
}

static bool is_common(const char *word)
{
    static const char *const common[] = {
        "a",      "an",    "the",   "is",       "are",  "was",    "be",   "been", "of",
        "to",     "in",    "on",    "at",       "by",   "for",    "from", "with", "and",
        "or",     "but",   "if",    "then",     "than", "that",   "my",   "this", "it",
        "its",    "when",  "while", "after",    "does", "do",     "did",  "why",  "how",
        "what",   "i",     "as",    "has",      "have", "had",    "not",  "no",   "so",
        "can",    "get",   "gets",  "got",      "give", "there",  "go",   "goes", "becomes",
        "become", "turns", "turn",  "suddenly", "keep", "keeps",  "kept", "t",    "s",
        "doesn",  "don",   "isn",   "didn",     "won",  "cannot", NULL};
    return is_among(word, common);
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
    /* "at" of "at 0" was asked for with its neighbour, and says nothing beside others. */
    if (asked->common && asked->as_phrase && !(asked->as_phrase & found->as_phrase))
        return 0;
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

/* A case is worth what its words are worth, summed over the words that were asked for.

   A word is worth the more the fewer cases have it, and the more prominent the place where it
   stands: a case's name and title say what it is about, its source quotes a thread's title, its
   lesson and formulas use many words by the way. Being found in a second place adds less than in
   the first. No word has to be there, but a case that has all is worth more than one that has one
   of them often. Of equals, a bug that somebody reported comes before a case that halfcheck made
   up, and that before one of the thousands that are generated. */

enum { LEAST_GENERATED = 16, MOST_KINDS = 512, UNKNOWN_SHOWN = 3, LONG_WORD = 9 };

/* What a match is worth by where it stands. */
static const double whole_name = 12; /* all that stands behind the last slash */
static const double in_name = 3;
static const double in_title = 3;
static const double in_slug = 2.5;
static const double in_source = 1.5;
static const double in_lesson = 1.2;
static const double in_formula = 0.4;

static const double half_worth = 2; /* places worth this together give half of what is possible */
static const double common_worth = 0.25; /* for "at" of "at 0", which counts as part of it alone */
static const double neighbours = 0.25;   /* for words that stand together as they were asked for */

/* What the words are worth in one case or report. */
struct entry {
    struct hc_found found;
    double prior;
    double worth[HC_ASKED_WORDS];
};

struct entries {
    struct hc_asked *asked;
    int count;
    struct entry *entry;
};

/* "after 100 steps" says when something went wrong, and not what. */
static void pass_over_times(struct hc_find_word *words, int n)
{
    static const char *const before[] = {"after", "within", "for", "past", "until", NULL};
    static const char *const between[] = {"a",    "the",    "few",  "some",  "several",
                                          "many", "couple", "of",   "about", "around",
                                          "only", "first",  "just", NULL};
    static const char *const units[] = {
        "step",   "iter",    "iteration", "epoch",   "batch", "steps", "iters", "iterations",
        "epochs", "batches", "hours",     "minutes", "days",  "hour",  "while", NULL};
    for (int i = 0; i < n; i++) {
        int end = i + 1;
        if (!is_among(words[i].typed, before))
            continue;
        while (end < n && (words[end].number || is_among(words[end].typed, between)))
            end++;
        for (int w = i; end < n && is_among(words[end].typed, units) && w <= end; w++) {
            words[w].common = true;
            words[w].as_phrase = 0;
        }
    }
}

void hc_asked_read(struct hc_asked *asked, const char *text)
{
    static struct hc_find_word words[HC_WORDS_OF_TEXT];
    int n = hc_words_of_text(text, words);
    pass_over_times(words, n);
    *asked = (struct hc_asked){0};
    for (int take_common = 0; take_common < 2 && asked->words == 0; take_common++)
        for (int i = 0; i < n && asked->words < HC_ASKED_WORDS; i++)
            if (take_common || !words[i].common || words[i].as_phrase)
                asked->word[asked->words++] = words[i];
}

/* Adds what the words are worth in a text that stands in such a place. */
static void look(const struct hc_asked *asked, struct entry *e, const char *text, double place)
{
    static struct hc_find_word words[HC_WORDS_OF_TEXT];
    if (!text)
        return;
    int n = hc_words_of_text(text, words);
    int before = -3; /* where the word that was asked for before this one stands */
    for (int w = 0; w < asked->words; w++) {
        double best = 0;
        int where = -3;
        for (int i = 0; i < n; i++) {
            double match = hc_word_match(&asked->word[w], &words[i]);
            if (match > best || (match == best && match > 0 && i == before + 1)) {
                best = match;
                where = i;
            }
        }
        bool together = best > 0 && where > before && where <= before + 2;
        e->worth[w] += place * best * (together ? 1 + neighbours : 1);
        before = best > 0 ? where : -3;
    }
}

static void look_in_arm(const struct hc_asked *asked, struct entry *e, const struct hc_bug_arm *arm)
{
    look(asked, e, arm->in, in_formula);
    look(asked, e, arm->with, in_formula);
    look(asked, e, arm->formula, in_formula);
    look(asked, e, arm->each, in_formula);
    look(asked, e, arm->prints, in_formula);
    look(asked, e, arm->is, in_formula);
}

static void look_in_bug(const struct hc_asked *asked, struct entry *e, const struct hc_bug *bug)
{
    look(asked, e, bug->lesson, in_lesson);
    look(asked, e, bug->correction, in_lesson);
    look(asked, e, bug->rule, in_lesson);
    look(asked, e, bug->no_bound, in_lesson);
    look(asked, e, bug->formula, in_formula);
    look(asked, e, bug->each, in_formula);
    look(asked, e, bug->show, in_formula);
    look_in_arm(asked, e, &bug->buggy);
    look_in_arm(asked, e, &bug->fixed);
}

static void look_in_case(const struct hc_asked *asked, struct entry *e, const struct hc_case *c)
{
    const struct hc_quote *quote = hc_quote_of(c);
    const struct hc_bug *bug = hc_bug_of(c);
    struct hc_bug quoted;
    if (quote) {
        quoted = hc_quote_bug(quote);
        bug = &quoted;
    }
    e->found = (struct hc_found){c->name, c->title, c->source, 0};
    e->prior = hc_bug_of(c) ? 1.2 : 1;
    const char *slash = strrchr(c->name, '/');
    for (int w = 0; w < asked->words && slash; w++)
        e->worth[w] = strcmp(slash + 1, asked->word[w].typed) == 0 ? whole_name : 0;
    look(asked, e, c->name, in_name);
    look(asked, e, c->title, in_title);
    look(asked, e, c->source, in_source);
    if (bug)
        look_in_bug(asked, e, bug);
}

/* How many cases from this one on are generated for the same op and kind: their names have three
   parts or more, and the first two are the same. 0 where they are too few to be generated. */
static int generated(const struct hc_case *const *cases, int count)
{
    const char *name = cases[0]->name;
    size_t kind = strcspn(name, "/");
    size_t length = name[kind] ? kind + 1 + strcspn(name + kind + 1, "/") : 0;
    int n = 0;
    while (length && name[length] && n < count && strncmp(cases[n]->name, name, length + 1) == 0 &&
           !hc_bug_of(cases[n]) && !hc_quote_of(cases[n]))
        n++;
    return n >= LEAST_GENERATED ? n : 0;
}

/* One answer for `n` generated cases: "op/gemm/" and a star. */
static void look_in_generated(const struct hc_asked *asked, struct entry *e,
                              const struct hc_case *first, int n)
{
    static struct {
        char name[64];
        char title[160];
    } kinds[MOST_KINDS];
    static int used;
    size_t kind = strcspn(first->name, "/") + 1;
    int length = (int)(kind + strcspn(first->name + kind, "/"));
    char name[64];
    int k = 0;
    (void)snprintf(name, sizeof name, "%.*s/*", length, first->name);
    while (k < used && strcmp(kinds[k].name, name) != 0)
        k++;
    assert(k < MOST_KINDS);
    if (k == used) {
        used++;
        memcpy(kinds[k].name, name, sizeof name);
        (void)snprintf(kinds[k].title, sizeof kinds[k].title,
                       "%d generated cases: halfcheck run '%s'", n, name);
    }
    e->found = (struct hc_found){kinds[k].name, kinds[k].title, first->source, 0};
    e->prior = 0.8;
    look(asked, e, name, in_name);
}

/* The reports: those of a case add to what it is worth, and the others stand for themselves. The
   cases are sorted by name. */
static void look_in_reports(struct entries *all, int cases, const struct hc_report *reports, int n)
{
    for (int k = 0; k < n; k++) {
        struct entry *e = NULL;
        const struct hc_report *r = &reports[k];
        int low = 0;
        int high = r->shown_by ? cases : 0;
        while (low < high) {
            int middle = low + (high - low) / 2;
            int order = strcmp(all->entry[middle].found.name, r->shown_by->name);
            e = order == 0 ? &all->entry[middle] : e;
            low = order < 0 ? middle + 1 : low;
            high = order < 0 ? high : middle;
        }
        if (!e) {
            e = &all->entry[all->count++];
            e->found = (struct hc_found){r->slug, r->reason, r->source, 0};
            e->prior = 1;
            look(all->asked, e, r->reason, in_title);
        } else {
            e->prior = 1.2;
        }
        look(all->asked, e, r->slug, in_slug);
        look(all->asked, e, r->source, in_source);
    }
}

/* Sums over the words, each weighted by how few have it. */
static void value(struct entries *all)
{
    struct hc_asked *asked = all->asked;
    double rare[HC_ASKED_WORDS];
    double possible = 0;
    for (int w = 0; w < asked->words; w++) {
        int known = 0;
        asked->known[w] = 0;
        for (int i = 0; i < all->count; i++) {
            asked->known[w] += all->entry[i].worth[w] > 0;
            known += all->entry[i].worth[w] > 0 && all->entry[i].prior >= 1;
        }
        rare[w] = log(1 + 600 / (known + 1.0)) * (asked->word[w].common ? common_worth : 1);
        possible += asked->known[w] ? rare[w] : 0;
    }
    for (int i = 0; i < all->count; i++) {
        struct entry *e = &all->entry[i];
        double sum = 0;
        double there = 0;
        for (int w = 0; w < asked->words; w++) {
            sum += rare[w] * e->worth[w] / (e->worth[w] + half_worth);
            there += e->worth[w] > 0 ? rare[w] : 0;
        }
        e->found.worth = possible > 0 ? e->prior * sum * (0.5 + 0.5 * there / possible) : 0;
    }
}

static int best_first(const void *a, const void *b)
{
    const struct hc_found *x = a;
    const struct hc_found *y = b;
    if (x->worth != y->worth)
        return x->worth < y->worth ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Takes each word that nobody has for one of a name or title that is spelt nearly so, with one
   letter wrong, or two of a long word: "argmax" is not "amax". Returns whether there was one. */
static bool take_for_near(const struct entries *all)
{
    struct hc_asked *asked = all->asked;
    static struct hc_find_word words[HC_WORDS_OF_TEXT];
    bool any = false;
    for (int w = 0; w < asked->words; w++) {
        const char *typed = asked->word[w].typed;
        struct hc_nearest nearest = hc_nearest_to(typed, strlen(typed));
        if (asked->known[w] || asked->word[w].number)
            continue;
        for (int i = 0; i < all->count; i++) {
            const char *const texts[] = {all->entry[i].found.name, all->entry[i].found.title};
            for (int t = 0; t < 2; t++)
                for (int n = hc_words_of_text(texts[t], words); n-- > 0;)
                    if (!words[n].common)
                        hc_nearest_try(&nearest, words[n].typed);
        }
        bool near = nearest.distance <= (strlen(typed) < LONG_WORD ? 1 : 2);
        if (near && hc_nearest_hint(&nearest)[0] && hc_words_of_text(nearest.best, words) == 1) {
            memcpy(asked->typed[w], typed, HC_WORD_BYTES);
            asked->word[w] = words[0];
            any = true;
        }
    }
    return any;
}

/* The share of the letter triples of `text` that stand in `other`. */
static double alike(const char *text, const char *other)
{
    int same = 0;
    int all = 0;
    for (; text[0] && text[1] && text[2]; text++) {
        bool there = false;
        for (const char *o = other; *o && !there; o++)
            there = strncasecmp(o, text, 3) == 0;
        same += there;
        all++;
    }
    return all ? (double)same / all : 0;
}

/* What the words are worth everywhere. */
static enum hc_status look_everywhere(struct entries *all)
{
    int n;
    int r;
    const struct hc_case *const *cases = hc_all_cases(&n);
    const struct hc_report *reports = cases ? hc_reports(&r) : NULL;
    if (!reports)
        return HC_INVALID;
    free(all->entry);
    all->count = 0;
    all->entry = calloc((size_t)(n + r), sizeof *all->entry);
    if (!all->entry)
        return hc_fail(HC_NO_MEMORY, "no memory for the cases that were found");
    for (int i = 0; i < n;) {
        struct entry *e = &all->entry[all->count++];
        int like = generated(cases + i, n - i);
        if (like)
            look_in_generated(all->asked, e, cases[i], like);
        else
            look_in_case(all->asked, e, cases[i]);
        i += like ? like : 1;
    }
    look_in_reports(all, all->count, reports, r);
    value(all);
    return HC_OK;
}

enum hc_status hc_find(struct hc_asked *asked, const char *text, struct hc_found **found,
                       int *count)
{
    struct entries all = {.asked = asked};
    bool known = false;
    *found = NULL;
    *count = 0;
    enum hc_status status = look_everywhere(&all);
    if (status == HC_OK && take_for_near(&all))
        status = look_everywhere(&all);
    if (status == HC_OK) {
        *found = calloc((size_t)all.count + 1, sizeof **found);
        status = *found ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the cases that were found");
    }
    for (int w = 0; w < asked->words; w++)
        known = known || asked->known[w];
    for (int i = 0; i < all.count && *found; i++) {
        struct hc_found *f = &all.entry[i].found;
        if (!known)
            f->worth = alike(text, f->name) + alike(text, f->title);
        if (f->worth > 0 || !known)
            (*found)[(*count)++] = *f;
    }
    free(all.entry);
    if (*found)
        qsort(*found, (size_t)*count, sizeof **found, best_first);
    *count = known || *count < UNKNOWN_SHOWN ? *count : UNKNOWN_SHOWN;
    return status;
}

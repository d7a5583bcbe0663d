#include "cli/search.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static bool is_alnum(char c)
{
    return isalnum((unsigned char)c) != 0;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

/* Whether text[i] is the comma of "65,504". */
static bool parts_thousands(const char *text, size_t i)
{
    return text[i] == ',' && i > 0 && is_digit(text[i - 1]) && is_digit(text[i + 1]) &&
           is_digit(text[i + 2]) && is_digit(text[i + 3]) && !is_digit(text[i + 4]);
}

size_t hc_search_word(const char **words, char *word, size_t size)
{
    const char *text = *words + strspn(*words, " \t\n");
    size_t length = strcspn(text, " \t\n");
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        if (!parts_thousands(text, i))
            word[used++] = (char)tolower((unsigned char)text[i]);
    word[used] = '\0';
    *words = text + length;
    return used;
}

/* How many characters of the text at `i` are the word; 0 if it does not stand there. */
static size_t match(const char *text, size_t i, const char *word)
{
    size_t start = i;
    for (; *word; i++) {
        if (parts_thousands(text, i))
            continue;
        if (tolower((unsigned char)text[i]) != *word)
            return 0;
        word++;
    }
    return i - start;
}

/* Whether a number that stands before text[i], or goes on there, is a longer one. */
static bool number_before(const char *text, size_t i)
{
    if (i == 0)
        return false;
    if (is_alnum(text[i - 1]) || parts_thousands(text, i - 1) ||
        (text[i - 1] == '.' && i > 1 && is_digit(text[i - 2])))
        return true;
    return i > 2 && (text[i - 1] == '-' || text[i - 1] == '+') && text[i - 2] == 'e' &&
           is_digit(text[i - 3]);
}

static bool number_behind(const char *text)
{
    return is_alnum(text[0]) || (text[0] == '.' && is_digit(text[1])) || parts_thousands(text, 0);
}

int hc_search_text(const char *text, const char *word)
{
    bool number = is_digit(word[0]);
    int best = 0;
    for (size_t i = 0; text[i]; i++) {
        size_t length = match(text, i, word);
        if (length == 0)
            continue;
        bool starts = number ? !number_before(text, i) : i == 0 || !is_alnum(text[i - 1]);
        bool ends = number ? !number_behind(text + i + length) : !is_alnum(text[i + length]);
        int how = starts && ends ? 3 : number ? 0 : starts ? 2 : 1;
        best = how > best ? how : best;
    }
    return best;
}

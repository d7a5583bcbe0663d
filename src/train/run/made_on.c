#include "train/run/made_on.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "fallback.h"
#include "op/text.h"
#include "train/run/checkpoint.h"

enum { SHOWN = 120, VALUE = SHOWN + 24 };

static const char *const keys[] = {"command=", "products=", "fallback.products="};
enum { COMMAND, PRODUCTS, FALLBACK_PRODUCTS, KEYS };

struct facts {
    char value[KEYS][VALUE];
    const char *name; /* of the fact that says how the recipe's format is multiplied; or NULL */
    int products;     /* the key that it goes to */
};

/* One word: what is no plain character becomes %20. Of what is longer than messages can show, the
   rest becomes a hash. */
static void keep_fact(const char *fact, char value[VALUE])
{
    size_t used = 0;
    const char *at = fact;
    for (; *at && used < SHOWN; at++) {
        unsigned char c = (unsigned char)*at;
        bool plain = c > ' ' && c <= '~' && c != '%';
        used += (size_t)snprintf(value + used, VALUE - used, plain ? "%c" : "%%%02x", c);
    }
    if (*at)
        (void)snprintf(value + used, VALUE - used, "...%016llx",
                       (unsigned long long)hc_fnv(HC_FNV_START, fact, strlen(fact)));
}

/* The first fact of a name is the backend's; a program may add its own. */
static void hear(const char *name, const char *fact, void *context)
{
    struct facts *facts = context;
    int key = KEYS;
    if (strcmp(name, "command") == 0)
        key = COMMAND;
    else if (facts->name && strcmp(name, facts->name) == 0)
        key = facts->products;
    if (key < KEYS && !facts->value[key][0])
        keep_fact(fact, facts->value[key]);
}

void hc_made_on(const struct hc_backend *backend, struct hc_queue *queue,
                const struct hc_recipe *recipe, char *identity, size_t size)
{
    struct facts facts = {.name = recipe->model == HC_BF16   ? "bf16 products"
                                  : recipe->model == HC_FP16 ? "fp16 products"
                                                             : NULL,
                          .products = PRODUCTS};
    struct hc_fallback_counts counts;
    if (backend->describe)
        backend->describe(queue, hear, &facts);
    if (hc_fallback_count(backend, &counts)) {
        const struct hc_backend *other = hc_backend_by_name(counts.other);
        facts.products = FALLBACK_PRODUCTS;
        if (other && other->describe)
            other->describe(NULL, hear, &facts);
    }
    for (int key = 0; key < KEYS; key++) {
        size_t used = strlen(identity);
        if (facts.value[key][0])
            (void)snprintf(identity + used, size - used, " %s%s", keys[key], facts.value[key]);
    }
}

bool hc_made_on_is(const char *word)
{
    for (int key = 0; key < KEYS; key++)
        if (strncmp(word, keys[key], strlen(keys[key])) == 0)
            return true;
    return false;
}

/* The byte that %xx stands for at `from`, or 0. */
static char escaped(const char *from)
{
    unsigned byte = 0;
    int used = 0;
    bool whole = from[0] == '%' && isxdigit((unsigned char)from[1]) &&
                 sscanf(from, "%%%2x%n", &byte, &used) == 1 && used == 3;
    return whole ? (char)byte : '\0';
}

void hc_made_on_show(const char *word, int length, char text[HC_MADE_ON_SHOWN])
{
    char plain[HC_MADE_ON_SHOWN];
    bool escapes = hc_made_on_is(word);
    size_t used = 0;
    for (int i = 0; i < length && used + 1 < sizeof plain; i++) {
        char byte = escapes && i + 2 < length ? escaped(word + i) : '\0';
        plain[used++] = byte ? byte : word[i];
        i += byte ? 2 : 0;
    }
    plain[used] = '\0';
    hc_text_plain(text, HC_MADE_ON_SHOWN, plain);
}

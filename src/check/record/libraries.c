#include "check/record/libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hc_build.h"

/* The library says its version by a function or by a variable, whichever the symbol is. A program
   that has the library inside of it does not find the symbol. */
typedef void hc_version_reader(void *symbol, char loaded[48]);

static void by_function(void *symbol, char loaded[48])
{
    const char *(*function)(void);
    memcpy(&function, &symbol, sizeof function);
    const char *text = function();
    (void)snprintf(loaded, 48, "%s", text ? text : "");
}

static void by_variable(void *symbol, char loaded[48])
{
    const char *text;
    memcpy(&text, symbol, sizeof text);
    (void)snprintf(loaded, 48, "%s", text ? text : "");
}

/* dnnl_version() returns a struct that begins with three numbers, in versions 1 to 3. */
static void by_numbers(void *symbol, char loaded[48])
{
    const int *(*function)(void);
    memcpy(&function, &symbol, sizeof function);
    const int *numbers = function();
    if (numbers)
        (void)snprintf(loaded, 48, "%d.%d.%d", numbers[0], numbers[1], numbers[2]);
}

enum { COUNT = 5 };

static const struct {
    const char *name;
    const char *built;
    const char *symbol;
    hc_version_reader *read;
} known[COUNT] = {
    {"mpfr", HC_MPFR_VERSION, "mpfr_get_version", by_function},
    {"gmp", HC_GMP_VERSION, "__gmp_version", by_variable},
    {"jansson", HC_JANSSON_VERSION, "jansson_version_str", by_function},
    {"onednn", HC_ONEDNN_VERSION, "dnnl_version", by_numbers},
    {"glibc", "", "gnu_get_libc_version", by_function},
};

const struct hc_library *hc_libraries(int *n)
{
    static struct hc_library libraries[COUNT];
    void *program = dlopen(NULL, RTLD_LAZY);
    for (int i = 0; i < COUNT; i++) {
        libraries[i].name = known[i].name;
        libraries[i].built = known[i].built;
        void *symbol = program ? dlsym(program, known[i].symbol) : NULL;
        if (symbol)
            known[i].read(symbol, libraries[i].loaded);
    }
    if (program)
        (void)dlclose(program);
    *n = COUNT;
    return libraries;
}

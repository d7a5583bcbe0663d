/* For tests: a libcuda.so.1 as old as HALFCHECK_STANDIN says (driver=12020), so that the real CUDA
   runtime finds a driver that is too old for it. It has the functions of its time and none that
   does anything: cuInit fails with cuInit=100, say, or finds no device. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, NO_DEVICE = 100, NOT_FOUND = 500 };

static int setting(const char *name, int otherwise)
{
    const char *at = getenv("HALFCHECK_STANDIN");
    size_t length = strlen(name);
    at = at ? strstr(at, name) : NULL;
    return at && at[length] == '=' ? (int)strtol(at + length + 1, NULL, 10) : otherwise;
}

typedef int driver_init(unsigned flags);
driver_init cuInit;
int cuInit(unsigned flags)
{
    (void)flags;
    return setting("cuInit", NO_DEVICE);
}

typedef int driver_version(int *version);
driver_version cuDriverGetVersion;
int cuDriverGetVersion(int *version)
{
    *version = setting("driver", 0);
    return SUCCESS;
}

static int no_device(void)
{
    return NO_DEVICE;
}

/* The runtime asks for each function by the version in which it came. */
typedef int driver_function(const char *name, void **function, int version, uint64_t flags,
                            int *found);
driver_function cuGetProcAddress_v2;
int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *found)
{
    union {
        driver_init *init;
        driver_version *version;
        driver_function *function;
        int (*other)(void);
        void *symbol;
    } known = {.symbol = NULL};
    (void)flags;
    if (strcmp(name, "cuInit") == 0)
        known.init = cuInit;
    else if (strcmp(name, "cuDriverGetVersion") == 0)
        known.version = cuDriverGetVersion;
    else if (strcmp(name, "cuGetProcAddress") == 0)
        known.function = cuGetProcAddress_v2;
    else if (name[0] && version <= setting("driver", 0))
        known.other = no_device;
    if (found)
        *found = known.symbol ? 0 : 1;
    *function = known.symbol;
    return known.symbol ? SUCCESS : NOT_FOUND;
}

/* A plug-in that is broken in the way that HC_BROKEN names, for tests/run/plugin.txt. */
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "backend.h"

struct hc_queue {
    char unused;
};

static struct hc_queue the_queue;

/* Spoils the arithmetic of the thread if HC_BROKEN says that it is now. Where there is SSE
   subnormal numbers are flushed from here on, as what -ffast-math links does. */
static void spoil(const char *now)
{
    const char *how = getenv("HC_BROKEN");
    if (!how || strcmp(how, now) != 0)
        return;
#ifdef __SSE__
    _mm_setcsr(_mm_getcsr() | 0x8040);
#else
    (void)fesetround(FE_UPWARD);
#endif
}

__attribute__((constructor)) static void loaded(void)
{
    spoil("flushes when loaded");
}

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    (void)threads;
    spoil("flushes when opened");
    *queue = &the_queue;
    return HC_OK;
}

static void close_queue(struct hc_queue *queue)
{
    (void)queue;
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

static enum hc_status copy(struct hc_queue *queue, void *to, const void *from, size_t bytes)
{
    (void)queue;
    memcpy(to, from, bytes);
    return HC_OK;
}

static enum hc_status end_all(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    exit(0);
}

static enum hc_status end_all_quickly(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    quick_exit(0);
}

static enum hc_status end_all_at_once(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    _exit(0);
}

static enum hc_status crash(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    return raise(SIGSEGV) == 0 ? HC_OK : HC_DEVICE;
}

/* Each call takes a page of the stack, until there is none left. */
static int deeper(const volatile char *above, int depth)
{
    volatile char page[4096];
    page[0] = (char)(above[0] + 1);
    return depth < 0 ? page[0] : deeper(page, depth + 1) + page[0];
}

static enum hc_status overflow(struct hc_queue *queue, const struct hc_call *call)
{
    const volatile char first[1] = {0};
    (void)queue;
    (void)call;
    return deeper(first, 0) == 0 ? HC_OK : HC_DEVICE;
}

__attribute__((destructor)) static void crash_at_the_end(void)
{
    const char *how = getenv("HC_BROKEN");
    if (how && strcmp(how, "crashes at the end") == 0)
        (void)raise(SIGSEGV);
}

/* Ends the process by the signal that HC_BROKEN has behind its word. */
static enum hc_status raise_it(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    const char *how = getenv("HC_BROKEN");
    return how && raise(atoi(how + strlen("raises "))) == 0 ? HC_OK : HC_DEVICE;
}

/* No file may have a byte from here on, and whoever writes one gets a signal. */
static enum hc_status limit_files(struct hc_queue *queue, const struct hc_call *call)
{
    const struct rlimit none = {0, RLIM_INFINITY};
    (void)queue;
    (void)call;
    return signal(SIGXFSZ, SIG_DFL) != SIG_ERR && setrlimit(RLIMIT_FSIZE, &none) == 0 ? HC_OK
                                                                                      : HC_DEVICE;
}

static enum hc_status go_elsewhere(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    (void)call;
    return chdir("/") == 0 ? HC_UNSUPPORTED : HC_DEVICE;
}

static const struct hc_border borders[] = {{HC_EXTENT_VECTOR, -3}, {HC_EXTENT_COUNT, 0}};

static struct hc_backend cuda = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda",
    .title = "broken",
    .accumulator = {.precision = 24, .block = 1},
    .host_memory = true,
    .open = open_queue,
    .close = close_queue,
    .allocate = allocate,
    .release = release,
    .upload = copy,
    .download = copy,
};

static struct hc_backend second;
static const struct hc_backend *backends[] = {&cuda, &second};
static struct hc_plugin plugin = {HC_BACKEND_ABI, 2, backends};

static void break_it(const char *how)
{
    if (strcmp(how, "exits") == 0)
        cuda.kernel[HC_OP_scale] = end_all;
    if (strcmp(how, "exits quickly") == 0)
        cuda.kernel[HC_OP_scale] = end_all_quickly;
    if (strcmp(how, "exits at once") == 0)
        cuda.kernel[HC_OP_scale] = end_all_at_once;
    if (strcmp(how, "crashes") == 0)
        cuda.kernel[HC_OP_scale] = crash;
    if (strcmp(how, "overflows") == 0)
        cuda.kernel[HC_OP_scale] = overflow;
    if (strncmp(how, "raises ", strlen("raises ")) == 0)
        cuda.kernel[HC_OP_scale] = raise_it;
    if (strcmp(how, "limits files") == 0)
        cuda.kernel[HC_OP_scale] = limit_files;
    if (strcmp(how, "goes elsewhere") == 0)
        cuda.kernel[HC_OP_scale] = go_elsewhere;
    if (strcmp(how, "null") == 0)
        backends[1] = NULL;
    if (strcmp(how, "list") == 0)
        plugin.backends = NULL;
    if (strcmp(how, "count") == 0)
        plugin.count = -1;
    if (strcmp(how, "version") == 0)
        second.abi--;
    if (strcmp(how, "no name") == 0)
        second.name = NULL;
    if (strcmp(how, "odd name") == 0)
        second.name = "a\"b\n\033[31m<script>";
    if (strcmp(how, "same name") == 0)
        second.name = cuda.name;
    if (strcmp(how, "exact's name") == 0)
        second.name = "exact";
    if (strcmp(how, "title") == 0)
        cuda.title = NULL;
    if (strcmp(how, "open") == 0)
        cuda.open = NULL;
    if (strcmp(how, "download") == 0)
        cuda.download = NULL;
    if (strcmp(how, "precision") == 0)
        cuda.accumulator.precision = 0;
    if (strcmp(how, "block") == 0)
        cuda.accumulator.block = -1;
    if (strcmp(how, "border") == 0)
        cuda.borders = borders;
}

hc_plugin_entry hc_plugin;
const struct hc_plugin *hc_plugin(hc_fail_function *fail)
{
    const char *how = getenv("HC_BROKEN");
    spoil("flushes when asked");
    (void)fail;
    second = cuda;
    second.name = "cuda-half";
    break_it(how ? how : "");
    return &plugin;
}

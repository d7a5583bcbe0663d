/* The line about what was found. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cuda/shadow/inner.h"

/* "x + 24", or the nearest area and how far beside it the byte lies. */
static void describe(struct hc_shadow *s, uintptr_t at, char *text, size_t size)
{
    (void)hc_shadow_area(s, at, 1, false);
    const struct hc_area shared = {"shared memory", s->shared.start, s->grid ? s->grid->shared : 0,
                                   true, NULL};
    const struct hc_area *nearest = NULL;
    size_t distance = SIZE_MAX;
    for (int i = -1; i < s->areas + 1; i++) {
        const struct hc_area *a = i < 0 ? &shared : i < s->areas ? &s->area[i] : &s->found;
        size_t far = at < a->start              ? a->start - at
                     : at - a->start < a->bytes ? 0
                                                : at - a->start - a->bytes + 1;
        if (a->bytes > 0 && far < distance) {
            nearest = a;
            distance = far;
        }
    }
    if (nearest && distance < 1 << 20)
        (void)snprintf(
            text, size, "%s %c %zu (of %zu bytes)", nearest->name, at < nearest->start ? '-' : '+',
            at < nearest->start ? nearest->start - at : at - nearest->start, nearest->bytes);
    else
        (void)snprintf(text, size, "memory of the host");
}

void hc_shadow_found(struct hc_shadow *s, uintptr_t at, size_t bytes, enum hc_access kind,
                     const void *from, const char *format, ...)
{
    char place[96];
    char source[160];
    char what[120];
    va_list arguments;
    if (!s->has_finding) {
        va_start(arguments, format);
        (void)vsnprintf(what, sizeof what, format, arguments);
        va_end(arguments);
        describe(s, at, place, sizeof place);
        if (hc_running)
            (void)snprintf(s->finding, sizeof s->finding,
                           "cuda-shadow: kernel %s, block %d, thread %d %s %zu byte%s at %s: %s%s",
                           s->grid->name, hc_running->block, hc_running->current,
                           kind == HC_ACCESS_READ    ? "reads"
                           : kind == HC_ACCESS_WRITE ? "writes"
                                                     : "changes",
                           bytes, bytes == 1 ? "" : "s", place, what,
                           hc_shadow_source(from, source, sizeof source));
        else
            (void)snprintf(s->finding, sizeof s->finding, "cuda-shadow: %s of the call: %s", place,
                           what);
        s->has_finding = true;
    }
    if (hc_running)
        hc_emulator_stop();
}

const char *hc_shadow_finding(struct hc_watcher *watcher)
{
    struct hc_shadow *s = hc_shadow_of(watcher);
    bool any = s->has_finding;
    if (any && s->area[0].bytes) /* the launch that ended may have left it so */
        memset((void *)s->area[0].start, 0, s->area[0].bytes);
    s->has_finding = false;
    return any ? s->finding : NULL;
}

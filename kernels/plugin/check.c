#include "kernels/plugin/check.h"

#include <stdbool.h>
#include <string.h>

#include "kernels/plugin/added.h"
#include "kernels/plugin/load.h"

/* Names appear in tables, paths and command lines. */
static bool is_name(const char *name)
{
    size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
    return length > 0 && length <= 40 && !name[length];
}

static bool is_taken(const struct hc_plugin *plugin, int i)
{
    int n;
    const char *name = plugin->backends[i]->name;
    const struct hc_backend *const *others = hc_backends_built_in(&n);
    if (hc_backend_among(others, n, name) || hc_backend_among(plugin->backends, i, name))
        return true;
    others = hc_backends_added(&n);
    return hc_backend_among(others, n, name);
}

static bool are_borders(const struct hc_border *b)
{
    for (; b && b->size; b++)
        if (b->size < 0 || (unsigned)b->extent >= HC_EXTENT_COUNT)
            return false;
    return true;
}

/* What is wrong with backend i of a plug-in, or NULL. */
static const char *wrong_with(const struct hc_plugin *plugin, int i)
{
    const struct hc_backend *b = plugin->backends[i];
    if (!b)
        return "is NULL";
    if (b->abi != HC_BACKEND_ABI)
        return "is of another version";
    if (!b->name || !is_name(b->name))
        return "has no name of small letters, digits and - _ .";
    if (is_taken(plugin, i))
        return "has another one's name";
    if (!b->title)
        return "has no title";
    if (b->unavailable && b->unavailable())
        return NULL; /* it is never opened */
    if (!b->open || !b->close || !b->allocate || !b->release || !b->upload || !b->download)
        return "lacks open, close, allocate, release, upload or download";
    if (!b->capture != !b->captured || !b->capture != !b->replay || !b->capture != !b->forget)
        return "has some of capture, captured, replay and forget";
    if (!b->operands != !b->judge)
        return "has one of operands and judge";
    if (!hc_accumulator_possible(&b->accumulator))
        return "has an impossible accumulator";
    return are_borders(b->borders) ? NULL : "has an impossible border";
}

enum hc_status hc_plugin_check(const struct hc_plugin *plugin, const char *file)
{
    const char *wrong = NULL;
    int count = 0;
    if (!plugin)
        return hc_fail(HC_INVALID, "%s: the plug-in has no backend", file);
    if (plugin->abi != HC_BACKEND_ABI)
        return hc_fail(HC_INVALID, "%s is a plug-in of version %u, this program takes version %u",
                       file, plugin->abi, HC_BACKEND_ABI);
    if (plugin->count < 1 || plugin->count > HC_MAX_PLUGIN || !plugin->backends)
        return hc_fail(HC_INVALID, "%s has %d backends, not 1 to %d", file, plugin->count,
                       HC_MAX_PLUGIN);
    while (count < plugin->count && !(wrong = wrong_with(plugin, count)))
        count++;
    return wrong ? hc_fail(HC_INVALID, "%s: its backend %d %s", file, count + 1, wrong) : HC_OK;
}

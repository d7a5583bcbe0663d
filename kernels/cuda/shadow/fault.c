#include "kernels/cuda/shadow/fault.h"

struct hc_fault_seen hc_fault_seen;

struct hc_fault_place *hc_fault_place(const void *from, enum hc_access kind)
{
    struct hc_fault_seen *s = &hc_fault_seen;
    int i = 0;
    while (i < s->places && s->place[i].from != from)
        i++;
    if (i == HC_FAULT_PLACES)
        return NULL;
    if (i == s->places)
        s->place[s->places++] = (struct hc_fault_place){.from = from, .kind = kind};
    return &s->place[i];
}

bool hc_fault_changes(const struct hc_emulated_fault *fault, const struct hc_fault_place *place,
                      uintptr_t *at, size_t bytes)
{
    if (!place || place - hc_fault_seen.place != fault->site)
        return false;
    if (fault->kind == HC_FAR_ACCESS)
        *at += bytes;
    return (fault->kind == HC_LOST_FENCE && place->kind == HC_FENCE) ||
           (fault->kind == HC_LOST_WRITE && place->kind == HC_ACCESS_WRITE);
}

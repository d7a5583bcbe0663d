#include "kernels/cuda/library/conv_plan.h"

#include <stdlib.h>
#include <string.h>

static void release(const struct hc_library *l, struct hc_conv_plan *plan)
{
    for (int i = 0; i < HC_CONV_PACKS; i++)
        if (plan->packs[i].descriptor)
            (void)l->cudnn_destroy_descriptor(plan->packs[i].descriptor);
    hc_conv_undo(&(struct hc_conv_builder){.library = l, .plan = plan}, 0);
    free((void *)plan->made);
    free(plan);
}

static struct hc_conv_plan *make(struct hc_libraries *libraries, const struct hc_conv_key *key)
{
    struct hc_conv_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        (void)hc_fail(HC_NO_MEMORY, "cuda: no memory for a plan");
        return NULL;
    }
    plan->key = *key;
    struct hc_conv_builder b = {.library = libraries->library,
                                .handle = libraries->dnn,
                                .device = libraries->device,
                                .plan = plan,
                                .what = ""};
    void *graph = hc_conv_graph(&b);
    if (b.status != 0) {
        (void)hc_fail(HC_DEVICE, "cuda: cuDNN: %s: %s: %s", hc_ops[key->shape.op].name, b.what,
                      b.library->cudnn_text(b.status));
        release(b.library, plan);
        return NULL;
    }
    hc_conv_choose(&b, graph);
    return plan;
}

static bool same(const struct hc_conv_key *a, const struct hc_conv_key *b)
{
    return hc_conv_same(&a->shape, &b->shape) && a->format == b->format && a->tf32 == b->tf32;
}

static struct hc_conv_plan **bucket(struct hc_libraries *libraries, const struct hc_conv_key *key)
{
    const struct hc_conv_shape *g = &key->shape;
    const int64_t parts[] = {g->op, g->n, g->h, g->w,      g->c,
                             g->k,  g->r, g->s, g->stride, key->format};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        hash = (hash ^ (uint64_t)parts[i]) * 0x100000001b3u;
    return &libraries->bucket[(hash ^ hash >> 32) % HC_CONV_BUCKETS];
}

struct hc_conv_plan *hc_conv_plan(struct hc_libraries *libraries, const struct hc_conv_key *key)
{
    struct hc_conv_plan **first = bucket(libraries, key);
    struct hc_conv_plan *plan = *first;
    while (plan && !same(&plan->key, key))
        plan = plan->chain;
    if (plan)
        return plan;
    plan = make(libraries, key);
    if (!plan)
        return NULL;
    plan->chain = *first;
    *first = plan;
    if (libraries->last)
        libraries->last->next = plan;
    else
        libraries->plans = plan;
    libraries->last = plan;
    return plan;
}

static int make_pack(const struct hc_library *l, void *const pointers[4], void **pack)
{
    static const int64_t ids[3] = {HC_CONV_ID_X, HC_CONV_ID_W, HC_CONV_ID_Y};
    int status = l->cudnn_create_descriptor(HC_DNN_PACK, pack);
    if (status != 0)
        return status;
    status = l->cudnn_set(*pack, HC_DNN_PACK_IDS, HC_DNN_TYPE_INT64, 3, ids);
    if (status == 0)
        status = l->cudnn_set(*pack, HC_DNN_PACK_POINTERS, HC_DNN_TYPE_POINTER, 3, pointers);
    if (status == 0)
        status = l->cudnn_set(*pack, HC_DNN_PACK_WORKSPACE, HC_DNN_TYPE_POINTER, 1, &pointers[3]);
    if (status == 0)
        status = l->cudnn_finalize(*pack);
    if (status != 0)
        (void)l->cudnn_destroy_descriptor(*pack);
    return status;
}

int hc_conv_pack(const struct hc_library *library, struct hc_conv_plan *plan,
                 void *const pointers[4], void **pack)
{
    struct hc_conv_pack *oldest = &plan->packs[plan->next_pack];
    for (int i = 0; i < HC_CONV_PACKS; i++) {
        const struct hc_conv_pack *p = &plan->packs[i];
        *pack = p->descriptor;
        if (p->descriptor && memcmp(p->pointers, pointers, sizeof p->pointers) == 0)
            return 0;
    }
    int status = make_pack(library, pointers, pack);
    if (status != 0)
        return status;
    if (oldest->descriptor)
        (void)library->cudnn_destroy_descriptor(oldest->descriptor);
    oldest->descriptor = *pack;
    memcpy(oldest->pointers, pointers, sizeof oldest->pointers);
    plan->next_pack = (plan->next_pack + 1) % HC_CONV_PACKS;
    return 0;
}

void hc_conv_plans_free(struct hc_libraries *libraries)
{
    while (libraries->plans) {
        struct hc_conv_plan *plan = libraries->plans;
        libraries->plans = plan->next;
        release(libraries->library, plan);
    }
}

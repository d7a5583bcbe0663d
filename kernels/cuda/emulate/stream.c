#include "kernels/cuda/emulate/stream.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/emulate/emulator.h"
#include "kernels/cuda/emulate/watch.h"

struct item {
    struct item *next;
    hc_emulated_work *work;
    _Alignas(max_align_t) unsigned char args[];
};

struct hc_graph {
    struct item *first;
    struct item **end;
};

struct hc_emulated_stream {
    struct hc_emulator *emulator;
    struct hc_graph *recording; /* NULL: none */
    struct hc_graph *delayed;   /* NULL: none */
    bool idle;
};

struct hc_emulated_stream *hc_emulated_stream_new(void)
{
    struct hc_emulated_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return NULL;
    stream->emulator = hc_emulator_new();
    if (stream->emulator)
        return stream;
    free(stream);
    return NULL;
}

void hc_emulated_stream_free(struct hc_emulated_stream *stream)
{
    hc_graph_free(stream->recording);
    hc_graph_free(stream->delayed);
    hc_emulator_free(stream->emulator);
    free(stream);
}

void hc_emulated_stream_idle(struct hc_emulated_stream *stream)
{
    stream->idle = true;
}

struct hc_emulator *hc_emulated_stream_emulator(struct hc_emulated_stream *stream)
{
    return stream->emulator;
}

void hc_emulated_stream_touches(struct hc_emulated_stream *stream, const void *at, size_t bytes,
                                bool writes)
{
    struct hc_watcher *watcher = stream ? hc_emulator_watcher(stream->emulator) : NULL;
    if (watcher && bytes > 0)
        watcher->library(watcher, at, bytes, writes);
}

static struct hc_graph *empty(void)
{
    struct hc_graph *graph = malloc(sizeof *graph);
    if (graph)
        *graph = (struct hc_graph){NULL, &graph->first};
    return graph;
}

static bool append(struct hc_graph *graph, hc_emulated_work *work, const void *args, size_t size)
{
    struct item *item = malloc(sizeof *item + size);
    if (!item)
        return false;
    item->next = NULL;
    item->work = work;
    memcpy(item->args, args, size);
    *graph->end = item;
    graph->end = &item->next;
    return true;
}

bool hc_emulated_stream_delay(struct hc_emulated_stream *stream, hc_emulated_work *work,
                              const void *args, size_t size)
{
    if (!stream->delayed)
        stream->delayed = empty();
    return stream->delayed && append(stream->delayed, work, args, size);
}

void hc_emulated_stream_settle(struct hc_emulated_stream *stream)
{
    struct hc_graph *delayed = stream ? stream->delayed : NULL;
    if (!delayed)
        return;
    stream->delayed = NULL;
    hc_graph_run(delayed, stream);
    hc_graph_free(delayed);
}

bool hc_emulated_stream_submit(struct hc_emulated_stream *stream, hc_emulated_work *work,
                               const void *args, size_t size)
{
    if (stream && stream->idle)
        return true;
    if (!hc_emulated_stream_is_capturing(stream)) {
        hc_emulated_stream_settle(stream);
        work(stream, args);
        return true;
    }
    return append(stream->recording, work, args, size);
}

bool hc_emulated_stream_begin_capture(struct hc_emulated_stream *stream)
{
    stream->recording = empty();
    return stream->recording;
}

struct hc_graph *hc_emulated_stream_end_capture(struct hc_emulated_stream *stream)
{
    struct hc_graph *graph = stream->recording;
    stream->recording = NULL;
    return graph;
}

bool hc_emulated_stream_is_capturing(const struct hc_emulated_stream *stream)
{
    return stream && stream->recording;
}

struct hc_graph *hc_graph_move(struct hc_graph *graph)
{
    struct hc_graph *taken = empty();
    if (!taken)
        return NULL;
    taken->first = graph->first;
    *graph = (struct hc_graph){NULL, &graph->first};
    return taken;
}

void hc_graph_run(const struct hc_graph *graph, struct hc_emulated_stream *stream)
{
    hc_emulated_stream_settle(stream);
    for (const struct item *item = graph->first; item; item = item->next)
        item->work(stream, item->args);
}

void hc_graph_free(struct hc_graph *graph)
{
    struct item *item = graph ? graph->first : NULL;
    while (item) {
        struct item *next = item->next;
        free(item);
        item = next;
    }
    free(graph);
}

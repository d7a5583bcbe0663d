/* A stream of the emulation: what is put on it is done at once, or recorded while a graph is
   captured. */
#ifndef HC_KERNELS_CUDA_EMULATE_STREAM_H
#define HC_KERNELS_CUDA_EMULATE_STREAM_H

#include <stdbool.h>
#include <stddef.h>

struct hc_emulator;
struct hc_graph;
struct hc_emulated_stream;

/* NULL when there is no memory. */
struct hc_emulated_stream *hc_emulated_stream_new(void);
void hc_emulated_stream_free(struct hc_emulated_stream *stream);

/* That of the stream, for its kernels. */
struct hc_emulator *hc_emulated_stream_emulator(struct hc_emulated_stream *stream);

/* Does work(stream, args), or records it with a copy of the `size` bytes of args. Without a stream (NULL) it
   is done. Whether there was memory. */
typedef void hc_emulated_work(struct hc_emulated_stream *stream, const void *args);
bool hc_emulated_stream_submit(struct hc_emulated_stream *stream, hc_emulated_work *work,
                               const void *args, size_t size);

/* From `begin` to `end` the stream records; `begin` is false when there is no memory. */
bool hc_emulated_stream_begin_capture(struct hc_emulated_stream *stream);
struct hc_graph *hc_emulated_stream_end_capture(struct hc_emulated_stream *stream);
bool hc_emulated_stream_is_capturing(const struct hc_emulated_stream *stream);

/* A graph with all that the other has, which is empty then; NULL when there is no memory. */
struct hc_graph *hc_graph_move(struct hc_graph *graph);

void hc_graph_run(const struct hc_graph *graph, struct hc_emulated_stream *stream);
void hc_graph_free(struct hc_graph *graph);

#endif

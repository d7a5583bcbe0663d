/* A stream of the emulation. Submitted work is done at once, or recorded while a graph is
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

/* From now on nothing that is submitted is done. */
void hc_emulated_stream_idle(struct hc_emulated_stream *stream);

/* The emulator that runs the stream's kernels. */
struct hc_emulator *hc_emulated_stream_emulator(struct hc_emulated_stream *stream);

/* Tells the stream's watcher that a library reads or writes so many bytes. */
void hc_emulated_stream_touches(struct hc_emulated_stream *stream, const void *at, size_t bytes,
                                bool writes);

/* Calls work(stream, args), or records the call with a copy of the `size` bytes of args while the
   stream captures. stream may be NULL. Returns whether there was memory. */
typedef void hc_emulated_work(struct hc_emulated_stream *stream, const void *args);
bool hc_emulated_stream_submit(struct hc_emulated_stream *stream, hc_emulated_work *work,
                               const void *args, size_t size);

/* Work that is done before what is submitted next, or when the stream is settled: a copy that a
   device does beside the CPU. The first returns whether there was memory. */
bool hc_emulated_stream_delay(struct hc_emulated_stream *stream, hc_emulated_work *work,
                              const void *args, size_t size);
void hc_emulated_stream_settle(struct hc_emulated_stream *stream);

/* Between the two calls the stream records. The first returns whether there was memory. */
bool hc_emulated_stream_begin_capture(struct hc_emulated_stream *stream);
struct hc_graph *hc_emulated_stream_end_capture(struct hc_emulated_stream *stream);
bool hc_emulated_stream_is_capturing(const struct hc_emulated_stream *stream);

/* Moves the work of a graph into a new one and leaves the old one empty. NULL when there is no
   memory. */
struct hc_graph *hc_graph_move(struct hc_graph *graph);

void hc_graph_run(const struct hc_graph *graph, struct hc_emulated_stream *stream);
void hc_graph_free(struct hc_graph *graph);

#endif

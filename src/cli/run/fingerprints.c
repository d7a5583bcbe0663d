#include "cli/run/fingerprints.h"

#include <stdio.h>

#include "check/fingerprint/use.h"
#include "check/record/json.h"
#include "cli/stop.h"
#include "op/wrap.h"

bool hc_run_wants_fingerprint(const struct hc_run_settings *settings,
                              const struct hc_backend *backend)
{
    bool device = !backend->host_memory && !backend->partial;
    bool here = !backend->unavailable || !backend->unavailable();
    bool wanted = (device || settings->fingerprint) && !settings->no_fingerprint;
    return wanted && backend->kernel[HC_OP_gemm] && here;
}

static void keep(struct hc_run_command *s, const struct hc_backend *backend, enum hc_format format,
                 const char *text)
{
    char key[96];
    (void)snprintf(key, sizeof key, "%s %s", backend->name, hc_formats[format].name);
    (void)json_object_set_new(s->fingerprints, key, hc_json_text(text));
}

static void print_fingerprint_of_run(const struct hc_run_command *s,
                                     const struct hc_backend *backend, enum hc_format format,
                                     const char *text)
{
    char line[HC_FINGERPRINT_TEXT + 160];
    (void)snprintf(line, sizeof line, "fingerprint of %s %s: %s", backend->name,
                   hc_formats[format].name, text);
    if (!s->settings.tap)
        hc_print_wrapped(s->out, 0, 2, line);
}

static void take_fingerprint(struct hc_run_command *s, const struct hc_backend *backend,
                             struct hc_queue *queue, enum hc_format format)
{
    struct hc_fingerprint f;
    char text[HC_FINGERPRINT_TEXT];
    char line[HC_FOUND_LINE];
    enum hc_status status = hc_fingerprint(backend, queue, format, &f);
    if (status == HC_UNSUPPORTED)
        return;
    if (status != HC_OK) {
        print_fingerprint_of_run(s, backend, format, hc_message());
        keep(s, backend, format, "none");
        return;
    }
    hc_fingerprint_text(&f, text);
    keep(s, backend, format, text);
    print_fingerprint_of_run(s, backend, format, text);
    (void)hc_fingerprint_use(backend, &f, line);
    if (line[0] && !s->settings.tap)
        hc_print_wrapped(s->out, fprintf(s->out, "  "), 4, line);
}

enum hc_status hc_run_fingerprints(struct hc_run_command *s)
{
    for (int b = 0; b < s->options.backend_count && !hc_stop_signal(); b++) {
        const struct hc_backend *backend = s->options.backends[b];
        struct hc_queue *queue;
        if (!hc_run_wants_fingerprint(&s->settings, backend))
            continue;
        enum hc_status status = hc_backend_open(backend, &queue, 0);
        if (status != HC_OK)
            return status;
        const enum hc_format *format = hc_fingerprint_formats;
        for (; *format != HC_FORMAT_COUNT && !hc_stop_signal(); format++)
            if (hc_fingerprint_usual(backend, *format))
                take_fingerprint(s, backend, queue, *format);
        backend->close(queue);
    }
    return HC_OK;
}

/* Requests to end that come in the midst of a product. */
#include "cli/stop.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "backend.h"
#include "op/call.h"

enum { ROWS = 192, COLUMNS = 512, TERMS = 256, PRODUCTS = 200 };

static float a[ROWS * TERMS];
static float b[TERMS * COLUMNS];
static float calm[ROWS * COLUMNS];
static float disturbed[ROWS * COLUMNS];

/* Sends SIGTERM to the process every `microseconds`, or no longer if they are 0. */
static void ask(timer_t timer, long microseconds)
{
    const struct timespec every = {.tv_nsec = microseconds * 1000};
    const struct itimerspec when = {.it_interval = every, .it_value = every};
    cr_assert_eq(timer_settime(timer, 0, &when, NULL), 0);
}

/* All within a second, so that it is one request. */
Test(stop, requests_change_no_bit_of_a_product_that_they_interrupt)
{
    const struct hc_backend *host = hc_backend_by_name("host");
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM};
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    struct hc_queue *queue;
    timer_t timer;
    for (int i = 0; i < ROWS * TERMS; i++)
        a[i] = (float)(i % 17 - 8);
    for (int i = 0; i < TERMS * COLUMNS; i++)
        b[i] = (float)(i % 13 - 6);
    call.in[HC_GEMM_A] = hc_tensor2(HC_FP32, ROWS, TERMS, a);
    call.in[HC_GEMM_B] = hc_tensor2(HC_FP32, TERMS, COLUMNS, b);
    call.out[HC_GEMM_OUT] = hc_tensor2(HC_FP32, ROWS, COLUMNS, calm);
    cr_assert_eq(host->open(host, &queue, 1), HC_OK, "%s", hc_message());
    call.scratch = malloc(host->scratch(queue, &call));
    cr_assert_eq(host->kernel[HC_OP_gemm](queue, &call), HC_OK, "%s", hc_message());

    hc_stop_on_request();
    cr_assert_eq(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    ask(timer, 50);
    call.out[HC_GEMM_OUT].data = disturbed;
    time_t began = time(NULL);
    for (int i = 0; i < PRODUCTS && time(NULL) <= began; i++) {
        cr_assert_eq(host->kernel[HC_OP_gemm](queue, &call), HC_OK, "%s", hc_message());
        cr_assert_arr_eq(disturbed, calm, sizeof calm, "product %d", i);
    }
    ask(timer, 0);
    cr_expect_eq(hc_stop_signal(), SIGTERM);
    host->close(queue);
    free(call.scratch);
}

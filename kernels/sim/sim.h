/* Backends that multiply matrices with the bits of a GPU's or CPU's matrix unit, as its published
   model has them, and leave everything else to host. */
#ifndef HC_KERNELS_SIM_SIM_H
#define HC_KERNELS_SIM_SIM_H

#include "backend.h"
#include "kernels/sim/product.h"

/* Machines, and units that one may have. */
enum { HC_SIM_MACHINES = 12, HC_SIM_MAX_UNITS = 24 };

/* One machine: its name as a backend, and its units, those that are taken first before others of
   the same formats. NULL-ended. */
struct hc_sim_machine {
    const char *name;
    const char *title;
    const char *units[HC_SIM_MAX_UNITS];
};

/* The backends, HC_SIM_MACHINES of them, in a fixed order. */
const struct hc_backend *const *hc_sim_backends(void);

/* The unit of the machine that runs the call, or NULL if host does. */
const struct hc_unit *hc_sim_unit_of(const struct hc_sim_machine *machine,
                                     const struct hc_call *call);

/* The call, which is gemm, dot or a convolution, as a product on the unit. */
struct hc_sim_product hc_sim_product_of(const struct hc_unit *u, const struct hc_call *call,
                                        int threads);

/* gemm_q on the unit, and the scratch that it needs. */
size_t hc_sim_gemm_q_scratch(const struct hc_unit *u, const struct hc_call *call, int threads);
void hc_sim_gemm_q(const struct hc_unit *u, const struct hc_call *call, int threads);

/* The sums of gemm_q on a unit that takes scales: acc [M, N], before the tensors' factors. */
size_t hc_sim_scaled_scratch(const struct hc_unit *u, const struct hc_call *call, int threads);
void hc_sim_scaled(const struct hc_unit *u, const struct hc_call *call, int threads, float *acc,
                   void *scratch);

/* How the unit sums products, such that bounds cover its error. */
struct hc_accumulator hc_sim_accumulator(const struct hc_unit *u);

#endif

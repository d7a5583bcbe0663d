/* What PTX instructions compute, for the C that translate.py makes of PTX. */
#ifndef HC_KERNELS_CUDA_PTX_INSTRUCTIONS_H
#define HC_KERNELS_CUDA_PTX_INSTRUCTIONS_H

#include "kernels/cuda/ptx/conversions.h"
#include "kernels/cuda/ptx/floats.h"
#include "kernels/cuda/ptx/integers.h"
#include "kernels/cuda/ptx/memory.h"

#endif

// CUDA's own conversions to formats below half, as its headers compute them on the CPU: the parts
// of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h that need no GPU. The script cuda-test builds and runs
// it.
//
//   halfcheck gen cast/e4m3 | cuda_headers [via-fp16] | halfcheck verify cast/e4m3
//   cuda_headers decode       all codes of all formats, against num/encode.h
//   cuda_headers fp64         numbers of fp64 that lie next to where the result changes, likewise
//   cuda_headers all [NAME]   all 2^32 numbers of fp32, likewise
//
// It prints a line for each conversion, and returns 1 if any result is not the same.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include "num/encode.h"

namespace
{

// A conversion from each format of inputs that has one, and the number of a code.
struct Conversion {
    const char *to;
    hc_format format;
    bool saturate;
    hc_direction direction;
    unsigned (*fp32)(float);
    unsigned (*fp64)(double);
    unsigned (*fp16)(__half_raw);
    unsigned (*bf16)(__nv_bfloat16_raw);
    double (*decode)(unsigned);
};

double of_fp16(__half_raw half)
{
    return hc_decode_as(&hc_formats[HC_FP16], half.x);
}

template <__nv_fp8_interpretation_t kind, __nv_saturation_t how> struct Fp8 {
    static unsigned fp32(float x) { return __nv_cvt_float_to_fp8(x, how, kind); }
    static unsigned fp64(double x) { return __nv_cvt_double_to_fp8(x, how, kind); }
    static unsigned fp16(__half_raw x) { return __nv_cvt_halfraw_to_fp8(x, how, kind); }
    static unsigned bf16(__nv_bfloat16_raw x) { return __nv_cvt_bfloat16raw_to_fp8(x, how, kind); }
    static double decode(unsigned code)
    {
        return of_fp16(__nv_cvt_fp8_to_halfraw((__nv_fp8_storage_t)code, kind));
    }
};

template <__nv_fp6_interpretation_t kind> struct Fp6 {
    static unsigned fp32(float x) { return __nv_cvt_float_to_fp6(x, kind, cudaRoundNearest); }
    static unsigned fp64(double x) { return __nv_cvt_double_to_fp6(x, kind, cudaRoundNearest); }
    static unsigned fp16(__half_raw x)
    {
        return __nv_cvt_halfraw_to_fp6(x, kind, cudaRoundNearest);
    }
    static unsigned bf16(__nv_bfloat16_raw x)
    {
        return __nv_cvt_bfloat16raw_to_fp6(x, kind, cudaRoundNearest);
    }
    static double decode(unsigned code)
    {
        return of_fp16(__nv_cvt_fp6_to_halfraw((__nv_fp6_storage_t)code, kind));
    }
};

struct Fp4 {
    static unsigned fp32(float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest); }
    static unsigned fp64(double x)
    {
        return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest);
    }
    static unsigned fp16(__half_raw x)
    {
        return __nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest);
    }
    static unsigned bf16(__nv_bfloat16_raw x)
    {
        return __nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, cudaRoundNearest);
    }
    static double decode(unsigned code)
    {
        return of_fp16(__nv_cvt_fp4_to_halfraw((__nv_fp4_storage_t)code, __NV_E2M1));
    }
};

template <__nv_saturation_t how, cudaRoundMode mode> struct Scale {
    static unsigned fp32(float x) { return __nv_cvt_float_to_e8m0(x, how, mode); }
    static unsigned fp64(double x) { return __nv_cvt_double_to_e8m0(x, how, mode); }
    static unsigned bf16(__nv_bfloat16_raw x) { return __nv_cvt_bfloat16raw_to_e8m0(x, how, mode); }
    static double decode(unsigned code)
    {
        __nv_bfloat16_raw value = __nv_cvt_e8m0_to_bf16raw((__nv_fp8_storage_t)code);
        return hc_decode_as(&hc_formats[HC_BF16], value.x);
    }
};

template <class T>
constexpr Conversion row(const char *to, hc_format format, bool saturate)
{
    return {to, format, saturate, HC_NEAREST, T::fp32, T::fp64, T::fp16, T::bf16, T::decode};
}

template <class T>
constexpr Conversion scale_row(const char *to, bool saturate, hc_direction direction)
{
    return {to, HC_E8M0, saturate, direction, T::fp32, T::fp64, nullptr, T::bf16, T::decode};
}

// The names are what stands in a first line of gen behind `cast/`, but for where numbers come from.
const Conversion conversions[] = {
    row<Fp8<__NV_E4M3, __NV_SATFINITE>>("e4m3 --saturate", HC_E4M3, true),
    row<Fp8<__NV_E4M3, __NV_NOSAT>>("e4m3", HC_E4M3, false),
    row<Fp8<__NV_E5M2, __NV_SATFINITE>>("e5m2 --saturate", HC_E5M2, true),
    row<Fp8<__NV_E5M2, __NV_NOSAT>>("e5m2", HC_E5M2, false),
    row<Fp6<__NV_E2M3>>("e2m3", HC_E2M3, true),
    row<Fp6<__NV_E3M2>>("e3m2", HC_E3M2, true),
    row<Fp4>("e2m1", HC_E2M1, true),
    scale_row<Scale<__NV_SATFINITE, cudaRoundZero>>("e8m0 --round toward-zero --saturate", true,
                                                    HC_TOWARD_ZERO),
    scale_row<Scale<__NV_NOSAT, cudaRoundZero>>("e8m0 --round toward-zero", false, HC_TOWARD_ZERO),
    scale_row<Scale<__NV_SATFINITE, cudaRoundPosInf>>("e8m0 --round upward --saturate", true,
                                                      HC_UPWARD),
    scale_row<Scale<__NV_NOSAT, cudaRoundPosInf>>("e8m0 --round upward", false, HC_UPWARD),
};

// What the definition makes of x, and whether a code is that; NaN is NaN.
unsigned want_of(const Conversion &c, double x)
{
    return (unsigned)hc_encode_as(&hc_formats[c.format], x, 0, c.direction, c.saturate);
}

bool same(const Conversion &c, unsigned want, unsigned got)
{
    const hc_format_info &f = hc_formats[c.format];
    return want == got || (got >> f.bits == 0 && std::isnan(hc_decode_as(&f, want)) &&
                           std::isnan(hc_decode_as(&f, got)));
}

struct Count {
    long long checked = 0;
    long long wrong = 0;
    char first[96] = "";

    void add(bool right, double x, unsigned want, unsigned got)
    {
        checked++;
        if (!right && wrong++ == 0)
            snprintf(first, sizeof first, "; first %a: want %02x, CUDA gives %02x", x, want, got);
    }

    int tell(const char *what) const
    {
        printf("%s: %lld of %lld differ%s\n", what, wrong, checked, first);
        fflush(stdout);
        return wrong > 0;
    }
};

int decode()
{
    int failed = 0;
    hc_format last = HC_FORMAT_COUNT;
    for (const Conversion &c : conversions) {
        const hc_format_info &f = hc_formats[c.format];
        Count count;
        if (c.format == last)
            continue;
        last = c.format;
        for (unsigned code = 0; code < 1u << f.bits; code++) {
            double want = hc_decode_as(&f, code);
            double got = c.decode(code);
            bool right = std::isnan(want) ? std::isnan(got)
                                          : want == got && std::signbit(want) == std::signbit(got);
            count.add(right, got, code, code);
        }
        failed |= count.tell((std::string("numbers of ") + f.name).c_str());
    }
    return failed;
}

// Each number of the format and each midpoint, and what lies so near to them that fp32 does not
// hold it.
int fp64()
{
    static const double nearby[] = {0, 0x1p-52, 0x1p-40, 0x1p-30, 0x1p-25, 0x1p-12};
    static const double ends[] = {0, 5e-324, 0x1p-1022, 0x1p-150, 0x1p-149, 1e300, 0x1p1023,
                                  INFINITY, NAN};
    int failed = 0;
    for (const Conversion &c : conversions) {
        const hc_format_info &f = hc_formats[c.format];
        Count count;
        auto check = [&](double x) {
            for (double value : {x, -x}) {
                unsigned want = want_of(c, value);
                unsigned got = c.fp64(value);
                count.add(same(c, want, got), value, want, got);
            }
        };
        for (double end : ends)
            check(end);
        for (unsigned code = 0; code < 1u << (f.bits - f.sign); code++) {
            double number = hc_decode_as(&f, code);
            double next = hc_decode_as(&f, code + 1);
            double step = std::isfinite(next) && next > number ? next - number : number;
            for (double place : {number, number + step / 2})
                for (double near : nearby) {
                    check(place * (1 + near));
                    check(place * (1 - near));
                }
        }
        failed |= count.tell((std::string("fp64 to ") + c.to).c_str());
    }
    return failed;
}

// A right conversion is monotone over the numbers of one sign. So where both ends of a block have
// one code, all of it has.
int all(const char *name)
{
    const uint64_t block = 256;
    int failed = 0;
    for (const Conversion &c : conversions) {
        Count count;
        if (name && strcmp(name, c.to) != 0)
            continue;
        for (uint64_t first = 0; first < (uint64_t)1 << 32; first += block) {
            unsigned low = want_of(c, hc_fp32_value((uint32_t)first));
            bool one = low == want_of(c, hc_fp32_value((uint32_t)(first + block - 1)));
            for (uint64_t bits = first; bits < first + block; bits++) {
                float x = hc_fp32_value((uint32_t)bits);
                unsigned want = one ? low : want_of(c, x);
                unsigned got = c.fp32(x);
                count.add(want == got || same(c, want, got), x, want, got);
            }
        }
        failed |= count.tell((std::string("fp32 to ") + c.to).c_str());
    }
    return failed;
}

unsigned convert(const Conversion &c, const char *from, bool via_fp16, unsigned bits)
{
    __half_raw half;
    __nv_bfloat16_raw bfloat;
    float x = hc_fp32_value(bits);
    half.x = (unsigned short)(via_fp16 ? hc_fp16_bits(x) : bits);
    bfloat.x = (unsigned short)bits;
    if (via_fp16 || strcmp(from, "fp16") == 0)
        return c.fp16(half);
    return strcmp(from, "bf16") == 0 ? c.bf16(bfloat) : c.fp32(x);
}

// Answers gen: each line again with the code behind it.
int answer(bool via_fp16)
{
    char line[256];
    char from[8] = "";
    char to[16] = "";
    std::string name;
    const Conversion *chosen = nullptr;
    if (!fgets(line, sizeof line, stdin) ||
        sscanf(line, "# halfcheck gen cast/%15s --from %7s", to, from) != 2)
        return 2;
    name = to;
    for (const char *part : {" --round toward-zero", " --round upward", " --saturate"})
        if (strstr(line, part))
            name += part;
    for (const Conversion &c : conversions)
        if (name == c.to)
            chosen = &c;
    if (!chosen || (!chosen->fp16 && strcmp(from, "fp16") == 0))
        return 2;
    fputs(line, stdout);
    while (fgets(line, sizeof line, stdin)) {
        unsigned bits = (unsigned)strtoul(line, nullptr, 16);
        line[strcspn(line, "\n")] = '\0';
        printf("%s %02x\n", line, convert(*chosen, from, via_fp16, bits));
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::string what = argc > 1 ? argv[1] : "";
    if (what == "decode")
        return decode();
    if (what == "fp64")
        return fp64();
    if (what == "all")
        return all(argc > 2 ? argv[2] : nullptr);
    return answer(what == "via-fp16");
}

#include <assert.h>
#include <math.h>

#include "cli/statistics/significance.h"

double hc_normal_below(double z)
{
    return 0.5 * erfc(-z / 1.4142135623730951);
}

/* A quotient that is 0 has no inverse; this stands for it (Thompson and Barnett 1986). */
static double not_zero(double x)
{
    return fabs(x) < 1e-300 ? 1e-300 : x;
}

/* Coefficient m of the continued fraction of the incomplete beta function (Abramowitz and Stegun,
   26.5.8). */
static double coefficient(int m, double x, double a, double b)
{
    int k = m / 2;
    return m % 2 ? -(a + k) * (a + b + k) * x / ((a + 2 * k) * (a + 2 * k + 1))
                 : k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k));
}

/* The fraction 1/(1+ d1/(1+ d2/(1+ ...))), by Lentz's method. It converges fast for
   x < (a + 1) / (a + b + 2), in about sqrt(max(a, b)) terms. */
static double fraction(double x, double a, double b)
{
    double above = 1;
    double below = 0;
    double value = 1;
    for (int m = 1; m < 10000; m++) {
        double d = coefficient(m, x, a, b);
        below = 1 / not_zero(1 + d * below);
        above = not_zero(1 + d / above);
        value *= above * below;
        if (fabs(above * below - 1) < 1e-16)
            break;
    }
    return 1 / value;
}

/* I_x(a, b), the regularized incomplete beta function, with y = 1 - x. */
static double beta_share(double x, double y, double a, double b)
{
    if (x <= 0)
        return 0;
    double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
    return front * fraction(x, a, b) / a;
}

/* P(T >= t) = I_x(freedom / 2, 1/2) / 2, x = freedom / (freedom + t^2), t >= 0 (Abramowitz and
   Stegun, 26.7.1). Where the fraction converges slowly it is 1 - I_y(1/2, freedom / 2). */
static double above(double t, double freedom)
{
    double whole = freedom + t * t;
    double x = isinf(whole) ? 0 : freedom / whole;
    double y = isinf(whole) ? 1 : t * t / whole;
    double a = freedom / 2;
    return x < (a + 1) / (a + 2.5) ? beta_share(x, y, a, 0.5) / 2
                                   : 0.5 - beta_share(y, x, 0.5, a) / 2;
}

double hc_t_below(double t, double freedom)
{
    assert(freedom >= 1);
    if (isnan(t))
        return t;
    return t < 0 ? above(-t, freedom) : 1 - above(t, freedom);
}

double hc_t_quantile(double p, double freedom)
{
    assert(p >= 0.5 && p < 1);
    double low = 0;
    double high = 1;
    while (above(high, freedom) > 1 - p)
        high *= 2;
    for (int i = 0; i < 60; i++) {
        double middle = (low + high) / 2;
        if (above(middle, freedom) > 1 - p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

/* 2 (f/2)^(f/2) / Gamma(f/2) w^(f-1) exp(-f w^2 / 2). */
double hc_chi_density(double w, double freedom)
{
    double half = freedom / 2;
    if (w <= 0)
        return freedom > 1 ? 0 : sqrt(2 / 3.141592653589793);
    return 2 * exp(half * log(half) - lgamma(half) + (freedom - 1) * log(w) - half * w * w);
}

/* The terms n! / (k! (n - k)!) / 2^n grow up to the middle, so the sum begins with the largest, and
   each is the one before it times k / (n - k + 1). The first has the error of three lgamma, whose
   values are below 1e5 for 10,000 images: 1e-11. */
double hc_mcnemar(long long first, long long second)
{
    long long fewer = first < second ? first : second;
    double n = (double)first + (double)second;
    double k = (double)fewer;
    double term = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2));
    double sum = 0;
    for (; k >= 0 && term > 1e-18 * sum; k--) {
        sum += term;
        term *= k / (n - k + 1);
    }
    return fmin(1, 2 * sum);
}

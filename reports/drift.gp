# Draws what the sources of rounding do, as svg and png, from attribution.csv and layers.csv of the folder
# that it runs in:
#   gnuplot -e 'recipes = "fp16-static bf16"; steps = 20; synthetic = 1' drift.gp
# attribution.csv: recipe, source, format, gradient_alone, gradient_without, free_alone, free_without,
# gradient_measured, free_measured; layers.csv: recipe, layer, error, cosine, underflow, lost.

note = synthetic ? " (synthetic images, not CIFAR-10)" : ""
many = words(recipes)
open_svg = sprintf('set terminal svg size 1000,%d dynamic enhanced background "white" font "Helvetica,Arial,sans-serif,13"', 340 * many + 80)
open_png = sprintf('set terminal pngcairo size 1400,%d enhanced background "white" font "Sans,12" linewidth 1.5', 460 * many + 100)
wide_svg = 'set terminal svg size 900,480 dynamic enhanced background "white" font "Helvetica,Arial,sans-serif,13"'
wide_png = 'set terminal pngcairo size 1300,700 enhanced background "white" font "Sans,12" linewidth 1.5 pointscale 1.3'
of(recipe, y) = strcol(1) eq recipe && column(y) > 0 ? column(y) : NaN

do for [type in "svg png"] {
    reset
    set datafile separator comma
    set datafile missing "nan"
    set style line 100 linecolor rgb "#dddddd" linewidth 1
    if (type eq "svg") { @open_svg } else { @open_png }
    set output "attribution." . type
    set multiplot layout many, 2 title sprintf("error by source of rounding, %d steps%s", steps, note) noenhanced
    do for [i = 1:many] {
        r = word(recipes, i)
        do for [what in "gradient free"] {
            stats "attribution.csv" using (of(r, what eq "gradient" ? 8 : 9)) every ::1 name "M" nooutput
            set grid ytics back linestyle 100
            set border 3 linecolor rgb "#444444"
            set logscale y
            set format y "10^{%T}"
            set style fill solid 0.85 noborder
            set xtics rotate by -35 nomirror scale 0 noenhanced
            set ytics nomirror
            set offsets 0.6, 0.6, 0, 0
            set key above horizontal Left reverse samplen 1.5
            set title sprintf("%s: %s", r, what eq "gradient" ? "gradients at the weights of fp64" : "weights after a free run") noenhanced
            set ylabel what eq "gradient" ? "|g - g64| / |g64|" : "|w - w64| / |w64 - start|"
            first = (i - 1) * 9
            plot "attribution.csv" using ($0 - 0.18):(of(r, what eq "gradient" ? 4 : 6)):(0.34):xtic(2) every ::1 + first::9 + first \
                with boxes linecolor rgb "#0072b2" title "alone", \
                "" using ($0 + 0.18):(of(r, what eq "gradient" ? 5 : 7)):(0.34) every ::1 + first::8 + first \
                with boxes linecolor rgb "#e69f00" title "all but it", \
                M_max with lines dashtype 2 linecolor rgb "#000000" title "measured"
        }
    }
    unset multiplot

    reset
    set datafile separator comma
    set datafile missing "nan"
    if (type eq "svg") { @wide_svg } else { @wide_png }
    set output "layers." . type
    set style line 100 linecolor rgb "#dddddd" linewidth 1
    set grid back linestyle 100
    set border 3 linecolor rgb "#444444"
    set logscale y
    set format y "10^{%T}"
    set xtics rotate by -45 nomirror noenhanced
    set ytics nomirror
    set key outside right top samplen 2 noenhanced
    set title "gradients against fp64, layer by layer" . note noenhanced
    set ylabel "|g - g64| / |g64|"
    stats "layers.csv" using (column(3)) every ::1 name "L" nooutput
    per = int(L_records / many)
    plot for [i = 1:many] "layers.csv" using (int($0) % per):(of(word(recipes, i), 3)):xtic(2) every ::1 \
        with linespoints pointtype i linewidth 2 title word(recipes, i)
}

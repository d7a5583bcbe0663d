# Draws curves, scale and gradients, as svg and png, of the runs of one comparison. Runs in the folder of
# the comparison. Given: the number n of recipes with the array recipe_name; seeds, the most of a recipe;
# the array run_folder, seed s of recipe r as number r + (s - 1) n; synthetic (0 or 1). What is read of each
# run:
#   steps.csv      step, loss, scale, skipped
#   epochs.csv     epoch, test_accuracy
#   gradients.csv  exponent (-150: zero, 128: infinite or NaN), scaled, unscaled,
#                  activations_scaled, activations_unscaled: counts, all epochs' are added

file(r, s, name) = "./" . run_folder[r + (s - 1) * n] . "/" . name
note = synthetic ? "\n(synthetic images, not CIFAR-10)" : ""

# Okabe and Ito's colours: told apart by the colour-blind, and by their dashes without colour.
array colour[8] = ["#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999933"]
array dash[8] = [1, 2, 4, 5, 3, 1, 2, 4]
c(r) = colour[(r - 1) % 8 + 1]
d(r) = dash[(r - 1 + (r - 1) / 8) % 8 + 1]
width(r, s) = s > 1 ? 0.7 : r == 1 ? 3 : 2

# Where a count is drawn: zeros and infinities at the edges.
nowhere = 1000
special(e) = e == -150 ? -48 : e == 128 ? 17.5 : nowhere
finite(e) = e == -150 || e == 128 ? nowhere : e + 0.5
place(e) = finite(e) == nowhere ? special(e) : finite(e)

# An exponential mean that starts anew with each run.
mean = NaN
start(step) = (mean = step == 0 ? NaN : mean)
smooth(x) = (mean = (mean == mean) ? 0.96 * mean + 0.04 * x : x)

# The legend has a row for six recipes, the gradients a row for each.
rows = (n + 5) / 6
tall = 420 + 24 * (rows - 1) + (n > 6 ? 40 * (n - 6) : 0)
low = 420 + 24 * (rows - 1)
foot = (100.0 + 24 * (rows - 1)) / low
open_svg = 'set terminal svg size 1000,height dynamic enhanced background "white" font "Helvetica,Arial,sans-serif,13"'
open_png = 'set terminal pngcairo size 1500,1.5*height enhanced background "white" font "Sans,12" linewidth 1.5 pointscale 1.4'

# Whether any run has a number to draw; gnuplot finds no range by itself where there is none, and
# stats then undefines its variables.
set datafile separator comma
losses = 0
accuracies = 0
do for [r = 1:n] {
    do for [s = 1:seeds] {
        stats file(r, s, "epochs.csv") using (column("test_accuracy") >= 0) name "S" nooutput
        accuracies = accuracies + exists("S_sum")
        stats file(r, s, "steps.csv") using (column("loss") < 1e300) name "S" nooutput
        losses = losses + exists("S_sum")
    }
}

do for [type in "svg png"] {
    reset
    set datafile separator comma
    set encoding utf8
    set style line 100 linecolor rgb "#dddddd" linewidth 1
    set grid back linestyle 100
    set border 3 linecolor rgb "#444444"
    set tics nomirror
    height = low
    if (type eq "svg") { @open_svg } else { @open_png }

    set output "curves." . type
    set multiplot layout 1,2 margins 0.07, 0.98, foot, 0.88 spacing 0.09, 0.1
    set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse maxrows rows samplen 4 width 2 noenhanced
    set title "Training loss, mean over about 25 steps" . note
    set xlabel "step"
    set ylabel "cross-entropy, nat"
    set yrange [0:*<3.5]
    if (!losses) { set xrange [0:1]; set yrange [0:1] }
    plot for [r = 1:n] for [s = 1:seeds] file(r, s, "steps.csv") \
        using (start(column("step")), column("step")):(smooth(column("loss"))) \
        with lines linecolor rgb c(r) dashtype d(r) linewidth width(r, s) \
        title (s == 1 ? recipe_name[r] : "")
    unset key
    set title "Accuracy on the test images" . note
    set xlabel "epoch"
    set ylabel "%"
    set xrange [*:*]
    set yrange [*:100]
    set xtics 1
    if (!accuracies) { set xrange [0.5:1.5]; set yrange [0:100] }
    plot for [r = 1:n] for [s = 1:seeds] file(r, s, "epochs.csv") \
        using (column("epoch") + 1):(100 * column("test_accuracy")) \
        with linespoints linecolor rgb c(r) dashtype d(r) linewidth width(r, s) \
        pointtype 4 + r pointsize (s == 1 ? 0.8 : 0.4) notitle
    unset multiplot
    set xrange [*:*]
    set xtics autofreq

    set output "scale." . type
    set margins screen 0.07, screen 0.98, screen foot, screen 0.88
    set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse maxrows rows samplen 4 width 2 noenhanced
    set title "Loss scale (cross: step skipped, a gradient was infinite or NaN)" . note
    set xlabel "step"
    set ylabel "scale"
    set logscale y 2
    set format y "2^{%L}"
    set yrange [0.5:*]
    set offsets graph 0, graph 0, graph 0.05, graph 0
    plot for [r = 1:n] file(r, 1, "steps.csv") using (column("step")):(column("scale")) \
        with lines linecolor rgb c(r) dashtype d(r) linewidth width(r, 1) title recipe_name[r], \
        for [r = 1:n] file(r, 1, "steps.csv") \
        using (column("step")):(column("skipped") > 0 ? column("scale") : NaN) \
        with points pointtype 2 pointsize 1.2 linewidth 1.5 linecolor rgb c(r) notitle
    unset logscale y
    unset offsets
    set format y

    height = tall
    if (type eq "svg") { @open_svg } else { @open_png }
    set output "gradients." . type
    set multiplot
    set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse samplen 3 width 2 noenhanced
    set xrange [-50:19]
    set boxwidth 1
    set yrange [0:*]
    set ytics format "%.0f%%"
    unset xlabel
    unset ylabel
    set object 1 rectangle from -50, graph 0 to -24, graph 1 behind fillcolor rgb "#f4d6c6" fillstyle solid noborder
    set object 2 rectangle from -24, graph 0 to -14, graph 1 behind fillcolor rgb "#fbf0d9" fillstyle solid noborder
    set object 3 rectangle from 16, graph 0 to 19, graph 1 behind fillcolor rgb "#f4d6c6" fillstyle solid noborder
    set label 2 "Exponents of the gradients' entries (red: beyond the range of fp16, yellow: subnormal in it)" . note \
        at screen 0.5, screen 1 - 12.6 / height center
    do for [panel = 0:2 * n - 1] {
        r = panel / 2 + 1
        outputs = panel % 2
        scaled = outputs ? "activations_scaled" : "scaled"
        unscaled = outputs ? "activations_unscaled" : "unscaled"
        top = 1 - 75.6 / height
        high = (top - 84.0 / height) / n
        set lmargin at screen 0.06 + 0.48 * outputs
        set rmargin at screen 0.5 + 0.48 * outputs
        set tmargin at screen top - high * (r - 1)
        set bmargin at screen top - high * r + 12.6 / height
        source = file(r, 1, "gradients.csv")
        stats source using (column("epoch")) name "E" nooutput
        stats source using (column(scaled)) name "A" nooutput
        stats source using (column(unscaled)) name "B" nooutput
        most = 100.0 * (E_max - E_min + 1) * (A_max / A_sum > B_max / B_sum ? A_max / A_sum : B_max / B_sum)
        set ytics most < 3 ? 1 : floor(most / (n > 6 ? 1 : 2))
        set xtics ("" -48, "" 17.5)
        set for [e = -40:10:10] xtics add ("" e)
        if (r == n) {
            set xlabel "exponent of 2"
            set xtics ("zero" -48, "inf,nan" 17.5)
            set for [e = -40:10:10] xtics add (sprintf("%d", e) e)
        } else {
            unset xlabel
        }
        if (r == 1) { set title (outputs ? "of layers' outputs" : "of weights") } else { unset title }
        set label 1 recipe_name[r] at graph 0.1, graph 0.85 noenhanced
        plot source using (place(column("exponent"))):(100 * column(scaled) / A_sum) smooth frequency \
            with boxes fillstyle solid 0.55 noborder linecolor rgb colour[2] title "as stored, with the loss scale", \
            "" using (finite(column("exponent"))):(100 * column(unscaled) / B_sum) smooth frequency \
            with histeps linecolor rgb "#000000" linewidth 1.5 title "divided by the scale", \
            "" using (special(column("exponent"))):(100 * column(unscaled) / B_sum) smooth frequency \
            with boxes fillstyle empty border rgb "#000000" linecolor rgb "#000000" linewidth 1.5 notitle
        unset key
        unset label 2
    }
    unset multiplot
}

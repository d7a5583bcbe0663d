# Draws curves, scale and gradients, as svg and png, of the runs of one comparison. Runs in the
# folder of the comparison. Given: the number n of recipes with the arrays recipe_name, recipe_short
# of recipe_lines lines, and recipe_nan ("NaN from step 1", or nothing); base, the number of the recipe that
# the others are compared with; seeds, the most of a recipe; the array run_folder, seed s of recipe
# r as number r + (s - 1) n; synthetic (0 or 1). What is read of each run:
#   steps.csv      step, loss, scale, skipped
#   epochs.csv     epoch, test_accuracy
#   gradients.csv  exponent (-150: zero, 128: infinite or NaN), scaled, unscaled,
#                  activations_scaled, activations_unscaled: counts, all epochs' are added
#
# Up to six recipes share one frame. More cannot be told apart there: then each has a small frame of
# its own, all with the same axes, in which the base lies behind it in grey.

file(r, s, name) = "./" . run_folder[r + (s - 1) * n] . "/" . name
note = synthetic ? "\n(synthetic images, not CIFAR-10)" : ""

c(r) = palette[nth(r)]
d(r) = dashes[nth(r + (r - 1) / 7)]
thick(r, s) = s > 1 ? 0.7 : r == 1 ? 3 : 2

# Where a count is drawn: zeros and infinities at the edges.
nowhere = 1000
special(e) = e == -150 ? -48 : e == 128 ? 17.5 : nowhere
finite(e) = e == -150 || e == 128 ? nowhere : e + 0.5
place(e) = finite(e) == nowhere ? special(e) : finite(e)

# The accuracy of an epoch whose loss is not finite is no number.
accuracy(x, loss) = abs(loss) < 1e300 ? x : NaN

# An exponential mean that starts anew with each run.
mean = NaN
start(step) = (mean = step == 0 ? NaN : mean)
smooth(x) = (mean = (mean == mean) ? 0.96 * mean + 0.04 * x : x)

# Small frames: how many stand side by side, and the height of one in pixels.
small = n > 6
columns = 5
lines_of_frames = (n + columns - 1) / columns
warned = 0
most_lines = 1
do for [r = 1:n] {
    warned = warned + (strlen(recipe_nan[r]) > 0)
    if (recipe_lines[r] > most_lines) { most_lines = recipe_lines[r] }
}
# Above each stand its name and, on a line of its own, a warning; below it the numbers of its axis.
title_high = (warned ? 32.0 : 18.0) + 15 * (most_lines - 1)
frame = 106.0 + title_high

# The gradients have a row of frames for each recipe.
tall = 420 + (n > 6 ? 40 * (n - 6) : 0)
low = 450
foot = 130.0 / low
curves_height = small ? 2 * (50 + frame * lines_of_frames) + 20 : low
scale_height = small ? 70 + frame * lines_of_frames : low
width = 1000

# Whether any run has a number to draw; gnuplot finds no range by itself where there is none, and
# stats then undefines its variables.
set datafile separator comma
losses = 0
accuracies = 0
last_step = 1
epochs = 1
largest_scale = 1
least_accuracy = 1
most_accuracy = 0
do for [r = 1:n] {
    do for [s = 1:seeds] {
        stats file(r, s, "epochs.csv") using (column("test_accuracy") >= 0) name "S" nooutput
        accuracies = accuracies + exists("S_sum")
        if (exists("S_sum") && S_records > epochs) { epochs = S_records }
        stats file(r, s, "epochs.csv") using (accuracy(column("test_accuracy"), column("train_loss"))) name "S" nooutput
        if (exists("S_min") && S_min < least_accuracy) { least_accuracy = S_min }
        if (exists("S_max") && S_max > most_accuracy) { most_accuracy = S_max }
        stats file(r, s, "steps.csv") using (column("loss") < 1e300) name "S" nooutput
        losses = losses + exists("S_sum")
        if (s == 1) {
            stats file(r, s, "steps.csv") using "step":"scale" name "S" nooutput
            if (exists("S_max_x") && S_max_x > last_step) { last_step = S_max_x }
            if (exists("S_max_y") && S_max_y > largest_scale) { largest_scale = S_max_y }
        }
    }
}

# The axis of accuracies, in per cent: what there is, with a margin.
if (most_accuracy < least_accuracy) { least_accuracy = 0; most_accuracy = 1 }
room = most_accuracy > least_accuracy ? 6.0 * (most_accuracy - least_accuracy) : 1.0
accuracy_low = 100 * least_accuracy - room
accuracy_high = 100 * most_accuracy + room
even(x, e) = x <= e ? e : x <= 2 * e ? 2 * e : x <= 5 * e ? 5 * e : 10 * e
step(span, k) = even(span / k, 10.0 ** floor(log10(span / k)))

# Puts the margins around small frame p, of a block whose top lies `top` pixels below the picture's.
# Frames at the left have the numbers of the vertical axis.
place_frame = 'set lmargin at screen 0.06 + 0.188 * ((p - 1) % columns); \
    set rmargin at screen 0.236 + 0.188 * ((p - 1) % columns); \
    set tmargin at screen 1 - (top + frame * ((p - 1) / columns) + title_high) / height; \
    set bmargin at screen 1 - (top + frame * ((p - 1) / columns) + frame - 24) / height; \
    set format x "%g"; \
    if ((p - 1) % columns == 0) { set format y shown_y } else { set format y "" }; \
    set label 1 recipe_short[p] at graph 0, graph 1 offset 0, recipe_lines[p] - 1 + (warned ? 1.5 : 0.5) left noenhanced font small_font; \
    set label 2 recipe_nan[p] at graph 0, graph 1 offset 0, 0.4 left noenhanced textcolor rgb bad font small_font'
small_font = ",10"
unfold(s) = strstrt(s, "\n") ? s[1:strstrt(s, "\n") - 1] . unfold(s[strstrt(s, "\n") + 1:strlen(s)]) : s
legend = "; grey: " . unfold(recipe_short[base]) . (seeds > 1 ? "; thin: other seeds" : "") . (synthetic ? " (synthetic images)" : "")

do for [type in "svg png"] {
    reset
    set datafile separator comma
    @begin_style
    height = curves_height
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "curves." . type
    if (small) {
        set multiplot
        unset key
        set tics font small_font
        do for [what in "loss accuracy"] {
            loss = what eq "loss"
            top = loss ? 40.0 : 100.0 + frame * lines_of_frames
            title = loss ? "Training loss (nat) by step, mean over about 25 steps" : "Accuracy on the test images (%) by epoch"
            shown_y = "%g"
            set xrange [*:*]
            set yrange [*:*]
            if (loss) { set yrange [0:3] } else { set yrange [accuracy_low:accuracy_high]; set xrange [0.5:epochs + 0.5] }
            set xtics autofreq
            set ytics loss ? 1 : step(accuracy_high - accuracy_low, 4)
            if (loss) { set xrange [0:last_step] } else { set xtics epochs > 5 ? floor(epochs / 5.0) : 1 }
            do for [p = 1:n] {
                @place_frame
                if (p == 1) { set label 3 title . legend at screen 0.5, screen 1 - (top - 18) / height center noenhanced } else { unset label 3 }
                if (loss) {
                    plot for [s = 1:seeds] file(base, s, "steps.csv") using (start(column("step")), column("step")):(smooth(column("loss"))) \
                        with lines linecolor rgb behind linewidth 1.5 * thick(2, s), \
                        for [s = 1:seeds] file(p, s, "steps.csv") using (start(column("step")), column("step")):(smooth(column("loss"))) \
                        with lines linecolor rgb blue linewidth thick(2, s)
                } else {
                    plot for [s = 1:seeds] file(base, s, "epochs.csv") using (column("epoch") + 1):(100 * accuracy(column("test_accuracy"), column("train_loss"))) \
                        with lines linecolor rgb behind linewidth 1.5 * thick(2, s), \
                        for [s = 1:seeds] file(p, s, "epochs.csv") using (column("epoch") + 1):(100 * accuracy(column("test_accuracy"), column("train_loss"))) \
                        with linespoints linecolor rgb blue linewidth thick(2, s) pointtype 7 pointsize 0.3
                }
            }
        }
        unset multiplot
        unset label
        set tics font ""
    } else {
        set multiplot layout 1,2 margins 0.07, 0.98, foot, 0.88 spacing 0.09, 0.1
        set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse maxrows 2 samplen 4 width 2 noenhanced
        set title "Training loss, mean over about 25 steps" . note
        set xlabel "step"
        set ylabel "cross-entropy, nat"
        set yrange [0:*<3.5]
        if (!losses) { set xrange [0:1]; set yrange [0:1] }
        plot for [r = 1:n] for [s = 1:seeds] file(r, s, "steps.csv") \
            using (start(column("step")), column("step")):(smooth(column("loss"))) \
            with lines linecolor rgb c(r) dashtype d(r) linewidth thick(r, s) \
            title (s == 1 ? recipe_name[r] : "")
        unset key
        set title "Accuracy on the test images" . note
        set xlabel "epoch"
        set ylabel "%"
        set xrange [*:*]
        set yrange [accuracy_low:accuracy_high]
        set xtics 1
        if (!accuracies) { set xrange [0.5:1.5]; set yrange [0:100] }
        plot for [r = 1:n] for [s = 1:seeds] file(r, s, "epochs.csv") \
            using (column("epoch") + 1):(100 * accuracy(column("test_accuracy"), column("train_loss"))) \
            with linespoints linecolor rgb c(r) dashtype d(r) linewidth thick(r, s) \
            pointtype 4 + r pointsize (s == 1 ? 0.8 : 0.4) notitle
        unset multiplot
    }
    set xrange [*:*]
    set xtics autofreq

    height = scale_height
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "scale." . type
    scale_title = "Loss scale (cross: step skipped, a gradient was infinite or NaN)"
    set logscale y 2
    if (small) {
        set multiplot
        unset key
        unset title
        unset xlabel
        unset ylabel
        set tics font small_font
        top = 40.0
        shown_y = "2^{%L}"
        set xrange [0:last_step]
        set yrange [0.5:largest_scale * 64]
        set ytics 1, 256
        do for [p = 1:n] {
            @place_frame
            if (p == 1) { set label 3 "Loss scale by step" . legend . "; cross: step skipped" at screen 0.5, screen 1 - (top - 18) / height center noenhanced } else { unset label 3 }
            plot file(base, 1, "steps.csv") using "step":"scale" \
                with lines linecolor rgb behind linewidth 3, \
                file(p, 1, "steps.csv") using (column("step")):(column("scale")) \
                with lines linecolor rgb blue linewidth 2, \
                "" using (column("step")):(column("skipped") > 0 ? column("scale") : NaN) \
                with points pointtype 2 pointsize 0.8 linewidth 1.5 linecolor rgb bad
        }
        unset multiplot
        unset label
        set tics font ""
        set xrange [*:*]
        set ytics autofreq
    } else {
        set margins screen 0.07, screen 0.98, screen foot, screen 0.88
        set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse maxrows 2 samplen 4 width 2 noenhanced
        set title scale_title . note
        set xlabel "step"
        set ylabel "scale"
        set format y "2^{%L}"
        set yrange [0.5:*]
        set offsets graph 0, graph 0, graph 0.05, graph 0
        plot for [r = 1:n] file(r, 1, "steps.csv") using (column("step")):(column("scale")) \
            with lines linecolor rgb c(r) dashtype d(r) linewidth thick(r, 1) title recipe_name[r], \
            for [r = 1:n] file(r, 1, "steps.csv") \
            using (column("step")):(column("skipped") > 0 ? column("scale") : NaN) \
            with points pointtype 2 pointsize 1.2 linewidth 1.5 linecolor rgb c(r) notitle
        unset offsets
    }
    unset logscale y
    set format

    height = tall
    if (type eq "svg") { @open_svg } else { @open_png }
    set output drawing . "gradients." . type
    set multiplot
    set key at screen 0.5, screen 0.02 center bottom horizontal Left reverse samplen 3 width 2 noenhanced
    set xrange [-50:19]
    set boxwidth 1
    set yrange [0:*]
    set ytics format "%.0f%%"
    unset xlabel
    unset ylabel
    set object 1 rectangle from -50, graph 0 to -24, graph 1 behind fillcolor rgb warm fillstyle solid noborder
    set object 2 rectangle from -24, graph 0 to -14, graph 1 behind fillcolor rgb mild fillstyle solid noborder
    set object 3 rectangle from 16, graph 0 to 19, graph 1 behind fillcolor rgb warm fillstyle solid noborder
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
        if (most > 100) { most = 100 }
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
            with boxes fillstyle solid 0.55 noborder linecolor rgb blue title "as stored, with the loss scale", \
            "" using (finite(column("exponent"))):(100 * column(unscaled) / B_sum) smooth frequency \
            with histeps linecolor rgb ink linewidth 1.5 title "divided by the scale", \
            "" using (special(column("exponent"))):(100 * column(unscaled) / B_sum) smooth frequency \
            with boxes fillstyle empty border rgb ink linecolor rgb ink linewidth 1.5 notitle
        unset key
        unset label 2
    }
    unset multiplot
}

#!/bin/sh
# Installs what is missing, builds, and passes its arguments to halfcheck.
# ./hc --help says how. It may be called through a link. If the checkout is read-only, the build goes to
# ${XDG_CACHE_HOME:-~/.cache}/halfcheck, into a folder that is named by the checkout's path.
set -eu
# Threads that wait for work sleep (src/cli/main.c says why).
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
top=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)

to_build='gcc libc6-dev cmake ninja-build pkg-config libmpfr-dev libgmp-dev libjansson-dev libdnnl-dev
gnuplot-nox'
to_test='libcriterion-dev g++ python3'
# Tests that need these are skipped by ./hc test --minimal.
to_test_all='clang-format clang-tidy mandoc zsh python3-venv python3-pytest python3-numpy python3-yaml
python3-mpmath python3-torch python3-matplotlib python3-nbclient python3-ipykernel libopenmpi-dev
openmpi-bin'
# Not every system has these. Tests that need them are skipped without.
to_look=chromium-headless-shell

say() {
    printf 'hc: %s\n' "$1" >&2
}

fail() {
    say "$1"
    exit 2
}

missing() {
    for package in "$@"; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = 'install ok installed' ] || printf '%s ' "$package"
    done
}

# watch WHAT COMMAND...: runs a command, and shows what it printed only if it fails. If that takes
# longer than a second, it says what is done; on a terminal also how far it is and for how long, and
# elsewhere, when it took long, how long.
watch() {
    what=$1
    shift
    log=$(mktemp)
    "$@" >"$log" 2>&1 </dev/null &
    worker=$!
    trap 'kill "$worker" 2>/dev/null; rm -f "$log"; exit 130' INT
    trap 'kill "$worker" 2>/dev/null; rm -f "$log"; exit 143' TERM HUP
    waited=0
    start=$(date +%s)
    while kill -0 "$worker" 2>/dev/null; do
        sleep 0.1
        waited=$((waited + 1))
        [ "$waited" != 10 ] || say "$what"
        [ "$waited" -le 10 ] || [ "$((waited % 5))" != 0 ] || [ ! -t 2 ] || printf '\r%s %d s ' \
            "$(sed -n 's/^\(\[[0-9/]*\]\).*/\1/p' "$log" | tail -n 1)" "$(($(date +%s) - start))" >&2
    done
    [ "$waited" -le 10 ] || [ ! -t 2 ] || printf '\r%24s\r' '' >&2
    wait "$worker" && code=0 || code=$?
    trap - INT TERM HUP
    # apt names each of some hundred files that it does not reach.
    if grep -qE "$no_network" "$log"; then
        offline=yes
        [ "$code" = 0 ] || grep -E "$no_network" "$log" | head -n 1 >&2
    else
        [ "$code" = 0 ] || cat "$log" >&2
    fi
    rm -f "$log"
    took=$(($(date +%s) - start))
    [ "$took" -lt 10 ] || [ "$code" != 0 ] || say "done after $took s"
    return "$code"
}

# What apt says of a server that it does not reach; its status may be 0 all the same.
no_network='Could not (resolve|connect)|Unable to connect|Temporary failure|Network is unreachable'
offline=no

# because WHAT: ends with what failed, and with the network if there is none.
because() {
    [ $offline = no ] || fail "no network: apt does not reach its servers, so $1"
    fail "$1"
}

# What apt would do, in its own figures: 224 packages in all, 310 MB to fetch, 1200 MB on the disk.
costs() {
    $as_root env LC_ALL=C apt-get install --assume-no --no-install-recommends "$@" 2>/dev/null |
        sed -n 's/.* \([0-9]*\) newly installed.*/: \1 packages in all/p
            s/^Need to get \(.*\) of archives.*/, \1 to fetch/p
            s/^After this operation, \(.*\) of additional disk.*/, \1 on the disk/p' | tr -d '\n'
}

# All but those of $to_look that apt does not know.
known() {
    for package in "$@"; do
        [ "$package" = "$to_look" ] && ! apt-cache show "$package" >/dev/null 2>&1 ||
            printf '%s ' "$package"
    done
}

install_missing() {
    command -v dpkg-query >/dev/null || return 0
    wanted=$(missing "$@")
    [ -n "$wanted" ] || return 0
    as_root=''
    if [ "$(id -u)" != 0 ]; then
        as_root=sudo
        sudo -n true 2>/dev/null ||
            fail "packages are missing; run: sudo apt-get update && \
sudo apt-get install -y --no-install-recommends $wanted"
    fi
    watch 'asking apt what there is' $as_root apt-get update || because 'apt-get update failed'
    # shellcheck disable=SC2086
    wanted=$(known $wanted)
    [ -n "$wanted" ] || return 0
    # shellcheck disable=SC2086
    say "installing ${wanted% }$(costs $wanted)"
    case $wanted in
    *python3-torch*) say "'./hc test --minimal' installs less, and skips the tests that need it" ;;
    esac
    # shellcheck disable=SC2086
    watch 'apt installs them' $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y \
        --no-install-recommends $wanted || because "these could not be installed: $wanted"
}

# The folder of the builds, which need not be there yet.
builds() {
    if [ -w "$top/build" ] || { [ ! -e "$top/build" ] && [ -w "$top" ]; }; then
        printf '%s' "$top/build"
    else
        sum=$(printf '%s' "$top" | cksum)
        printf '%s' "${XDG_CACHE_HOME:-$HOME/.cache}/halfcheck/${sum%% *}"
    fi
}

# A build folder that was copied with its checkout would build the other one's sources; and a build
# without MPI does not look again whether there is one.
outdated() {
    cache=$folder/CMakeCache.txt
    [ -f "$cache" ] || return 0
    home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' "$cache")
    if [ -n "$home" ] && [ "$home" != "$(cd "$top" && pwd -P)" ] && [ "$home" != "$top" ]; then
        say "$folder was made for another checkout, and is made anew"
        rm -rf "$folder"
    elif grep -q '^MPI_C_COMPILER:.*NOTFOUND' "$cache" && command -v mpicc >/dev/null; then
        say 'MPI is here now: configuring again'
        rm -f "$folder/build.ninja" "$cache"
    fi
}

# build PRESET PACKAGES...: a build that is newer than this script, and was made with these packages,
# has them already.
build() {
    preset=$1
    folder=$(builds)/$preset
    shift
    outdated
    [ -f "$folder/build.ninja" ] || say 'the first build takes a minute or two'
    if [ ! -f "$folder/build.ninja" ] || [ -n "$(find "$top/hc" -newer "$folder/build.ninja")" ] ||
        [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ]; then
        install_missing "$@"
        say "configuring $preset"
        from=$PWD
        cd "$top"
        watch "cmake looks at the system" cmake --preset "$preset" -B "$folder" ||
            fail 'cmake could not configure the build'
        cd "$from"
        printf '%s\n' "$*" >"$folder/packages"
    fi
    watch "building $preset in $folder" ninja -C "$folder" || fail 'the build failed'
}

help() {
    cat <<EOF
hc - installs what is missing (apt), builds halfcheck, and runs it

usage: ./hc COMMAND [ARGUMENTS]       builds the release, and runs halfcheck COMMAND
       ./hc test [ARGUMENTS]          builds and runs halfcheck's own tests, by ctest
       ./hc test --minimal [ARGUMENTS]   installs no PyTorch, MPI or browser for it: the
                                      tests that need them are skipped
       ./hc install [FOLDER]          builds the release and installs it: in ~/.local by
                                      default, and as root in /usr/local
       ./hc uninstall [FOLDER]        removes what that has installed

first: ./hc run          checks everything: a minute to build, half a minute to run
       ./hc doctor       says what this machine lacks, and what that costs
       ./hc list         says what there is to check
EOF
    program=$(builds)/release/halfcheck
    if [ -x "$program" ]; then
        printf '\n'
        "$program" --help
    else
        printf '\nThe commands of halfcheck, and ./hc COMMAND --help, need a build, which the first\n'
        printf './hc COMMAND makes.\n'
    fi
}

case ${1:-} in
-h | --help | help)
    if [ "$#" -le 1 ]; then
        help
        exit 0
    fi
    ;;
'')
    help >&2
    exit 2
    ;;
esac
if [ "${1:-}" = test ]; then
    shift
    case ${1:-} in
    --minimal)
        shift
        # shellcheck disable=SC2086
        left=$(missing $to_test_all $to_look)
        [ -z "$left" ] || say "--minimal leaves out ${left% }, and skips the tests that need them"
        ;;
    *) to_test="$to_test $to_test_all $to_look" ;;
    esac
    # shellcheck disable=SC2086
    build dev $to_build $to_test
    cd "$top"
    # A preset knows only its own folder.
    [ "$folder" != "$top/build/dev" ] || exec ctest --preset dev "$@"
    exec ctest --test-dir "$folder" --output-on-failure -j 2 --timeout 900 "$@"
fi
case ${1:-} in
install | uninstall)
    [ "$#" -le 2 ] || fail "$1 takes one folder, not '$3'"
    case ${2:-} in -*) fail "$1 takes a folder, not '$2'" ;; esac
    prefix=${2:-$HOME/.local}
    [ -n "${2:-}" ] || [ "$(id -u)" != 0 ] || prefix=/usr/local
    [ "$1" = install ] || exec "$top/cmake/prefix" uninstall "$prefix"
    # shellcheck disable=SC2086
    build release $to_build
    exec "$top/cmake/prefix" install "$folder" "$prefix"
    ;;
esac
for word in "$@"; do
    case $word in
    --) break ;;
    -h | --help | help)
        [ -x "$(builds)/release/halfcheck" ] ||
            say 'the help of the commands comes from the program, which is built first'
        break
        ;;
    esac
done
# shellcheck disable=SC2086
build release $to_build
exec "$folder/halfcheck" "$@"

#!/bin/sh
# Installs what is missing, builds, and passes its arguments to halfcheck.
#   ./hc ARGS...   builds the release and runs halfcheck ARGS
#   ./hc test      builds and runs the tests; further arguments go to ctest
#   ./hc install [FOLDER]     builds the release and installs it, by default in ~/.local, and as root
#                             in /usr/local
#   ./hc uninstall [FOLDER]   removes what that has installed
# It may be called through a link. If the checkout is read-only, the build goes to
# ${XDG_CACHE_HOME:-~/.cache}/halfcheck, into a folder that is named by the checkout's path.
set -eu
# Threads that wait for work sleep (src/cli/main.c says why).
export OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}"
top=$(CDPATH='' cd -- "$(dirname -- "$(readlink -f -- "$0")")" && pwd)

to_build='gcc libc6-dev cmake ninja-build pkg-config libmpfr-dev libgmp-dev libjansson-dev libdnnl-dev
gnuplot-nox'
to_test='libcriterion-dev g++ clang-format clang-tidy mandoc zsh python3-venv python3-pytest python3-numpy
python3-yaml python3-torch python3-matplotlib python3-nbclient python3-ipykernel'
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

# Runs a command, and shows what it printed only if it fails.
quietly() {
    log=$(mktemp)
    "$@" >"$log" 2>&1 && code=0 || code=$?
    [ "$code" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$code"
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
            fail "packages are missing; run: sudo apt-get install -y --no-install-recommends $wanted"
    fi
    say "installing $wanted"
    quietly $as_root apt-get update || fail 'apt-get update failed'
    # shellcheck disable=SC2086
    wanted=$(known $wanted)
    # shellcheck disable=SC2086
    [ -z "$wanted" ] || quietly $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $wanted || fail "could not install $wanted"
}

# The folder of the builds.
builds() {
    if mkdir -p "$top/build" 2>/dev/null && [ -w "$top/build" ]; then
        printf '%s' "$top/build"
    else
        sum=$(printf '%s' "$top" | cksum)
        printf '%s' "${XDG_CACHE_HOME:-$HOME/.cache}/halfcheck/${sum%% *}"
    fi
}

# Builds what is not up to date. If that takes longer than a second, it says so, and on a terminal
# also how far it is. What the tools print is shown only if they fail.
compile() {
    log=$(mktemp)
    cmake --build "$folder" >"$log" 2>&1 &
    builder=$!
    waited=0
    while kill -0 "$builder" 2>/dev/null; do
        sleep 0.1
        waited=$((waited + 1))
        [ "$waited" != 10 ] || say "building $preset in $folder"
        [ "$waited" -le 10 ] || [ "$((waited % 5))" != 0 ] || [ ! -t 2 ] ||
            printf '\r%s ' "$(sed -n 's/^\(\[[0-9/]*\]\).*/\1/p' "$log" | tail -n 1)" >&2
    done
    [ "$waited" -le 10 ] || [ ! -t 2 ] || printf '\r%20s\r' '' >&2
    wait "$builder" && code=0 || code=$?
    [ "$code" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$code"
}

# build PRESET PACKAGES...: a build that is newer than this script has its packages already.
build() {
    preset=$1
    folder=$(builds)/$preset
    shift
    if [ ! -f "$folder/build.ninja" ] || [ -n "$(find "$top/hc" -newer "$folder/build.ninja")" ]; then
        install_missing "$@"
        say "configuring $preset"
        (cd "$top" && quietly cmake --preset "$preset" -B "$folder") ||
            fail 'cmake could not configure the build'
    fi
    compile || fail 'the build failed'
}

if [ "${1:-}" = test ]; then
    shift
    # shellcheck disable=SC2086
    build dev $to_build $to_test $to_look
    cd "$top"
    # A preset knows only its own folder.
    [ "$folder" != "$top/build/dev" ] || exec ctest --preset dev "$@"
    exec ctest --test-dir "$folder" --output-on-failure -j 2 --timeout 300 "$@"
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
# shellcheck disable=SC2086
build release $to_build
exec "$folder/halfcheck" "$@"

#!/bin/sh
# Installs what is missing, builds, and passes its arguments to halfcheck.
#   ./hc ARGS...   builds the release and runs halfcheck ARGS
#   ./hc test      builds and runs the tests; further arguments go to ctest
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

to_build='gcc libc6-dev cmake ninja-build pkg-config libmpfr-dev libgmp-dev libjansson-dev libdnnl-dev
gnuplot-nox'
to_test='libcriterion-dev g++ clang-format clang-tidy'

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

# Runs a command; what it printed is shown only when it fails.
quietly() {
    log=$(mktemp)
    "$@" >"$log" 2>&1 && code=0 || code=$?
    [ "$code" = 0 ] || cat "$log" >&2
    rm -f "$log"
    return "$code"
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
    quietly $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $wanted || fail "could not install $wanted"
}

# build PRESET PACKAGES...: what was built by this very script needs no look at the packages.
build() {
    preset=$1
    folder=$top/build/$preset
    shift
    if [ ! -f "$folder/build.ninja" ] || [ -n "$(find "$top/hc" -newer "$folder/build.ninja")" ]; then
        install_missing "$@"
        say "configuring $preset"
        (cd "$top" && quietly cmake --preset "$preset") || fail 'cmake could not configure the build'
        say "building $preset"
    fi
    quietly cmake --build "$folder" || fail 'the build failed'
}

if [ "${1:-}" = test ]; then
    shift
    # shellcheck disable=SC2086
    build dev $to_build $to_test
    cd "$top"
    exec ctest --preset dev "$@"
fi
# shellcheck disable=SC2086
build release $to_build
exec "$top/build/release/halfcheck" "$@"

#!/bin/sh
# Installs what is missing, builds, and passes its arguments to halfcheck.
#   ./hc ARGS...   builds the release and runs halfcheck ARGS
#   ./hc test      builds and runs the tests
set -eu
top=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)

to_build='gcc libc6-dev cmake ninja-build pkg-config libmpfr-dev libgmp-dev libjansson-dev libdnnl-dev gnuplot-nox'
to_test='libcriterion-dev clang-format clang-tidy libclang-rt-14-dev git python3-minimal'

fail() {
    printf 'hc: %s\n' "$1" >&2
    exit 2
}

missing() {
    for package in "$@"; do
        status=$(dpkg-query -W -f '${Status}' "$package" 2>/dev/null || true)
        [ "$status" = 'install ok installed' ] || printf '%s ' "$package"
    done
}

install_missing() {
    command -v dpkg-query >/dev/null || return 0
    wanted=$(missing "$@")
    [ -n "$wanted" ] || return 0
    if [ "$(id -u)" = 0 ]; then
        as_root=''
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
        as_root='sudo'
    else
        fail "packages are missing; run: sudo apt-get install -y --no-install-recommends $wanted"
    fi
    printf 'hc: installing %s\n' "$wanted" >&2
    export DEBIAN_FRONTEND=noninteractive
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { $as_root apt-get update && $as_root apt-get install -y --no-install-recommends $wanted; } \
        >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install: $wanted"
    fi
    rm -f "$log"
}

build() {
    preset=$1
    folder=$top/build/$preset
    log=$(mktemp)
    if [ ! -f "$folder/build.ninja" ]; then
        printf 'hc: configuring %s\n' "$preset" >&2
        (cd "$top" && cmake --preset "$preset") >"$log" 2>&1 || {
            cat "$log" >&2
            rm -f "$log"
            fail 'cmake could not configure the build'
        }
    fi
    cmake --build "$folder" >"$log" 2>&1 || {
        grep -v '^\[' "$log" >&2 || true
        rm -f "$log"
        fail 'the build failed'
    }
    rm -f "$log"
}

# shellcheck disable=SC2086
install_missing $to_build
if [ "${1:-}" = test ]; then
    shift
    # shellcheck disable=SC2086
    install_missing $to_test
    build dev
    cd "$top"
    exec ctest --preset dev "$@"
fi
build release
exec "$top/build/release/halfcheck" "$@"

#!/bin/sh
# Make .venv from requirements/dev.txt, or leave it alone where it already fits. `make setup` calls this.
#
# The stamp says what .venv was made from and is written last. A .venv without a stamp was left half made, one with
# another stamp is out of date or was moved; either is made again from nothing.
set -eu
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
lock=requirements/dev.txt
stamp=.venv/made-from

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or later is needed, and '$python' is not one. Name one: make setup PYTHON=python3.12"
prefix=$("$python" -c 'import sys; print(sys.base_prefix)')
wanted=$(cksum < "$lock"; "$python" --version; printf '%s\n' "$prefix"; pwd)

# Two commands at once wait for each other here. The lock goes when this script ends.
exec 9< "$lock"
if command -v flock > /dev/null; then flock 9; fi

# Debian's own packages, where this is Debian and whoever asks may install them.
install() {
    why=$1; shift
    if [ "$(id -u)" != 0 ] || ! command -v apt-get > /dev/null; then return; fi
    say "$why: installing Debian's $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get -qq update >&2 || say "apt-get update failed, trying with the lists that are there"
    apt-get -qq -o DPkg::Lock::Timeout=120 -o Dpkg::Use-Pty=0 install -y --no-install-recommends "$@" >&2 || true
}

# PoCL makes a shared library of every kernel, with the system's linker and the libraries that gcc brings.
can_link() { printf '' | gcc -shared -x c -o /dev/null - 2> /dev/null; }
if ! can_link; then install "PoCL links its kernels with what gcc brings" gcc libc6-dev; fi
can_link || say "gcc cannot link, so PoCL may not work. On Debian and Ubuntu, as root: apt-get install gcc libc6-dev"

if [ "$(cat "$stamp" 2> /dev/null)" = "$wanted" ] && .venv/bin/python -c '' 2> /dev/null; then exit 0; fi

can_make_venv() { "$python" -c 'import ensurepip, venv' 2> /dev/null; }
if ! can_make_venv && [ "$prefix" = /usr ]; then install "'$python' has no venv module" python3-venv; fi
can_make_venv ||
    fail "'$python' has no venv module. On Debian and Ubuntu, as root: apt-get install python3-venv"

say "making .venv with $("$python" --version) from $lock (once)"
rm -f "$stamp"
"$python" -m venv --clear .venv
.venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --no-input --no-compile \
    --require-hashes --only-binary :all: --requirement "$lock"
printf '%s\n' "$wanted" > "$stamp"

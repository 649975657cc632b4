#!/bin/sh
# Installs Debian packages, but only for what is missing. Usage: install_missing.sh PROBE=PACKAGE...
# A PROBE is a file (/usr/include/stdio.h), a pkg-config module (zlib.pc), or a program (gcc).
set -eu

present()
{
    case $1 in
    /*) [ -e "$1" ] ;;
    *.pc) command -v pkg-config > /dev/null && pkg-config --exists "${1%.pc}" ;;
    *) command -v "$1" > /dev/null ;;
    esac
}

packages=
for pair in "$@"; do
    present "${pair%%=*}" || packages="$packages ${pair#*=}"
done
[ -n "$packages" ] || exit 0

echo "installing:$packages"
command -v apt-get > /dev/null || { echo "apt-get is not here: please install these by hand" >&2; exit 1; }
sudo=
if [ "$(id -u)" != 0 ]; then
    command -v sudo > /dev/null || { echo "needs root or sudo to install:$packages" >&2; exit 1; }
    sudo=sudo
fi
$sudo apt-get update -qq
# shellcheck disable=SC2086 # a list
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages > /dev/null

for pair in "$@"; do
    present "${pair%%=*}" || { echo "${pair#*=} is installed, but ${pair%%=*} is still missing" >&2; exit 1; }
done

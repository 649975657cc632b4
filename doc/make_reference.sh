#!/bin/sh
# Makes OUT/html, the reference and the pages, and OUT/xml. A warning is an error. Usage: make_reference.sh SOURCE_ROOT VERSION OUT
set -eu
out=$(mkdir -p "$3" && cd "$3" && pwd)
cd "$1"
{ cat doc/Doxyfile; echo "USE_MDFILE_AS_MAINPAGE = \"$PWD/README.md\""; echo "PROJECT_NUMBER = $2"; echo "OUTPUT_DIRECTORY = \"$out\""; } |
    doxygen -

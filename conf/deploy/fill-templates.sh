#!/bin/sh
# 20-envsubst-on-templates.sh of the image: configurations from templates/*.template and the environment.
here=$(dirname "$(readlink -f "$0")")
node=$here/../../bin/node
[ -x "$node" ] || node=node
exec "$node" "$here/fill-templates.cjs"

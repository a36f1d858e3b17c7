#!/bin/sh
# Runs what an image adds to /docker-entrypoint.d, then the command. The two conventions of the nginx image hold: scripts run
# in the order of their names (*.envsh are read into this shell), and templates become configurations of their environment.
# `${env:NAME}` in a configuration needs neither.
set -eu

scripts=${GW_ENTRYPOINT_DIR:-/docker-entrypoint.d}
templates=${GW_ENVSUBST_TEMPLATE_DIR:-/etc/gw/templates}
output=${GW_ENVSUBST_OUTPUT_DIR:-/etc/gw/conf.d}

# Only variables that the environment has are replaced: $host and its like are the configuration's.
fill='process.stdout.write(require("node:fs").readFileSync(0, "utf8").replace(/\$\{(\w+)\}|\$(\w+)/g,
    (all, braced, plain) => process.env[braced ?? plain] ?? all))'

if [ -d "$templates" ]; then
    mkdir -p "$output"
    for template in "$templates"/*.template; do
        [ -e "$template" ] || continue
        node -e "$fill" <"$template" >"$output/$(basename "$template" .template)"
    done
fi

for script in "$scripts"/*; do
    case $script in
        *.envsh) . "$script" ;;
        *.sh) "$script" ;;
    esac
done

exec "$@"

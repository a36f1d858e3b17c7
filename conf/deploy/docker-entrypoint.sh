#!/bin/sh
# Runs what is in /docker-entrypoint.d, then the command; the conventions are those of nginx's image. Scripts run in the order
# of their names: *.sh as programs, *.envsh in this shell. What is not executable is skipped. Before another command than gw
# or nginx, nothing is run.
set -e

scripts=${GW_ENTRYPOINT_DIR:-/docker-entrypoint.d}

say() {
    if [ -z "${GW_ENTRYPOINT_QUIET_LOGS:-}${NGINX_ENTRYPOINT_QUIET_LOGS:-}" ]; then echo "entrypoint: $*" >&2; fi
}

run_script() {
    case $1 in
        *.envsh)
            if [ ! -x "$1" ]; then say "skipping $1: it is not executable"; return 0; fi
            say "reading $1"
            . "$1"
            ;;
        *.sh)
            if [ ! -x "$1" ]; then say "skipping $1: it is not executable"; return 0; fi
            say "running $1"
            "$1"
            ;;
        *) say "skipping $1: its name ends neither in .sh nor in .envsh" ;;
    esac
}

case ${1##*/} in
    gw | nginx)
        if [ -d "$scripts" ]; then
            # Names are split at ends of lines, and "*" in them means nothing.
            IFS='
'
            set -f
            for script in $(find -L "$scripts" -type f | sort -V); do
                set +f
                unset IFS
                run_script "$script"
            done
            set +f
            unset IFS
        fi
        ;;
esac

exec "$@"

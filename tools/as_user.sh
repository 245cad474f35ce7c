#!/bin/sh
# Runs a command as an ordinary user in a fresh clone of HEAD, with the usual soft limit on open files.
# As root it creates the user omoi-test for that; otherwise you are an ordinary user already.
set -eu
cd "$(dirname "$0")/.."

run() { (ulimit -Sn 1024 && exec "$@"); }

if [ "$(id -u)" != 0 ]; then
    run "$@"
    exit
fi

user=omoi-test
id "$user" >/dev/null 2>&1 || useradd --create-home --shell /bin/sh "$user"
home=$(getent passwd "$user" | cut -d: -f6)
folder=$(mktemp -d "$home/clone-XXXXXX")
trap 'rm -rf "$folder"' EXIT
git archive --format=tar HEAD | tar -x -C "$folder"
chown -R "$user:" "$folder"
cd "$folder"
# The machine's settings for package clients stay; root's own folders do not.
run setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
    env --unset=XDG_CACHE_HOME --unset=XDG_DATA_HOME --unset=XDG_RUNTIME_DIR HOME="$home" USER="$user" LOGNAME="$user" \
    PATH=/usr/local/bin:/usr/bin:/bin "$@"

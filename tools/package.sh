#!/usr/bin/env bash
# Makes what people install: a Python wheel, a Debian package, a tarball.
set -euo pipefail

usage() {
    cat <<'EOT'
Usage: tools/package.sh [wheel] [deb] [tarball] [check] [options]

  Without a name: the wheel, the .deb and the tarball. All three hold the same
  tree: the filters; the scripts as gristmill-synth-kd and so on; man pages,
  completions, documentation, licences and the bundled example. The wheel also
  has the Python package gristmill_data.

  check installs each package in a clean place and runs gristmill-quickstart
  there: the wheel in a new venv, the tarball in an empty folder, the .deb in a
  Debian base system (debootstrap, as root).

  --binaries DIR   take the filters from DIR and build nothing
  --glibc VERSION  build for this glibc, with cargo-zigbuild and ziglang (of
                   PyPI)
  --debian DIR     a base system for check, which is copied (a new one of
                   debootstrap)
  -o DIR           where the packages go (target/packages)
  -h, --help

  The glibc that a package needs is read from its binaries and stands in the
  name of the wheel and in the dependencies of the .deb.

  Exit codes: 0 done, 1 a package does not work, 2 usage or a missing program,
  75 temporary failure.
EOT
}

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
die() {
    echo "package.sh: $1" >&2
    exit "${2:-2}"
}

parts=() binaries='' glibc='' debian='' out=$root/target/packages
while (($#)); do
    case $1 in
    -h | --help) usage && exit 0 ;;
    wheel | deb | tarball | check) parts+=("$1") && shift && continue ;;
    --*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" && continue ;;
    -*) (($# > 1)) || die "$1 needs a value" ;;&
    --binaries) binaries=$(cd "$2" && pwd) || die "$2: no such directory" ;;
    --glibc) glibc=$2 ;;
    --debian) debian=$2 ;;
    -o) out=$2 ;;
    *) die "unknown argument $1; see --help" ;;
    esac
    shift 2
done
((${#parts[@]})) || parts=(wheel deb tarball)
for program in python3 objdump strip gzip; do
    command -v "$program" >/dev/null || die "$program is not there; try: apt-get install python3 binutils gzip"
done
mkdir -p "$out" && out=$(cd "$out" && pwd)
machine=$(uname -m)
version=$(sed -n 's/^version = "\(.*\)"/\1/p;T;q' "$root/Cargo.toml")
mapfile -t filters < <(cd "$root/src/bin" && printf '%s\n' *.rs | sed 's/\.rs$//')
scripts=(synth-raw synth-kd macroxue merge-packs puzzles quickstart)

if [[ ${parts[*]} == check ]]; then
    : # What is there is checked.
elif [[ -z $binaries && -n $glibc ]]; then
    command -v cargo-zigbuild >/dev/null || die "cargo-zigbuild is not there; try: pip install cargo-zigbuild ziglang"
    cargo zigbuild --manifest-path "$root/Cargo.toml" --release --bin gristmill --target "$machine-unknown-linux-gnu.$glibc"
    binaries=${CARGO_TARGET_DIR:-$root/target}/$machine-unknown-linux-gnu/release
elif [[ -z $binaries ]]; then
    cargo build --manifest-path "$root/Cargo.toml" --release --bin gristmill
    binaries=${CARGO_TARGET_DIR:-$root/target}/release
fi

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
stage=$temporary/stage

# Scripts and pages as they are when installed: the scripts' names, and what gristmill-quickstart leaves in the folder
# where it was run.
as_installed() {
    local names
    names=$(IFS='|'; echo "${scripts[*]}")
    sed -E -e "s#(^|[^a-z-])(scripts/)?($names)\\.sh#\\1gristmill-\\3#g" \
        -e "s#(^|[ \"\`(])scripts/slurm/#\\1share/gristmill/slurm/#g" \
        -e "s#(^|[ \"\`(/])scripts/example/#\\1gristmill-quickstart/example/#g" \
        -e 's#(\./)?target/quickstart#gristmill-quickstart#g' "$1"
}

# completion_places NAME: shell and file, relative to share/.
completion_places() {
    echo "bash bash-completion/completions/$1"
    echo "zsh zsh/site-functions/_$1"
    echo "fish fish/vendor_completions.d/$1.fish"
}

stage_filters() {
    local filter shell file
    [[ -x $binaries/gristmill ]] || die "$binaries/gristmill is not there; try: cargo build --release --bin gristmill"
    install -m 755 "$binaries/gristmill" "$stage/bin/"
    strip "$stage/bin/gristmill"
    while read -r shell file; do
        "$binaries/gristmill" --generate "$shell" >"$stage/share/$file"
    done < <(completion_places gristmill)
    # One program under many names: with the filters one by one the packages would have ten times the size.
    for filter in "${filters[@]}"; do
        filter=$stage/bin/$filter
        ln "$stage/bin/gristmill" "$filter"
        stage_pages "${filter##*/}" "$filter"
        while read -r shell file; do
            "$filter" --generate "$shell" >"$stage/share/$file"
        done < <(completion_places "${filter##*/}")
    done
}

# stage_page NAME FILTER [SUBCOMMAND...] [--as NAME]: its manual page, with the names of what is installed.
stage_page() {
    # In a page a minus sign has a backslash, so that it can be copied.
    "$2" --generate man "${@:3}" | sed 's/\\-/-/g' >"$temporary/page"
    as_installed "$temporary/page" | sed '/^\.TH/!s/-/\\-/g' >"$stage/share/man/man1/$1.1"
}

# stage_pages NAME FILTER [SUBCOMMAND...]: the same with the pages of its subcommands, as its own page lists them.
stage_pages() {
    local page
    stage_page "$@"
    sed 's/\\-/-/g' "$stage/share/man/man1/$1.1" | sed -n "s/^\($1-.*\)(1)\$/\1/p" | while read -r page; do
        stage_pages "$page" "${@:2}" "${page#"$1"-}"
    done
}

# subcommand_of SCRIPT: what of ds-plan it calls.
subcommand_of() {
    case $1 in
    synth-kd) echo build kd-root ;;
    synth-raw) echo build conversations ;;
    macroxue) echo build pack ;;
    puzzles) echo build puzzles ;;
    merge-packs) echo merge ;;
    esac
}

stage_scripts() {
    local script name date shell file subcommand
    cp -R "$root/scripts/example" "$stage/share/gristmill/"
    as_installed "$root/scripts/slurm/task.sbatch" >"$stage/share/gristmill/slurm/task.sbatch"
    # (pip removes a folder only with a file that stands in it.)
    printf '%s\n' 'example/: the data of gristmill-quickstart' 'slurm/: the script of tasks for Slurm' \
        >"$stage/share/gristmill/README"
    date=$(cut -d' ' -f4 "$stage/share/man/man1/ds-cat.1" | head -n 1)
    for script in "${scripts[@]}"; do
        name=gristmill-$script
        as_installed "$root/scripts/$script.sh" >"$stage/bin/$name"
        chmod 755 "$stage/bin/$name"
        read -ra subcommand < <(subcommand_of "$script") || continue
        stage_page "$name" "$stage/bin/ds-plan" "${subcommand[@]}" --as "$name"
        while read -r shell file; do
            "$stage/bin/ds-plan" --generate "$shell" "${subcommand[@]}" --as "$name" >"$stage/share/$file"
        done < <(completion_places "$name")
    done
    sed "s/@VERSION@/$version/; s/@DATE@/$date/" "$here/package/quickstart.1" >"$stage/share/man/man1/gristmill-quickstart.1"
    sed "s/@VERSION@/$version/; s/@DATE@/$date/" "$root/docs/gristmill.7" >"$stage/share/man/man7/gristmill.7"
}

# The pages with their folders, so that links between them hold.
stage_documentation() {
    local page documentation=$stage/share/doc/gristmill
    (cd "$root" && find README.md CHANGELOG.md SECURITY.md CONTRIBUTING.md LICENSE-MIT LICENSE-APACHE python/README.md docs lib \
        -name '*.md' -o -name '*.svg' -o -name '*.png' -o -name 'LICENSE-*' -o -path 'docs/trainers/*.py') | while IFS= read -r page; do
        mkdir -p "$(dirname "$documentation/$page")"
        case $page in
        *.md) as_installed "$root/$page" | python3 "$here/package/installed.py" >"$documentation/$page" ;;
        *) cp "$root/$page" "$documentation/$page" ;;
        esac
    done
    python3 "$here/package/links.py" "$documentation"
    cargo metadata --manifest-path "$root/Cargo.toml" --format-version 1 --filter-platform "$machine-unknown-linux-gnu" |
        python3 "$here/package/notices.py" >"$documentation/THIRD-PARTY.txt"
}

make_stage() {
    rm -rf "$stage"
    mkdir -p "$stage"/{bin,share/{gristmill/slurm,man/man{1,7},bash-completion/completions}} \
        "$stage"/share/{zsh/site-functions,fish/vendor_completions.d,doc/gristmill}
    stage_filters
    stage_scripts
    stage_documentation
    chmod -R u=rwX,go=rX "$stage"
    # What the binaries ask of the system.
    needed=$(objdump -T "$stage/bin/gristmill" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
    needed=${needed#GLIBC_}
}

make_wheel() {
    python3 "$here/package/wheel.py" "$stage" "$root/python" "$out" "$version" "manylinux_${needed/./_}_$machine"
}

make_deb() {
    local tree=$temporary/deb file architecture
    command -v dpkg-deb >/dev/null || die "dpkg-deb is not there; try: apt-get install dpkg"
    architecture=$(dpkg --print-architecture)
    mkdir -p "$tree/DEBIAN" "$tree/usr"
    cp -a "$stage/." "$tree/usr/"
    # Debian's own places and forms.
    mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions"
    file=$tree/usr/share/doc/gristmill
    { echo "License: MIT OR Apache-2.0"; echo; cat "$file"/LICENSE-*; echo; cat "$file/THIRD-PARTY.txt"; } >"$file/copyright"
    rm "$file"/LICENSE-* "$file/THIRD-PARTY.txt"
    cp "$file/CHANGELOG.md" "$file/changelog" && gzip -9n "$file/changelog"
    gzip -9n "$tree"/usr/share/man/man?/*
    cat >"$tree/DEBIAN/control" <<EOT
Package: gristmill
Version: $version
Architecture: $architecture
Maintainer: gristmill <gristmill@localhost>
Installed-Size: $(du -sk "$tree/usr" | cut -f1)
Depends: libc6 (>= $needed), libgcc-s1, bash, coreutils, findutils, util-linux
Suggests: jq, parallel
Section: utils
Priority: optional
Description: filters that grind raw data into training-ready datasets
 Chat conversations become o200k tokens with masks in Megatron files, logs of 2048
 games become packs of NumPy rows, puzzles become augmented sets for the HRM loader.
 Byte-exact, in constant memory, and refusing to publish anything broken.
EOT
    (cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
    file=$out/gristmill_${version}_$architecture.deb
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$file" >/dev/null
    echo "$file"
}

make_tarball() {
    local name=gristmill-$version-$machine-linux
    local tree=$temporary/$name
    mkdir "$tree"
    cp -a "$stage/." "$tree/"
    install -m 755 "$here/package/install.sh" "$tree/"
    cp "$root/README.md" "$root"/LICENSE-* "$tree/"
    (cd "$tree" && find . -type f ! -name SHA256SUMS -print0 | sort -z | xargs -0 sha256sum) >"$temporary/sums"
    mv "$temporary/sums" "$tree/SHA256SUMS"
    # The same tree gives the same bytes.
    tar -C "$temporary" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -c "$name" |
        gzip -n >"$out/$name.tar.gz"
    echo "$out/$name.tar.gz"
}

# shellcheck source=tools/package/check.sh
. "$here/package/check.sh"

made=''
for part in "${parts[@]}"; do
    if [[ $part == check ]]; then
        check_packages
        continue
    fi
    [[ -n $made ]] || make_stage
    made=1
    "make_$part"
done
(cd "$out" && rm -f SHA256SUMS && sha256sum ./gristmill?"$version"* >"$temporary/sums" && mv "$temporary/sums" SHA256SUMS)

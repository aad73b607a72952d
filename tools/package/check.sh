# shellcheck shell=bash
# Part of tools/package.sh: installs each package in a clean place and does the main job there.

# The end of what gristmill-quickstart prints is the first training sequence and the page's name.
last_lines() {
    tail -n 4
}

# What stands in PATH is the package's bin/ and the system's own programs.
clean() {
    local bin=$1
    shift
    (cd "$temporary/work" && env -i HOME="$temporary/work" TERM=dumb PATH="$bin:/usr/bin:/bin" "$@")
}

# the_package PATTERN: what the parts have made.
the_package() {
    local found
    found=$(find "$out" -maxdepth 1 -name "$1" | sort | tail -n 1)
    [[ -n $found ]] || die "no $1 in $out; try: tools/package.sh wheel deb tarball"
    echo "$found"
}

check_wheel() {
    local wheel venv=$temporary/venv
    wheel=$(the_package "gristmill-$version-*.whl")
    echo "## ${wheel##*/}"
    python3 -m venv "$venv"
    echo "\$ pip install ${wheel##*/}"
    "$venv/bin/pip" install --quiet --disable-pip-version-check "$wheel"
    rm -rf "$temporary/work" && mkdir "$temporary/work"
    echo "\$ gristmill-quickstart"
    clean "$venv/bin" gristmill-quickstart 2>&1 | last_lines
    clean "$venv/bin" ds-check gristmill-quickstart/dataset | tail -n 1
    clean "$venv/bin" python -c 'import gristmill_data; print("gristmill_data is there")'
    "$venv/bin/pip" uninstall --quiet --yes gristmill
    [[ -z $(find "$venv" -name '*gristmill*' -o -name 'ds-*' -o -name 'harmony-tok*') ]] || die "pip uninstall leaves files" 1
}

check_tarball() {
    local tarball prefix=$temporary/prefix
    tarball=$(the_package "gristmill-$version-*.tar.gz")
    echo "## ${tarball##*/}"
    tar -C "$temporary" -xzf "$tarball"
    mkdir "$prefix"
    echo "\$ ./install.sh --prefix PREFIX"
    "$temporary/$(basename "$tarball" .tar.gz)/install.sh" --prefix "$prefix" >/dev/null
    rm -rf "$temporary/work" && mkdir "$temporary/work"
    echo "\$ gristmill-quickstart"
    clean "$prefix/bin" gristmill-quickstart 2>&1 | last_lines
    "$temporary/$(basename "$tarball" .tar.gz)/install.sh" --prefix "$prefix" --uninstall
    [[ -z $(ls -A "$prefix") ]] || die "--uninstall leaves files" 1
}

check_deb() {
    local deb base=$temporary/debian
    deb=$(the_package "gristmill_${version}_*.deb")
    echo "## ${deb##*/}"
    [[ $(id -u) == 0 ]] || die "a chroot for the .deb needs root"
    if [[ -n $debian ]]; then
        cp -a "$debian" "$base"
    else
        command -v debootstrap >/dev/null || die "debootstrap is not there; try: apt-get install debootstrap"
        debootstrap --variant=minbase bookworm "$base" >"$temporary/debootstrap.log" ||
            die "debootstrap failed: $(tail -n 1 "$temporary/debootstrap.log")" 75
    fi
    cp "$deb" "$base/root/"
    # /proc as every system and container has it, in a namespace that ends with the command.
    in_debian() {
        unshare --mount --fork bash -c 'mount -t proc proc "$0/proc" && chroot "$0" env -i HOME=/root \
            PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"' "$base" "$@"
    }
    echo "Debian $(cat "$base/etc/debian_version"), $(in_debian dpkg -l | grep -c ^ii) packages"
    echo "\$ dpkg -i ${deb##*/}"
    in_debian dpkg -i "/root/${deb##*/}" >/dev/null
    echo "\$ gristmill-quickstart"
    in_debian sh -c 'cd /root && gristmill-quickstart' 2>&1 | last_lines
    in_debian dpkg --verify gristmill
    in_debian dpkg --purge gristmill >/dev/null
    [[ -z $(find "$base/usr" -name '*gristmill*') ]] || die "dpkg --purge leaves files" 1
}

check_packages() {
    echo "# Packages in clean places"
    local part began
    for part in wheel tarball deb; do
        began=$SECONDS
        echo
        "check_$part"
        echo "ok, $((SECONDS - began)) s"
    done
}

# shellcheck shell=bash
# What tools/cluster-test.sh builds: its input, filters that take their time, and the build on one
# machine that all is compared with.

# prepare_filters: copies of the filters and scripts. Tasks take the filters beside their ds-plan, the
# first of which stop halfway: then all filters of the task are at work, and its files half written. There
# they wait as long as hold/HOST names their task, or `all`, and say so in hold/HOST.waiting.
prepare_filters() {
    mkdir "$place/bin" "$place/alone"
    cp "$bin"/{ds-plan,ds-cat,ds-check,ds-manifest,synth-harmony,span-mask,mmidx-write,npy-pack} "$place/bin"
    cp "$bin"/{harmony-tok,mx-decode} "$place/alone"
    cp -r "$scripts" "$place/scripts"
    local filter
    for filter in harmony-tok mx-decode; do
        cat >"$place/bin/$filter" <<EOF
#!/bin/bash
set -o pipefail
task=none pid=\$PPID
while ((pid > 1)); do
    mapfile -d '' -t args <"/proc/\$pid/cmdline"
    [[ \${args[0]} != */ds-plan || \${args[1]} != run ]] || task=\${args[4]}
    pid=\$(awk '\$1 == "PPid:" { print \$2 }' "/proc/\$pid/status")
done
hold=$place/hold/\$(hostname)
"$place/alone/$filter" "\$@" | {
    dd bs=64k count=1 iflag=fullblock status=none
    sleep $pause
    if grep -qx -e "\$task" -e all "\$hold" 2>/dev/null; then
        echo "\$task" >>"\$hold.waiting"
        while grep -qx -e "\$task" -e all "\$hold" 2>/dev/null; do sleep 0.1; done
    fi
    cat
}
EOF
        chmod +x "$place/bin/$filter"
    done
}

# make_input: $input, and the script and options for it.
make_input() {
    if [[ -n $raw ]]; then
        input=$raw script=scripts/synth-kd.sh options='--raw --shards 4 --valid-fraction 0.001'
        return
    fi
    input=$place/in.$product
    mkdir "$input"
    if [[ $product == root ]]; then
        script=scripts/synth-kd.sh options='--valid-fraction 0.1'
        make_shards
        return
    fi
    script=scripts/macroxue.sh options='--shard-rows 100000'
    # The bundled games are short: 40 tasks need many. (More than 1,000 ways to one folder are refused.)
    local copy games=$scripts/example/games copies=900
    [[ -z ${GRISTMILL_DATA-} ]] || games=$GRISTMILL_DATA/macroxue/raw_bench copies=5
    for ((copy = 1; copy <= copies; copy++)); do ln -s "$games" "$input/$copy"; done
}

# make_shards: four of different sizes, of rows that differ in their ids and the beginning of their question.
make_shards() {
    local sample=$scripts/example/conversations.ndjson rows=(13000 7000 9000 11000) shard first=0
    [[ -z ${GRISTMILL_DATA-} ]] || {
        sample=$GRISTMILL_DATA/synth_harmony/synth_harmony_shard_00.parquet
        rows=(3900 2100 2700 3300)
    }
    for shard in 0 1 2 3; do
        "$bin/ds-cat" "$sample" --to ndjson | perl -e '
            my ($first, $rows) = @ARGV;
            my @lines = <STDIN>;
            my $q = qr/\\?"/;
            for my $row ($first .. $first + $rows - 1) {
                my $line = $lines[$row % @lines];
                $line =~ s/("synth_id":\s*")/$1$row-/;
                $line =~ s/(${q}user$q,\s*${q}content$q:\s*(?:\[\{${q}type$q:\s*${q}text$q,\s*${q}text$q:\s*)?$q)/$1($row) /;
                print $line;
            }' "$first" "${rows[shard]}" |
            "$bin/ds-cat" --to parquet -o "$input/synth_harmony_shard_0$shard.parquet"
        first=$((first + rows[shard]))
    done
    cp "$scripts/example/manifest.json" "$input"
}

# build_alone: by one machine, in one go, with filters that do not stop. What is kept of it is the sums.
build_alone() {
    local started=$SECONDS
    # shellcheck disable=SC2086
    PATH=$place/alone:$PATH "$place/$script" "$input" "$place/alone.$product" $options -q 2>log/alone.$product ||
        die "the build on one machine failed" 1
    report_alone $((SECONDS - started))
    sums "$place/alone.$product" >"$place/sums.$product"
    rm -r "$place/alone.$product"
}

# same_as_alone ROOT: compares all files, in manifests all but `run`. Prints how many there are.
same_as_alone() {
    sums "$1" | diff "$place/sums.$product" - >&2 ||
        die "$engine, $product: the files are not those of one machine" 1
    wc -l <"$place/sums.$product"
}

# sums ROOT: the SHA-256 of each file, with its name.
sums() {
    local file
    while IFS= read -r file; do
        case $file in
        *.json) bare "$1/$file" ;;
        *) cat "$1/$file" ;;
        esac | sha256sum | sed "s|-$|$file|"
    done < <(files_of "$1")
}

files_of() { (cd "$1" && find . -path ./tasks -prune -o -type f -print | sort); }

# bare MANIFEST: without `run`, which is of one run.
bare() {
    perl -MJSON::PP -0777 -ne '$json = decode_json($_); delete $json->{run};
        print JSON::PP->new->canonical->encode($json)' "$1"
}

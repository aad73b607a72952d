#!/usr/bin/env bash
# Measures what `status` takes for 10,000 tasks, all missing and all done.
#
#     tools/cluster/status.sh [BIN_DIR]
#
# One task is run; the parts of the others are links to its files, with receipts of their own.
set -euo pipefail
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../scripts" && pwd)
bin=$(cd "${1:-${scripts%/*}/target/release}" && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir "$place/in"
cp -r "$scripts" "$place/scripts"
cd "$place"
PATH=$bin:$PATH

perl -e 'my @lines = <STDIN>; print $lines[$_ % @lines] =~ s/"synth_id": "/$&$_-/r for 0 .. 9999' \
    <"$scripts/example/conversations.ndjson" |
    ds-cat --to parquet -o in/synth_harmony_shard_00.parquet
cp "$scripts/example/manifest.json" in
scripts/synth-kd.sh plan in out --rows-per-task 1 >tasks.txt

measure() {
    for _ in 1 2 3 4 5; do
        TIMEFORMAT="%R s, %U s user, %S s system: $1"
        time ds-plan status out tasks.txt >states 2>/dev/null || true
    done
    awk '{ count[$2]++ } END { for (state in count) print count[state] " " state }' states
}
measure "10,000 tasks, nothing run"
head -n 1 tasks.txt | bash
perl -e '
    open my $tasks, "<", "tasks.txt" or die; my @names = map { (split)[-1] } <$tasks>;
    open my $done, "<", "out/tasks/$names[0]/done.json" or die; my $receipt = do { local $/; <$done> };
    my @files = split /\n/, `cd out/tasks/$names[0] && find part -type f`;
    my @directories = split /\n/, `cd out/tasks/$names[0] && find part -type d`;
    for my $index (1 .. $#names) {
        my $task = "out/tasks/$names[$index]";
        mkdir $task;
        mkdir "$task/$_" for @directories;
        link "out/tasks/$names[0]/$_", "$task/$_" for @files;
        my ($own, $end) = ($receipt, $index + 1);
        $own =~ s/\Q$names[0]\E/$names[$index]/;
        $own =~ s/"slice": "0\.\.1"/"slice": "$index..$end"/ or die $own;
        open my $out, ">", "$task/done.json" or die; print $out $own;
        open my $lock, ">", "$task/lock" or die;
    }'
measure "10,000 tasks, all done"

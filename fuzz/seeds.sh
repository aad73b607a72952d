#!/usr/bin/env bash
# Makes the good inputs of fuzz/corpus with the filters on PATH, and pyarrow in the
# Python of GRISTMILL_PYTHON: fuzz/seeds.sh. Inputs that once were
# findings (finding-*) stay.
set -euo pipefail
corpus=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/corpus
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# seed TARGET NAME FILE: a file as it is; archive TARGET NAME FILE...: several, each with a separator after
# it; one that is not there is empty.
seed() { mkdir -p "$corpus/$1" && cp "$3" "$corpus/$1/$2"; }
archive() {
    local target=$1 name=$2
    shift 2
    for file; do
        if [[ -f $file ]]; then cat "$file"; fi
        printf '\n=====\n'
    done >archive
    seed "$target" "$name" archive
}
encodings() { # NAME: NAME.ndjson as Arrow and Parquet too
    ds-cat -q "$1.ndjson" --to arrow >"$1.arrows"
    ds-cat -q "$1.ndjson" --to parquet -o "$1.parquet"
}

cat >c.ndjson <<'END'
{"id":"a","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Größe?"},{"role":"assistant","channel":"analysis","content":"Hm."},{"role":"assistant","channel":"final","content":"2 m"}]}
{"id":"b","messages":[{"role":"user","content":"x"},{"role":"assistant","channel":"final","content":"🌾"}]}
END
cat >m1.json <<'END'
{"messages":[{"role":"system","content":[{"type":"system_content","model_identity":"M","reasoning_effort":"High","conversation_start_date":"2025-01-01","knowledge_cutoff":"2024-06","channel_config":{"valid_channels":["analysis","final"],"channel_required":true},"tools":{"browser":{"name":"browser","description":"d","tools":[]}}}]},{"role":"developer","content":[{"type":"developer_content","instructions":"I","tools":{"functions":{"name":"functions","tools":[{"name":"f","description":"d","parameters":{"type":"object","properties":{"a":{"type":"string","enum":["x","y"],"default":"x"},"b":{"type":["number","null"]},"c":{"type":"array","items":{"oneOf":[{"type":"integer"},{"type":"boolean"}]}}},"required":["a"]}}]}}}]},{"role":"user","content":"hi"},{"role":"assistant","channel":"commentary","recipient":"functions.f","content_type":"<|constrain|>json","content":"{}"},{"role":"tool","name":"functions.f","content":"1.5e3"},{"role":"assistant","channel":"final","content":[{"type":"text","text":"\u00e9 \ud83c\udf3e"}]}]}
END
number=0
while read -r line; do
    number=$((number + 1))
    printf '%s' "$line" >chat
    seed chats "$number.json" chat
done <"$corpus/../../scripts/example/chats.ndjson"
printf '%s' '{"input":[{"role":"user","content":"W?"},{"type":"reasoning","summary":[{"type":"summary_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"s"}],"tools":"[{\"name\":\"f\",\"description\":\"d\",\"parameters\":{\"type\":\"object\",\"properties\":{\"a\":{\"oneOf\":[{\"type\":\"string\",\"enum\":[\"x\"]}],\"default\":\"x\"},\"b\":{\"type\":[\"string\",\"null\"]},\"c\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"d\":{}}}}}}}]","chat_template_kwargs":{"builtin_tools":["browser"]}}' >chat
seed chats responses.json chat
mkdir raw
cat >raw/g.meta.json <<'END'
{"seed": 7, "depth": 6, "game_index": 0, "num_moves": 3, "score": 4, "max_tile": 4, "max_rank": 2, "seconds": 0.5, "x": [1, {"y": "z"}]}
END
cat >raw/g.jsonl <<'END'
{"seed":7,"step_index":0,"max_rank":1,"move":"right","valuation_type":"search","valuation":0.5,"board":[1,0,0,0,0,1,0,0,0,0,0,0,0,0,0,0],"branch_evs":{"up":1.5,"down":1.0,"left":2.5e1,"right":-3}}
{"seed": 7, "step_index": 1, "max_rank": 1, "move": "down", "valuation_type": "tuple10", "valuation": 12, "board": [0, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0], "branch_evs": {"up": 1, "down": 2, "left": null, "right": null}}
{"move":"left","board":[0,0,0,0,1,0,0,0,0,0,0,0,0,0,0,2],"valuation_type":"own"}
END
cat >sudoku.csv <<'END'
source,question,answer,rating
s,53..7....6..195....98....6.8...6...34..8.3..17...2...6.6....28....419..5....8..79,534678912672195348198342567859761423426853791713924856961537284287419635345286179,5
END
cat >maze.csv <<'END'
source,question,answer,rating
s,"S  ## ##G","Soo##o##G",1
m,S## ##  G,S##o##ooG,0
m,S  #  ##G,Soo##o##G,2
END
printf 'source,question,answer,rating\nm,S  ## ##G,Soo##o##G,7\n"m ""x""",S## ##  G,S##o##ooG,-1\r\n' >maze2.csv
cat >a.json <<'END'
{"train":[{"input":[[1,2],[3,4]],"output":[[4]]}],"test":[{"input":[[0,9]],"output":[[5],[6]]}]}
END
cat >b.json <<'END'
{"name":"other","train":[{"input":[[7]],"output":[[7,7]]}],"test":[{"input":[[1]],"output":[[2]]}]}
END

harmony-tok -q c.ndjson >t.ndjson
span-mask -q t.ndjson >k.ndjson
gzip -9n <raw/g.jsonl >raw/g.jsonl.gz
mkdir played && mv raw/g.jsonl.gz raw/g.meta.json played/
mx-decode -q played >g.ndjson
puzzle-encode sudoku -q --train sudoku.csv --num-aug 1 >p.ndjson
puzzle-encode domino -q --num-games 1 --seed 7 | head -2 >d.ndjson
puzzle-encode arc -q a.json --num-aug 0 | head -1 >o.ndjson
for name in c t k g p d; do encodings "$name"; done

seed tokens t.ndjson t.ndjson; seed tokens t.arrows t.arrows
seed tokens k.ndjson k.ndjson; seed tokens k.arrows k.arrows; seed tokens k.parquet k.parquet
for kind in ndjson arrows parquet; do
    seed conversations "c.$kind" "c.$kind"
    seed games "g.$kind" "g.$kind"
    seed puzzles "d.$kind" "d.$kind"
done
seed puzzles o.ndjson o.ndjson; seed puzzles p.ndjson p.ndjson
for name in c k g p; do
    seed any "$name.arrows" "$name.arrows"; seed any "$name.ndjson" "$name.ndjson"
    seed checked "$name.arrows" "$name.arrows"; seed checked "$name.ndjson" "$name.ndjson"
    seed parquet "$name.parquet" "$name.parquet"
done
echo '{"id":"p","prompt":"Q?","chosen":"A.","rejected":"B."}' >p.jsonl
seed pairs text.json p.jsonl
echo '{"messages":[{"role":"user","content":"Q?"},{"role":"assistant","content":"A."}],"rejected_response":"B."}' >beside.jsonl
echo '{"system":"S","tools":[{"name":"f"}],"chosen":[{"role":"user","content":"Q"},{"role":"assistant","reasoning":"R","content":"A"}],"rejected":[{"role":"user","content":"Q"},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}]}' >lists.jsonl
echo '{"conversations":[{"from":"human","value":"Q"}],"chosen":{"from":"gpt","value":"A"},"rejected":{"from":"gpt","value":"B"}}' >sharegpt.jsonl
echo '{"input":{"messages":[{"role":"user","content":"Q"}]},"preferred_output":[{"role":"assistant","content":"A"}],"non_preferred_output":[{"role":"assistant","content":"B"}]}' >openai.jsonl
for name in beside lists sharegpt openai; do seed pairs "$name.json" "$name.jsonl"; done
chat-tok -q --model gpt-oss --take pair p.jsonl >pairs.ndjson
chat-tok -q --model gpt-oss --take pair p.jsonl --to arrow >pairs.arrows
for form in dpo reward kto; do
    seq-pack -q pairs.ndjson --form "trl-$form" -o "pairs-$form.parquet"
    seed parquet "pairs-$form.parquet" "pairs-$form.parquet"
done
for kind in ndjson arrows; do seed any "pairs.$kind" "pairs.$kind"; seed checked "pairs.$kind" "pairs.$kind"; done
seed checked t.ndjson t.ndjson; seed checked d.ndjson d.ndjson; seed checked c.parquet c.parquet
gzip -9n <c.ndjson >c.gz; zstd -q -19 c.ndjson -o c.zst; seed packed c.gz c.gz; seed packed c.zst c.zst
gzip -9n <c.arrows >ca.gz; zstd -q -19 t.arrows -o ta.zst; seed packed ca.gz ca.gz; seed packed ta.zst ta.zst
cat c.gz c.gz >cc.gz; seed packed cc.gz cc.gz

cat >s.ndjson <<'END'
{"synth_id":"s1","language":"en","exercise":"qa","model":"m","query":"Q?","query_seed_url":"u","query_seed_text":"text","constraints":"none","seed_license":null,"synthetic_reasoning":"R é","synthetic_answer":"A 🌾","words":3}
{"synth_id":"s2","query":"Q","synthetic_reasoning":"","synthetic_answer":"A","words":null}
END
echo '{"query":["q",1.5,{"a":null}],"synthetic_reasoning":1e22,"synthetic_answer":true}' >odd.ndjson
seed synth s.ndjson s.ndjson; seed synth odd.ndjson odd.ndjson
cat >plan.json <<'END'
{"schema_version":"gristmill_plan_v2","id":"0123456789ab","product":"kd-root","pipeline":[["harmony-tok"],["span-mask"],["mmidx-write"]],"options":["--x"],"directory":"/d","input":"in","glob":null,"root":"/r","build":{"version":"0.1.0","git_sha":null,"git_dirty":null},"limits":{"rows":9,"rows_per_source":null,"tokens":null},"sizing":{"tasks":2},"task_bytes":5,"input_manifest":null,"sources":[{"name":"a","path":"a.parquet","identity":{"rows":9},"rows":9,"tokens":null,"cuts":[0,4,9]}]}
END
printf 'ds-plan run /r 0123456789ab a.part-00000-of-00002\nds-plan run /r 0123456789ab a.part-00001-of-00002\n' >list
archive plan plan plan.json list
"${GRISTMILL_PYTHON:-python3}" - <<'END'
import pyarrow as pa, pyarrow.json, pyarrow.parquet
rows = pyarrow.json.read_json("s.ndjson")
pyarrow.parquet.write_table(rows, "s.parquet")
nested = pa.table({"query": [{"a": [1, None]}], "synthetic_reasoning": [2.5], "synthetic_answer": [b"x"]})
with pa.ipc.new_stream("s.arrows", nested.schema) as out:
    out.write_table(nested)
END
seed synth s.parquet s.parquet; seed synth s.arrows s.arrows

mmidx-write -q --prefix p k.arrows >/dev/null
archive triple masked p_{tokens,lossmask,span}.{idx,bin} p_ids.parquet p.part.json
archive triple bare p_{tokens,lossmask,span}.{idx,bin}
seed idx p_tokens.idx p_tokens.idx; seed idx p_span.idx p_span.idx
mmidx-write -q --root root --shard 0 --valid-fraction 0.5 k.arrows >/dev/null
ds-manifest root >/dev/null
files=(manifest.json parts/shard_00.json)
for split in train valid; do
    for name in tokens lossmask span; do files+=("$split/shard_00_$name.idx" "$split/shard_00_$name.bin"); done
    files+=("ids/$split/shard_00.parquet")
done
(cd root && archive kd_root root "${files[@]}")

npy-pack -q g.arrows -o pack; npy-pack -q g.arrows -o v1 --layout selfplay-v1 --lossy
npy-pack -q g.arrows -o packed --layout macroxue-packed
(cd pack && archive pool pack steps.npy metadata.db valuation_types.json manifest.json)
(cd packed && archive pool packed steps.npy metadata.db valuation_types.json manifest.json)
(cd v1 && archive pool v1 none metadata.db none manifest.json steps-000001.npy)
(cd pack && archive pool alone steps.npy)
seed npy steps.npy pack/steps.npy; seed npy packed.npy packed/steps.npy; seed npy v1.npy v1/steps-000001.npy
for pool in pack v1; do
    seed database "$pool.db" "$pool/metadata.db"
    sqlite3 "$pool/metadata.db" "PRAGMA page_size = 512; VACUUM" && seed database "$pool-small.db" "$pool/metadata.db"
done

puzzle-encode maze -q --train maze2.csv --test maze2.csv --num-aug 1 | npy-pack -q -o maze
(cd maze && archive puzzle_set maze train/dataset.json identifiers.json build.json \
    train/all__{inputs,labels,puzzle_identifiers,puzzle_indices,group_indices}.npy test/dataset.json \
    test/all__{inputs,labels,puzzle_identifiers,puzzle_indices,group_indices}.npy)
seed npy inputs.npy maze/train/all__inputs.npy

mkdir shards && cp c.parquet shards/a.parquet && cp c.parquet shards/b.parquet
bytes=$(stat -c %s c.parquet)
printf '{"schema_version":"synth_harmony_v1","storage":{"shards":[{"path":"x/a.parquet","bytes":%s,"rows":2},{"path":"x/b.parquet","bytes":%s,"rows":2}]}}' \
    "$bytes" "$bytes" >shards/manifest.json
(cd shards && archive shards shards manifest.json a.parquet b.parquet)

seed csv sudoku.csv sudoku.csv; seed csv maze.csv maze.csv; seed csv maze2.csv maze2.csv
archive arc two a.json b.json; seed arc one a.json
archive raw_games game played/g.meta.json raw/g.jsonl
gzip -9n <played/g.meta.json >meta.gz; archive raw_gzip game meta.gz played/g.jsonl.gz
jq -c '{messages}' c.ndjson | head -1 >m2.json; seed messages m1.json m1.json; seed messages m2.json m2.json
printf '\020\014\016\200\012\020\015\016\200\201\021' >h1; seed harmony h1 h1

root=$corpus/../..
for file in "$root"/tests/oracle/chat_templates/*.jinja; do seed template "$(basename "$file")" "$file"; done
# A file for each group of the expressions.
awk '/^## / { file = sprintf("group-%02d", ++number); next } { print >file }' "$root/tests/oracle/expressions.txt"
for file in group-*; do seed template "$file.jinja" "$file"; done
"${GRISTMILL_PYTHON:-python3}" "$corpus/../tokenizers.py" "$corpus/tokenizer"

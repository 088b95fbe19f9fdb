#!/bin/sh
# Measures the line coverage of the reader and of the loading code by the tests of recordings. Needs
# `rustup component add llvm-tools`. `rustc` and the tools must have the same version, as the
# component has.
set -eu
cd "$(dirname "$0")/../../.."
folder="$PWD/target/coverage"
tools=$(dirname "$(find "$(rustc --print sysroot)" -name llvm-profdata -type f | head -n 1)")
rm -rf "$folder"
mkdir -p "$folder"
# Ours alone are built anew.
printf '#!/bin/sh\nexec "$@" -C instrument-coverage\n' > "$folder/rustc"
chmod +x "$folder/rustc"
export RUSTC_WORKSPACE_WRAPPER="$folder/rustc" LLVM_PROFILE_FILE="$folder/%p-%m.profraw"
cargo test --locked -p tracking-alloc-recording -p heapglass-profiler --test golden --test hostile --no-run 2> "$folder/built"
cat "$folder/built"
objects=
for test in $(sed -n 's/.*(\(.*\/deps\/[a-z]*-[0-9a-f]*\)).*/\1/p' "$folder/built"); do
    (cd "$(case "$test" in *golden*) echo tracking-alloc/recording ;; *) echo profiler ;; esac)" && "$OLDPWD/$test")
    objects="$objects -object $test"
done
"$tools/llvm-profdata" merge -sparse "$folder"/*.profraw -o "$folder/all.profdata"
# shellcheck disable=SC2086
"$tools/llvm-cov" report $objects -instr-profile "$folder/all.profdata" -show-region-summary=false \
    -show-branch-summary=false | grep -E '^Filename|recording/src|/load/|/symbols/'

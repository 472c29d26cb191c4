#!/usr/bin/env bash
# Builds what is handed out, by the profile `dist`, into dist/TARGET: the program without its debug information, and
# that information in a file of its own beside it. `make dist` calls it.
#
#   scripts/dist.sh                              both processors of Linux
#   scripts/dist.sh all                          and Windows and macOS
#   scripts/dist.sh x86_64-unknown-linux-musl    this one; any target of rustc's will do
#
# DIST=folder writes elsewhere, PROFILE=dev builds by another profile, NODESCOPE_COMMIT=… is the commit where there
# is no clone. For Linux nothing is needed but rustup: its targets for musl bring libc, and rustc brings a linker for
# them. Windows needs Debian's gcc-mingw-w64-x86-64, macOS zig or pip, which fetches it.
#
# Two builds of one commit are equal, byte for byte, wherever they are made (`scripts/dist-test.sh reproduce` compares
# what was built): no path of this machine, no time and no random number goes in. They need the same release of rustc,
# for Windows the same mingw too, and for macOS the same zig; dist/toolchain-TARGET.txt names these.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
out=${DIST:-dist}
profile=${PROFILE:-dist}
targets=(x86_64-unknown-linux-musl aarch64-unknown-linux-musl)
elsewhere=(x86_64-pc-windows-gnu x86_64-apple-darwin aarch64-apple-darwin)
# Rust 1.93 is the first that brings musl 1.2.5.
musl_minor=93
case ${1:-} in
  '') ;;
  all) targets+=("${elsewhere[@]}") ;;
  *) targets=("$@") ;;
esac

say() { printf 'dist: %s\n' "$*" >&2; }

# flags_of TARGET: the flags of rustc, one in each line. Paths go in as /nodescope, /cargo and /rust.
flags_of() {
  printf '%s\n' "--remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo" \
    "--remap-path-prefix=$(rustc --print sysroot)=/rust" "--remap-path-prefix=$root=/nodescope"
  case $1 in
    *-linux-musl)
      printf '%s\n' -Clinker=rust-lld -Clink-self-contained=yes -Ctarget-feature=+crt-static -Clink-arg=--build-id=sha1 -Clink-arg=--icf=all -Clink-arg=--pack-dyn-relocs=relr
      ;;
    # The linker of mingw, from Debian's gcc-mingw-w64-x86-64. It would note the time of the build.
    *-windows-gnu) printf '%s\n' -Clinker="${1%%-*}-w64-mingw32-gcc" -Clink-arg=-Wl,--no-insert-timestamp ;;
    # Debug information would stay in files that are not handed out.
    *-apple-darwin)
      [ "$(uname)" = Darwin ] || printf '%s\n' -Clinker="$(zig_linker "$1")"
      printf '%s\n' -Cdebuginfo=0 -Csplit-debuginfo=off
      ;;
  esac
}

# zig_linker TARGET: a script that links for macOS by zig, which brings what it needs of Apple's libraries and signs.
zig_linker() {
  local zig linker
  # In a subshell, errexit is off.
  zig=$(scripts/zig.sh) || return 1
  linker=${CARGO_TARGET_DIR:-$root/target}/zig-$1
  mkdir -p "$(dirname "$linker")"
  # Left out: the functions of a dependency that is a library for other programs, too, which zig does not know how to
  # list; and iconv, which libc names, no line of ours calls, and zig does not have.
  cat >"$linker" <<END
#!/usr/bin/env bash
words=()
for word; do
  case \$word in -Wl,-exported_symbols_list | -Wl,*/list | -liconv) ;; *) words+=("\$word") ;; esac
done
exec "$zig" cc -target ${1%%-*}-macos "\${words[@]}"
END
  chmod +x "$linker"
  realpath "$linker"
}

# knows_packed_relocations: whether rustup's musl, which rustc links for Linux, is 1.2.4 or newer. An older one skips
# packed relocations, and the program would crash at its start.
knows_packed_relocations() {
  local release major minor
  release=$(rustc --version | cut -d ' ' -f 2)
  IFS=. read -r major minor _ <<<"$release"
  [ "$major" -gt 1 ] || [ "$minor" -ge "$musl_minor" ] ||
    { say "rustc $release links a musl that is too old for $1: Rust 1.$musl_minor or newer is needed (rustup update)"; return 1; }
}

# build TARGET: target/TARGET/dist/nodescope. The flags of the environment and of configuration files do not count.
build() {
  local target=$1 flags
  say "building for $target by the profile $profile"
  scripts/rustup-target.sh "$target" 2>/dev/null || say "rustup cannot add $target: is it there already?"
  mapfile -t flags < <(flags_of "$target")
  # What is built for tests is checked, too.
  [ "$profile" != quick ] || flags+=(-Dwarnings)
  CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f'; printf '%s' "${flags[*]}") \
    cargo build --quiet --locked -p nodescope --profile "$profile" --target "$target"
}

# copy OPTION...: objcopy. The one of rustc knows every processor; it finds its libraries only by LD_LIBRARY_PATH.
copy() {
  local sysroot ours
  sysroot=$(rustc --print sysroot)
  ours=$sysroot/lib/rustlib/$(rustc -vV | awk '/^host:/ { print $2 }')/bin/rust-objcopy
  if [ -x "$ours" ]; then LD_LIBRARY_PATH=$sysroot/lib "$ours" "$@"; else llvm-objcopy "$@"; fi
}

# split FILE FOLDER: the program, and its debug information, which debuggers and perf find by the link and the build id.
split() {
  local built=$1 folder=$2
  copy --only-keep-debug "$built" "$folder/nodescope.debug"
  chmod a-x "$folder/nodescope.debug"
  (cd "$folder" && copy --strip-all --add-gnu-debuglink=nodescope.debug "$built" nodescope)
}

hand_out() {
  local target=$1 folder=$out/$1 built
  built=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)/$target/${profile/#dev/debug}
  rm -rf "$folder" && mkdir -p "$folder"
  case $target in
    *-linux-*) split "$built/nodescope" "$folder" ;;
    *-windows-gnu) (cd "$folder" && copy --strip-all "$built/nodescope.exe" nodescope.exe) ;;
    # The linker has signed what is for arm64, and objcopy signs it anew.
    *-apple-darwin) (cd "$folder" && copy --strip-all "$built/nodescope" nodescope) ;;
    *) say "no rule says what to hand out for $target"; return 1 ;;
  esac
}

# write_toolchain TARGET: what the bytes of this program depend on besides the commit.
write_toolchain() {
  printf '%s\n' "$1"
  rustc --version --verbose
  case $1 in
    *-windows-gnu)
      "${1%%-*}-w64-mingw32-gcc" --version | head -n 1
      "${1%%-*}-w64-mingw32-ld" --version | head -n 1
      # The versions of mingw's libraries, where Debian's packages have them.
      dpkg-query --show "mingw-w64-${1%%_*}-*-dev" 2>/dev/null || true
      ;;
    *-apple-darwin) [ "$(uname)" = Darwin ] || printf 'zig %s\n' "$("$(scripts/zig.sh)" version)" ;;
  esac
}

# Of the programs of all targets that are there, not of packages that were made of them.
write_sums() {
  (cd "$out" && find . -path './*-*-*/*' -type f -printf '%P\n' | LC_ALL=C sort | xargs sha256sum >SHA256SUMS)
}

for target in "${targets[@]}"; do
  case $target in *-linux-musl) knows_packed_relocations "$target" ;; esac
done
mkdir -p "$out"
for target in "${targets[@]}"; do
  build "$target"
  hand_out "$target"
  write_toolchain "$target" >"$out/toolchain-$target.txt"
done
write_sums
(cd "$out" && cat SHA256SUMS)

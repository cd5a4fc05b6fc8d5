#!/bin/sh
# Checksums of all files below the working directory, /workspace; shows the contract of a packaged tool in plain sh.
set -eu

# The request is one line of JSON. This tool needs nothing of it, but reads it, so that whoever writes it is not cut off.
read -r _request

# A path holds neither line feeds nor backslashes (see docs/packages.md), so a quote is all that needs an escape.
list=$(find . -type f | LC_ALL=C sort)
total=$(printf '%s' "$list" | grep -c '' || true)
count=0
separator=''
{
  printf '{"files":['
  printf '%s\n' "$list" | while IFS= read -r path; do
    [ -n "$path" ] || continue
    sum=$(sha256sum <"$path")
    bytes=$(wc -c <"$path")
    name=$(printf '%s' "${path#./}" | sed 's/"/\\"/g')
    printf '%s{"path":"%s","bytes":%d,"sha256":"%s"}' "$separator" "$name" "$bytes" "${sum%% *}"
    separator=','
    count=$((count + 1))
    printf '{"progress":%d}\n' $((count * 100 / total)) >&4
  done
  printf ']}'
} >&3

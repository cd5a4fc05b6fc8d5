#!/bin/bash
# `signalbox` in the shell of a page: what ends by itself is run by the warm command line, what stays or works on files by a process of its own.
case "$1 $2" in
dev\ *)
  shift
  exec "$DOCS_NODE" "$DOCS_BIN" dev $DOCS_PORTS "$@"
  ;;
worker\ * | doctor\ * | completion\ * | ledger\ * | keys\ reset) exec "$DOCS_NODE" "$DOCS_BIN" "$@" ;;
esac
for word in "$@"; do
  case "$word" in --local | - | --watch) exec "$DOCS_NODE" "$DOCS_BIN" "$@" ;; esac
done
exec 3<> "/dev/tcp/127.0.0.1/$DOCS_COMMANDS" || exit 70
printf '%s\0' "$PWD" "$SIGNALBOX_URL" "$SIGNALBOX_KEY" "$SIGNALBOX_PLATFORM_KEY" "$#" "$@" >&3
while IFS= read -r -u 3 line; do
  case "$line" in
  o*) printf '%b' "${line:1}" ;;
  e*) printf '%b' "${line:1}" >&2 ;;
  x*) exit "${line:1}" ;;
  esac
done
exit 70

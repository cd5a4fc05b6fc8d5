# The digest of a package by hand: of the current folder, which must have no hidden files.
# #region digest
{ echo 'signalbox package 1'
  find . -type f | sed 's,^\./,,' | LC_ALL=C sort | while IFS= read -r path; do
    mode=0644; [ -x "$path" ] && mode=0755
    printf '%s sha256:%s %s\n' "$mode" "$(sha256sum <"$path" | cut -c1-64)" "$path"
  done; } | sha256sum
# #endregion digest

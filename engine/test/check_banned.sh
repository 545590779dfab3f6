#!/bin/sh
# Every byte goes through engine/base/mem.h: nothing else calls the system's allocator. Nor does the engine
# end the process it lives in. Usage: check_banned.sh ENGINE_DIR
set -u
engine=${1:?usage: check_banned.sh ENGINE_DIR}
dirs=""
for dir in "$engine"/*/; do
  case $(basename "$dir") in
  base | test | fuzz | include) ;;
  *) dirs="$dirs $dir" ;;
  esac
done
banned='malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|vasprintf|aligned_alloc|posix_memalign|memalign'
banned="$banned|abort|assert|exit|_exit|longjmp|alloca"
# Comments and strings are taken out before looking.
found=$(find $dirs -name '*.[ch]' -exec awk -v banned="$banned" '
  FNR == 1 { inside = 0 }
  {
    line = $0
    gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
    if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
    gsub(/\/\*[^*]*\*\//, "", line)
    if (sub(/\/\*.*$/, "", line)) inside = 1
    sub(/\/\/.*$/, "", line)
    if (match(line, "(^|[^A-Za-z0-9_>.])(" banned ")[ ]*\\(")) print FILENAME ":" FNR ": " $0
  }' {} +)
[ -z "$found" ] && exit 0
echo "banned calls (use hly_malloc and its kin, return hly_status):"
echo "$found"
exit 1

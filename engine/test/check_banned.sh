#!/bin/sh
# Every byte goes through engine/base/mem.h: nothing else calls the system's allocator. Nor does the library
# end the process it lives in (the programs in bench/ and tool/ may). Usage: check_banned.sh ENGINE_DIR
set -u
engine=${1:?usage: check_banned.sh ENGINE_DIR}
allocate='malloc|calloc|realloc|reallocarray|free|strdup|strndup|asprintf|vasprintf|aligned_alloc|posix_memalign'
allocate="$allocate|memalign|alloca"
end='abort|assert|exit|_exit|longjmp'

# Calls of $1 in the files of folder $2; comments and strings are taken out before looking.
calls() {
  find "$2" -name '*.[ch]' -exec awk -v banned="$1" '
    FNR == 1 { inside = 0 }
    {
      line = $0
      gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
      if (inside) { if (!sub(/^.*\*\//, "", line)) next; inside = 0 }
      gsub(/\/\*[^*]*\*\//, "", line)
      if (sub(/\/\*.*$/, "", line)) inside = 1
      sub(/\/\/.*$/, "", line)
      if (match(line, "(^|[^A-Za-z0-9_>.])(" banned ")[ ]*\\(")) print FILENAME ":" FNR ": " $0
    }' {} +
}

found=$(for dir in "$engine"/*/; do
  case $(basename "$dir") in
  base | test | fuzz | include) ;;
  bench | tool) calls "$allocate" "$dir" ;;
  *) calls "$allocate|$end" "$dir" ;;
  esac
done)
[ -z "$found" ] && exit 0
echo "banned calls (use hly_malloc and its kin, return hly_status):"
echo "$found"
exit 1

# sh preflight.sh FOLDER [DEPTH]: reports what is wrong with a training set. Exits with status 1 if it finds anything.
# The meaning of each reported code is in the file `explained`.
status=0
# `find` lists the files, because in a folder `b2nd check` skips a file that is not a frame if other programs use its extension.
find "$1" \( -name '*.b2nd' -o -name '*.mla' -o -name '*.mb2nd' \) ! -name '*_seg.b2nd' -print0 | sort -z |
    b2nd check -0 --files-from - --strict $2 2>explained || status=1
# Labels may end with background: chunks of zeros, which look as if they had never been written.
find "$1" -name '*_seg.b2nd' -print0 | sort -z |
    b2nd check -0 --files-from - --strict --ignore never-written,no-data $2 2>>explained || status=1
python "$(dirname "$0")/cases.py" "$1" || status=1
exit $status

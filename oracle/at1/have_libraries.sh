#!/bin/sh
# Whether the libraries that the reference decoder links are there, with their headers.
printf '#include <lzma.h>\n#include <zstd.h>\nint main(void){return 0;}\n' | gcc -x c - -llzma -lzstd -o /dev/null 2>/dev/null

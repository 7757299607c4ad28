#!/bin/sh
# Makes the archive of a release:  archive.sh FOLDER COLKIT
# FOLDER/colkit-VERSION-HOST.tar.gz with the command, man pages, completions, README, LICENSE and the licences of everything that is
# linked; next to it its SHA-256. The same binary and commit give the same archive.
set -eu
folder=$1 binary=$2
root=$(cd "$(dirname "$0")/.." && pwd)
version=$("$binary" --version | cut -d ' ' -f 2)
name=colkit-$version-$(rustc -vV | sed -n 's/^host: //p')

rm -rf "$folder/$name"
mkdir -p "$folder/$name/man" "$folder/$name/completions"
cp "$binary" "$root/README.md" "$root/LICENSE" "$root/CHANGELOG.md" "$folder/$name"
"$binary" man --dir "$folder/$name/man" 2>/dev/null
"$binary" completions bash >"$folder/$name/completions/colkit.bash"
"$binary" completions zsh >"$folder/$name/completions/_colkit"
"$binary" completions fish >"$folder/$name/completions/colkit.fish"
"${PYTHON:-python3}" "$root/dist/licences.py" >"$folder/$name/LICENSES-OF-DEPENDENCIES.txt"

cd "$folder"
date=$(git -C "$root" log -1 --format=%ct)
tar --sort=name --owner=0 --group=0 --numeric-owner --mode=go=rX,u+w --mtime="@$date" -cf - "$name" | gzip -n -9 >"$name.tar.gz"
rm -r "$name"
if command -v sha256sum >/dev/null; then sha256sum "$name.tar.gz"; else shasum -a 256 "$name.tar.gz"; fi >"$name.tar.gz.sha256"
ls -l "$folder/$name".tar.gz*

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Build one site of the documents and the man pages:
#
#     sh docs/site.sh OUT          the first page is OUT/html/index.html
#
# Needs python3 with venv, scdoc and man; Sphinx and MyST come from PyPI, into OUT/venv. SPHINX names
# a sphinx-build that has MyST, where one is there.
set -eu

[ $# -eq 1 ] || {
	sed -n '3,8s/^# \{0,1\}//p' "$0"
	exit 2
}
top=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
src=$out/src
sphinx=${SPHINX:-$out/venv/bin/sphinx-build}

if [ ! -x "$sphinx" ]; then
	python3 -m venv "$out/venv"
	"$out/venv/bin/pip" install -q sphinx==9.0.4 myst-parser==5.2.0
fi

rm -rf "$src" "$out/html"
mkdir -p "$src"
cp "$top"/*.md "$src"
cp -R "$top/docs" "$src/docs"
rm -f "$src"/docs/man/alias.in "$src"/docs/meson.build "$src"/docs/site.sh

# A man page is shown as a terminal of 90 columns shows it.
for page in "$src"/docs/man/*.scd "$src"/docs/man/otelprof/*.scd; do
	name=$(basename "$page" .scd)
	{
		printf '# %s\n\n```text\n' "$(echo "$name" | sed 's/\.\([0-9]\)$/(\1)/')"
		python3 "$top/docs/manpage.py" "$top" "$page" | scdoc >"$out/page"
		MANWIDTH=90 man --no-hyphenation -P cat -l "$out/page" 2>/dev/null | col -b
		printf '```\n'
	} >"${page%.scd}.md"
	rm "$page" "$out/page"
done

# Links to man pages lead to the pages made here; those to sources become their text.
find "$src" -name '*.md' ! -path '*/man/*' -exec sed -z -i \
	-e 's/\(man\/[a-z_0-9./-]*\)\.scd)/\1.md)/g' \
	-e 's/\[\([^]]*\)\](\(\.\.\/\)*\(examples\|include\|lib\|bpf\|tests\|LICENSES\|COPYING\)[^)]*)/\1/g' {} +

{
	printf '# libotelprof\n\n'
	list() {
		printf '```{toctree}\n:caption: %s\n:maxdepth: 1\n\n' "$1"
		shift
		(cd "$src" && for page in "$@"; do [ ! -f "$page" ] || echo "$page"; done)
		printf '```\n\n'
	}
	cd "$src"
	list Start README.md docs/README.md docs/install.md docs/support.md docs/comparison.md docs/troubleshooting.md CHANGELOG.md
	list Users docs/report.md docs/page.md docs/mcp.md docs/collector.md docs/kubernetes.md docs/image.md docs/sizing.md docs/delivery.md \
		docs/identity.md docs/kernel-support.md docs/security.md docs/layouts.md
	list 'Kinds of events' docs/kinds/*.md
	list 'Language runtimes' docs/runtimes/*.md
	list 'Back ends' docs/backends/*.md
	list Embedding docs/embedding.md docs/budgets.md docs/otlp.md docs/abi.md docs/trace-context.md docs/memory.md
	list Developers CONTRIBUTING.md SECURITY.md docs/architecture.md docs/adding-a-runtime.md docs/adding-a-kind.md \
		docs/testing.md docs/coding-style.md docs/wild.md docs/servers.md docs/planted.md
	list 'Man pages' docs/man/*.md docs/man/otelprof/*.md
} >"$src/index.md"

cat >"$src/conf.py" <<'END'
project = "libotelprof"
extensions = ["myst_parser"]
myst_heading_anchors = 3
html_theme = "alabaster"
html_theme_options = {"page_width": "1280px", "body_max_width": "100ch"}
html_show_sphinx = False
html_show_copyright = False
suppress_warnings = ["myst.header", "misc.highlighting_failure"]
END
"$sphinx" -q -W --keep-going -b html "$src" "$out/html"
echo "$out/html/index.html"

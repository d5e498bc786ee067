#!/bin/sh
# Builds the site into docs/: the reference by families, the articles, the news, the benchmarks, the papers of the sources.
#   sh tools/site.sh             all of it, with the anvil that R finds (make site: the one in .lib/)
#   sh tools/site.sh home news   these parts of a site that is there: home, reference, articles, news, articles/NAME
# Nothing is fetched, and the pages fetch nothing: style, fonts and scripts are their own or the reader's system's.
set -e
cd "$(dirname "$0")/.."
sh tools/install-deps.sh site
Rscript --no-init-file tools/site.R "$@"
Rscript --no-init-file tools/site-links.R docs
echo "The site: file://$(pwd)/docs/index.html"

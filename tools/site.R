# Builds docs/ with pkgdown, in a copy of what the site is made of; see tools/site.sh.
parts <- commandArgs(trailingOnly = TRUE)
out <- file.path(getwd(), "docs")
copy <- file.path(tempfile("site"), "anvil")
dir.create(copy, recursive = TRUE)

# Rendering writes beside its source: files that git does not know stay behind.
sources <- system2("git", c("ls-files", "-co", "--exclude-standard"), stdout = TRUE)
sources <- grep(
  "^(man|vignettes|pkgdown)/|^inst/CITATION$|^(DESCRIPTION|NAMESPACE|LICENSE|[A-Z]+[.]md)$", sources,
  value = TRUE
)
sources <- sources[file.exists(sources)]
for (folder in unique(dirname(sources))) dir.create(file.path(copy, folder), FALSE, recursive = TRUE)
stopifnot(file.copy(sources, file.path(copy, sources)))

# pkgdown makes pages of the papers in the first folder; links between them follow.
stopifnot(file.copy("pkgdown/cheatsheet.md", copy))
papers <- list.files(copy, "[.]md$", full.names = TRUE)
for (paper in c(papers, "bench/RESULTS.md")) {
  lines <- readLines(paper, encoding = "UTF-8")
  lines <- gsub("](bench/RESULTS.md", "](benchmarks.md", lines, fixed = TRUE)
  lines <- gsub("\\]\\(([.][.]/)?man/figures/", "](reference/figures/", lines)
  if (paper == "bench/RESULTS.md") paper <- file.path(copy, "benchmarks.md")
  writeLines(lines, paper, useBytes = TRUE)
}

# ---- the configuration ----

config <- yaml::read_yaml(file.path(copy, "pkgdown", "_pkgdown.yml"))
config$destination <- out

# Each page stands in the family of the function that it is named after, or else of the first one that it
# describes.
functions <- utils::read.delim(
  "inst/catalogue/functions.tsv", quote = "", colClasses = "character", check.names = FALSE
)
described <- lapply(list.files("man", "[.]Rd$", full.names = TRUE), function(path) {
  lines <- readLines(path)
  of <- function(field) {
    found <- grep(paste0("^\\\\", field, "[{]"), lines, value = TRUE)
    gsub("\\\\(.)", "\\1", sub("^[^{]*[{](.*)[}]$", "\\1", found))
  }
  aliases <- functions$"function"[functions$"function" %in% of("alias")]
  known <- match(c(of("name"), aliases), functions$"function")
  list(name = of("name"), group = functions$group[stats::na.omit(known)][1L])
})
page <- vapply(described, function(x) x$name, "")
group <- vapply(described, function(x) x$group, "")
families <- lapply(unique(functions$group), function(family) {
  list(title = family, contents = sprintf("`%s`", page[group %in% family]))
})
config$reference <- c(families, config$reference)
config$news <- list(cran_dates = FALSE)

# Vignettes that are written later have their place already.
there <- sub("[.]Rmd$", "", list.files("vignettes", "[.]Rmd$"))
config$articles <- lapply(config$articles, function(section) {
  section$contents <- as.list(intersect(unlist(section$contents), there))
  section
})
config$articles <- Filter(function(section) length(section$contents), config$articles)
unlink(file.path(copy, "pkgdown", "_pkgdown.yml"))
yaml::write_yaml(config, file.path(copy, "_pkgdown.yml"))

# ---- the pages ----

# For a link to a package that is not installed, downlit asks CRAN, and stops where there is no network.
no_urls <- function() data.frame(Package = character(), URL = character())
utils::assignInNamespace("CRAN_urls", no_urls, "downlit")

# A page missing in the reference, an article in no group: pkgdown stops at both.
pkg <- pkgdown::as_pkgdown(copy)
# The list of articles says of each what README does.
line <- '^[|] `vignette[(]"([a-z-]+)"[)]` [|] (.)(.*) [|]$'
said <- grep(line, readLines("README.md", encoding = "UTF-8"), value = TRUE)
said <- setNames(sub(line, "\\U\\2\\E\\3.", said, perl = TRUE), sub(line, "\\1", said))
stopifnot(pkg$vignettes$name %in% names(said))
pkg$vignettes$description <- unname(said[pkg$vignettes$name])
if (!length(parts)) {
  unlink(out, recursive = TRUE)
  parts <- c("home", "reference", "articles", "news")
}
pkgdown::init_site(pkg)
if ("home" %in% parts) pkgdown::build_home(pkg, preview = FALSE)
if ("reference" %in% parts) pkgdown::build_reference(pkg, lazy = FALSE, devel = FALSE, preview = FALSE)
if ("articles" %in% parts) pkgdown::build_articles(pkg, lazy = FALSE, preview = FALSE)
for (article in there[file.path("articles", there) %in% parts]) pkgdown::build_article(article, pkg)
if ("news" %in% parts) pkgdown::build_news(pkg, preview = FALSE)

# What no page of ours refers to: Bootstrap and its fonts, the index of a search that fetches.
unlink(file.path(out, c("deps", "pkgdown.js", "link.svg", "404.html")), recursive = TRUE)
stopifnot(file.copy(file.path("pkgdown", "icon.svg"), out, overwrite = TRUE))
unlink(dirname(copy), recursive = TRUE)

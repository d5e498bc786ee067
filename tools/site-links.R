# Every link and source in the pages of a folder leads to a file there, and to an id in it where one is named;
# nothing that a page needs to be shown is elsewhere.
#   Rscript tools/site-links.R docs
folder <- normalizePath(commandArgs(trailingOnly = TRUE)[1L], mustWork = TRUE)
pages <- list.files(folder, "[.]html$", recursive = TRUE)
if (!length(pages)) stop("There is no page in ", folder, ".")
parsed <- sapply(pages, function(page) xml2::read_html(file.path(folder, page)), simplify = FALSE)
ids <- lapply(parsed, function(page) xml2::xml_text(xml2::xml_find_all(page, "//@id | //a/@name")))

elsewhere <- "^([a-z][a-z0-9+.-]*:|//)"
broken <- character()
others <- character()
checked <- 0L
for (page in pages) {
  links <- unique(xml2::xml_text(xml2::xml_find_all(parsed[[page]], "//@href")))
  needed <- unique(xml2::xml_text(xml2::xml_find_all(parsed[[page]], "//@src | //link/@href")))
  fetched <- grep(elsewhere, needed, value = TRUE)
  broken <- c(broken, paste(page, "fetches", fetched[!startsWith(fetched, "data:")], recycle0 = TRUE))
  all <- union(links, needed)
  others <- c(others, grep("^https?:", all, value = TRUE))
  all <- all[!grepl(elsewhere, all)]
  checked <- checked + length(all)
  path <- vapply(sub("[?#].*$", "", all), utils::URLdecode, "")
  id <- vapply(ifelse(grepl("#", all, fixed = TRUE), sub("^[^#]*#", "", all), ""), utils::URLdecode, "")
  target <- ifelse(path == "", page, sub("^[.]/", "", file.path(dirname(page), path)))
  while (any(up <- grepl("[^/]+/[.][.]/", target))) target[up] <- sub("(^|/)[^/]+/[.][.]/", "\\1", target[up])
  is_there <- file.exists(file.path(folder, target)) & !dir.exists(file.path(folder, target))
  is_in <- mapply(function(id, target) id %in% ids[[target]], id, target)
  has_id <- id %in% c("", "top") | !target %in% pages | as.logical(is_in)
  broken <- c(broken, paste(page, "links to", all[!(is_there & has_id)], recycle0 = TRUE))
}
hosts <- sort(table(sub("^https?://([^/]+).*", "\\1", unique(others))), decreasing = TRUE)
cat(
  checked, " links within the site in ", length(pages), " pages, ", length(broken), " broken; ",
  "to other hosts: ", if (length(hosts)) paste0(names(hosts), " (", hosts, ")", collapse = ", ") else "none",
  "\n", sep = ""
)
if (length(broken)) {
  cat(broken, sep = "\n")
  quit(status = 1L)
}

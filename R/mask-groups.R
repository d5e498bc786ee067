# Groups in a traced function, see mask.R. A factor is codes that know their levels, as those of a data
# frame's columns; 0 is the code of what is none of the levels. What base R does with groups is computed of
# the selection of each of them, see selection.R, or at once by a reduction of segments.

# nolint start: object_name_linter. Names are those of R.

# Whether a factor that is traced is ordered: its levels say so, see with_order().
is_ordered <- function(x) isTRUE(attr(levels(x), "ordered"))

is_traced_factor <- function(x) is_traced(x) && !is.null(levels(x))

factor_of <- function(codes, levels) {
  attr(codes, "levels") <- levels
  codes
}

# The codes of a factor as integers. Those of a data frame's column with missing values are floats, NaN.
codes_of <- function(f) {
  codes <- as_flat(.External(anvil_op, "identity", f))
  if (!is_inexact(codes)) return(codes)
  nv_convert(nv_ifelse(nv_is_nan(codes), 0, codes), "i32")
}

# Codes of which none may be missing: it would be `NA` to R, which integers do not have. A missing one is a
# position that there is not, of which the program says so when it runs.
checked_codes <- function(codes, count) nv_iota(1L, "i32", count)[codes]

# The positions of elements among known values, of which no two are the same, and 0 of what is none of these.
codes_among <- function(x, values) {
  x <- as_flat(x)
  count <- length(values)
  if (!count) return(nv_fill(0L, length(x)))
  if (inherits(dtype(x), "BooleanType")) x <- nv_convert(x, "i32")
  if (is.logical(values)) values <- as.integer(values)
  if (is_run(values) && (is_inexact(x) || inherits(dtype(x), "IntegerType"))) {
    return(codes_in_run(x, as.integer(values[1L]), count))
  }
  order <- order(values)
  sorted <- array(values[order])
  at <- nv_clamp(1L, nv_search_sorted(sorted, x, side = "left") + 1L, count)
  is_one <- nv_eq(nv_subset(value_of(sorted), at), x)
  nv_ifelse(is_one, if (is.unsorted(order)) nv_subset(value_of(array(order)), at) else at, 0L)
}

# Whether values are whole numbers that follow one another, as `1:k`.
is_run <- function(values) {
  is.numeric(values) && all(abs(range(values)) <= .Machine$integer.max) && values[1L] == trunc(values[1L]) &&
    all(diff(values) == 1)
}

# Codes of elements among `count` such values from the first one on: nothing is looked up.
codes_in_run <- function(x, first, count) {
  at <- nv_convert(nv_clamp(first, x, first + (count - 1L)), "i32")
  nv_ifelse(nv_eq(at, x), if (first == 1L) at else at - (first - 1L), 0L)
}

# The first positions of elements among traced ones, as match() has them.
positions_among <- function(x, table, nomatch) {
  table <- as_flat(table)
  count <- length(table)
  if (!count) abort_arg("table", "a vector with elements", "one without any")
  # Equal elements stay in their order: the first of them is found.
  order <- nv_order(table)
  sorted <- table[order]
  at <- nv_clamp(1L, nv_search_sorted(sorted, x, side = "left") + 1L, count)
  codes <- nv_ifelse(nv_eq(nv_subset(sorted, at), x), nv_subset(order, at), 0L)
  if (is.na(nomatch)) checked_codes(codes, count) else nv_ifelse(codes > 0L, codes, as.integer(nomatch))
}

# Known values to look elements up in: numbers for numbers, logicals for logicals, as strings as well.
values_like <- function(x, values, arg) {
  kind <- if (inherits(dtype(x), "BooleanType")) "logicals" else "numbers"
  if (is_traced(values)) abort_concrete("factor()", values)
  if (is_value(values)) values <- as_array(values)
  given <- values
  if (is.factor(values)) values <- as.character(values)
  if (is.character(values)) {
    values <- if (kind == "logicals") as.logical(values) else suppressWarnings(as.numeric(values))
  }
  fits <- if (kind == "logicals") is.logical(values) else is_numeric(values)
  if (!fits || anyNA(values)) abort_arg(arg, paste("known", kind, "to look elements up in"), describe(given))
  as.vector(values)
}

# A factor of traced elements with known levels.
traced_factor <- function(x, levels, labels, ordered) {
  check_flag("ordered", ordered)
  if (is.null(levels)) {
    if (!inherits(dtype(x), "BooleanType")) abort_concrete("factor()", x)
    levels <- c(FALSE, TRUE)
  }
  if (is.null(levels(x))) {
    values <- values_like(x, levels, "levels")
    names <- as.character(levels)
    if (anyDuplicated(names)) abort_arg("levels", "levels of which no two are the same", "some that are")
    codes <- codes_among(x, values)
  } else {
    names <- as.character(levels)
    codes <- taken_or_none(match(levels(x), names, nomatch = 0L), codes_of(x))
  }
  labels <- if (is.null(labels)) names else as.character(labels)
  if (length(labels) == 1L && length(names) != 1L) labels <- paste0(labels, seq_along(names))
  if (length(labels) != length(names)) {
    abort_arg("labels", paste("one label, or one for each of the", length(names), "levels"), describe(labels))
  }
  # As in R, levels of one label become one.
  merged <- match(labels, unique(labels))
  if (anyDuplicated(labels)) codes <- taken_or_none(merged, codes)
  with_order(factor_of(codes, unique(labels)), ordered)
}

# Logicals as a factor, whose levels are known; anything else as it is.
with_known_levels <- function(x) {
  if (!is.null(levels(x)) || !inherits(dtype(x), "BooleanType")) return(x)
  factor_of(nv_convert(as_flat(x), "i32") + 1L, c("FALSE", "TRUE"))
}

# Known integers at codes, 0 where the code is.
taken_or_none <- function(values, codes) nv_subset(value_of(array(c(0L, values))), codes + 1L)

# The intervals between breaks in which elements are, 0 of what is in none.
interval_codes <- function(x, breaks, right, include.lowest) {
  x <- as_flat(x)
  count <- length(breaks)
  breaks <- if (is_traced(breaks)) nv_sort(as_flat(breaks)) else array(sort(as.vector(breaks)))
  codes <- nv_search_sorted(breaks, x, side = if (right) "left" else "right")
  if (include.lowest) {
    end <- if (right) breaks[1L] else breaks[count]
    codes <- nv_ifelse(nv_eq(x, end), if (right) 1L else count - 1L, codes)
  }
  nv_ifelse(codes >= count | nv_is_nan(x), 0L, codes)
}

# ---- several factors as one --------------------------------------------------------------------------------

# Whether a grouping, one or a list of several, is traced.
is_traced_grouping <- function(groups) {
  if (missing(groups)) return(FALSE)
  if (is.list(groups)) any_traced_in(unclass(groups)) else is_traced(groups)
}

# The groups of `count` elements by one or several factors of which some are traced: list(codes, levels), with
# the levels of each factor; 0 is the code of what is in no group.
grouping_of <- function(what, arg, groups, count) {
  if (!is.list(groups)) groups <- list(groups)
  codes <- 1L
  known <- TRUE
  stride <- 1L
  of_each <- list()
  for (i in seq_along(groups)) {
    group <- groups[[i]]
    if (is_traced(group)) group <- with_known_levels(group)
    if (is_selection(group) || is_traced(group) && is.null(levels(group))) abort_concrete(what, group)
    if (length(group) != count) {
      abort_arg(
        arg, paste("as long as what is grouped,", count), paste("of length", length(group))
      )
    }
    if (is_traced(group)) {
      of_each[[i]] <- as.vector(levels(group))
      own <- codes_of(group)
    } else {
      group <- as.factor(if (is_value(group)) as_array(group) else group)
      of_each[[i]] <- levels(group)
      own <- array(as.integer(group))
      own[is.na(own)] <- 0L
    }
    codes <- codes + (own - 1L) * stride
    known <- known & own > 0L
    stride <- stride * length(of_each[[i]])
  }
  names(of_each) <- names(groups)
  list(codes = nv_ifelse(known, codes, 0L), levels = of_each, count = stride)
}

# Selected elements and their groups as all elements, of which those that are not selected are in no group.
without_selection <- function(what, x, groups) {
  parts <- vector_parts(x)
  whole <- function(group) {
    own <- vector_parts(group)
    check_same_mask(parts, own)
    group <- with_known_levels(with_levels(own$values, group))
    if (is.null(levels(group))) abort_concrete(what, x)
    factor_of(nv_ifelse(parts$mask, codes_of(group), 0L), levels(group))
  }
  groups <- lapply(if (is.list(groups)) unclass(groups) else list(groups), function(group) {
    if (is_selection(group)) whole(group) else abort_concrete(what, x)
  })
  list(values = parts$values, groups = groups)
}

# The elements, or the rows, of each group.
in_groups <- function(x, groups) {
  lapply(seq_len(groups$count), function(i) rows_where(x, groups$codes == i))
}

# The elements of a vector, or the rows of a matrix or data frame, where a mask holds.
rows_where <- function(x, mask) {
  if (is.data.frame(x)) return(frame_rows(lapply(unclass(x), rows_where, mask)))
  if (!is_value(x)) x <- column_value(x)
  if (ndims(x) == 2L) x[mask, , drop = FALSE] else as_flat(x)[mask]
}

# A column of R's as a value: a factor, and strings as one, knows its levels.
column_value <- function(x) {
  if (is.character(x)) x <- factor(x, unique(x))
  if (!is.factor(x)) return(value_of(as_operand(if (is_operand(x)) x else as.vector(x))))
  with_order(factor_of(value_of(array(match(x, levels(x), nomatch = 0L))), levels(x)), is.ordered(x))
}

group_labels <- function(levels, sep = ".", lex.order = FALSE) {
  if (length(levels) == 1L) return(levels[[1L]])
  grid <- expand.grid(if (lex.order) rev(levels) else levels, stringsAsFactors = FALSE)
  do.call(paste, c(unname(as.list(if (lex.order) rev(grid) else grid)), sep = sep))
}

# What a reduction gives for all segments at once; NULL for any other function.
by_segments <- function(FUN, x, groups) {
  is <- function(name) is_function_of_r(FUN, name)
  count <- groups$count
  if (is("length")) return(nv_tabulate(groups$codes, count))
  if (is_complex_value(x)) return(NULL)
  reduce <- if (is("sum")) {
    nv_segment_sum
  } else if (is("mean")) {
    nv_segment_mean
  } else if (is("max")) {
    nv_segment_max
  } else if (is("min")) {
    nv_segment_min
  }
  if (!is.null(reduce)) reduce(x, groups$codes, count, mode = "drop")
}

# The answers for all groups, as tapply() puts them together; `default` is that of a group without elements.
answers_of_groups <- function(answers, groups, default, simplify) {
  sizes <- lengths(groups$levels)
  is_one <- function(x) !is_selection(x) && !is.list(x) && length(x) == 1L
  if (!is_value(answers)) {
    if (!simplify || !all(vapply(answers, is_one, NA))) {
      return(if (length(sizes) == 1L) setNames(answers, groups$levels[[1L]]) else {
        array(answers, sizes, groups$levels)
      })
    }
    answers <- joined(unname(answers))
  }
  if (is.numeric(default) || is.logical(default)) {
    has_elements <- nv_tabulate(groups$codes, groups$count) > 0L
    answers <- nv_ifelse(has_elements, answers, if (is.na(default)) NaN else default)
  }
  if (length(sizes) > 1L) answers <- nv_reshape(answers, sizes)
  from_r(with_names(answers, names_of_axes(groups$levels)))
}

# The levels of groups as names along axes, which have names of their own if any group does.
names_of_axes <- function(levels) if (any(nzchar(names(levels)))) levels else unname(levels)

# What table() calls its groups: as they are named, or by the variables that they are.
labels_of_groups <- function(written, given) {
  labels <- names(given) %||% character(length(given))
  written <- as.list(written)[-1L]
  # Of `...` it is not known what was written.
  if (length(written) != length(given)) return(labels)
  is_variable <- !nzchar(labels) & vapply(written, is.symbol, NA)
  labels[is_variable] <- vapply(written[is_variable], as.character, "")
  labels
}

# Values of groups put where the elements are: `x` with each group's value in its places.
placed_in_groups <- function(x, groups, values) {
  for (i in seq_along(values)) {
    x <- assigned(from_r(x), values[[i]], FALSE, groups$codes == i)
  }
  x
}

# ---- what the mask binds -----------------------------------------------------------------------------------

# Shares of counts are still those of a table.
parts_of_table <- function(x, margin) {
  out <- prop.table(x, margin)
  if (is_traced(out)) attr(out, "of_table") <- attr(x, "of_table")
  out
}

mask_groups <- list(
  levels = function(x) {
    if (is_traced(x) || is_selection(x)) return(plain_levels(x))
    called_from("levels", parent.frame())(x)
  },

  `levels<-` = function(x, value) {
    if (!is_traced_factor(x)) return(called_from("levels<-", parent.frame())(x, value))
    if (is.list(value) && length(names(value))) {
      # A list has the old levels of each new one.
      of_each <- rep(names(value), lengths(value))[match(levels(x), unlist(value))]
      new <- unique(names(value))
      codes <- taken_or_none(match(of_each, new, nomatch = 0L), codes_of(x))
      return(with_order(factor_of(codes, new), is_ordered(x)))
    }
    if (!is.character(value) || length(value) < length(levels(x))) {
      abort_arg("value", paste("strings, one for each of the", length(levels(x)), "levels"), describe(value))
    }
    # As in R, levels of one name become one.
    if (anyDuplicated(value)) return(traced_factor(x, levels(x), value, is_ordered(x)))
    factor_of(codes_of(x), `attributes<-`(value, attributes(levels(x))))
  },

  is.ordered = function(x) (is_traced(x) || is_selection(x)) && is_ordered(x) || is.ordered(x),

  factor = function(x = character(), levels, labels = levels, exclude = NA, ordered = is.ordered(x),
                    nmax = NA) {
    if (!is_traced(x)) return(own_call("factor", sys.call(), parent.frame()))
    given_labels <- if (!missing(labels)) labels
    given_levels <- if (!missing(levels)) levels
    traced_factor(x, given_levels, given_labels, if (missing(ordered)) is_ordered(x) else ordered)
  },

  ordered = function(x, ...) {
    if (!is_traced(x)) return(ordered(x, ...))
    mask_groups$factor(x, ..., ordered = TRUE)
  },

  as.ordered = function(x) {
    if (!is_traced(x)) return(as.ordered(x))
    with_order(mask_groups$as.factor(x))
  },

  as.factor = function(x) {
    if (!is_traced(x)) return(as.factor(x))
    x <- with_known_levels(x)
    if (is.null(levels(x))) abort_concrete("as.factor()", x)
    x
  },

  relevel = function(x, ref, ...) {
    if (!is_traced_factor(x)) return(stats::relevel(x, ref, ...))
    if (is_ordered(x)) abort_arg("x", "a factor that is not ordered, as in R", "an ordered one")
    levels <- levels(x)
    at <- if (is.character(ref)) match(ref, levels) else ref
    if (!is_whole(at) || !at %in% seq_along(levels)) {
      abort_arg("ref", paste0("one of \"", paste(levels, collapse = "\", \""), "\""), describe(ref))
    }
    traced_factor(x, c(levels[at], levels[-at]), NULL, FALSE)
  },

  droplevels = function(x, ...) {
    values <- if (is_traced_frame(x) || inherits(x, "AnvilRows")) unclass(x) else list(x)
    unknown <- Find(function(v) is_traced(v) || is_selection(v), values)
    if (!is.null(unknown)) abort_concrete("droplevels()", unknown)
    droplevels(x, ...)
  },

  interaction = function(..., drop = FALSE, sep = ".", lex.order = FALSE) {
    groups <- list(...)
    if (length(groups) == 1L && is.list(groups[[1L]])) groups <- as.list(groups[[1L]])
    if (!is_traced_grouping(groups)) return(interaction(..., drop = drop, sep = sep, lex.order = lex.order))
    if (!isFALSE(drop)) abort_arg("drop", "FALSE in a traced function", describe(drop))
    if (lex.order) groups <- rev(groups)
    groups <- grouping_of("interaction()", "...", groups, length(groups[[1L]]))
    levels <- if (lex.order) rev(groups$levels) else groups$levels
    factor_of(groups$codes, group_labels(levels, sep, lex.order))
  },

  cut = function(x, ...) {
    if (!any_traced(x, ...)) return(cut(x, ...))
    cut_of_values(x, ...)
  },

  match = function(x, table, nomatch = NA_integer_, incomparables = NULL) {
    if (!any_traced(x, table)) return(match(x, table, nomatch, incomparables))
    if (is_traced_factor(x) && is_traced(table) || is_traced_factor(table)) {
      alike <- labels_alike(x, table)
      return(positions_among(value_of(as_operand(alike[[1L]])), alike[[2L]], nomatch))
    }
    if (is_traced(table)) return(positions_among(value_of(as_operand(x)), table, nomatch))
    if (is.null(levels(x))) {
      # Numbers meet logicals as numbers here, other than for factor().
      if (inherits(dtype(x), "BooleanType") && is_numeric(table)) x <- nv_convert(x, "i32")
      if (is.logical(table) && !inherits(dtype(x), "BooleanType")) table <- as.integer(table)
      values <- values_like(x, table, "table")
      among <- unique(values)
      codes <- codes_among(x, among)
      if (length(among) < length(values)) codes <- taken_or_none(match(among, values), codes)
      count <- length(values)
    } else {
      codes <- taken_or_none(match(levels(x), as.character(table), nomatch = 0L), codes_of(x))
      count <- length(table)
    }
    if (is.na(nomatch)) checked_codes(codes, count) else nv_ifelse(codes > 0L, codes, as.integer(nomatch))
  },

  is.element = function(el, table) {
    if (any_traced(el, table)) nv_isin(as_operand(el), as_operand(table)) else is.element(el, table)
  },

  table = function(...) {
    given <- list(...)
    if (length(given) && is_traced_frame(given[[1L]])) {
      given <- as.list(given[[1L]])
    } else if (!identical(given$deparse.level, 0)) {
      names(given) <- labels_of_groups(substitute(list(...)), given)
    }
    options <- names(given) %in% c("exclude", "useNA", "dnn", "deparse.level")
    groups <- if (any(options)) given[!options] else given
    selected <- Find(is_selection, groups)
    if (!is.null(selected)) {
      groups <- without_selection("table()", selected, groups)$groups
    } else if (!is_traced_grouping(groups)) {
      return(own_call("table", sys.call(), parent.frame()))
    }
    if (!(given$useNA %||% "no")[1L] %in% "no") {
      abort_arg("useNA", "\"no\" in a traced function", describe(given$useNA))
    }
    if (!is.null(given$dnn)) names(groups) <- given$dnn
    groups <- grouping_of("table()", "...", groups, length(groups[[1L]]))
    sizes <- lengths(groups$levels)
    out <- nv_tabulate(groups$codes, groups$count)
    if (length(sizes) > 1L) out <- nv_reshape(out, sizes)
    out <- from_r(with_names(out, names_of_axes(groups$levels)))
    attr(out, "of_table") <- groups$levels
    out
  },

  # Of counts, a row for each of them.
  as.data.frame = function(x, ..., responseName = "Freq", stringsAsFactors = TRUE) {
    groups <- if (is_traced(x)) attr(x, "of_table")
    if (is.null(groups)) {
      out <- called_from("as.data.frame", parent.frame())(x, ...)
      # The one column of a vector has the name of what the user wrote.
      if (is_traced(x) && ndims(x) < 2L && identical(names(out), "x")) names(out) <- deparse1(substitute(x))
      return(out)
    }
    names <- names(groups) %||% character(length(groups))
    names(groups) <- ifelse(nzchar(names), names, paste0("Var", seq_along(groups)))
    grid <- expand.grid(groups, KEEP.OUT.ATTRS = FALSE, stringsAsFactors = stringsAsFactors)
    counts <- setNames(list(as_flat(unname(x))), responseName)
    frame_of(c(as.list(grid), counts), nrow(grid))
  },

  prop.table = function(x, margin = NULL) parts_of_table(x, margin),

  proportions = function(x, margin = NULL) parts_of_table(x, margin),

  contrasts = function(x, ...) {
    if (!is_traced_factor(x)) return(stats::contrasts(x, ...))
    check_dots(...)
    contrasts_of(x)
  },

  subset = function(x, subset, select, drop = FALSE, ...) {
    if (is_traced_frame(x) && !missing(subset)) {
      mask <- eval(substitute(subset), x, parent.frame())
      if (is_traced(mask)) {
        rows <- rows_where(x, mask)
        if (missing(select)) return(rows)
        at <- setNames(as.list(seq_along(x)), names(x))
        return(frame_rows(unclass(rows)[eval(substitute(select), at, parent.frame())]))
      }
    }
    if (is_value(x) && !missing(subset) && is_traced(subset)) return(rows_where(x, subset))
    own_call("subset", sys.call(), parent.frame())
  },

  split = function(x, f, drop = FALSE, ...) {
    if (!is_traced_grouping(f)) return(split(x, f, drop, ...))
    if (!isFALSE(drop)) abort_arg("drop", "FALSE in a traced function", describe(drop))
    groups <- grouping_of("split()", "f", f, if (is.data.frame(x)) nrow(x) else length(x))
    setNames(in_groups(x, groups), group_labels(groups$levels, ...))
  },

  `split<-` = function(x, f, drop = FALSE, ..., value) {
    if (!is_traced_grouping(f)) return(`split<-`(x, f, drop, ..., value = value))
    if (!is_operand(x)) abort_arg("x", "a tensor, or an R vector", describe(x))
    groups <- grouping_of("`split<-`", "f", f, length(x))
    placed_in_groups(value_of(as_operand(x)), groups, rep_len(as.list(value), groups$count))
  },

  unsplit = function(value, f, drop = FALSE) {
    if (is_traced_grouping(f)) {
      count <- length(if (is.list(f)) f[[1L]] else f)
      groups <- grouping_of("unsplit()", "f", f, count)
      if (!is.list(value) || length(value) != groups$count) {
        abort_arg("value", paste("a list of", groups$count, "elements, one for each group"), describe(value))
      }
      return(placed_in_groups(nv_fill(NaN, count, ambiguous = TRUE), groups, value))
    }
    if (!is.list(value) || is.data.frame(value[[1L]]) || !holds_tracer(value)) return(unsplit(value, f, drop))
    from_r(unsplit.AnvilValue(value, f, drop))
  },

  ave = function(x, ..., FUN = mean) {
    FUN <- reached(match.fun(FUN), parent.frame())
    if (!any_traced(...)) return(stats::ave(x, ..., FUN = FUN))
    groups <- grouping_of("ave()", "...", list(...), length(x))
    x <- as_flat(value_of(as_operand(x)))
    of_each <- by_segments(FUN, x, groups)
    if (is.null(of_each)) {
      return(placed_in_groups(x, groups, lapply(in_groups(x, groups), function(v) FUN(v))))
    }
    nv_ifelse(groups$codes > 0L, nv_subset(of_each, nv_max(groups$codes, 1L)), x)
  },

  tapply = function(X, INDEX, FUN = NULL, ..., default = NA, simplify = TRUE) {
    if (is.null(FUN)) return(tapply(X, INDEX, FUN, ..., default = default, simplify = simplify))
    FUN <- reached(match.fun(FUN), parent.frame())
    if (is_selection(X)) {
      of_rows <- without_selection("tapply()", X, INDEX)
      X <- of_rows$values
      INDEX <- of_rows$groups
    }
    if (is_traced_grouping(INDEX)) {
      groups <- grouping_of("tapply()", "INDEX", INDEX, length(X))
      x <- as_flat(value_of(as_operand(X)))
      answers <- if (!...length() && simplify) by_segments(FUN, x, groups)
      answers <- answers %||% lapply(in_groups(x, groups), FUN, ...)
      return(answers_of_groups(answers, groups, default, simplify))
    }
    groups <- function() tapply(seq_along(X), INDEX, function(at) at, simplify = FALSE)
    if (!is_traced(X)) {
      call <- function(f) tapply(X, INDEX, f, ..., default = default, simplify = simplify)
      return(recorded(FUN, call, function(answers) over_groups(answers, groups(), default, simplify)))
    }
    groups <- groups()
    X <- as_flat(X)
    answers <- lapply(groups[lengths(groups) > 0L], function(at) FUN(X[array(at)], ...))
    over_groups(unname(answers), groups, default, simplify)
  },

  by = function(data, INDICES, FUN, ..., simplify = TRUE) {
    FUN <- reached(match.fun(FUN), parent.frame())
    if (is_traced_grouping(INDICES)) {
      count <- if (length(dim(data)) == 2L) nrow(data) else length(data)
      groups <- grouping_of("by()", "INDICES", INDICES, count)
      return(answers_of_groups(lapply(in_groups(data, groups), FUN, ...), groups, NA, simplify))
    }
    if (!is_traced(data) && !is_traced_frame(data)) return(by(data, INDICES, FUN, ..., simplify = simplify))
    of_rows <- length(dim(data)) == 2L
    count <- if (of_rows) nrow(data) else length(data)
    groups <- tapply(seq_len(count), INDICES, function(at) at, simplify = FALSE)
    answers <- lapply(groups[lengths(groups) > 0L], function(at) {
      FUN(if (of_rows) data[array(at), , drop = FALSE] else data[array(at)], ...)
    })
    over_groups(unname(answers), groups, NA, simplify)
  }
)

# cut() of traced values, or at traced breaks; arguments are those of cut.default().
cut_of_values <- function(x, breaks, labels = NULL, include.lowest = FALSE, right = TRUE, dig.lab = 3L,
                          ordered_result = FALSE, ...) {
  check_dots(...)
  check_flag("include.lowest", include.lowest)
  check_flag("right", right)
  check_flag("ordered_result", ordered_result)
  if (missing(breaks)) abort_missing("breaks")
  if (is_whole(breaks) && breaks >= 2) breaks <- breaks_for_cut(value_of(as_operand(x)), breaks)
  if (!is_operand(breaks) || length(breaks) < 2L) {
    abort_arg("breaks", "the ends of the intervals, or how many these are", describe(breaks))
  }
  count <- length(breaks) - 1L
  if (!is_traced(breaks)) {
    breaks <- if (is_value(breaks)) as.vector(as_array(breaks)) else breaks
    known <- if (is.null(labels) || isFALSE(labels) || length(labels) == count) {
      by_base(cut(numeric(), breaks, labels, include.lowest, right, dig.lab))
    }
  } else if (is.null(labels)) {
    abort_arg("labels", "FALSE or given for traced breaks", "left out", "Those of R are made of the breaks.")
  }
  codes <- interval_codes(value_of(as_operand(x)), breaks, right, include.lowest)
  if (isFALSE(labels)) return(checked_codes(codes, count))
  labels <- if (is.null(labels)) levels(known) else as.character(labels)
  if (length(labels) != count) {
    abort_arg("labels", paste("one for each of the", count, "intervals, or FALSE"), describe(labels))
  }
  with_order(factor_of(codes, labels), ordered_result)
}

# The ends of so many intervals of equal length, as cut.default() computes them.
breaks_for_cut <- function(x, count) {
  ends <- range(x, na.rm = TRUE)
  width <- ends[2L] - ends[1L]
  is_point <- width == 0
  margin <- nv_ifelse(is_point, abs(ends[1L]), width) / 1000
  low <- ends[1L] - margin
  high <- ends[2L] + margin
  steps <- seq_len(count - 1) / count
  between <- nv_ifelse(is_point, low, ends[1L]) + steps * nv_ifelse(is_point, high - low, width)
  joined(list(low, between, high))
}

# nolint end

/* The C side of the border between R and Rust.
 *
 * Each Rust entry point returns an object and a status. What R needs a jump for (an error, an interrupt that goes on) is
 * done here, when no Rust frame is on the stack any more. */
#ifdef _WIN32
#include <windows.h>
#else
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#endif
#include <setjmp.h>
#include <stdlib.h>
#define R_NO_REMAP
#define STRICT_R_HEADERS
#include <R_ext/Rdynload.h>
#include <R_ext/Visibility.h>
#include <Rinternals.h>
#include <Rversion.h>

/* ---- R errors on the way out of a callback ---- */

static void jump_back(void *buffer, Rboolean jump) {
  if (jump) longjmp(*(jmp_buf *)buffer, 1);
}

/* Runs f(data); returns 1 if R tried to jump out of it, with the jump kept in `token`. */
int anvil_protected(SEXP (*f)(void *), void *data, SEXP token, SEXP *out) {
  jmp_buf buffer;
  if (setjmp(buffer)) return 1;
  *out = R_UnwindProtect(f, data, jump_back, &buffer, token);
  return 0;
}

/* ---- memory ---- */

typedef struct {
  unsigned int type;
  R_xlen_t length;
} wanted_vector;

static SEXP make_vector(void *data) {
  wanted_vector *wanted = data;
  return Rf_allocVector(wanted->type, wanted->length);
}

static SEXP no_vector(SEXP condition, void *data) {
  (void)condition;
  (void)data;
  return R_NilValue;
}

/* A vector; NULL where R has no memory for it. Its error is caught before R shows it to anyone. */
SEXP anvil_try_vector(int type, R_xlen_t length) {
  wanted_vector wanted = {(unsigned int)type, length};
  return R_tryCatchError(make_vector, &wanted, no_vector, NULL);
}

/* ---- references, attributes and environments ---- */

/* Whether there is more than one reference to an object. */
int anvil_is_shared(SEXP x) { return MAYBE_SHARED(x); }

/* What a jitted function is called with has three references where nothing but the caller's variable refers to it; R's
 * API tells one from more. The function that counts them is no part of it: it is looked up when the package is loaded,
 * and without it, or with ANVIL_R_API_ONLY in the environment, arguments are never donated, but copied. */
static int (*count_references)(SEXP) = NULL;

int anvil_counts_references(void) { return count_references != NULL; }

int anvil_is_argument_shared(SEXP x) { return !count_references || count_references(x) > 3; }

static void find_count(void) {
  union { void *address; int (*count)(SEXP); } found = {NULL};
  if (!getenv("ANVIL_R_API_ONLY")) {
#ifdef _WIN32
    HMODULE r = GetModuleHandleA("R.dll");
    if (r) found.count = (int (*)(SEXP))(void (*)(void))GetProcAddress(r, "REFCNT");
#else
    found.address = dlsym(RTLD_DEFAULT, "REFCNT");
#endif
  }
  count_references = found.count;
}

typedef int (*test)(SEXP tag, SEXP value, void *data);

#if R_VERSION >= R_Version(4, 6, 0)
struct tested {
  test passes;
  void *data;
};

static SEXP failed(SEXP tag, SEXP value, void *data) {
  struct tested *tested = data;
  return tested->passes(tag, value, tested->data) ? NULL : R_NilValue;
}
#endif

/* Whether all attributes of an object pass a test. */
int anvil_all_attributes(SEXP x, test passes, void *data) {
#if R_VERSION >= R_Version(4, 6, 0)
  struct tested tested = {passes, data};
  return R_mapAttrib(x, failed, &tested) == NULL;
#else
  SEXP rest = ATTRIB(x);
  while (rest != R_NilValue && passes(TAG(rest), CAR(rest), data)) rest = CDR(rest);
  return rest == R_NilValue;
#endif
}

/* The environment of a closure. */
SEXP anvil_closure_environment(SEXP x) {
#if R_VERSION >= R_Version(4, 5, 0)
  return R_ClosureEnv(x);
#else
  return CLOENV(x);
#endif
}

/* ---- the life of the library ---- */

/* Has the system keep the library until the process ends, also when R unloads it: R holds vectors, pointers and threads
 * that will call its functions. */
static void stay(void) {
#ifdef _WIN32
  HMODULE self;
  GetModuleHandleExA(GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (LPCSTR)(void (*)(void))stay, &self);
#else
  Dl_info self;
  if (dladdr((void *)&count_references, &self)) dlopen(self.dli_fname, RTLD_LAZY | RTLD_NODELETE);
#endif
}

/* ---- what a status asks for; the numbers are those of guard.rs ---- */

enum { OK, CONDITION, JUMP, MISS };

static SEXP namespace = NULL;

/* Calls an internal function of the package on one object, which is not evaluated. */
SEXP anvil_call_r(const char *function, SEXP x) {
  PROTECT(x);
  SEXP quoted = PROTECT(Rf_lang2(Rf_install("quote"), x));
  SEXP call = PROTECT(Rf_lang2(Rf_install(function), quoted));
  SEXP out = Rf_eval(call, namespace);
  UNPROTECT(3);
  return out;
}

static SEXP finish(SEXP x, int status) {
  switch (status) {
    case OK:
      return x;
    case CONDITION:
      return anvil_call_r("signal_error", x);
    case MISS:
      return anvil_call_r("jit_miss", x);
    default:
      PROTECT(x);
      R_ContinueUnwind(x);
      return R_NilValue;
  }
}

#define ENTRY0(name)                   \
  SEXP rs_##name(int *);               \
  static SEXP anvil_##name(void) {     \
    int status = OK;                   \
    SEXP x = rs_##name(&status);       \
    return finish(x, status);          \
  }
#define ENTRY1(name)                   \
  SEXP rs_##name(SEXP, int *);         \
  static SEXP anvil_##name(SEXP a) {   \
    int status = OK;                   \
    SEXP x = rs_##name(a, &status);    \
    return finish(x, status);          \
  }
#define ENTRY2(name)                         \
  SEXP rs_##name(SEXP, SEXP, int *);         \
  static SEXP anvil_##name(SEXP a, SEXP b) { \
    int status = OK;                         \
    SEXP x = rs_##name(a, b, &status);       \
    return finish(x, status);                \
  }
#define ENTRY3(name)                                 \
  SEXP rs_##name(SEXP, SEXP, SEXP, int *);           \
  static SEXP anvil_##name(SEXP a, SEXP b, SEXP c) { \
    int status = OK;                                 \
    SEXP x = rs_##name(a, b, c, &status);            \
    return finish(x, status);                        \
  }
#define ENTRY4(name)                                         \
  SEXP rs_##name(SEXP, SEXP, SEXP, SEXP, int *);             \
  static SEXP anvil_##name(SEXP a, SEXP b, SEXP c, SEXP d) { \
    int status = OK;                                         \
    SEXP x = rs_##name(a, b, c, d, &status);                 \
    return finish(x, status);                                \
  }
#define ENTRY5(name)                                                 \
  SEXP rs_##name(SEXP, SEXP, SEXP, SEXP, SEXP, int *);               \
  static SEXP anvil_##name(SEXP a, SEXP b, SEXP c, SEXP d, SEXP e) { \
    int status = OK;                                                 \
    SEXP x = rs_##name(a, b, c, d, e, &status);                      \
    return finish(x, status);                                        \
  }

#define ENTRY6(name)                                                         \
  SEXP rs_##name(SEXP, SEXP, SEXP, SEXP, SEXP, SEXP, int *);                 \
  static SEXP anvil_##name(SEXP a, SEXP b, SEXP c, SEXP d, SEXP e, SEXP f) { \
    int status = OK;                                                         \
    SEXP x = rs_##name(a, b, c, d, e, f, &status);                           \
    return finish(x, status);                                                \
  }

ENTRY1(op)
ENTRY1(ops)
ENTRY1(subset)
ENTRY1(subset_assign)
ENTRY1(jit_call)
ENTRY1(jit_new)
ENTRY1(jit_spec)
ENTRY2(jit_snapshot)
ENTRY1(jit_find)
ENTRY6(jit_store)
ENTRY1(jit_info)
ENTRY1(code)
ENTRY2(deeper)
ENTRY1(leaves)
ENTRY2(paths)
ENTRY2(refill)
ENTRY1(items)
ENTRY2(with_items)
ENTRY0(handles)
ENTRY2(trace_inputs)
ENTRY2(trace_finish)
ENTRY2(trace_lift)
ENTRY0(trace_depth)
ENTRY2(same)
ENTRY2(equal)
ENTRY1(is_own_object)
ENTRY2(bound)
ENTRY2(graph_text)
ENTRY5(tensor)
ENTRY3(tensor_around)
ENTRY2(to_r)
ENTRY1(tensor_data)
ENTRY2(lines)
ENTRY2(footer)
ENTRY1(summary)
ENTRY1(dtype)
ENTRY1(shape)
ENTRY1(ambiguous)
ENTRY1(select)
ENTRY1(selected)
ENTRY1(dtype_name)
ENTRY5(common_dtype)
ENTRY1(rules_name)
ENTRY3(settings_choose)
ENTRY1(settings_forget)
ENTRY0(default_dtypes)
ENTRY1(audit_entries)
ENTRY1(graph_types)
ENTRY3(promotable)
ENTRY3(promotion_path)
ENTRY3(pull_back)
ENTRY3(push_forward)
ENTRY2(linearize)
ENTRY2(inline)
ENTRY4(stack)
ENTRY3(branch)
ENTRY4(repeat)
ENTRY4(scan)
ENTRY3(custom)
ENTRY4(callback)
ENTRY5(stablehlo)
ENTRY2(plan)
ENTRY0(threads)
ENTRY0(threads_ignored)
ENTRY1(file_target)
ENTRY2(file_like)
ENTRY2(crc32)
ENTRY1(fail)
ENTRY1(init)

/* ---- extents: what holds while a function of R runs (extent.rs) ---- */

struct marks {
  size_t traces, settings, audits;
};
struct marks rs_extent_marks(void);
void rs_extent_end(struct marks);

struct extent {
  struct marks before;
  SEXP opened, function, environment;
};

static SEXP run_extent(void *data) {
  struct extent *extent = data;
  PROTECT(extent->opened);
  SEXP call = PROTECT(Rf_lang2(extent->function, extent->opened));
  SEXP out = Rf_eval(call, extent->environment);
  UNPROTECT(2);
  return out;
}

static void end_extent(void *data) { rs_extent_end(((struct extent *)data)->before); }

/* Calls a function, named by a symbol in an environment, on what was opened. Between the opening and R_ExecWithCleanup()
 * R neither evaluates nor allocates, so that no interrupt, error or finalizer can come between. */
static SEXP within(struct extent extent, int status) {
  if (status != OK) return finish(extent.opened, status);
  return R_ExecWithCleanup(run_extent, &extent, end_extent, &extent);
}

#define EXTENT0(name, open)                                                        \
  SEXP rs_##open(int *);                                                           \
  static SEXP anvil_##name(SEXP function, SEXP environment) {                      \
    int status = OK;                                                               \
    struct extent extent = {rs_extent_marks(), R_NilValue, function, environment}; \
    extent.opened = rs_##open(&status);                                            \
    return within(extent, status);                                                 \
  }
#define EXTENT2(name, open)                                                        \
  SEXP rs_##open(SEXP, SEXP, int *);                                               \
  static SEXP anvil_##name(SEXP a, SEXP b, SEXP function, SEXP environment) {      \
    int status = OK;                                                               \
    struct extent extent = {rs_extent_marks(), R_NilValue, function, environment}; \
    extent.opened = rs_##open(a, b, &status);                                      \
    return within(extent, status);                                                 \
  }

EXTENT2(in_trace, trace_open)
EXTENT2(by_settings, settings_open)
EXTENT0(in_audit, audit_open)

/* Called once by .onLoad(): where to find the functions that C and Rust call, such as signal_error(). */
static SEXP anvil_load(SEXP environment, SEXP s4) {
  find_count();
  R_PreserveObject(environment);
  /* That of a package that was unloaded. */
  if (namespace) R_ReleaseObject(namespace);
  namespace = environment;
  return anvil_init(s4);
}

/* ---- registration ---- */

#define CALL(name, n) {"anvil_" #name, (DL_FUNC)&anvil_##name, n}

static const R_CallMethodDef calls[] = {
    CALL(jit_new, 1),      CALL(jit_spec, 1),   CALL(jit_snapshot, 2), CALL(jit_store, 6),  CALL(jit_info, 1),
    CALL(code, 1),         CALL(deeper, 2),     CALL(leaves, 1),       CALL(paths, 2),      CALL(refill, 2),
    CALL(items, 1),        CALL(with_items, 2),
    CALL(handles, 0),      CALL(in_trace, 4),   CALL(trace_inputs, 2), CALL(trace_finish, 2), CALL(trace_lift, 2),
    CALL(trace_depth, 0),  CALL(same, 2),  CALL(equal, 2),  CALL(is_own_object, 1),  CALL(bound, 2),
    CALL(graph_text, 2),   CALL(tensor_around, 3), CALL(tensor, 5),     CALL(to_r, 2), CALL(tensor_data, 1),        CALL(lines, 2),      CALL(footer, 2),
    CALL(summary, 1),      CALL(dtype, 1),      CALL(shape, 1),        CALL(ambiguous, 1),  CALL(dtype_name, 1),
    CALL(select, 1),       CALL(selected, 1),
    CALL(common_dtype, 5), CALL(rules_name, 1), CALL(promotable, 3),   CALL(promotion_path, 3),
    CALL(by_settings, 4),  CALL(settings_choose, 3), CALL(settings_forget, 1), CALL(default_dtypes, 0), CALL(in_audit, 2), CALL(audit_entries, 1),
    CALL(graph_types, 1),
    CALL(pull_back, 3),    CALL(push_forward, 3), CALL(linearize, 2),    CALL(inline, 2),       CALL(stack, 4),
    CALL(branch, 3),     CALL(repeat, 4),       CALL(scan, 4),       CALL(custom, 3),     CALL(callback, 4),
    CALL(stablehlo, 5),    CALL(plan, 2),       CALL(threads, 0),
    CALL(threads_ignored, 0), CALL(file_target, 1), CALL(file_like, 2), CALL(crc32, 2), CALL(fail, 1),         CALL(load, 2),       {NULL, NULL, 0}};

static const R_ExternalMethodDef externals[] = {
  CALL(op, -1), CALL(ops, -1), CALL(subset, -1), CALL(subset_assign, -1), CALL(jit_call, -1),
  CALL(jit_find, -1), {NULL, NULL, 0}
};

void anvil_register(DllInfo *, const R_CallMethodDef *);

void attribute_visible R_init_anvil(DllInfo *dll) {
  stay();
  anvil_register(dll, calls);
  /* NULL tables leave what is registered alone. */
  R_registerRoutines(dll, NULL, NULL, NULL, externals);
  R_useDynamicSymbols(dll, FALSE);
}

// Names in C, and texts in comments.
#include <ctype.h>
#include <string.h>

#include "lib/base/sizes.h"
#include "lib/codegen/codegen_internal.h"

static const char *const keywords[] = {"alignas",      "alignof",
                                       "and",          "and_eq",
                                       "asm",          "auto",
                                       "bitand",       "bitor",
                                       "block",        "bool",
                                       "break",        "case",
                                       "catch",        "char",
                                       "class",        "compl",
                                       "concept",      "const",
                                       "const_cast",   "constexpr",
                                       "continue",     "decltype",
                                       "default",      "delete",
                                       "do",           "double",
                                       "dynamic_cast", "else",
                                       "enum",         "explicit",
                                       "export",       "extern",
                                       "false",        "float",
                                       "for",          "friend",
                                       "goto",         "if",
                                       "inline",       "int",
                                       "long",         "main",
                                       "memcpy",       "mutable",
                                       "namespace",    "new",
                                       "noexcept",     "not",
                                       "not_eq",       "nullptr",
                                       "operator",     "or",
                                       "or_eq",        "private",
                                       "protected",    "public",
                                       "register",     "reinterpret_cast",
                                       "requires",     "restrict",
                                       "return",       "short",
                                       "signed",       "sizeof",
                                       "static",       "static_assert",
                                       "static_cast",  "struct",
                                       "switch",       "template",
                                       "this",         "thread_local",
                                       "throw",        "true",
                                       "try",          "typedef",
                                       "typeid",       "typename",
                                       "union",        "unsigned",
                                       "using",        "virtual",
                                       "void",         "volatile",
                                       "wchar_t",      "while",
                                       "xor",          "xor_eq",
                                       "arena",        "int8_t",
                                       "int16_t",      "int32_t",
                                       "int64_t",      "uint8_t",
                                       "uint16_t",     "uint32_t",
                                       "uint64_t",     "uintptr_t",
                                       "size_t",       "NULL",
                                       "NAN",          "INFINITY",
                                       "memset"};

// What names of macros of <stdint.h> and <math.h> begin with.
static const char *const macros[] = {"INT", "UINT", "SIZE_MAX", "HUGE_VAL", "FP_", "M_", "MATH_", "DQ_", "__"};

static bool is_keyword(const char *text) {
  for (int i = 0; i < DQ_COUNT(keywords); i++)
    if (!strcmp(text, keywords[i])) return true;
  return false;
}

static bool begins_as_macro(const char *text) {
  for (int i = 0; i < DQ_COUNT(macros); i++)
    if (!strncmp(text, macros[i], strlen(macros[i]))) return true;
  return false;
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool dq_codegen_is_name(const char *text) {
  if (!is_letter(text[0]) || strlen(text) > 63 || is_keyword(text)) return false;
  for (const char *c = text; *c; c++)
    if (!is_letter(*c) && !is_digit(*c) && *c != '_') return false;
  return true;
}

char *dq_codegen_identifier(dq_arena *arena, const char *text) {
  bool plain = is_letter(text[0]) && !is_keyword(text) && !begins_as_macro(text);
  char *name = dq_arena_printf(arena, "%s%.48s", plain ? "" : "v_", text);
  for (char *c = name; c && *c; c++)
    if (!is_letter(*c) && !is_digit(*c)) *c = '_';
  return name;
}

void dq_codegen_comment(FILE *to, const char *text) {
  for (const char *c = text; *c; c++) {
    bool plain = *c >= ' ' && *c <= '~' && *c != '\\' && *c != '*' && *c != '?';
    fputc(plain || (*c == '*' && c[1] != '/' && (c == text || c[-1] != '/')) ? *c : '_', to);
  }
}

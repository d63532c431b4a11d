// Texts of recognizers and names of classes, by hand: lists in Python and JSON, lines, dictionaries by their number of
// lines, and the best class of each step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/decode/text/ctc.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) < 1e-9)
#define CLOSE(a, b) assert_true(fabs((a) - (b)) < 1e-6) // of float32

static void check_names(dq_names *names, int64_t count, const char *const *expected) {
  assert_int_equal(names->count, count);
  for (int64_t i = 0; i < count; i++) assert_string_equal(names->items[i], expected[i]);
  dq_names_deinit(names);
}

static void check_literal(const char *text, int64_t count, const char *const *expected) {
  dq_names names;
  dq_error error = {0};
  assert_int_equal(dq_names_parse(&names, text, NULL, &error), DQ_OK);
  check_names(&names, count, expected);
}

static void literals(void **state) {
  (void)state;
  check_literal("{0: 'person', 1: 'it\\'s', 2: \"it's\"}", 3, (const char *[]){"person", "it's", "it's"});
  check_literal("{\"1\": \"b\", \"0\": \"a\"}", 2, (const char *[]){"a", "b"});
  check_literal(" { 2 : 'c' , '0' : 'a' , } ", 3, (const char *[]){"a", "", "c"});
  check_literal("[\"a\", 'b',]", 2, (const char *[]){"a", "b"});
  check_literal("['']", 1, (const char *[]){""});
  check_literal("[]", 0, NULL);
  check_literal("{}", 0, NULL);
  check_literal(
      "['\\\\\\\"\\/\\n\\t\\r\\b\\f', '\\x41\\xe9\\u00e9\\u4e2d\\U0001F600', \"\\ud83d\\ude00\\udbff\\udfff\", '中']",
      4, (const char *[]){"\\\"/\n\t\r\b\f", "Aéé中😀", "😀\xf4\x8f\xbf\xbf", "中"});
}

static void literals_that_are_none(void **state) {
  (void)state;
  const char *const bad[] = {"",
                             "person",
                             "{",
                             "[",
                             "{0: 'a'",
                             "['a'",
                             "['a' 'b']",
                             "[,]",
                             "{0 'a'}",
                             "{: 'a'}",
                             "{-1: 'a'}",
                             "{0: a}",
                             "{0: 'a\"}",
                             "['a'] x",
                             "['a\\",
                             "['\\",
                             "['\\q']",
                             "['\\x4']",
                             "['\\u12']",
                             "['\\ud83d']",
                             "['\\ud83d\\u0041']",
                             "['\\ude00']",
                             "['\\u0000']",
                             "['\\U00110000']",
                             "['a\n']",
                             "['\xff']",
                             "{0: 'a', 0: 'b'}",
                             "{1048576: 'a'}",
                             "{99999999999999999999: 'a'}",
                             "{'0: 'a'}",
                             "[0]",
                             "{0: ['a']}",
                             NULL};
  dq_names names;
  dq_error error = {0};
  for (int i = 0; bad[i]; i++) {
    assert_int_equal(dq_names_parse(&names, bad[i], NULL, &error), DQ_BAD_INPUT);
    assert_null(names.items);
  }
  assert_int_equal(dq_names_parse(&names, "{0: 'a', 1 'b'}", NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "byte 11: cannot be read at ''b'}'");
  assert_int_equal(dq_names_parse(&names, "{1048575: 'a'}", NULL, &error), DQ_OK); // the highest class
  assert_int_equal(names.count, 1048576);
  dq_names_deinit(&names);
  dq_budget budget = {.limit = 1 << 20};
  assert_int_equal(dq_names_parse(&names, "{1048575: 'a'}", &(dq_context){.budget = &budget}, &error), DQ_SYSTEM);
}

static void check_lines(const char *text, int64_t count, const char *const *expected) {
  dq_names names;
  dq_error error = {0};
  assert_int_equal(dq_names_of_lines(&names, text, strlen(text), NULL, &error), DQ_OK);
  check_names(&names, count, expected);
}

static void lines(void **state) {
  (void)state;
  check_lines("a\nb\n", 2, (const char *[]){"a", "b"});
  check_lines("\xef\xbb\xbf"
              "a\r\n\r\nthree words\r\n中",
              4, (const char *[]){"a", "", "three words", "中"});
  check_lines(" \n\n", 2, (const char *[]){" ", ""});
  check_lines("a\rb\r", 1, (const char *[]){"a\rb"});
  check_lines("", 0, NULL);
  dq_names names;
  dq_error error = {0};
  assert_int_equal(dq_names_of_lines(&names, "a\nb\xc3\n", 5, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "line 2 is not UTF-8, or has a zero byte");
  assert_int_equal(dq_names_of_lines(&names, "a\nb\xe4\xb8\xad", 5, NULL, &error), DQ_BAD_INPUT); // cut off
  assert_int_equal(dq_names_of_lines(&names, "a\0b", 3, NULL, &error), DQ_BAD_INPUT);
  char *many = malloc(DQ_MOST_NAMES + 1);
  memset(many, '\n', DQ_MOST_NAMES + 1);
  assert_int_equal(dq_names_of_lines(&names, many, DQ_MOST_NAMES + 1, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "1048577 lines, expected at most 1048576");
  assert_int_equal(dq_names_of_lines(&names, many, DQ_MOST_NAMES, NULL, &error), DQ_OK);
  dq_names_deinit(&names);
  free(many);
}

static void names_of_models(void **state) {
  (void)state;
  dq_names names;
  dq_error error = {0};
  assert_int_equal(dq_names_of_model(&names, &(dq_metadata){.names = "['a']", .character = "b"}, NULL, &error), DQ_OK);
  check_names(&names, 1, (const char *[]){"a"});
  assert_int_equal(dq_names_of_model(&names, &(dq_metadata){.character = "text\ntitle"}, NULL, &error), DQ_OK);
  check_names(&names, 2, (const char *[]){"text", "title"});
  assert_int_equal(dq_names_of_model(&names, &(dq_metadata){0}, NULL, &error), DQ_OK);
  check_names(&names, 0, NULL);
  assert_int_equal(dq_names_of_model(&names, &(dq_metadata){.names = "a"}, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "metadata property 'names': byte 0: cannot be read at 'a'");
}

// The texts of classes 0 to classes - 1 and what follows, one behind the other with bars between them.
static void check_dictionary(const char *text, int64_t classes, const char *expected) {
  dq_dictionary dictionary;
  dq_error error = {0};
  char all[64] = "";
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = text}, classes, NULL, &error),
                   DQ_OK);
  for (int64_t i = 0; dq_dictionary_text(&dictionary, i); i++)
    strcat(strcat(all, dq_dictionary_text(&dictionary, i)), "|");
  assert_string_equal(all, expected);
  assert_null(dq_dictionary_text(&dictionary, -1));
  assert_null(dq_dictionary_text(&dictionary, INT64_MAX));
  dq_dictionary_deinit(&dictionary);
}

static void dictionaries(void **state) {
  (void)state;
  dq_dictionary dictionary;
  dq_error error = {0};
  check_dictionary("-\na\n\nbc", 4, "-|a||bc|");
  check_dictionary("-\na\n\nbc", 0, "-|a||bc|");
  check_dictionary("a\nb", 3, "|a|b|");
  check_dictionary("a\nb\n", 4, "|a|b| |");
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = "a\nb"}, 5, NULL, &error),
                   DQ_BAD_INPUT);
  assert_string_equal(error.message, "metadata property 'character': a dictionary of 2 lines for 5 classes");
  assert_string_equal(error.hint, "expected a line for each class, or one fewer (the blank in front), or two fewer "
                                  "(and a space behind)");
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = "a\nb"}, 1, NULL, &error),
                   DQ_BAD_INPUT);
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = ""}, 2, NULL, &error), DQ_BAD_INPUT);
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){0}, 2, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "the model has no metadata property 'character' with a dictionary");
}

static void dictionaries_in_files(void **state) {
  (void)state;
  char path[] = "/tmp/test_text.XXXXXX", expected[80];
  dq_dictionary dictionary;
  dq_error error = {0};
  const int file = mkstemp(path);
  assert_true(file >= 0);
  assert_int_equal(write(file,
                         "\xef\xbb\xbf"
                         "a\r\nb\r\n",
                         9),
                   9);
  close(file);
  assert_int_equal(dq_dictionary_read(&dictionary, path, 3, NULL, &error), DQ_OK);
  assert_string_equal(dq_dictionary_text(&dictionary, 2), "b");
  dq_dictionary_deinit(&dictionary);
  assert_int_equal(dq_dictionary_read(&dictionary, path, 9, NULL, &error), DQ_BAD_INPUT);
  snprintf(expected, sizeof expected, "%s: a dictionary of 2 lines for 9 classes", path);
  assert_string_equal(error.message, expected);
  unlink(path);
  assert_int_equal(dq_dictionary_read(&dictionary, path, 9, NULL, &error), DQ_SYSTEM);
}

static dq_ctc read_ctc(const dq_tensor *output, int64_t item, int64_t blank) {
  dq_ctc ctc;
  dq_error error = {0};
  assert_int_equal(dq_ctc_read(&ctc, output, item, blank, NULL, &error), DQ_OK);
  return ctc;
}

static void check_ctc(dq_ctc *ctc, int64_t count, const int64_t *classes, double score) {
  assert_int_equal(ctc->count, count);
  for (int64_t i = 0; i < count; i++) assert_int_equal(ctc->classes[i], classes[i]);
  CLOSE(ctc->score, score);
  dq_ctc_deinit(ctc);
}

// Steps 1 1 0 1 2 2 0 are the classes 1 1 2, with the scores of the first steps of each.
static void best_classes_of_steps(void **state) {
  (void)state;
  float values[2][7][3] = {{{0.1f, 0.8f, 0.1f},
                            {0, 1, 0},
                            {0.75f, 0.25f, 0},
                            {0.25f, 0.5f, 0.25f},
                            {0.1f, 0.3f, 0.6f},
                            {0, 0, 1},
                            {1, 0, 0}}};
  memcpy(values[1], values[0], sizeof values[1]);
  const dq_tensor two = {DQ_F32, 3, {2, 7, 3}, values}, turned = {DQ_F32, 3, {7, 1, 3}, values};
  assert_int_equal(dq_ctc_classes(&two), 3);
  for (int item = 0; item < 2; item++) {
    dq_ctc ctc = read_ctc(&two, item, 0);
    check_ctc(&ctc, 3, (int64_t[]){1, 1, 2}, (0.8 + 0.5 + 0.6) / 3);
  }
  dq_ctc ctc = read_ctc(&turned, 0, 0);
  check_ctc(&ctc, 3, (int64_t[]){1, 1, 2}, (0.8 + 0.5 + 0.6) / 3);
  ctc = read_ctc(&two, 0, 2); // another blank
  check_ctc(&ctc, 4, (int64_t[]){1, 0, 1, 0}, (0.8 + 0.75 + 0.5 + 1) / 4);
  for (int i = 0; i < 21; i++) values[0][i / 3][i % 3] = i % 3 == 0;
  ctc = read_ctc(&two, 0, 0); // blanks alone
  check_ctc(&ctc, 0, NULL, 0);
}

// Logits 0, ln 3, 0 are probabilities 1/5, 3/5, 1/5. What is not finite is no score.
static void logits_and_what_is_no_number(void **state) {
  (void)state;
  float values[5][3] = {
      {0, logf(3), 0}, {NAN, 2, 2}, {NAN, NAN, INFINITY}, {-INFINITY, -7, -7 + logf(4)}, {800, -800, 0}};
  const dq_tensor output = {DQ_F32, 3, {1, 5, 3}, values};
  dq_ctc ctc = read_ctc(&output, 0, 0);
  check_ctc(&ctc, 2, (int64_t[]){1, 2}, (0.6 + 0.8) / 2);                // 1 1 blank 2 blank
  for (int i = 0; i < 3; i++) values[0][i] = logf(i == 1 ? 0.6f : 0.2f); // logarithms of probabilities
  ctc = read_ctc(&output, 0, 0);
  check_ctc(&ctc, 2, (int64_t[]){1, 2}, (0.6 + 0.8) / 2);
}

static void classes_of_steps(void **state) {
  (void)state;
  float values[2][5] = {{0, 3, 3, 0, 3}, {1, 2, 1, 0, 0}};
  int64_t wide[5] = {5, 5, 0, 4, 0};
  const dq_tensor floats = {DQ_F32, 2, {2, 5}, values}, whole = {DQ_I64, 2, {1, 5}, wide};
  dq_error error = {0};
  assert_int_equal(dq_ctc_classes(&floats), 0);
  dq_ctc ctc = read_ctc(&floats, 0, 0);
  assert_true(isnan(ctc.score));
  ctc.score = 0;
  check_ctc(&ctc, 2, (int64_t[]){3, 3}, 0);
  ctc = read_ctc(&floats, 1, 0);
  ctc.score = 0;
  check_ctc(&ctc, 3, (int64_t[]){1, 2, 1}, 0);
  ctc = read_ctc(&whole, 0, 0);
  ctc.score = 0;
  check_ctc(&ctc, 2, (int64_t[]){5, 4}, 0);
  const float bad[] = {0.5f, -1, NAN, INFINITY, 1e10f};
  for (int i = 0; i < 5; i++) {
    values[0][1] = bad[i];
    assert_int_equal(dq_ctc_read(&ctc, &floats, 0, 0, NULL, &error), DQ_BAD_INPUT);
    assert_null(ctc.classes);
    if (!i) assert_string_equal(error.message, "step 1 of a text is 0.5, which is no class");
  }
}

static void outputs_without_a_text(void **state) {
  (void)state;
  float values[16] = {0};
  const dq_tensor forms[] = {{DQ_F32, 4, {1, 1, 4, 4}, values}, {DQ_F32, 1, {4}, values},
                             {DQ_F32, 0, {0}, values},          {DQ_F32, 3, {1, 4, 0}, values},
                             {DQ_F32, 3, {1, 4, 4}, NULL},      {DQ_F32, 3, {0, 4, 4}, values}};
  dq_ctc ctc;
  dq_error error = {0};
  for (int i = 0; i < 6; i++) assert_int_equal(dq_ctc_read(&ctc, &forms[i], 0, 0, NULL, &error), DQ_BAD_INPUT);
  const dq_tensor one = {DQ_F32, 3, {1, 4, 4}, values}, none = {DQ_F32, 3, {1, 0, 4}, values};
  assert_int_equal(dq_ctc_read(&ctc, &one, 1, 0, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "an output 1x4x4 of type float32 has no text for picture 1, expected pictures x "
                                     "steps x classes, or pictures x steps");
  ctc = read_ctc(&none, 0, 0); // no steps
  check_ctc(&ctc, 0, NULL, 0);
}

static void texts(void **state) {
  (void)state;
  dq_dictionary dictionary;
  dq_error error = {0};
  char *text;
  int64_t classes[] = {1, 3, 2, 1};
  const dq_ctc ctc = {classes, 4, 1}, none = {classes, 0, 0};
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = "中\nbc"}, 4, NULL, &error), DQ_OK);
  assert_int_equal(dq_ctc_text(&text, &ctc, &dictionary, NULL, &error), DQ_OK);
  assert_string_equal(text, "中 bc中");
  dq_budget_free(text);
  assert_int_equal(dq_ctc_text(&text, &none, &dictionary, NULL, &error), DQ_OK);
  assert_string_equal(text, "");
  dq_budget_free(text);
  classes[3] = 4;
  assert_int_equal(dq_ctc_text(&text, &ctc, &dictionary, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "class 4 of a text, and the dictionary has 2 lines");
  dq_dictionary_deinit(&dictionary);
  // A line of 2^25 bytes twice is as much as a text may have.
  const size_t size = (size_t)DQ_LONGEST_NAMES / 2;
  char *line = calloc(1, size + 1);
  memset(line, 'a', size);
  classes[0] = classes[1] = 0;
  const dq_ctc twice = {classes, 2, 1};
  assert_int_equal(dq_dictionary_of_model(&dictionary, &(dq_metadata){.character = line}, 1, NULL, &error), DQ_OK);
  assert_int_equal(dq_ctc_text(&text, &twice, &dictionary, NULL, &error), DQ_OK);
  assert_int_equal(strlen(text), 2 * size);
  dq_budget_free(text);
  const dq_ctc thrice = {classes, 3, 1};
  classes[2] = 0;
  assert_int_equal(dq_ctc_text(&text, &thrice, &dictionary, NULL, &error), DQ_BAD_INPUT);
  assert_string_equal(error.message, "a text of more than 67108864 bytes");
  dq_dictionary_deinit(&dictionary);
  free(line);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(literals),
                                     cmocka_unit_test(literals_that_are_none),
                                     cmocka_unit_test(lines),
                                     cmocka_unit_test(names_of_models),
                                     cmocka_unit_test(dictionaries),
                                     cmocka_unit_test(dictionaries_in_files),
                                     cmocka_unit_test(best_classes_of_steps),
                                     cmocka_unit_test(logits_and_what_is_no_number),
                                     cmocka_unit_test(classes_of_steps),
                                     cmocka_unit_test(outputs_without_a_text),
                                     cmocka_unit_test(texts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

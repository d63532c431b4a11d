# Prints `body FILE FUNCTION as FILE FUNCTION` for each function in C that has the body of one that came before it, the
# second one, in the same file or another one. Usage: awk -f bodies.awk FILE...
# Comments, white space, and the names of parameters and variables count for nothing. Bodies of less than 60 characters
# with less than two statements are left out; (void) is none. A body that uses a name of its own file, such as a static
# function, is compared with those of that file only, as another file may have something else of that name. Sources must
# have the format of `make format`.

BEGIN {
  count = split("auto bool break case char const continue default do double else enum false float for goto if inline " \
                "int long return short signed sizeof static struct switch true union unsigned void while", words, " ")
  for (i = 1; i <= count; i++) is_keyword[words[i]] = 1
  count = 0
}

# Stores a name that a file has for itself; a name with the prefix dq_ stands for one thing everywhere.
function own(name) { if (name !~ /^dq_/) owned[FILENAME, name] = 1 }

# Stores the names that a declaration outside of functions, `text`, gives.
function declare(   i, n, words, name) {
  if (text ~ /^(typedef |static )?(const )?enum/) {
    n = split(text, words, /[^A-Za-z0-9_]+/)
    for (i = 1; i <= n; i++) if (words[i] ~ /^[A-Z]/) own(words[i])
  }
  if (text !~ /^(static|typedef|struct)/) return
  name = text
  sub(/ =.*/, "", name)
  if (name ~ /^static .*\(/) sub(/\(.*/, "", name)
  gsub(/\[[^]]*\]|;/, "", name)
  sub(/.*[ *}]/, "", name)
  own(name)
}

# Stores the function in `text`, which begins with `head`.
function define(   body, name, is_static) {
  name = head
  gsub(/__attribute__\(\([^()]*(\([^()]*\))?[^()]*\)\) */, "", name)
  is_static = name ~ /^static/
  sub(/\(.*/, "", name)
  sub(/.*[ *]/, "", name)
  if (is_static) own(name)
  body = substr(text, length(head) + 2)
  sub(/ *\}$/, "", body)
  gsub(/[ \t]+/, " ", body)
  sub(/^ (\(void\)[^;]*; )?/, "", body)
  if (length(body) < 60 && gsub(/;/, ";", body) < 2) return
  count++
  files[count] = FILENAME
  names[count] = name
  bodies[count] = body
}

# The body with the names of variables replaced by numbers in the order in which they come. Sets is_private: whether a
# name of the file is in it. Names that macros paste together have upper-case letters.
function normal(file, body,   i, n, words, word, result, seen, numbers) {
  gsub(/->|\./, "&_", body) # members
  gsub(/[^A-Za-z0-9_ ]/, " & ", body)
  n = split(body, words, " ")
  is_private = seen = 0
  for (i = 1; i <= n; i++) {
    word = words[i]
    if ((file, word) in owned) is_private = 1
    else if (word ~ /^[a-z][a-z0-9_]*$/ && word !~ /^dq_|_t$/ && words[i + 1] != "(" && !(word in is_keyword)) {
      if (!(word in numbers)) numbers[word] = "$" (++seen)
      word = numbers[word]
    }
    result = result " " word
  }
  return result
}

# The line with each string as a word in upper-case letters.
function as_words(line,   result, string) {
  while (match(line, /"([^"\\]|\\.)*"/)) {
    string = toupper(substr(line, RSTART + 1, RLENGTH - 2))
    gsub(/[^A-Z0-9]/, "_", string)
    result = result substr(line, 1, RSTART - 1) "S_" string
    line = substr(line, RSTART + RLENGTH)
  }
  return result line
}

FNR == 1 { text = head = "" }
{ sub(/(^| +)\/\/.*/, "") }
text == "" && /^# *define / { split($0, words, /[^A-Za-z0-9_]+/); own(words[3]) }
text == "" && /^([# {}]|$)/ { next }
{
  text = text (text == "" ? "" : " ") as_words($0)
  gsub(/"([^"\\]|\\.)*"/, "\"\"") # what follows looks at the line, and strings hold braces
}
!head && !/\{/ && /([;)\\]|^)$/ {
  if (/;$/) declare()
  text = ""
}
!head && /\{/ {
  head = substr(text, 1, index(text, "{") - 1)
  is_code = head ~ /\) $/ && head !~ /=/
  ends = is_code ? /\}$/ : /[;)]$/
}
head && (ends || /^\}/ || (!is_code && /\}[;)]$/)) {
  if (is_code) define()
  else declare()
  text = head = ""
  ends = 0
}

END {
  for (i = 1; i <= count; i++) {
    body = normal(files[i], bodies[i])
    if (is_private) body = files[i] body
    if (body in first) print "body", files[i], names[i], "as", first[body]
    else first[body] = files[i] " " names[i]
  }
}

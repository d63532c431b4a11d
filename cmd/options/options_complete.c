// Completion scripts for bash, zsh and fish, from the option tables.
#include <string.h>

#include "cmd/options/options_internal.h"

enum { CHOICES_SIZE = 1024 };

// "_dq_int8" of "dq-int8": names of shell functions have no '-'.
static const char *function_name(const dq_command *command, char text[64]) {
  snprintf(text, 64, "_%s", command->name);
  for (char *letter = text; *letter; letter++)
    if (*letter == '-') *letter = '_';
  return text;
}

static void print_names(FILE *stream, const dq_option *row, const char *separator) {
  fprintf(stream, "--%s", row->name);
  if (row->letter) fprintf(stream, "%s-%c", separator, row->letter);
}

// The front offers the commands installed and hands what follows a verb to that command's script.
static void bash_front(const dq_command *command, FILE *stream) {
  char function[64];
  fprintf(stream, "# bash completion for %s\n%s() {\n", command->name, function_name(command, function));
  fputs("  local word=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} verbs\n"
        "  if ((COMP_CWORD == 1)) || [[ $verb == help ]]; then\n"
        "    ((COMP_CWORD > 2)) && return\n",
        stream);
  fprintf(stream, "    verbs=$(compgen -c %s- | sed 's/^%s-//' | sort -u)\n", command->name, command->name);
  fputs("    ((COMP_CWORD == 1)) && verbs+=' help --help --version'\n"
        "    mapfile -t COMPREPLY < <(compgen -W \"$verbs\" -- \"$word\")\n"
        "    return\n  fi\n"
        "  [[ $verb == *[!a-z0-9-]* ]] && return\n",
        stream);
  fprintf(stream, "  local command=%s-$verb function=%s_${verb//-/_}\n", command->name, function);
  fputs("  declare -F \"$function\" >/dev/null || . \"${BASH_SOURCE[0]%/*}/$command\" 2>/dev/null || return\n"
        "  COMP_WORDS=(\"$command\" \"${COMP_WORDS[@]:2}\")\n"
        "  ((COMP_CWORD--))\n"
        "  \"$function\"\n}\n",
        stream);
  fprintf(stream, "complete -F %s %s\n", function, command->name);
}

static void bash(const dq_command *command, FILE *stream) {
  char function[64], choices[CHOICES_SIZE];
  dq_option_place places[DQ_OPTION_ROWS];
  int count = dq_option_places(command, places);
  fprintf(stream, "# bash completion for %s\n%s() {\n", command->name, function_name(command, function));
  fputs("  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
        "  [[ $word == '=' ]] && word=\n"
        "  [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD-2]}\n"
        "  case $before in\n",
        stream);
  for (int i = 0; i < count; i++) {
    const dq_option *row = places[i].row;
    if (row->hidden || row->type == DQ_OPTION_FLAG || row->type == DQ_OPTION_FILE) continue;
    fputs("    ", stream);
    print_names(stream, row, "|");
    if (dq_option_has_choices(row))
      fprintf(stream, ") mapfile -t COMPREPLY < <(compgen -W '%s' -- \"$word\"); return;;\n",
              dq_option_choices(row, " ", choices, sizeof choices));
    else fputs(") return;;\n", stream);
  }
  fputs("  esac\n  if [[ $word == -* ]]; then\n    mapfile -t COMPREPLY < <(compgen -W '", stream);
  bool first = true;
  for (int i = 0; i < count; i++) {
    if (places[i].row->hidden) continue;
    if (!first) fputc(' ', stream);
    first = false;
    print_names(stream, places[i].row, " ");
  }
  fputs("' -- \"$word\")\n  else\n    compopt -o filenames 2>/dev/null\n"
        "    mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n  fi\n}\n",
        stream);
  fprintf(stream, "complete -F %s %s\n", function, command->name);
}

// Text within single quotes of zsh's _arguments or of fish; `special` characters get a backslash.
static void quoted(FILE *stream, const char *text, const char *special, const char *quote) {
  for (; *text; text++) {
    if (*text == '\'') fputs(quote, stream);
    else if (strchr(special, *text)) fprintf(stream, "\\%c", *text);
    else fputc(*text, stream);
  }
}

static void zsh_value(FILE *stream, const dq_option *row) {
  char choices[CHOICES_SIZE];
  if (row->type == DQ_OPTION_FLAG) return;
  fputc(':', stream);
  quoted(stream, dq_option_metavar(row), "[]:\\", "'\\''");
  if (row->type == DQ_OPTION_FILE) fputs(":_files", stream);
  else if (dq_option_has_choices(row)) {
    fputs(":(", stream);
    quoted(stream, dq_option_choices(row, " ", choices, sizeof choices), ":\\", "'\\''");
    fputc(')', stream);
  } else fputs(": ", stream);
}

static void zsh_front(const dq_command *command, FILE *stream) {
  const char *name = command->name;
  fprintf(stream, "#compdef %s\nlocal -a verbs=(${${(k)commands[(I)%s-*]}#%s-})\n", name, name, name);
  fputs("if (( CURRENT == 2 )); then\n"
        "  compadd help $verbs\n"
        "elif [[ $words[2] == help ]]; then\n"
        "  (( CURRENT == 3 )) && compadd $verbs\n"
        "else\n",
        stream);
  fprintf(stream, "  words=(%s-$words[2] \"${(@)words[3,-1]}\")\n", name);
  fputs("  (( CURRENT-- ))\n  _normal\nfi\n", stream);
}

static void zsh(const dq_command *command, FILE *stream) {
  dq_option_place places[DQ_OPTION_ROWS];
  int count = dq_option_places(command, places);
  fprintf(stream, "#compdef %s\n_arguments -s \\\n", command->name);
  for (int i = 0; i < count; i++) {
    const dq_option *row = places[i].row;
    if (row->hidden) continue;
    const char *equals = row->type == DQ_OPTION_FLAG ? "" : "=";
    fputs("  ", stream);
    if (row->type == DQ_OPTION_LIST || row->joined) fputs("'*'", stream);
    else if (row->letter) fprintf(stream, "'(-%c --%s)'", row->letter, row->name);
    if (row->letter) fprintf(stream, "{-%c%s,--%s%s}'[", row->letter, *equals ? "+" : "", row->name, equals);
    else fprintf(stream, "'--%s%s[", row->name, equals);
    quoted(stream, row->help, "[]:\\", "'\\''");
    fputc(']', stream);
    zsh_value(stream, row);
    fputs("' \\\n", stream);
  }
  fputs("  '*:file:_files'\n", stream);
}

static void fish_front(const dq_command *command, FILE *stream) {
  char function[64];
  const char *name = command->name;
  function_name(command, function);
  fprintf(stream, "# fish completion for %s\nfunction _%s_verbs\n", name, function);
  fprintf(stream, "  for program in $PATH/%s-*\n    string replace -r '.*/%s-' '' -- $program\n  end\nend\n", name,
          name);
  fprintf(stream, "function _%s_rest\n  set -l words (commandline -opc) (commandline -ct)\n", function);
  fprintf(stream, "  complete -C (string join ' ' -- %s-$words[2] $words[3..-1])\nend\n", name);
  fprintf(stream, "complete -c %s -n __fish_use_subcommand -x -a 'help (_%s_verbs)'\n", name, function);
  fprintf(stream, "complete -c %s -n '__fish_seen_subcommand_from help' -x -a '(_%s_verbs)'\n", name, function);
  fprintf(stream,
          "complete -c %s -n 'not __fish_use_subcommand; and not __fish_seen_subcommand_from help' "
          "-a '(_%s_rest)'\n",
          name, function);
}

static void fish(const dq_command *command, FILE *stream) {
  char choices[CHOICES_SIZE];
  dq_option_place places[DQ_OPTION_ROWS];
  int count = dq_option_places(command, places);
  fprintf(stream, "# fish completion for %s\n", command->name);
  for (int i = 0; i < count; i++) {
    const dq_option *row = places[i].row;
    if (row->hidden) continue;
    fprintf(stream, "complete -c %s -l %s", command->name, row->name);
    if (row->letter) fprintf(stream, " -s %c", row->letter);
    if (row->type == DQ_OPTION_FILE) fputs(" -r -F", stream);
    else if (dq_option_has_choices(row))
      fprintf(stream, " -x -a '%s'", dq_option_choices(row, " ", choices, sizeof choices));
    else if (row->type != DQ_OPTION_FLAG) fputs(" -x", stream);
    fputs(" -d '", stream);
    quoted(stream, row->help, "\\", "\\'");
    fputs("'\n", stream);
  }
}

void dq_options_complete(const dq_command *command, enum dq_shell shell, FILE *stream) {
  static void (*const writers[][2])(const dq_command *command, FILE *stream) = {
      [DQ_SHELL_BASH] = {bash, bash_front},
      [DQ_SHELL_ZSH] = {zsh, zsh_front},
      [DQ_SHELL_FISH] = {fish, fish_front},
  };
  writers[shell][command->front](command, stream);
}

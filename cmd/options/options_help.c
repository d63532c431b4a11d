// The help text and the man page of a command, from its option tables.
#include <ctype.h>
#include <string.h>

#include "cmd/options/options_internal.h"
#include "version.h"

enum { WIDTH = 80, HELP_COLUMN = 27, TEXT_SIZE = 2048 };

// Words of `text` from column `column` on, wrapped at WIDTH and indented by `indent`; an empty line
// stays one. Ends the line.
static void wrap(FILE *stream, const char *text, int indent, int column) {
  bool fresh = true;
  while (*text) {
    if (text[0] == '\n' && text[1] == '\n') {
      fprintf(stream, "\n\n%*s", indent, "");
      column = indent;
      fresh = true;
    }
    text += strspn(text, " \n");
    int length = (int)strcspn(text, " \n");
    if (!length) break;
    if (!fresh && column + 1 + length > WIDTH) {
      fprintf(stream, "\n%*s", indent, "");
      column = indent;
      fresh = true;
    }
    column += fprintf(stream, "%s%.*s", fresh ? "" : " ", length, text);
    fresh = false;
    text += length;
  }
  fputc('\n', stream);
}

// Appends the choices, each with its own help where the row has some; returns the new length.
static size_t list_choices(const dq_option *row, char text[TEXT_SIZE], size_t used) {
  char part[1024];
  if (!row->choice_help)
    return used +
           (size_t)snprintf(text + used, TEXT_SIZE - used, ": %s", dq_option_choices(row, ", ", part, sizeof part));
  for (int i = 0; used < TEXT_SIZE && dq_option_choice(row, i, part, sizeof part); i++)
    used += (size_t)snprintf(text + used, TEXT_SIZE - used, "%s%s (%s)", i ? ", " : ": ", part, row->choice_help(i));
  return used;
}

// The row's help with choices, range and default behind it.
static void describe(const dq_option *row, char text[TEXT_SIZE]) {
  char part[1024];
  size_t used = (size_t)snprintf(text, TEXT_SIZE, "%s", row->help);
  if (dq_option_has_choices(row) && used < TEXT_SIZE) used = list_choices(row, text, used);
  bool number = row->type == DQ_OPTION_INT || row->type == DQ_OPTION_DOUBLE || row->type == DQ_OPTION_PERCENT;
  // Bounds that only keep nonsense out (2^53, 10^9) would tell nobody anything.
  if (number && row->maximum < 1e6 && used < TEXT_SIZE && *dq_option_range(row, part, sizeof part))
    used += (size_t)snprintf(text + used, TEXT_SIZE - used, " [%s]", part);
  if (row->preset && used < TEXT_SIZE)
    used += (size_t)snprintf(text + used, TEXT_SIZE - used, " (default: %s)", row->preset);
  if (row->type == DQ_OPTION_LIST && used < TEXT_SIZE) snprintf(text + used, TEXT_SIZE - used, "; may be repeated");
}

static const char *group_name(const dq_option *row) { return row->group ? row->group : "Options"; }

// Calls `print` for every visible row, a heading in front of each group; groups come in the order of
// their first row, so a command may add rows to a shared group.
static void each_row(const dq_command *command, FILE *stream, void (*heading)(FILE *stream, const char *name),
                     void (*print)(FILE *stream, const dq_option *row)) {
  dq_option_place places[DQ_OPTION_ROWS];
  bool done[DQ_OPTION_ROWS] = {false};
  int count = dq_option_places(command, places);
  for (int i = 0; i < count; i++) {
    if (done[i] || places[i].row->hidden) continue;
    heading(stream, group_name(places[i].row));
    for (int k = i; k < count; k++) {
      if (places[k].row->hidden || strcmp(group_name(places[i].row), group_name(places[k].row))) continue;
      done[k] = true;
      print(stream, places[k].row);
    }
  }
}

static void help_heading(FILE *stream, const char *name) { fprintf(stream, "\n%s:\n", name); }

static void help_row(FILE *stream, const dq_option *row) {
  char text[TEXT_SIZE];
  const char *metavar = dq_option_metavar(row);
  int column = row->letter ? fprintf(stream, "  -%c, ", row->letter) : fprintf(stream, "      ");
  column += fprintf(stream, "--%s%s%s", row->name, metavar ? " " : "", metavar ? metavar : "");
  if (column + 2 > HELP_COLUMN) {
    fputc('\n', stream);
    column = 0;
  }
  fprintf(stream, "%*s", HELP_COLUMN - column, "");
  describe(row, text);
  wrap(stream, text, HELP_COLUMN, HELP_COLUMN);
}

static void indented_lines(FILE *stream, const char *text) {
  for (size_t length; *text; text += length, text += *text == '\n') {
    length = strcspn(text, "\n");
    fprintf(stream, "%s%.*s\n", length ? "  " : "", (int)length, text);
  }
}

void dq_options_help(const dq_command *command, FILE *stream) {
  fprintf(stream, "%s - ", command->name);
  wrap(stream, command->summary, 2, (int)strlen(command->name) + 3);
  int column = fprintf(stream, "\nUsage: %s ", command->name) - 1;
  wrap(stream, command->usage ? command->usage : "", 9, column);
  if (command->description) {
    fputc('\n', stream);
    wrap(stream, command->description, 0, 0);
  }
  each_row(command, stream, help_heading, help_row);
  if (command->examples) {
    fprintf(stream, "\nExamples:\n");
    indented_lines(stream, command->examples);
  }
  fprintf(stream, "\nExit status:\n");
  for (const dq_exit_meaning *exit = dq_exit_meanings; exit->meaning; exit++)
    fprintf(stream, "  %3d  %s\n", exit->status, exit->meaning);
}

// Text for roff: backslashes, hyphens that must stay hyphens, and dots that begin a line.
static void roff(FILE *stream, const char *text) {
  bool line_start = true;
  for (; *text; text++) {
    if (line_start && (*text == '.' || *text == '\'')) fputs("\\&", stream);
    if (*text == '\\') fputs("\\e", stream);
    else if (*text == '-') fputs("\\-", stream);
    else fputc(*text, stream);
    line_start = *text == '\n';
  }
}

// Paragraphs of `text`, empty lines becoming .PP, ended by a new line.
static void roff_paragraphs(FILE *stream, const char *text) {
  for (const char *end; (end = strstr(text, "\n\n")); text = end + 2) {
    char paragraph[TEXT_SIZE];
    snprintf(paragraph, sizeof paragraph, "%.*s", (int)(end - text), text);
    roff(stream, paragraph);
    fputs("\n.PP\n", stream);
  }
  roff(stream, text);
  fputc('\n', stream);
}

static void man_heading(FILE *stream, const char *name) {
  fputs(".SS ", stream);
  roff(stream, name);
  fputc('\n', stream);
}

static void man_row(FILE *stream, const dq_option *row) {
  char text[TEXT_SIZE];
  const char *metavar = dq_option_metavar(row);
  fputs(".TP\n", stream);
  if (row->letter) fprintf(stream, "\\fB\\-%c\\fR, ", row->letter);
  fputs("\\fB\\-\\-", stream);
  roff(stream, row->name);
  fputs("\\fR", stream);
  if (metavar) {
    fputs(" \\fI", stream);
    roff(stream, metavar);
    fputs("\\fR", stream);
  }
  fputc('\n', stream);
  describe(row, text);
  text[0] = (char)toupper((unsigned char)text[0]);
  roff(stream, text);
  fputs(".\n", stream);
  if (row->details) roff_paragraphs(stream, row->details);
}

void dq_options_man(const dq_command *command, FILE *stream) {
  char upper[64];
  snprintf(upper, sizeof upper, "%s", command->name);
  for (char *letter = upper; *letter; letter++) *letter = (char)toupper((unsigned char)*letter);
  // Adjusted on the left alone: between long words of a list the other lines would have gaps. The string AD is for
  // groff from 1.23 on, whose headings set the adjustment anew, `.ad` for others.
  fputs(".ds AD l\n.TH \"", stream);
  roff(stream, upper);
  fprintf(stream, "\" \"1\" \"\" \"dq %s\" \"dq\"\n.ad l\n.SH NAME\n", DQ_VERSION);
  roff(stream, command->name);
  fputs(" \\- ", stream);
  roff(stream, command->summary);
  fputs("\n.SH SYNOPSIS\n\\fB", stream);
  roff(stream, command->name);
  fputs("\\fR ", stream);
  roff(stream, command->usage ? command->usage : "");
  fputs("\n.SH DESCRIPTION\n", stream);
  roff_paragraphs(stream, command->description ? command->description : command->summary);
  fputs(".SH OPTIONS\n", stream);
  each_row(command, stream, man_heading, man_row);
  if (command->examples) {
    fputs(".SH EXAMPLES\n.nf\n", stream);
    roff(stream, command->examples);
    fputs("\n.fi\n", stream);
  }
  fputs(".SH \"EXIT STATUS\"\n", stream);
  for (const dq_exit_meaning *exit = dq_exit_meanings; exit->meaning; exit++) {
    fprintf(stream, ".TP\n\\fB%d\\fR\n", exit->status);
    roff(stream, exit->meaning);
    fputc('\n', stream);
  }
  fputs(command->front ? ".SH \"SEE ALSO\"\n\\fBdq help\\fR lists the verbs; each has a page \\fBdq\\-VERB\\fR(1).\n"
                       : ".SH \"SEE ALSO\"\n\\fBdq\\fR(1)\n",
        stream);
}

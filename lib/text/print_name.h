// Names from files, on a terminal.
#ifndef DQ_TEXT_PRINT_NAME_H
#define DQ_TEXT_PRINT_NAME_H

#include <stdio.h>

// Prints a name that comes from a file; control characters, which could disturb the terminal, become '?'.
void dq_print_name(FILE *stream, const char *text);

#endif

// A folder with pictures, good and broken, for the tests of data; the test runs in it.
#ifndef DQ_UNIT_DATA_FOLDER_H
#define DQ_UNIT_DATA_FOLDER_H

#include "datasets/datasets.h"

extern dq_error folder_error; // of the last call
extern int folder_warnings;   // so many since a test set it to 0
extern char folder_last_warning[1024];

// The group's setup makes the folder with a.ppm (2x1), "grey b.pgm" (2x2), broken.jpg, empty.png, bomb.png, which
// claims 50000x50000 pixels, and good.txt, a list of three with labels 3, 1 and 0, and goes into it; the teardown
// removes it.
int folder_enter(void **state);
int folder_leave(void **state);

// Writes a file into the folder.
void folder_put(const char *name, const void *bytes, size_t size);
void folder_put_text(const char *name, const char *text);

// dq_data_open with a context that counts warnings.
dq_status folder_open(dq_data **data, dq_data_options options);
// Fails the test unless dq_data_open fails with this status and `part` in the message.
void folder_refuses(dq_data_options options, dq_status status, const char *part);

#endif

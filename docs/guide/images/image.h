// What the parts of an image call of each other.
#ifndef IMAGE_H_
#define IMAGE_H_

// Start-up code, by semihosting: a text to the console of the emulator or debugger; the end, with an exit status.
void image_put(const char *text);
_Noreturn void image_leave(int status);

// Called by the start-up code with memory, stack and floats ready. Returns the exit status.
int main(void);

// Writes the number as "%.6g" of printf does, correctly rounded. Returns the length of the text.
enum { NUMBER_TEXT = 16 };
int number_text(float value, char text[NUMBER_TEXT]);

#endif

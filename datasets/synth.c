// Shapes drawn by testing the pixels' sub-samples against a form in its own coordinates.
#include "datasets/synth.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/base/random.h"

// All forms lie in the square -1...1 and cover about half of it.
static bool in_circle(double u, double v) { return u * u + v * v < 0.80; }
static bool in_square(double u, double v) { return fabs(u) < 0.80 && fabs(v) < 0.80; }
static bool in_triangle(double u, double v) {
  return v < 0.80 && 2.0 * fabs(u) < (v + 0.95) * 1.10; // which is nothing above the tip, at v = -0.95
}
static bool in_cross(double u, double v) {
  double a = fabs(u), b = fabs(v);
  return a < 0.95 && b < 0.95 && (a < 0.33 || b < 0.33);
}
static bool in_ring(double u, double v) {
  double r = u * u + v * v;
  return r < 0.95 && r > 0.32;
}
static bool in_bars(double u, double v) { // five bars, three of them filled
  return fabs(u) < 0.9 && fabs(v) < 0.9 && ((int)((v + 0.9) * (5 / 1.8)) & 1) == 0;
}
static bool in_columns(double u, double v) { return in_bars(v, u); }
static bool in_checker(double u, double v) {
  if (fabs(u) >= 0.9 || fabs(v) >= 0.9) return false;
  return (((int)((u + 0.9) * (4 / 1.8)) + (int)((v + 0.9) * (4 / 1.8))) & 1) == 0;
}

typedef struct form {
  const char *name;
  bool (*inside)(double u, double v);
} form;

static const form forms[DQ_SYNTH_CLASSES] = {
    {"circle", in_circle},
    {"square", in_square},
    {"triangle", in_triangle},
    {"cross", in_cross},
    {"ring", in_ring},
    {"horizontal stripes", in_bars},
    {"vertical stripes", in_columns},
    {"checkerboard", in_checker},
};

const char *dq_synth_class_name(int label) { return label >= 0 && label < DQ_SYNTH_CLASSES ? forms[label].name : NULL; }

// What is random about a picture.
typedef struct synth_scene {
  bool (*inside)(double u, double v);
  double x, y, radius, sine, cosine; // place, half side, turn
  double back[3], fore[3];           // colours
  double slope_x, slope_y;           // of the background, over the picture
  double specks[4][3];               // x, y, squared radius
  int speck_count;
  double noise; // standard deviation
} synth_scene;

static void draw_colours(synth_scene *scene, dq_random *random, double hardness) {
  double contrast = dq_random_between(random, 70 - 40 * hardness, 120 - 40 * hardness);
  double back = dq_random_between(random, 30, 225);
  double fore = back > 127.5 ? back - contrast : back + contrast;
  for (int c = 0; c < 3; c++) {
    scene->back[c] = back + dq_random_between(random, -25, 25);
    scene->fore[c] = fore + dq_random_between(random, -25, 25);
  }
  scene->slope_x = dq_random_between(random, -40, 40) * hardness;
  scene->slope_y = dq_random_between(random, -40, 40) * hardness;
  scene->noise = dq_random_between(random, 10, 60) * hardness;
}

static void draw_scene(synth_scene *scene, dq_random *random, int label, double hardness) {
  scene->inside = forms[label].inside;
  scene->radius = dq_random_between(random, 0.20, 0.42);
  scene->x = dq_random_between(random, scene->radius, 1 - scene->radius);
  scene->y = dq_random_between(random, scene->radius, 1 - scene->radius);
  // A turn of at most 28 degrees by the tangent of half the angle, which needs no library function.
  double half = dq_random_between(random, -0.25, 0.25);
  scene->cosine = (1 - half * half) / (1 + half * half);
  scene->sine = 2 * half / (1 + half * half);
  draw_colours(scene, random, hardness);
  scene->speck_count = (int)dq_random_below(random, 5);
  for (int i = 0; i < scene->speck_count; i++) {
    double radius = dq_random_between(random, 0.02, 0.07);
    scene->specks[i][0] = dq_random_between(random, 0, 1);
    scene->specks[i][1] = dq_random_between(random, 0, 1);
    scene->specks[i][2] = radius * radius;
  }
}

static bool covered(const synth_scene *scene, double x, double y) {
  for (int i = 0; i < scene->speck_count; i++) {
    double dx = x - scene->specks[i][0], dy = y - scene->specks[i][1];
    if (dx * dx + dy * dy < scene->specks[i][2]) return (i & 1) == 0;
  }
  double dx = (x - scene->x) / scene->radius, dy = (y - scene->y) / scene->radius;
  return scene->inside(scene->cosine * dx + scene->sine * dy, scene->cosine * dy - scene->sine * dx);
}

static uint8_t to_byte(double value) { return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value + 0.5); }

// One pixel: the share of its four sub-samples inside, between the two colours, plus noise.
static void draw_pixel(const synth_scene *scene, dq_random *random, double x, double y, double step, int channels,
                       uint8_t *pixel) {
  int inside = 0;
  for (int sample = 0; sample < 4; sample++)
    inside += covered(scene, x + step * ((sample & 1) - 0.5) * 0.5, y + step * ((sample >> 1) - 0.5) * 0.5);
  double share = inside * 0.25;
  double light = scene->slope_x * (x - 0.5) + scene->slope_y * (y - 0.5);
  double colour[3];
  for (int c = 0; c < 3; c++) colour[c] = scene->back[c] + (scene->fore[c] - scene->back[c]) * share + light;
  if (channels == 1) colour[0] = (colour[0] + colour[1] + colour[2]) / 3;
  for (int c = 0; c < channels; c++) pixel[c] = to_byte(colour[c] + scene->noise * (double)dq_random_normal(random));
}

int dq_synth_picture(const dq_synth *synth, int64_t index, uint8_t *pixels) {
  int label = (int)(index % DQ_SYNTH_CLASSES);
  // Each picture has a generator of its own, started from well mixed seed, split and index.
  dq_random random = {synth->seed};
  random.state = dq_random_next(&random) + (uint64_t)synth->split;
  random.state = dq_random_next(&random) + (uint64_t)index;
  random.state = dq_random_next(&random);
  synth_scene scene;
  draw_scene(&scene, &random, label, synth->noise / 100.0);
  double step = 1.0 / synth->size;
  for (int y = 0; y < synth->size; y++)
    for (int x = 0; x < synth->size; x++) {
      draw_pixel(&scene, &random, (x + 0.5) * step, (y + 0.5) * step, step, synth->channels, pixels);
      pixels += synth->channels;
    }
  return label;
}

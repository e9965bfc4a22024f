/* What a fake device is inside: a mass in a hand, moved by the clock, and faults to switch on. */
#ifndef BODY_H
#define BODY_H
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum what {
  ERROR_CODE, FROZEN, JUMP, SLOW, UNPLUGGED, CALIBRATED, TIMEGUARD, FORCE_OFF, HAND, FORCE, TRIPS,
  CALLS, MASS, OPENED, CLOSED, POSITION, STIFFNESS, STEP, LARGEST, BAD, WATCHDOG, DEAD, GAP, GRIP, KIND, PASSED, WHATS
};

/* All that the device is; in a file, if one is given, where it outlives the servo's process. */
struct body { double value[WHATS], position[3], velocity[3], pushed[7], shown[3], moved_at, pushed_at; };
static struct body own = {
  .value = {[CALIBRATED] = 1, [MASS] = 0.2, [STIFFNESS] = 300}, .moved_at = -1, .pushed_at = -1
};
static struct body *body = &own;
#define value body->value
#define position body->position
#define velocity body->velocity
#define pushed body->pushed
#define shown body->shown
#define moved_at body->moved_at
#define pushed_at body->pushed_at

/* The device is the one in this file from now on, or its own again without one; 0 if that worked. */
int fake_attach(const char *path) {
  if (!path) { body = &own; return 0; }
  int file = open(path, O_RDWR);
  void *found = file < 0 ? MAP_FAILED
                         : mmap(0, sizeof own, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (file >= 0) close(file);
  if (found == MAP_FAILED) return -1;
  body = found;
  return 0;
}
int fake_size(void) { return sizeof own; }

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* Its own clock: that of its steps, if it has any, which no busy machine changes. */
static double own_time(void) { return value[STEP] > 0 ? value[PASSED] : now(); }
int fake_clock(long kind, long long out[2]) {
  double time = own_time();
  (void)kind;
  out[0] = (long long)time;
  out[1] = (long long)(1e9 * (time - (double)out[0]));
  return 0;
}

/* The watchdog of the device takes the force away. */
static void watch(void) {
  if (value[STEP] <= 0 && value[WATCHDOG] > 0 && pushed_at > 0
      && now() - pushed_at > value[WATCHDOG] && (pushed[0] || pushed[1] || pushed[2] || pushed[6])) {
    memset(pushed, 0, sizeof pushed);
    value[TRIPS] += 1;
  }
}

void fake_set(int what, double to) { value[what] = to; }
double fake_get(int what) {
  if (what == FORCE) { watch(); return pushed[0]; }
  if (what == GRIP) { watch(); return pushed[6]; }
  if (what == POSITION) return position[0];
  return value[what];
}
void fake_reset(void) {
  memset(value, 0, sizeof value);
  memset(position, 0, sizeof position);
  memset(velocity, 0, sizeof velocity);
  memset(pushed, 0, sizeof pushed);
  memset(shown, 0, sizeof shown);
  moved_at = pushed_at = -1;
  value[CALIBRATED] = 1; value[MASS] = 0.2; value[STIFFNESS] = 300;
}

static void wait_if_slow(void) {
  struct timespec t = {0, (long)value[SLOW]};
  if (value[SLOW] > 0) nanosleep(&t, 0);
}

/* Move it to now, or by a fixed step for each call. */
static void move(void) {
  double time = now(), left = value[STEP] > 0 ? value[STEP] : time - moved_at;
  watch();
  if (value[STEP] <= 0 && (moved_at < 0 || left > 0.05)) left = 0;
  moved_at = time;
  if (value[STEP] > 0) value[PASSED] += value[STEP];
  for (; left > 0; left -= 1e-4) {
    double dt = left < 1e-4 ? left : 1e-4;
    for (int i = 0; i < 3; i++) {
      double target = i == 0 ? value[HAND] : 0;
      double force = pushed[i] + value[STIFFNESS] * (target - position[i]) - 5.0 * velocity[i];
      velocity[i] += dt * force / value[MASS];
      position[i] += dt * velocity[i];
    }
  }
  if (value[JUMP] != 0) { position[0] += value[JUMP]; value[JUMP] = 0; }
  if (!value[FROZEN]) memcpy(shown, position, sizeof shown);
}

static void push(const double *wrench, int count) {
  pushed_at = now();
  for (int i = 0; i < count; i++) {
    if (!isfinite(wrench[i])) value[BAD] += 1;
    if (i < 3 && fabs(wrench[i]) > value[LARGEST]) value[LARGEST] = fabs(wrench[i]);
    pushed[i] = wrench[i];
  }
}
#endif

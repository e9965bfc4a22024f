/* A fake of OpenHaptics' libHD with its scheduler, as far as the driver calls it. */
#include <pthread.h>
#include "body.h"

typedef struct { unsigned code; int internal; unsigned device; } error_info;
typedef unsigned (*callback)(void *);
static callback scheduled;
static void *user;
static volatile int running;
static pthread_t thread;

unsigned hdInitDevice(const char *name) { (void)name; if (value[UNPLUGGED]) return 0xFFFFFFFF; value[OPENED] += 1; return 7; }
void hdDisableDevice(unsigned id) { (void)id; value[CLOSED] += 1; }
void hdEnable(unsigned what) { (void)what; }
void hdDisable(unsigned what) { (void)what; }
unsigned hdCheckCalibration(void) { return value[CALIBRATED] == 1 ? 0x5000 : 0x5002; }
void hdUpdateCalibration(unsigned style) { (void)style; }
error_info hdGetError(void) {
  error_info e = {value[UNPLUGGED] ? 0x0302 : (unsigned)value[ERROR_CODE], 0, 7};
  return e;
}
unsigned hdScheduleAsynchronous(callback f, void *data, unsigned short priority) {
  (void)priority; scheduled = f; user = data; return 1;
}

static void *schedule(void *none) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  while (running) {
    t.tv_nsec += 1000000;
    if (t.tv_nsec >= 1000000000) { t.tv_nsec -= 1000000000; t.tv_sec += 1; }
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, 0);
    wait_if_slow();
    value[CALLS] += 1;
    if (scheduled && !value[DEAD]) scheduled(user);
  }
  return none;
}
void hdStartScheduler(void) { running = 1; pthread_create(&thread, 0, schedule, 0); }
void hdStopScheduler(void) { if (running) { running = 0; pthread_join(thread, 0); } scheduled = 0; }

void hdBeginFrame(unsigned id) { (void)id; move(); }
void hdEndFrame(unsigned id) { (void)id; }
void hdGetIntegerv(unsigned what, int *out) { (void)what; *out = 1; }
void hdGetDoublev(unsigned what, double *out) {
  if (what == 0x2603) { *out = 3.3; return; }
  if (what == 0x2051) { for (int i = 0; i < 3; i++) out[i] = 1e3 * velocity[i]; return; }
  if (what == 0x2053) { out[0] = out[1] = out[2] = 0; return; }
  if (what == 0x2052) {
    memset(out, 0, 16 * sizeof(double));
    out[0] = out[5] = out[10] = out[15] = 1;
    for (int i = 0; i < 3; i++) out[12 + i] = 1e3 * shown[i];
  }
}
void hdSetDoublev(unsigned what, const double *in) { if (what == 0x2700) push(in, 3); }

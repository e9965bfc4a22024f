/* A device of one's own: the two functions of docs/your-device.md, on a fake body. */
#include <stdint.h>
#include "body.h"

int device_read(void *device, double reading[14], int64_t counts[4]) {
  (void)device;
  wait_if_slow();
  if (value[UNPLUGGED] || value[ERROR_CODE]) return -1;
  move();
  memcpy(reading, shown, sizeof shown);
  reading[3] = 1;
  memcpy(reading + 7, velocity, sizeof velocity);
  counts[0] += 1;
  counts[1] = (int64_t)(1e9 * own_time());
  counts[3] = 1 | (value[CALIBRATED] ? 2 : 0) | (value[FORCE_OFF] ? 0 : 4) | (value[DEAD] ? 0 : 8);
  return 0;
}

int device_write(void *device, const double wrench[7], int64_t latched) {
  (void)device;
  (void)latched;
  if (value[UNPLUGGED]) return -1;
  push(wrench, 7);
  return 0;
}

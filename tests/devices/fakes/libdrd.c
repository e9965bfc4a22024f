/* A fake of Force Dimension's library, as far as the driver calls it. */
#include "body.h"

static int gone(void) { value[CALLS] += 1; wait_if_slow(); return value[UNPLUGGED] || value[ERROR_CODE]; }

int dhdOpen(void) { if (value[UNPLUGGED]) return -1; value[OPENED] += 1; return 0; }
int dhdClose(char id) { (void)id; value[CLOSED] += 1; return 0; }
int drdIsInitialized(char id) { (void)id; return value[CALIBRATED] == 1; }
int drdAutoInit(char id) { (void)id; return value[CALIBRATED] < 0 ? -1 : ((value[CALIBRATED] = 1), 0); }
void dhdEnableExpertMode(void) {}
int dhdSetWatchdog(unsigned char units, char id) { (void)id; value[WATCHDOG] = 125e-6 * units; return 0; }
int dhdEnableForce(unsigned char on, char id) { (void)on; (void)id; return 0; }
int dhdSetMaxForce(double most, char id) { (void)most; (void)id; return 0; }
int dhdSetMaxTorque(double most, char id) { (void)most; (void)id; return 0; }
int dhdSetMaxGripperForce(double most, char id) { (void)most; (void)id; return 0; }
int dhdGetSystemType(char id) { (void)id; return (int)value[KIND]; }
int dhdGetDeviceCount(void) { return !value[UNPLUGGED]; }
int dhdHasGripper(char id) { (void)id; return value[GAP] > 0; }
int dhdGetGripperGap(double *gap, char id) { (void)id; *gap = value[GAP]; return 0; }
int dhdHasWrist(char id) { (void)id; return 1; }
int dhdGetButtonMask(char id) { (void)id; return 5; }

int dhdGetStatus(int status[17], char id) {
  (void)id;
  memset(status, 0, 17 * sizeof(int));
  status[0] = status[2] = 1;
  status[1] = !value[UNPLUGGED];
  status[3] = value[CALIBRATED] != 1;
  status[5] = !value[FORCE_OFF];
  return 0;
}

int dhdGetPositionAndOrientationFrame(double *x, double *y, double *z, double frame[9], char id) {
  static const double upright[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  (void)id;
  if (gone()) return -1;
  move();
  *x = shown[0]; *y = shown[1]; *z = shown[2];
  memcpy(frame, upright, sizeof upright);
  return value[TIMEGUARD] ? 1 : 0;
}

int dhdGetLinearVelocity(double *x, double *y, double *z, char id) {
  (void)id;
  *x = velocity[0]; *y = velocity[1]; *z = velocity[2];
  return 0;
}

int dhdGetAngularVelocityRad(double *x, double *y, double *z, char id) {
  (void)id;
  *x = *y = *z = 0;
  return 0;
}

int dhdSetForceAndTorqueAndGripperForce(double fx, double fy, double fz, double tx, double ty,
                                        double tz, double grip, char id) {
  double wrench[7] = {fx, fy, fz, tx, ty, tz, grip};
  (void)id;
  if (value[UNPLUGGED]) return -1;
  push(wrench, 7);
  return 0;
}

/* A driver with one device, for the test of the calling layer. */
#include <stdint.h>
#include <string.h>

int cuInit(unsigned flags) { return flags == 0 ? 0 : 1; }
int cuDriverGetVersion(int *version) { *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = 40 + ordinal; return ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char *name, int length, int device) {
	if (device != 40) return 101;
	strncpy(name, "Test Device", length);
	return 0;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { *bytes = (size_t)5 << 32; return device == 40 ? 0 : 101; }
int cuDeviceGetAttribute(int *value, int attribute, int device) {
	*value = attribute == 75 ? 8 : attribute == 76 ? 6 : -1;
	return device == 40 ? 0 : 101;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) {
	for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)i;
	return device == 40 ? 0 : 101;
}

/* The monitoring library of a partitioned device, for the test of the calling layer. */
#include <stdint.h>
#include <string.h>

typedef struct { uint64_t total, free, used; } memory_t;
static int device;

int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlSystemGetDriverVersion(char *version, unsigned length) { strncpy(version, "550.90.07", length); return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **handle) {
	if (strcmp(uuid, "MIG-00010203-0405-0607-0809-0a0b0c0d0e0f") != 0) return 6;
	*handle = &device;
	return 0;
}
int nvmlDeviceGetMemoryInfo(void *handle, memory_t *m) {
	if (handle != &device) return 2;
	m->total = 100; m->free = 70; m->used = 30;
	return 0;
}

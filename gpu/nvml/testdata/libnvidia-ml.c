/* NVML for tests of the calling layer: two GPUs, the first like an idle H100, the second like a partition that refuses
   most questions. The environment plants faults:
     NVML_INIT=n            nvmlInit_v2 returns n
     NVML_FAULT=name:n,…    the function of that name returns n, without its prefix nvml or nvmlDevice
     NVML_HOST_PIDS=1       processes have the ids of another namespace
     NVML_PROCESSES=n       number of further processes */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct { uint64_t total, free, used; } memory_t;
typedef struct { uint32_t version; uint64_t total, reserved, free, used; } memory_v2_t;
typedef struct { uint32_t gpu, memory; } utilization_t;
typedef struct { uint32_t pid; uint64_t used; uint32_t gpu_instance, compute_instance; } process_t;

_Static_assert(sizeof(memory_t) == 24, "memory");
_Static_assert(sizeof(memory_v2_t) == 40, "memory v2");
_Static_assert(sizeof(utilization_t) == 8, "utilization");
_Static_assert(sizeof(process_t) == 24, "process");

static int gpus[2];
static const char *uuids[] = {"GPU-00010203-0405-0607-0809-0a0b0c0d0e0f", "MIG-10111213-1415-1617-1819-1a1b1c1d1e1f"};
static int initialised;

#define MIB 1048576ull
#define SECOND(d) ((d) == &gpus[1])

static int fault(const char *name) {
	const char *all = getenv("NVML_FAULT");
	size_t n = strlen(name);
	while (all && *all) {
		if (strncmp(all, name, n) == 0 && all[n] == ':') return atoi(all + n + 1);
		all = strchr(all, ',');
		if (all) all++;
	}
	return initialised ? 0 : 1;
}
#define FAULT(name) do { int code = fault(name); if (code) return code; } while (0)
/* What a partition refuses. */
#define WHOLE(d) do { if (SECOND(d)) return 3; } while (0)

int nvmlInit_v2(void) {
	const char *code = getenv("NVML_INIT");
	if (code && atoi(code)) return atoi(code);
	initialised++;
	return 0;
}
int mock_initialised(void) { return initialised; }
int nvmlSystemGetDriverVersion(char *text, unsigned n) { FAULT("SystemGetDriverVersion"); snprintf(text, n, "550.90.07"); return 0; }
int nvmlDeviceGetCount_v2(unsigned *n) { FAULT("GetCount"); *n = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { FAULT("GetHandleByIndex"); if (i > 1) return 2; *d = &gpus[i]; return 0; }
int nvmlDeviceGetHandleByUUID(const char *uuid, void **d) {
	FAULT("GetHandleByUUID");
	for (int i = 0; i < 2; i++) {
		if (strcmp(uuid, uuids[i]) == 0) {
			*d = &gpus[i];
			return 0;
		}
	}
	return 6;
}
int nvmlDeviceGetName(void *d, char *text, unsigned n) {
	FAULT("GetName");
	snprintf(text, n, "%s", SECOND(d) ? "NVIDIA A100 MIG 1g.5gb" : "NVIDIA H100 80GB HBM3");
	return 0;
}
int nvmlDeviceGetUUID(void *d, char *text, unsigned n) { FAULT("GetUUID"); snprintf(text, n, "%s", uuids[SECOND(d)]); return 0; }
int nvmlDeviceGetMemoryInfo(void *d, memory_t *m) {
	FAULT("GetMemoryInfo");
	if (d != &gpus[0] && d != &gpus[1]) return 2;
	m->total = SECOND(d) ? 4864 * MIB : 81559 * MIB;
	m->used = SECOND(d) ? 13 * MIB : 1189 * MIB;
	m->free = m->total - m->used;
	return 0;
}
int nvmlDeviceGetMemoryInfo_v2(void *d, memory_v2_t *m) {
	FAULT("GetMemoryInfo_v2");
	if (m->version != (2u << 24 | sizeof *m)) return 25;
	m->total = SECOND(d) ? 4864 * MIB : 81559 * MIB;
	m->reserved = SECOND(d) ? 0 : 565 * MIB;
	m->used = SECOND(d) ? 13 * MIB : 624 * MIB;
	m->free = m->total - m->used - m->reserved;
	return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *d, unsigned *count, process_t *infos) {
	FAULT("GetComputeRunningProcesses");
	const char *more = getenv("NVML_PROCESSES");
	unsigned n = SECOND(d) ? 1 : 2 + (more ? atoi(more) : 0), room = *count;
	*count = n;
	if (room < n) return 7;
	uint32_t shift = getenv("NVML_HOST_PIDS") ? 100000 : 0;
	for (unsigned i = 0; i < n; i++) infos[i] = (process_t){.pid = 7 + i, .used = 1 * MIB, .gpu_instance = ~0u, .compute_instance = ~0u};
	if (SECOND(d)) {
		infos[0] = (process_t){.pid = 11, .used = ~0ull, .gpu_instance = 1};
		return 0;
	}
	infos[0] = (process_t){.pid = 7, .used = 102 * MIB};
	infos[1] = (process_t){.pid = (uint32_t)getpid() + shift, .used = 522 * MIB};
	return 0;
}
int nvmlDeviceGetUtilizationRates(void *d, utilization_t *u) { FAULT("GetUtilizationRates"); WHOLE(d); u->gpu = 37; u->memory = 12; return 0; }
int nvmlDeviceGetPowerUsage(void *d, unsigned *mw) { FAULT("GetPowerUsage"); WHOLE(d); *mw = 73250; return 0; }
int nvmlDeviceGetEnforcedPowerLimit(void *d, unsigned *mw) { FAULT("GetEnforcedPowerLimit"); WHOLE(d); *mw = 700000; return 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *d, uint64_t *mj) { static uint64_t now = 5000000; FAULT("GetTotalEnergyConsumption"); WHOLE(d); *mj = now += 73250; return 0; }
int nvmlDeviceGetTemperature(void *d, int sensor, unsigned *c) { FAULT("GetTemperature"); WHOLE(d); if (sensor != 0) return 2; *c = 41; return 0; }
int nvmlDeviceGetFanSpeed(void *d, unsigned *percent) { FAULT("GetFanSpeed"); (void)percent; return 3; } /* cooled passively */
int nvmlDeviceGetClockInfo(void *d, int kind, unsigned *mhz) {
	static const unsigned now[] = {345, 345, 2619};
	FAULT("GetClockInfo");
	WHOLE(d);
	if (kind < 0 || kind > 2) return 2;
	*mhz = now[kind];
	return 0;
}
int nvmlDeviceGetMaxClockInfo(void *d, int kind, unsigned *mhz) {
	static const unsigned most[] = {1980, 1980, 2619};
	FAULT("GetMaxClockInfo");
	WHOLE(d);
	if (kind < 0 || kind > 2) return 2;
	*mhz = most[kind];
	return 0;
}
int nvmlDeviceGetCurrentClocksEventReasons(void *d, uint64_t *mask) { FAULT("GetCurrentClocksEventReasons"); WHOLE(d); *mask = 1; return 0; }
int nvmlDeviceGetPcieThroughput(void *d, int counter, unsigned *kbs) { FAULT("GetPcieThroughput"); WHOLE(d); if (counter > 1) return 2; *kbs = counter ? 2500 : 850; return 0; }
int nvmlDeviceGetCurrPcieLinkGeneration(void *d, unsigned *g) { FAULT("GetCurrPcieLinkGeneration"); WHOLE(d); *g = 5; return 0; }
int nvmlDeviceGetCurrPcieLinkWidth(void *d, unsigned *w) { FAULT("GetCurrPcieLinkWidth"); WHOLE(d); *w = 16; return 0; }

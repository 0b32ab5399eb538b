/* A CUDA driver with one device and no kernels that run, for tests of the calling layer. It logs every call with its
   arguments, checks them, keeps contexts to threads, and copies memory for real, at once. A device address is not a
   host address: it has the highest bit set. Work is done when it is enqueued, but the first query says "not ready".

   CUDA_MOCK_FAIL=call=result[,call=result], such as cuMemAlloc_v2=2, makes calls fail; mock_fail sets it later. */
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, INVALID_DEVICE = 101, INVALID_CONTEXT = 201,
	INVALID_PTX = 218, UNSUPPORTED_PTX = 222, INVALID_HANDLE = 400, ILLEGAL_STATE = 401, NOT_FOUND = 500,
	NOT_READY = 600, CAPTURE_UNSUPPORTED = 900, CAPTURE_WRONG_THREAD = 908
};
enum { DEVICE = 40 };
static const size_t memory = (size_t)5 << 32;

typedef uint64_t address; /* of the device */
typedef struct block { struct block *next; char *start; size_t bytes; int pinned; } block;
typedef struct { char kind; int id, pending, capturing, nodes; pthread_t owner; } stream;
typedef struct { char kind; int id, pending, timed, at; } event;
typedef struct { char kind; int id, nodes; } graph; /* and its executable */
typedef struct { char kind; char *text; } module;
typedef struct { char kind; char name[64]; unsigned parameter; int shared; } function;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char lines[1 << 16], plan[256];
static size_t used;
static const void *seen;
static int planned, initialised, retained, dead, now, ids, context;
static block *blocks;
static _Thread_local void *current;

static void unlock(int *locked) { if (*locked) pthread_mutex_unlock(&mutex); }

/* Without GCC's cleanup, each return would have to unlock. */
#define ENTER(needs, ...) \
	pthread_mutex_lock(&mutex); \
	__attribute__((cleanup(unlock), unused)) int locked = 1; \
	int failed = enter(needs, __func__, __VA_ARGS__); \
	if (failed) return failed

static int injected(const char *call) {
	if (!planned) {
		const char *given = getenv("CUDA_MOCK_FAIL");
		snprintf(plan, sizeof plan, "%s", given ? given : "");
		planned = 1;
	}
	size_t length = strlen(call);
	for (const char *p = plan; (p = strstr(p, call)); p += length)
		if ((p == plan || p[-1] == ',') && p[length] == '=') return atoi(p + length + 1);
	return 0;
}

enum { NOTHING, INIT, CONTEXT };

static int enter(int needs, const char *call, const char *format, ...) {
	size_t length = strlen(lines);
	length += snprintf(lines + length, sizeof lines - length, "%s", call);
	if (length < sizeof lines) {
		va_list arguments;
		va_start(arguments, format);
		length += vsnprintf(lines + length, sizeof lines - length, format, arguments);
		va_end(arguments);
	}
	if (length + 1 < sizeof lines) strcpy(lines + length, "\n");
	if (needs >= INIT && !initialised) return NOT_INITIALIZED;
	if (needs >= CONTEXT && current != &context) return INVALID_CONTEXT;
	if (needs >= CONTEXT && dead) return dead;
	int result = injected(call);
	if (result == 700 || result == 719) dead = result;
	return result;
}

/* range returns the host memory behind a range of device memory, or NULL. */
static char *range(address a, size_t bytes) {
	char *start = (char *)(uintptr_t)(a & ~(1ull << 63));
	if (!(a >> 63)) return NULL;
	for (block *b = blocks; b; b = b->next)
		if (start >= b->start && start + bytes <= b->start + b->bytes) return start;
	return NULL;
}

static const char *locked_pages(const void *p, size_t bytes) {
	for (block *b = blocks; b; b = b->next)
		if (b->pinned && (char *)p >= b->start && (char *)p + bytes <= b->start + b->bytes) return "pinned";
	return "pageable";
}

static char *allocate(size_t bytes, int pinned) {
	block *b = malloc(sizeof *b);
	*b = (block){blocks, calloc(bytes, 1), bytes, pinned};
	blocks = b;
	return b->start;
}

static int release(void *start, int pinned) {
	for (block **p = &blocks; *p; p = &(*p)->next) {
		block *b = *p;
		if (b->start != start || b->pinned != pinned) continue;
		*p = b->next;
		if (!pinned) used -= b->bytes;
		free(b->start);
		free(b);
		return 0;
	}
	return INVALID_VALUE;
}

static int id(const void *handle) { return handle ? ((const stream *)handle)->id : 0; }
static int is(const void *handle, char kind) { return handle && *(const char *)handle == kind; }

/* enqueue counts an operation on a stream: a node of a graph during a capture. */
static int enqueue(stream *s) {
	if (!s) return 0;
	if (s->kind != 's') return INVALID_HANDLE;
	if (!s->capturing) { s->pending = 1; return 0; }
	if (!pthread_equal(s->owner, pthread_self())) return CAPTURE_WRONG_THREAD;
	s->nodes++;
	return 0;
}

/* query says "not ready" once for what was enqueued. */
static int query(int *pending) {
	int was = *pending;
	*pending = 0;
	return was ? NOT_READY : 0;
}

/* Controls of the tests, not functions of the driver. */
void mock_fail(const char *calls) {
	pthread_mutex_lock(&mutex);
	snprintf(plan, sizeof plan, "%s", calls);
	planned = 1;
	dead = 0;
	pthread_mutex_unlock(&mutex);
}
void mock_log(char *text, size_t bytes) { /* returns the calls since the last time */
	pthread_mutex_lock(&mutex);
	snprintf(text, bytes, "%s", lines);
	lines[0] = 0;
	pthread_mutex_unlock(&mutex);
}
void *mock_echo(void *p) { return p; }
const void *mock_seen(void) { return seen; } /* the host address of the last asynchronous copy or launch */
int mock_live(void) { /* the number of blocks of memory */
	int n = 0;
	pthread_mutex_lock(&mutex);
	for (block *b = blocks; b; b = b->next) n++;
	pthread_mutex_unlock(&mutex);
	return n;
}

int cuInit(unsigned flags) {
	ENTER(NOTHING, " %u", flags);
	initialised = flags == 0;
	return flags == 0 ? 0 : INVALID_VALUE;
}
int cuDriverGetVersion(int *version) { ENTER(NOTHING, ""); *version = 12040; return 0; }
int cuDeviceGetCount(int *count) { ENTER(INIT, ""); *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) {
	ENTER(INIT, " %d", ordinal);
	*device = DEVICE + ordinal;
	return ordinal == 0 ? 0 : INVALID_DEVICE;
}
int cuDeviceGetName(char *name, int length, int device) {
	ENTER(INIT, " %d %d", length, device);
	if (device != DEVICE) return INVALID_DEVICE;
	snprintf(name, length, "Test Device");
	return 0;
}
int cuDeviceGetUuid_v2(unsigned char *uuid, int device) {
	ENTER(INIT, " %d", device);
	for (int i = 0; i < 16; i++) uuid[i] = (unsigned char)i;
	return device == DEVICE ? 0 : INVALID_DEVICE;
}
int cuDeviceGetUuid(unsigned char *uuid, int device) {
	ENTER(INIT, " %d", device);
	memset(uuid, 7, 16);
	return device == DEVICE ? 0 : INVALID_DEVICE;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) {
	ENTER(INIT, " %d", device);
	*bytes = memory;
	return device == DEVICE ? 0 : INVALID_DEVICE;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
	ENTER(INIT, " %d %d", attribute, device);
	*value = attribute == 75 ? 8 : attribute == 76 ? 6 : 1000 + attribute;
	return device == DEVICE ? 0 : INVALID_DEVICE;
}

int cuDevicePrimaryCtxRetain(void **c, int device) {
	ENTER(INIT, " %d", device);
	if (device != DEVICE) return INVALID_DEVICE;
	retained++;
	*c = &context;
	return 0;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
	ENTER(INIT, " %d", device);
	return device == DEVICE && retained-- > 0 ? 0 : INVALID_CONTEXT;
}
int cuCtxSetCurrent(void *c) {
	ENTER(INIT, " %d", c == &context);
	if (c && c != &context) return INVALID_CONTEXT;
	current = c;
	return 0;
}
int cuCtxSynchronize(void) { ENTER(CONTEXT, ""); return 0; }
int cuMemGetInfo_v2(size_t *free, size_t *total) {
	ENTER(CONTEXT, "");
	*free = memory - used;
	*total = memory;
	return 0;
}

/* The log of the compiler goes to the buffer of options 5 and 6. */
int cuModuleLoadDataEx(void **m, const char *text, unsigned count, const int *options, void **values) {
	ENTER(CONTEXT, " %zu %u %d %d %zu", strlen(text), count, options[0], options[1], (size_t)values[1]);
	if (count != 2 || options[0] != 5 || options[1] != 6) return INVALID_VALUE;
	int result = strstr(text, ".version 99") ? UNSUPPORTED_PTX : strstr(text, ".version") ? 0 : INVALID_PTX;
	if (result) {
		const char *log = result == INVALID_PTX ? "line 1: no .version\n" : "";
		size_t n = snprintf(values[0], (size_t)values[1], "%s", log);
		values[1] = (void *)n;
		return result;
	}
	module *made = calloc(1, sizeof *made);
	*made = (module){'m', strdup(text)};
	*m = made;
	return 0;
}
int cuModuleUnload(module *m) {
	ENTER(CONTEXT, "");
	if (!is(m, 'm')) return INVALID_HANDLE;
	free(m->text);
	m->kind = 0;
	return 0;
}
int cuModuleGetFunction(void **f, module *m, const char *name) {
	ENTER(CONTEXT, " %s", name);
	if (!is(m, 'm')) return INVALID_HANDLE;
	char entry[96];
	snprintf(entry, sizeof entry, ".entry %s(", name);
	const char *found = strstr(m->text, entry);
	if (!found) return NOT_FOUND;
	function *made = calloc(1, sizeof *made);
	made->kind = 'f';
	snprintf(made->name, sizeof made->name, "%s", name);
	const char *size = strchr(found, '['); /* .param .align 8 .b8 name[bytes] */
	made->parameter = size ? (unsigned)atoi(size + 1) : 0;
	*f = made;
	return 0;
}
int cuFuncGetAttribute(int *value, int attribute, function *f) {
	ENTER(CONTEXT, " %d", attribute);
	if (!is(f, 'f')) return INVALID_HANDLE;
	*value = attribute == 8 ? f->shared : 10 + attribute;
	return 0;
}
int cuFuncSetAttribute(function *f, int attribute, int value) {
	ENTER(CONTEXT, " %d %d", attribute, value);
	if (!is(f, 'f')) return INVALID_HANDLE;
	if (attribute != 8) return INVALID_VALUE;
	f->shared = value;
	return 0;
}
int cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, function *f, int threads, size_t shared) {
	ENTER(CONTEXT, " %d %zu", threads, shared);
	if (!is(f, 'f')) return INVALID_HANDLE;
	*blocks = 2048 / threads;
	return 0;
}

int cuMemAlloc_v2(address *a, size_t bytes) {
	ENTER(CONTEXT, " %zu", bytes);
	if (bytes > memory - used) return OUT_OF_MEMORY;
	used += bytes;
	*a = (uintptr_t)allocate(bytes, 0) | 1ull << 63;
	return 0;
}
int cuMemFree_v2(address a) {
	ENTER(CONTEXT, "");
	return release(range(a, 0), 0);
}
int cuMemHostAlloc(void **p, size_t bytes, unsigned flags) {
	ENTER(CONTEXT, " %zu %u", bytes, flags);
	*p = allocate(bytes, 1);
	return 0;
}
int cuMemFreeHost(void *p) {
	ENTER(CONTEXT, "");
	return release(p, 1);
}
int cuMemHostGetDevicePointer_v2(address *a, void *p, unsigned flags) {
	ENTER(CONTEXT, " %s %u", locked_pages(p, 0), flags);
	*a = (uintptr_t)p | 1ull << 63;
	return range(*a, 0) ? 0 : INVALID_VALUE;
}
int cuMemcpyHtoD_v2(address to, const void *from, size_t bytes) {
	ENTER(CONTEXT, " %zu", bytes);
	if (!range(to, bytes)) return INVALID_VALUE;
	memcpy(range(to, bytes), from, bytes);
	return 0;
}
int cuMemcpyDtoH_v2(void *to, address from, size_t bytes) {
	ENTER(CONTEXT, " %zu", bytes);
	if (!range(from, bytes)) return INVALID_VALUE;
	memcpy(to, range(from, bytes), bytes);
	return 0;
}
int cuMemcpyHtoDAsync_v2(address to, const void *from, size_t bytes, stream *s) {
	ENTER(CONTEXT, " %s %zu s%d", locked_pages(from, bytes), bytes, id(s));
	seen = from;
	if (!range(to, bytes)) return INVALID_VALUE;
	memcpy(range(to, bytes), from, bytes);
	return enqueue(s);
}
int cuMemcpyDtoHAsync_v2(void *to, address from, size_t bytes, stream *s) {
	ENTER(CONTEXT, " %s %zu s%d", locked_pages(to, bytes), bytes, id(s));
	seen = to;
	if (!range(from, bytes)) return INVALID_VALUE;
	memcpy(to, range(from, bytes), bytes);
	return enqueue(s);
}
int cuMemcpyDtoDAsync_v2(address to, address from, size_t bytes, stream *s) {
	ENTER(CONTEXT, " %zu s%d", bytes, id(s));
	if (!range(to, bytes) || !range(from, bytes)) return INVALID_VALUE;
	memmove(range(to, bytes), range(from, bytes), bytes);
	return enqueue(s);
}
int cuMemsetD8Async(address to, unsigned char value, size_t bytes, stream *s) {
	ENTER(CONTEXT, " %u %zu s%d", value, bytes, id(s));
	if (!range(to, bytes)) return INVALID_VALUE;
	memset(range(to, bytes), value, bytes);
	return enqueue(s);
}

int cuStreamCreate(void **s, unsigned flags) {
	ENTER(CONTEXT, " %u", flags);
	stream *made = calloc(1, sizeof *made);
	*made = (stream){.kind = 's', .id = ++ids};
	*s = made;
	return 0;
}
int cuStreamDestroy_v2(stream *s) {
	ENTER(CONTEXT, " s%d", id(s));
	if (!is(s, 's')) return INVALID_HANDLE;
	s->kind = 0;
	return 0;
}
int cuStreamSynchronize(stream *s) {
	ENTER(CONTEXT, " s%d", id(s));
	if (!is(s, 's')) return INVALID_HANDLE;
	if (s->capturing) return CAPTURE_UNSUPPORTED;
	s->pending = 0;
	return 0;
}
int cuStreamQuery(stream *s) {
	ENTER(CONTEXT, " s%d", id(s));
	return is(s, 's') ? query(&s->pending) : INVALID_HANDLE;
}
int cuStreamWaitEvent(stream *s, event *e, unsigned flags) {
	ENTER(CONTEXT, " s%d e%d %u", id(s), id(e), flags);
	return is(e, 'e') ? enqueue(s) : INVALID_HANDLE;
}

int cuEventCreate(void **e, unsigned flags) {
	ENTER(CONTEXT, " %u", flags);
	event *made = calloc(1, sizeof *made);
	*made = (event){.kind = 'e', .id = ++ids, .timed = flags == 0};
	*e = made;
	return 0;
}
int cuEventDestroy_v2(event *e) {
	ENTER(CONTEXT, " e%d", id(e));
	if (!is(e, 'e')) return INVALID_HANDLE;
	e->kind = 0;
	return 0;
}
static int record(event *e, stream *s) {
	if (!is(e, 'e')) return INVALID_HANDLE;
	e->pending = 1;
	e->at = ++now;
	return enqueue(s);
}
int cuEventRecord(event *e, stream *s) {
	ENTER(CONTEXT, " e%d s%d", id(e), id(s));
	return record(e, s);
}
int cuEventRecordWithFlags(event *e, stream *s, unsigned flags) {
	ENTER(CONTEXT, " e%d s%d %u", id(e), id(s), flags);
	if (!s || !s->capturing) return ILLEGAL_STATE; /* external events are for captures */
	return record(e, s);
}
int cuEventQuery(event *e) {
	ENTER(CONTEXT, " e%d", id(e));
	return is(e, 'e') ? query(&e->pending) : INVALID_HANDLE;
}
int cuEventSynchronize(event *e) {
	ENTER(CONTEXT, " e%d", id(e));
	if (!is(e, 'e')) return INVALID_HANDLE;
	e->pending = 0;
	return 0;
}
static int elapsed(float *milliseconds, event *start, event *end) {
	if (!is(start, 'e') || !is(end, 'e') || !start->timed || !end->timed) return INVALID_HANDLE;
	*milliseconds = 0.5f * (float)(end->at - start->at);
	return 0;
}
int cuEventElapsedTime(float *milliseconds, event *start, event *end) {
	ENTER(CONTEXT, " e%d e%d", id(start), id(end));
	return elapsed(milliseconds, start, end);
}
int cuEventElapsedTime_v2(float *milliseconds, event *start, event *end) {
	ENTER(CONTEXT, " e%d e%d", id(start), id(end));
	return elapsed(milliseconds, start, end);
}

int cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                   unsigned shared, stream *s, void **parameters, void **extra) {
	char bytes[2 * 256 + 1] = "";
	if (is(f, 'f'))
		for (unsigned i = 0; i < f->parameter && i < 256; i++)
			sprintf(bytes + 2 * i, "%02x", ((unsigned char *)parameters[0])[i]);
	ENTER(CONTEXT, " %s %u,%u,%u %u,%u,%u %u s%d %s", is(f, 'f') ? f->name : "?", gx, gy, gz, bx, by, bz, shared, id(s), bytes);
	if (!is(f, 'f')) return INVALID_HANDLE;
	if (extra) return INVALID_VALUE;
	seen = parameters[0];
	return enqueue(s);
}

int cuStreamBeginCapture_v2(stream *s, int mode) {
	ENTER(CONTEXT, " s%d %d", id(s), mode);
	if (!is(s, 's')) return INVALID_HANDLE;
	if (s->capturing) return ILLEGAL_STATE;
	s->capturing = 1;
	s->nodes = 0;
	s->owner = pthread_self();
	return 0;
}
int cuStreamEndCapture(stream *s, void **g) {
	ENTER(CONTEXT, " s%d", id(s));
	if (!is(s, 's') || !s->capturing) return ILLEGAL_STATE;
	if (!pthread_equal(s->owner, pthread_self())) return CAPTURE_WRONG_THREAD;
	s->capturing = 0;
	graph *made = calloc(1, sizeof *made);
	*made = (graph){'g', ++ids, s->nodes};
	*g = made;
	return 0;
}
int cuGraphInstantiateWithFlags(void **x, graph *g, unsigned long long flags) {
	ENTER(CONTEXT, " g%d %llu", id(g), flags);
	if (!is(g, 'g')) return INVALID_HANDLE;
	graph *made = calloc(1, sizeof *made);
	*made = (graph){'x', ++ids, g->nodes};
	*x = made;
	return 0;
}
int cuGraphUpload(graph *x, stream *s) {
	ENTER(CONTEXT, " x%d s%d", id(x), id(s));
	return is(x, 'x') ? enqueue(s) : INVALID_HANDLE;
}
int cuGraphLaunch(graph *x, stream *s) {
	ENTER(CONTEXT, " x%d s%d nodes=%d", id(x), id(s), is(x, 'x') ? x->nodes : -1);
	return is(x, 'x') ? enqueue(s) : INVALID_HANDLE;
}
int cuGraphDestroy(graph *g) {
	ENTER(CONTEXT, " g%d", id(g));
	if (!is(g, 'g')) return INVALID_HANDLE;
	g->kind = 0;
	return 0;
}
int cuGraphExecDestroy(graph *x) {
	ENTER(CONTEXT, " x%d", id(x));
	if (!is(x, 'x')) return INVALID_HANDLE;
	x->kind = 0;
	return 0;
}

package machine

import "runtime/metrics"

// ReadCollectable reads the size of the unused part of the Go heap: garbage, and the room
// kept by the collector. It grows in proportion to live memory, including caches, and is
// not a leak.
func ReadCollectable() int64 {
	samples := [...]metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
	}
	metrics.Read(samples[:])
	var sum int64
	for i, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return 0
		}
		if i == 0 {
			sum -= int64(s.Value.Uint64())
		} else {
			sum += int64(s.Value.Uint64())
		}
	}
	return max(sum, 0)
}

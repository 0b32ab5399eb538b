package check

import (
	"errors"
	"fmt"
	"time"

	"prismtop/gpu/driver"
	"prismtop/profiles/unit"
)

// What a launch costs, one by one and in a graph, and the roofs of copies and multiplications.

// threads is the size of the blocks of the kernels.
const threads = 256

// enqueued is the number of empty kernels whose launches are timed together.
const enqueued = 1000

// rounds is how often a measurement is repeated; the best counts.
const rounds = 5

// launches measures what a launch costs.
func (m *measurement) launches() error {
	n := max(enqueued/m.options.Scale, 1)
	var p roofP
	enqueue := func() error {
		for range n {
			if err := m.LaunchKernel(m.kernels["roof_nothing"], driver.X(1), driver.X(threads), 0, m.stream,
				p.bytes()); err != nil {
				return err
			}
		}
		return nil
	}
	var err error
	if m.report.Launch.Eager, err = m.perLaunch(n, enqueue); err != nil {
		return err
	}
	graph, err := m.capture(enqueue)
	if driver.NoGraphs(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = m.GraphExecDestroy(graph) }() // nothing depends on it any more
	m.report.Launch.Graph, err = m.perLaunch(n, func() error { return m.GraphLaunch(graph, m.stream) })
	return err
}

// perLaunch returns the least time of one of n launches that enqueue enqueues, in microseconds.
func (m *measurement) perLaunch(n int, enqueue func() error) (least float64, err error) {
	for round := range rounds + 1 { // the first warms up
		began := time.Now()
		if err := enqueue(); err != nil {
			return 0, err
		}
		if err := m.StreamSynchronize(m.stream); err != nil {
			return 0, err
		}
		if took := float64(time.Since(began)) / 1e3 / float64(n); round == 1 || round > 1 && took < least {
			least = took
		}
	}
	return least, nil
}

// capture records what enqueue enqueues as a graph.
func (m *measurement) capture(enqueue func() error) (x driver.GraphExec, err error) {
	if err := m.StreamBeginCapture(m.stream); err != nil {
		return 0, err
	}
	err = enqueue()
	graph, ended := m.StreamEndCapture(m.stream)
	if err == nil {
		err = ended
	}
	if err == nil {
		x, err = m.GraphInstantiate(graph)
	}
	if graph != 0 {
		_ = m.GraphDestroy(graph) // the executable graph does not need it
	}
	return x, err
}

// copied is the size of the array that is copied, larger than any cache.
const copied = 1 << 30

// roofs measures copies and multiplications.
func (m *measurement) roofs() error {
	free, _, err := m.MemGetInfo()
	if err != nil {
		return err
	}
	m.bytes = min(copied, free/4) / int64(m.options.Scale) &^ 4095
	if m.bytes == 0 {
		return errors.New("out of memory: " + unit.Size(int64(free)) + " are free")
	}
	for i := range m.buffers {
		if m.buffers[i], err = m.MemAlloc(m.bytes); err != nil {
			return fmt.Errorf("%d bytes: %w", m.bytes, err)
		}
	}
	if err := m.MemsetD8Async(m.buffers[0], 0, m.bytes, m.stream); err != nil {
		return err
	}
	if err := m.MemsetD8Async(m.buffers[1], 0, m.bytes, m.stream); err != nil {
		return err
	}
	blocks := max(8*m.report.Multi/m.options.Scale, 1)
	turns := max(4096/m.options.Scale, 1)
	p := roofP{Y: m.buffers[0], X: m.buffers[1], N: m.bytes / 4, Turns: int32(turns), A: 0.999, B: 0.001}
	warps := float64(blocks * threads / 32)
	for _, r := range []struct {
		name, kernel string
		work         float64 // bytes, or operations
		unit         string
		scale        float64
	}{
		{"copy", "roof_copy", 2 * float64(m.bytes), "GB/s", 1e9},
		{"fp32", "roof_fma", warps * 32 * float64(turns) * 2 * 8 * 16, "TFLOP/s", 1e12},
		{"tf32", "roof_tf32", warps * float64(turns) * 4 * 4 * 2 * 16 * 8 * 8, "TFLOP/s", 1e12},
		{"bf16", "roof_bf16", warps * float64(turns) * 4 * 4 * 2 * 16 * 8 * 16, "TFLOP/s", 1e12},
		{"fp16", "roof_fp16", warps * float64(turns) * 4 * 4 * 2 * 16 * 8 * 16, "TFLOP/s", 1e12},
	} {
		k, ok := m.kernels[r.kernel]
		if !ok { // a device without such instructions
			continue
		}
		if err := m.ctx.Err(); err != nil {
			return err
		}
		seconds, err := m.timed(k, blocks, &p)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		m.report.Roofs = append(m.report.Roofs, Roof{r.name, r.work / seconds / r.scale, r.unit})
	}
	return nil
}

// timed returns the least time of a kernel on the device, in seconds.
func (m *measurement) timed(k driver.Function, blocks int, p *roofP) (least float64, err error) {
	var events [2]driver.Event
	for i := range events {
		if events[i], err = m.EventCreate(true); err != nil {
			return 0, err
		}
		defer func() { _ = m.EventDestroy(events[i]) }() // nothing depends on it any more
	}
	for round := range rounds + 1 { // the first warms up
		if err := m.EventRecord(events[0], m.stream); err != nil {
			return 0, err
		}
		if err := m.LaunchKernel(k, driver.X(blocks), driver.X(threads), 0, m.stream, p.bytes()); err != nil {
			return 0, err
		}
		if err := m.EventRecord(events[1], m.stream); err != nil {
			return 0, err
		}
		if err := m.StreamSynchronize(m.stream); err != nil {
			return 0, err
		}
		ms, err := m.EventElapsed(events[0], events[1])
		if err != nil {
			return 0, err
		}
		if took := float64(ms) / 1e3; round == 1 || round > 1 && took < least {
			least = took
		}
	}
	return max(least, 1e-9), nil
}

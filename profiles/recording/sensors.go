package recording

import (
	"strings"

	"prismtop/profiles/machine"
)

// sensorColumns are the columns of the table of sensors, after the time and the number of the GPU, with their values
// in the row of a GPU and in that of the machine itself, whose gpu is NULL; nil for NULL. A new one comes last.
var sensorColumns = []struct {
	name, kind string
	machine    func(*machine.Sensors) any
	gpu        func(*machine.GPUSensors) any
}{
	{"name", "TEXT", nil, func(g *machine.GPUSensors) any { return g.Name }},
	{"memory_used", "INTEGER", nil, func(g *machine.GPUSensors) any { return known(g.MemoryUsed) }},
	{"memory_reserved", "INTEGER", nil, func(g *machine.GPUSensors) any { return known(g.MemoryReserved) }},
	{"memory_total", "INTEGER", nil, func(g *machine.GPUSensors) any { return known(g.MemoryTotal) }},
	{"utilisation", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.Utilisation) }},
	{"watts", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.Power) }},
	{"joules", "REAL", func(s *machine.Sensors) any { return known(s.Processors) }, func(g *machine.GPUSensors) any { return known(g.Energy) }},
	{"celsius", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.Temperature) }},
	{"sm_mhz", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.SMClock) }},
	{"memory_mhz", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.MemoryClock) }},
	{"throttle", "TEXT", nil, func(g *machine.GPUSensors) any {
		if g.ThrottleReason != "" {
			return nil
		}
		return strings.Join(g.Throttle, ", ")
	}},
	{"received", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.Received) }},
	{"sent", "REAL", nil, func(g *machine.GPUSensors) any { return known(g.Sent) }},
}

// known returns a number for the table, NULL for one that is missing.
func known(g machine.Gauge) any {
	if !g.Known {
		return nil
	}
	return measured(g.Value)
}

// sensorsTable creates the table of sensors.
func sensorsTable() string {
	columns := "at REAL NOT NULL, gpu INTEGER"
	for _, c := range sensorColumns {
		columns += ", " + c.name + " " + c.kind
	}
	return "CREATE TABLE sensors (" + columns + ");\n"
}

// tabulateSensors writes a row for each GPU, and one for the machine if anything of it is known.
func tabulateSensors(t *inserts, s *machine.Sensors, at float64) {
	read, row := false, []any{at, nil}
	for _, c := range sensorColumns {
		var v any
		if c.machine != nil {
			v = c.machine(s)
		}
		read, row = read || v != nil, append(row, v)
	}
	if read {
		t.run(insertSensors, row...)
	}
	for i := range s.GPUs {
		row := []any{at, i}
		for _, c := range sensorColumns {
			var v any
			if c.gpu != nil {
				v = c.gpu(&s.GPUs[i])
			}
			row = append(row, v)
		}
		t.run(insertSensors, row...)
	}
}

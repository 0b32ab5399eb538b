package words

import (
	"strconv"
	"strings"

	"prismtop/profiles"
	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
)

// Sensor is a sensor of a GPU as text.
type Sensor struct {
	Name   string
	Text   string // "73.2 of 700 W"; empty if it has no value
	Reason string // why it, or a part of it, is missing
}

// Sensors lists every sensor of a GPU, each with its value or the reason why it has none.
func Sensors(g *machine.GPUSensors) []Sensor {
	memory := of("memory", g.InUse(), g.MemoryTotal, size, "")
	memory.Text = suffixed(memory.Text, " used")
	driver := plain("driver", g.MemoryReserved, size) // named as in the ledger
	driver.Text = suffixed(driver.Text, " of the memory used")
	energy := plain("energy", g.Energy, Joules)
	energy.Text = suffixed(energy.Text, " since the driver was loaded")
	return []Sensor{
		memory, driver, processes(g),
		plain("utilisation", g.Utilisation, percent), plain("memory traffic", g.MemoryUtilisation, percent),
		of("power", g.Power, g.PowerLimit, three, " W"), energy, plain("temperature", g.Temperature, celsius),
		plain("fan", g.Fan, percent),
		of("graphics clock", g.GraphicsClock, g.MaxGraphicsClock, whole, " MHz"),
		of("SM clock", g.SMClock, g.MaxSMClock, whole, " MHz"),
		of("memory clock", g.MemoryClock, g.MaxMemoryClock, whole, " MHz"),
		{"held down by", Throttle(g), g.ThrottleReason},
		plain("PCIe received", g.Received, Traffic), plain("PCIe sent", g.Sent, Traffic),
		plain("PCIe generation", g.LinkGeneration, whole), plain("PCIe lanes", g.LinkWidth, whole),
	}
}

func plain(name string, g machine.Gauge, format func(float64) string) Sensor {
	if !g.Known {
		return Sensor{Name: name, Reason: missing(g)}
	}
	return Sensor{Name: name, Text: format(g.Value)}
}

// of is a value of its maximum.
func of(name string, g, most machine.Gauge, format func(float64) string, of string) Sensor {
	s := plain(name, g, format)
	switch {
	case g.Known && most.Known:
		s.Text += " of " + format(most.Value) + of
	case g.Known:
		s.Text += of
		s.Reason = missing(most)
	}
	return s
}

func missing(g machine.Gauge) string {
	if g.Reason == "" {
		return "not read"
	}
	return g.Reason
}

func suffixed(text, suffix string) string {
	if text == "" {
		return ""
	}
	return text + suffix
}

func processes(g *machine.GPUSensors) Sensor {
	s := Sensor{Name: "processes", Reason: g.ProcessesReason}
	if s.Reason != "" {
		return s
	}
	s.Text = strconv.Itoa(len(g.Processes))
	if bytes, known := g.Listed(); !known {
		s.Reason = "the driver does not give the memory of each"
	} else if len(g.Processes) > 0 {
		s.Text += ", " + size(bytes)
	}
	return s
}

// Throttle returns the reasons for a GPU's present clocks; "nothing" if there are none, and "" if they are not known.
func Throttle(g *machine.GPUSensors) string {
	switch {
	case g.ThrottleReason != "":
		return ""
	case len(g.Throttle) == 0:
		return "nothing"
	}
	return strings.Join(g.Throttle, ", ")
}

// Gauge formats a number that may be missing; "n/a" if it is.
func Gauge(g machine.Gauge, format func(float64) string) string {
	if !g.Known {
		return "n/a"
	}
	return format(g.Value)
}

// Joules formats an amount of energy: "0.301 J", "12.3 kJ".
func Joules(v float64) string {
	switch {
	case v < 0.9995e-3:
		return three(v*1e6) + " µJ"
	case v < 0.9995:
		return three(v*1e3) + " mJ"
	case v < 999.5:
		return three(v) + " J"
	case v < 999.5e3:
		return three(v/1e3) + " kJ"
	}
	return three(v/1e6) + " MJ"
}

// Traffic formats bytes a second: "2.50 MB/s".
func Traffic(v float64) string { return unit.Size(int64(v)) + "/s" }

func size(v float64) string    { return unit.Size(int64(v)) }
func percent(v float64) string { return strings.TrimSpace(unit.Percent(v)) }
func celsius(v float64) string { return whole(v) + " °C" }
func whole(v float64) string   { return strconv.FormatFloat(v, 'f', 0, 64) }

// three formats a non-negative number with three digits.
func three(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// PerIteration describes the energy of an iteration by a counter; "" if it is not known, for the reason returned.
func PerIteration(e *profiles.EnergyView) (text, reason string) {
	if !e.PerIteration.Known {
		return "", missing(e.PerIteration)
	}
	return Joules(e.PerIteration.Value) + " an iteration", ""
}

// MemoryChange describes what a change of settings did to the run's memory: "+1.29 GB"; "" if that is not known.
func MemoryChange(e *profiles.Effect) string {
	switch {
	case !e.HasMemory:
		return ""
	case e.MemoryChange == 0:
		return "same memory"
	}
	return unit.SignedSize(e.MemoryChange)
}

// CardMemory describes, in w cells if possible, a GPU's memory and the part of it that this run holds: "1.23 of 85.5 GB
// used, 0 by this run".
func CardMemory(g *machine.GPUSensors, own int64, w int) string {
	used := g.InUse()
	if !used.Known {
		return "n/a: " + missing(used)
	}
	text, by := size(used.Value), "0"
	if g.MemoryTotal.Known {
		text = three(used.Value/1e9) + " of " + three(g.MemoryTotal.Value/1e9) + " GB"
	}
	if own > 0 {
		by = unit.Size(own)
	}
	return FittingOrLast(w, text+" used, "+by+" by this run", text+", "+by+" by this run", text+", own "+by, text)
}

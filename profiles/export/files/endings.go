package files

// endings are the usual endings of files whose format is not called by its own.
var endings = map[string]string{"chrome": ".json", "tensorboard": "", "pprof": ".pb.gz"}

// Ending returns the usual ending of a format's file: ".csv". It is empty for a format that writes a
// folder.
func Ending(format string) string {
	if ending, other := endings[format]; other {
		return ending
	}
	return "." + format
}

// Formats lists the formats.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

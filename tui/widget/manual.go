package widget

// KeySection is a section of the keys in the manual.
type KeySection struct {
	Title string
	Keys  []ManualKey
}

// ManualKey describes one or more keys in the manual.
type ManualKey struct {
	Keys []string // as a terminal names them, "ctrl+l"
	Does string
}

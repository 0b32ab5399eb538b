package profiles

// OutputLines is the number of lines that an Output has at most, OutputWidth the number of bytes of each.
const (
	OutputLines = 60
	OutputWidth = 400
)

// Output is what the program of a loop in another process has printed: the end of it, as a terminal would show it. A
// line that was written over, such as a progress bar, is there in its last state.
type Output struct {
	Printed int64    // lines so far, with those that are not kept
	Lines   []string // the newest, at most OutputLines; the last of them may grow
	Path    string   // of the file that has all of it
}

func (*Output) body() {}

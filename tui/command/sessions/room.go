package sessions

import "os"

const (
	roomAhead = 1 << 20  // bytes that a program can print after the disk is full
	roomKept  = 64 << 10 // bytes of the end of what it printed that are kept then
)

// Room keeps disk space for what a program prints into a file. Without it the first line that a full disk does not take
// is an exception in the program, which often ends it.
type Room struct {
	file *os.File
	ends int64 // the file has space up to here
	off  bool  // the file system cannot keep space
}

// NewRoom keeps space in a file of a process that writes it.
func NewRoom(f *os.File) *Room { return &Room{file: f} }

// Keep keeps space beyond what was printed so far. On a full disk it gives up the beginning of the file for it; forgot
// reports that. An error says that there is no space even so.
func (r *Room) Keep(printed int64) (forgot bool, err error) {
	if r.off || printed+roomAhead/4 < r.ends {
		return false, nil
	}
	ahead := int64(roomAhead)
	err = keepSpace(r.file, printed, ahead)
	if full(err) && printed > 2*roomKept && forget(r.file, 0, printed-roomKept) == nil {
		ahead /= 2 // what was given up is less than the whole
		forgot, err = true, keepSpace(r.file, printed, ahead)
	}
	switch {
	case err == nil:
		r.ends = printed + ahead
	case !full(err):
		r.off, err = true, nil
	}
	return forgot, err
}

// Release gives the space back that the program, which has ended, did not use.
func (r *Room) Release(printed int64) {
	if r.ends > printed {
		_ = forget(r.file, printed, r.ends-printed)
	}
}

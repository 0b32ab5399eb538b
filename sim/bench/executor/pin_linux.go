package executor

import (
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// processors returns the share of this process's processors that the place of several
// programs at a time gets; nil for all of them.
func processors(place, places int) (share []int) {
	var set unix.CPUSet
	if places < 2 || unix.SchedGetaffinity(0, &set) != nil {
		return nil
	}
	var all []int
	for cpu := range 8 * len(set) * 8 {
		if set.IsSet(cpu) {
			all = append(all, cpu)
		}
	}
	n := len(all)
	if n <= places { // more programs than processors: one each
		return all[place%n : place%n+1]
	}
	return all[place*n/places : (place+1)*n/places]
}

// startOn starts a program on some processors: it inherits those of the thread that starts it.
func startOn(cmd *exec.Cmd, share []int) error {
	if share == nil {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return err
	}
	for _, cpu := range share {
		set.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return err
	}
	err := cmd.Start()
	if back := unix.SchedSetaffinity(0, &before); err == nil {
		err = back
	}
	return err
}

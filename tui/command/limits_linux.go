package command

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"prismtop/profiles/machine"
	"prismtop/profiles/unit"
)

// What the program needs of the limits of its process, by measurement on two processors;
// threads reserve address space that they do not use.
const (
	leastSpace     = 2 << 30   // bytes of address space (ulimit -v)
	spacePerThread = 128 << 20 // more for each processor
	leastThreads   = 14        // of the user (ulimit -u), more than one for each processor
	countedBelow   = 4096      // a limit above needs no counting of the user's threads
)

// checkLimits returns an error for limits under which the program would end in the middle,
// by a failure of Go's runtime that nothing can catch.
func checkLimits() error {
	var space, threads unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_AS, &space) == nil {
		if err := enoughSpace(space.Cur, machine.Processors()); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 || unix.Getrlimit(unix.RLIMIT_NPROC, &threads) != nil || threads.Cur >= countedBelow {
		return nil // the limit is not root's
	}
	all, own := userThreads("/proc", os.Geteuid())
	return enoughThreads(threads.Cur, all-own, machine.Processors())
}

// enoughSpace returns an error if a limit of address space in bytes is too low.
func enoughSpace(limit uint64, processors int) error {
	if need := uint64(leastSpace + processors*spacePerThread); limit < need {
		return fmt.Errorf("the limit of address space (ulimit -v) is %d KiB: must be at least %d KiB here; a control "+
			"group limits memory itself", limit>>10, need>>10)
	}
	return nil
}

// enoughThreads returns an error if a limit of the user's threads leaves too few; others are those of the user's other
// processes.
func enoughThreads(limit uint64, others, processors int) error {
	if need := uint64(others + leastThreads + processors); limit < need {
		return fmt.Errorf("the limit of processes and threads (ulimit -u) is %d, and the user's other programs have "+
			"%s: must be at least %d here",
			limit, unit.Plural(others, "thread", "threads"), need)
	}
	return nil
}

// userThreads counts the threads of a user's processes, and those of this process.
func userThreads(proc string, uid int) (all, own int) {
	folders, _ := filepath.Glob(filepath.Join(proc, "[0-9]*"))
	for _, folder := range folders {
		info, err := os.Stat(folder)
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); !ok || int(owner.Uid) != uid {
			continue
		}
		text, _ := os.ReadFile(filepath.Join(folder, "status"))
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if count, ok := strings.CutPrefix(lines.Text(), "Threads:"); ok {
				n, _ := strconv.Atoi(strings.TrimSpace(count))
				if all += n; filepath.Base(folder) == strconv.Itoa(os.Getpid()) {
					own = n
				}
			}
		}
	}
	return all, own
}

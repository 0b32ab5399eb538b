package features

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// From Linux's arch_prctl: the request for permission to use a large register
// state, and the number of the state of AMX's tiles.
const (
	requestState = 0x1023
	tileData     = 18
)

// PermitAMX asks the operating system for permission to use AMX's tiles, which is
// required before the first such instruction. The error names the processor or
// the system that does not offer them.
func PermitAMX() error {
	if missing := (set{"amx", amx()}).support().Reason; missing != "" {
		return errors.New(missing)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestState, tileData, 0); errno != 0 {
		return fmt.Errorf("the operating system does not permit it: arch_prctl: %w", errno)
	}
	return nil
}

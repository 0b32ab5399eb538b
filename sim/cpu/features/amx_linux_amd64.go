package features

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// Of Linux's arch_prctl: the request for the use of a large register state, and
// the number of AMX's tiles among those.
const (
	requestState = 0x1023
	tileData     = 18
)

// PermitAMX asks the operating system to let this process use AMX's tiles, which
// it must before the first instruction. An error says what does not offer them.
func PermitAMX() error {
	if missing := (set{"amx", amx()}).support().Reason; missing != "" {
		return errors.New(missing)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_ARCH_PRCTL, requestState, tileData, 0); errno != 0 {
		return fmt.Errorf("the operating system does not permit it: arch_prctl: %w", errno)
	}
	return nil
}

package features

import "golang.org/x/sys/unix"

// model asks the kernel for the processor's brand.
func model() (name, reason string) {
	name, err := unix.Sysctl("machdep.cpu.brand_string")
	if err != nil {
		return "", "sysctl machdep.cpu.brand_string: " + err.Error()
	}
	return name, ""
}

package check

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"prismtop/gpu/kernels"
)

// The struct that Go passes to the kernels has the size that they were compiled for.
func TestParameterHasTheSizeOfTheKernels(t *testing.T) {
	size := fmt.Sprintf("[%d]", unsafe.Sizeof(roofP{}))
	for _, set := range kernels.Sets() {
		modules, err := set.Modules()
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range modules {
			for _, kernel := range m.Kernels() {
				if strings.HasPrefix(kernel, "roof_") && !strings.Contains(string(m.Text), ".b8 "+kernel+"_param_0"+size) {
					t.Errorf("%s: the parameter of kernel %s has not %s bytes", set.Name, kernel, size)
				}
			}
		}
	}
}

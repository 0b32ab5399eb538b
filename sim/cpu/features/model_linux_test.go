package features

import (
	"strings"
	"testing"
)

func TestParseModel(t *testing.T) {
	tests := []struct{ name, text, model string }{
		{"x86", "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R)\n", "Intel(R) Xeon(R)"},
		{"arm64 board", "processor\t: 0\nBogoMIPS\t: 108\n\nModel\t\t: Raspberry Pi 4\n", "Raspberry Pi 4"},
		{"nothing", "processor\t: 0\n", ""},
		{"empty", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			model, reason := parseModel(strings.NewReader(test.text))
			if model != test.model || (model == "") != (reason != "") {
				t.Errorf("parseModel = %q, %q", model, reason)
			}
		})
	}
}

//go:build !unix

package terminal

import tea "charm.land/bubbletea/v2"

// JobControl says that no program can be suspended here.
const JobControl = false

// Suspension is nil: this system has no job control.
func (*Console) Suspension(*Output, func()) tea.ExecCommand { return nil }

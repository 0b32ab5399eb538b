package attach

import (
	"fmt"
	"slices"
	"strings"

	"prismtop/profiles"
)

// The roles of screens, and what each command needs.

// Role is what a screen may do at a run. Each includes those before it.
type Role uint8

// The roles. A connection without one is a viewer.
const (
	Viewer    Role = 1 + iota // shows the run
	Annotator                 // also writes notes
	Operator                  // also operates the run, while it has the lease
)

// roleNames are the roles' names, from Viewer on.
var roleNames = []string{"viewer", "annotator", "operator"}

// String returns the role's name.
func (r Role) String() string { return roleNames[min(max(r, Viewer), Operator)-Viewer] }

// ParseRole returns the role of a name.
func ParseRole(name string) (Role, error) {
	i := slices.Index(roleNames, name)
	if i < 0 {
		return 0, fmt.Errorf("%q: must be %s or %s", name, strings.Join(roleNames[:len(roleNames)-1], ", "),
			roleNames[len(roleNames)-1])
	}
	return Viewer + Role(i), nil
}

// MarshalText returns the role's name.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText sets the role to that of a name.
func (r *Role) UnmarshalText(name []byte) (err error) {
	*r, err = ParseRole(string(name))
	return err
}

// need is what a screen needs for a command: a role, and perhaps the lease.
type need struct {
	role  Role
	lease bool
}

// needs are the needs of commands. Those that are not in it change the run: they need an operator with the lease.
var needs = map[profiles.CommandKind]need{
	profiles.NoteCommand:     {role: Annotator},
	profiles.AttendCommand:   {role: Operator}, // the run's budget for watching makes way for it
	profiles.OperateCommand:  {role: Operator},
	profiles.HandOverCommand: {role: Operator},
}

// needOf returns what a screen needs for a command. It is the one place that decides what a screen may do.
func needOf(k profiles.CommandKind) need {
	if n, ok := needs[k]; ok {
		return n
	}
	return need{role: Operator, lease: true}
}

// able returns the commands that a screen with a role, and perhaps the lease, may ask for, of those that the run of a
// snapshot carries out.
func able(of *profiles.Snapshot, role Role, operates bool) profiles.Kinds {
	all := append(profiles.Kinds{profiles.OperateCommand, profiles.HandOverCommand}, of.Able()...)
	return slices.DeleteFunc(all, func(k profiles.CommandKind) bool {
		n := needOf(k)
		return role < n.role || n.lease && !operates
	})
}

// RoleError refuses a request that the role of a screen does not include.
type RoleError struct{ Has, Needs Role }

func (e *RoleError) Error() string {
	return fmt.Sprintf("this screen has the role %s: must be %s", e.Has, e.Needs)
}

package attach

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/settings"
	"prismtop/profiles/visible"
)

// The first messages of both sides, and the last.

// Want is what a client connects for.
type Want string

// What a client may want.
const (
	WantInfo  Want = "info"  // what runs
	WantWatch Want = "watch" // to show it
	WantStop  Want = "stop"  // to end it
)

// clientHello is the first message of a client.
type clientHello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Want     Want   `json:"want"`
	Take     bool   `json:"take,omitempty"`  // the lease of whoever operates the run
	Watch    bool   `json:"watch,omitempty"` // without the lease, even if it is free
	Who      string `json:"who,omitempty"`   // names the screen
	Role     Role   `json:"role,omitempty"`  // at most; a viewer's if it is missing
}

// Info describes a session.
type Info struct {
	ID         string    `json:"id"`
	State      string    `json:"state"`
	Process    int       `json:"process"`
	Version    string    `json:"version"`
	Began      time.Time `json:"began,omitzero"`
	Workload   string    `json:"workload,omitempty"`
	Object     string    `json:"object,omitempty"`
	Unit       string    `json:"unit,omitempty"`      // of work, as "sample"
	UnitMany   string    `json:"units_are,omitempty"` // "samples"
	Done       int       `json:"units_done"`
	Units      int       `json:"units"`
	Stage      string    `json:"stage,omitempty"` // of a run that is not in its units, "initialising"
	Iterations int64     `json:"iterations"`
	Seconds    float64   `json:"seconds"` // running time
	Screens    int       `json:"screens"` // that show it
	Operator   string    `json:"operator,omitempty"`
	Recording  string    `json:"recording,omitempty"`
	Log        string    `json:"log,omitempty"` // of a session without a screen of its own
	Folder     string    `json:"folder,omitempty"`
}

// serverHello is the first message of a server.
type serverHello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	Error    string `json:"error,omitempty"` // why the client is not served
	Info     Info   `json:"info"`

	// For a client that watches.
	profiles.Control
	Role    Role      `json:"role,omitempty"` // granted
	Began   time.Time `json:"began"`          // origin of the times in data frames
	Moments int64     `json:"moments"`        // so far
	Away    Away      `json:"away"`
}

// used reports the processor time that a client has used so far.
type used struct {
	Seconds float64 `json:"seconds"`
}

// Bounds of a command.
const (
	mostSets = 256
	longest  = 16 << 10 // of a text
	longWho  = 64
)

// parseCommand decodes and checks a command.
func parseCommand(body []byte) (c profiles.Command, err error) {
	if err := json.Unmarshal(body, &c); err != nil {
		return c, fmt.Errorf("a command makes no sense: %w", err)
	}
	long := len(c.Kind) > longWho || len(c.Text) > longest || len(c.Settings) > mostSets ||
		len(c.Factors) > settings.MostFactors
	for _, a := range c.Settings {
		long = long || len(a.Key) > longWho || len(a.Value) > longest
	}
	for _, f := range c.Factors {
		long = long || len(f.Name) > longWho || len(f.On) > mostSets || len(f.Off) != len(f.On)
	}
	if long {
		return c, errors.New("a command makes no sense: it is too long, or its parts do not match")
	}
	return c, nil
}

// bye ends a connection.
type bye struct {
	Why   string `json:"why,omitempty"`   // how the run ended
	Error string `json:"error,omitempty"` // what was wrong with what the client sent
}

// nameOf returns the name of a screen as it is shown and logged.
func nameOf(who string) string {
	who = visible.Text(who)
	if who == "" {
		return "a screen"
	}
	if runes := []rune(who); len(runes) > longWho {
		return string(runes[:longWho])
	}
	return who
}

// OtherVersionError reports a server that speaks another version of the protocol.
type OtherVersionError struct {
	ID, Version string
	Protocol    int
}

func (e *OtherVersionError) Error() string {
	return fmt.Sprintf("session %s belongs to prismtop %s, which speaks version %d of the protocol, and this one "+
		"version %d: attach with the program that began it",
		e.ID, visible.Text(e.Version), e.Protocol, Protocol)
}

// Package attach shows a run that goes on in one process on screens in others, over a socket of the
// machine. A Journal keeps what the run's aggregator consumed; a Server sends it and carries out
// what the screen that operates the run asks for; a Client gives a screen the same snapshots.
// docs/sessions.md describes the protocol.
package attach

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// The frames of the protocol, and their data.

// Protocol is the version of the protocol. It changes when a program of before could misunderstand
// one of after. The frame, and the fields protocol and version of the first message of either side,
// stay as they are.
const Protocol = 3

// A frame is its length as 4 bytes, most significant first, a byte for its kind, and its contents,
// which the length counts together with the kind.
type kind byte

const (
	helloFrame   kind = 'H' // JSON, of either side, first
	dataFrame    kind = 'D' // of the server: see data
	commandFrame kind = 'C' // of the client: a profiles.Command
	usedFrame    kind = 'U' // of the client, once a second: a used
	replyFrame   kind = 'R' // of the server, to a command: the first profiles.Answer
	leaseFrame   kind = 'L' // of the server: a profiles.Control, when it changes
	// of the server, before old data: the run as it stands, as a data frame; programs that do not know it ignore it
	stateFrame kind = 'S'
	byeFrame   kind = 'B' // of the server, last: a bye
)

// Limits of a frame in bytes: what a client and what a server may send.
const (
	largestCommand = 64 << 10
	largestData    = 64 << 20
)

// errSize reports a frame of an impossible size.
var errSize = errors.New("a frame has an impossible size")

// readFrame reads a frame of at most limit bytes.
func readFrame(r io.Reader, limit int) (kind, []byte, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[:4])
	if n < 1 || uint64(n) > uint64(limit) {
		return 0, nil, fmt.Errorf("%w: %d bytes: must be from 1 to %d", errSize, n, limit)
	}
	body := make([]byte, 0, min(int(n)-1, 64<<10)) // grows with what arrives, not with what is announced
	for want := int(n) - 1; len(body) < want; {
		next := min(want-len(body), max(len(body), 64<<10))
		body = append(body, make([]byte, next)...)
		if _, err := io.ReadFull(r, body[len(body)-next:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return 0, nil, err
		}
	}
	return kind(head[4]), body, nil
}

// frame returns a frame with a body.
func frame(k kind, body []byte) []byte {
	f := make([]byte, 5, 5+len(body))
	binary.BigEndian.PutUint32(f, uint32(len(body)+1))
	f[4] = byte(k)
	return append(f, body...)
}

// message returns a frame with a value as JSON.
func message(k kind, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return frame(k, body), nil
}

// data is the body of a data frame: 8 bytes, the number of its first moment; a byte of flags; and
// the moments as recording.Packer packs them.
const dataHead = 9

const (
	resetFlag = 1 << iota // everything before is void
	extraFlag             // its moments are not counted
	restsFlag             // none follows yet
)

func dataOf(f *fetched) []byte { return frame(dataFrame, bodyOf(f)) }

func bodyOf(f *fetched) []byte {
	body := make([]byte, dataHead, dataHead+len(f.data))
	binary.BigEndian.PutUint64(body, uint64(f.first))
	if f.reset {
		body[8] |= resetFlag
	}
	if f.extra {
		body[8] |= extraFlag
	}
	if f.rests {
		body[8] |= restsFlag
	}
	return append(body, f.data...)
}

func fetchedOf(body []byte) (f fetched, err error) {
	if len(body) < dataHead || body[8]&^(resetFlag|extraFlag|restsFlag) != 0 {
		return f, errors.New("a data frame makes no sense")
	}
	f.first = int64(binary.BigEndian.Uint64(body))
	f.reset, f.extra, f.rests = body[8]&resetFlag != 0, body[8]&extraFlag != 0, body[8]&restsFlag != 0
	f.data = body[dataHead:]
	return f, nil
}

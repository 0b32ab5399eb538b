package attach

import (
	"bytes"
	"compress/flate"
	"io"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/recording"
)

// A viewer can send anything: no command runs, the lease stays where it is, and the session goes on.
// The role is not the viewer's own choice, so that "operate" is among what it may send.
func FuzzAViewerChangesNothing(f *testing.F) {
	s := serve(f, journalLimit)
	s.begin()
	s.iterate(100)
	operator := s.attach(f, ClientOptions{Who: "pts/1"})
	f.Add([]byte(`{"n":1,"do":"set","settings":[{"Key":"amp","Value":"bf16"}]}`), byte('C'))
	f.Add([]byte(`{"do":"operate"}`), byte('C'))
	f.Add([]byte(`{"do":"note","text":"x"}`), byte('C'))
	f.Add([]byte(`{"do":"stop"}`), byte('C'))
	f.Add([]byte(`{"seconds":1e300}`), byte('U'))
	f.Add([]byte(`{"do":"ablate","factors":[{"Name":"a","On":[{"Key":"amp"}],"Off":[{}]}]}`), byte('C'))
	f.Add([]byte{0, 0, 0, 9}, byte('D'))
	hello, _ := message(helloFrame, clientHello{Protocol: Protocol, Want: WantWatch, Role: Viewer, Take: true})
	logged := len(s.logged())
	f.Fuzz(func(t *testing.T, body []byte, k byte) {
		c, err := net.Dial("unix", s.server.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		if _, err := c.Write(append(bytes.Clone(hello), frame(kind(k), body)...)); err != nil {
			return
		}
		_ = c.(*net.UnixConn).CloseWrite()
		_, _ = io.Copy(io.Discard, c) // until the session is through with it
		if asked := s.run.list(); slices.ContainsFunc(asked, func(what string) bool { return what != "attend" }) {
			t.Fatalf("%q caused %q", body, asked)
		}
		s.run.forget()
		if !operator.operates() || operator.Control().Asks != "" || len(s.logged()) != logged {
			t.Fatalf("%q took the lease, or filled the log: %q", body, s.logged())
		}
	})
}

// A client survives whatever a server sends.
func FuzzAServersFrames(f *testing.F) {
	s := newSource(journalLimit)
	s.begin()
	s.iterate(3000)
	s.set("off", "bf16")
	s.iterate(100)
	at := place{next: -1}
	for range 4 {
		got, more, err := s.journal.fetch(&at)
		if err != nil || more != nil {
			break
		}
		f.Add(got[5:], byte('D'))
	}
	f.Add([]byte(`{"n":1,"refused":"x"}`), byte('R'))
	f.Add([]byte(`{"why":"x"}`), byte('B'))
	f.Add([]byte(`{"operates":true}`), byte('L'))
	f.Fuzz(func(t *testing.T, body []byte, k byte) {
		c := &Client{table: tableOf, hello: serverHello{Began: s.began}, waiting: map[int64]chan error{}, done: make(chan struct{})}
		c.offers = newClient(nopConn{}, c.hello, tableOf).offers
		show := show{client: c}
		reset := fetched{reset: true, extra: true}
		if err := show.take(dataOf(&reset)[5:]); err != nil {
			t.Fatal(err)
		}
		switch kind(k) {
		case replyFrame:
			_ = c.replied(body)
		default:
			_ = show.take(body)
		}
	})
}

// nopConn is a connection that takes everything and gives nothing.
type nopConn struct{ net.Conn }

func (nopConn) SetDeadline(time.Time) error { return nil }

// Frames of any bytes are read within their limits, or refused.
func FuzzReadFrame(f *testing.F) {
	f.Add(frame(helloFrame, []byte("{}")))
	f.Add([]byte{0, 0, 0, 0, 'H'})
	f.Add([]byte{255, 255, 255, 255, 'H'})
	f.Fuzz(func(t *testing.T, all []byte) {
		k, body, err := readFrame(bytes.NewReader(all), 1<<10)
		if err != nil {
			return
		}
		if len(body) >= 1<<10 || !bytes.HasPrefix(all, frame(k, body)) {
			t.Errorf("%q gives %q", all, body)
		}
	})
}

// Packed data of any bytes give moments or an error. The bytes are those before they are compressed,
// of which a changed one is still data.
func FuzzUnpack(f *testing.F) {
	s := newSource(journalLimit)
	s.begin()
	s.iterate(4)
	s.set("off", "bf16")
	s.Note(profiles.Note{Author: "pts/1", Text: "flat", Iteration: 4})
	s.iterate(2)
	s.tick()
	tail := s.journal.tail
	data, err := new(recording.Packer).Pack(&tail, 0, true)
	if err != nil {
		f.Fatal(err)
	}
	raw, err := io.ReadAll(flate.NewReader(bytes.NewReader(data)))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = recording.NewUnpacker(s.began, tableOf).Unpack(stored(raw))
		_, _ = recording.NewUnpacker(s.began, tableOf).Unpack(raw)
	})
}

// stored returns data in the form that flate has for what it does not compress (RFC 1951 3.2.4).
func stored(data []byte) []byte {
	var all []byte
	for last := false; !last; {
		part := data[:min(len(data), math.MaxUint16)]
		data = data[len(part):]
		last = len(data) == 0
		head := byte(0)
		if last {
			head = 1
		}
		n := uint16(len(part))
		all = append(all, head, byte(n), byte(n>>8), byte(^n), byte(^n>>8))
		all = append(all, part...)
	}
	return all
}

package serve

import (
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"prismtop/tui/terminal"
)

// door is the listener of a server. It refuses connections beyond the limits before they cost a
// handshake.
type door struct {
	net.Listener
	server *Server

	mu      sync.Mutex
	links   map[*link]struct{}
	waiting int // of the links, those that have not begun a session
	rates   map[netip.Prefix]*rate
}

// rate is a bucket of connections of an address.
type rate struct {
	level float64
	at    time.Time
}

// mostRates bounds the addresses whose rates are kept. Where it is reached, those that have not
// connected for a while are dropped, and if there are none, new addresses wait.
const mostRates = 4096

// refillTime is the time in which a bucket of connections fills.
const refillTime = time.Minute

func newDoor(l net.Listener, s *Server) *door {
	return &door{Listener: l, server: s, links: map[*link]struct{}{}, rates: map[netip.Prefix]*rate{}}
}

// Accept returns the next connection that is within the limits.
func (d *door) Accept() (net.Conn, error) {
	for {
		c, err := d.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l, why := d.admit(c, time.Now())
		if l != nil {
			return l, nil
		}
		_ = c.Close()
		d.server.flood.log(fmt.Sprintf("%s refused: %s", c.RemoteAddr(), why))
	}
}

// admit returns the link of a connection, or why it is refused.
func (d *door) admit(c net.Conn, now time.Time) (l *link, why string) {
	limits := &d.server.options.Limits
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.within(networkOf(c.RemoteAddr()), now):
		return nil, fmt.Sprintf("more than %d connections a minute from there (--rate)", limits.Rate)
	case d.waiting >= limits.Startups:
		return nil, fmt.Sprintf("%d connections have not logged in yet (--startups)", d.waiting)
	}
	l = &link{Conn: c, door: d, pace: terminal.NewBucket(linkRate, now)}
	l.mu.Lock() // against the timer, which reads what is set here
	l.timer = time.AfterFunc(limits.Handshake, l.tooSlow)
	l.mu.Unlock()
	d.links[l] = struct{}{}
	d.waiting++
	return l, ""
}

// within reports whether an address may connect once more.
func (d *door) within(from netip.Prefix, now time.Time) bool {
	full := float64(d.server.options.Limits.Rate)
	r, ok := d.rates[from]
	if !ok {
		if len(d.rates) >= mostRates {
			for p, r := range d.rates {
				if now.Sub(r.at) >= refillTime {
					delete(d.rates, p)
				}
			}
		}
		if len(d.rates) >= mostRates {
			return false
		}
		r = &rate{level: full, at: now}
		d.rates[from] = r
	}
	r.level = min(full, r.level+full*now.Sub(r.at).Seconds()/refillTime.Seconds())
	r.at = now
	if r.level < 1 {
		return false
	}
	r.level--
	return true
}

// networkOf returns what shares a rate: an address, or a network of IPv6 that one site has.
func networkOf(a net.Addr) netip.Prefix {
	at, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return netip.Prefix{}
	}
	addr, bits := at.Addr().Unmap().WithZone(""), 32
	if addr.Is6() {
		bits = 64
	}
	p, _ := addr.Prefix(bits)
	return p
}

// closeAll closes all connections.
func (d *door) closeAll() {
	d.mu.Lock()
	var all []*link
	for l := range d.links {
		all = append(all, l)
	}
	d.mu.Unlock()
	for _, l := range all {
		_ = l.Close()
	}
}

// link is a connection. It is closed if it begins no session within the limit for that.
type link struct {
	net.Conn
	door  *door
	timer *time.Timer
	pace  terminal.Bucket // of what is read, by one goroutine

	mu      sync.Mutex
	begun   bool
	closed  bool
	opened  atomic.Int32 // channels asked for
	visited atomic.Bool  // it has, or had, a session
}

// linkRate is the most bytes a second that a connection may send, in messages of any kind: what a visitor types is
// limited further.
const linkRate = 2 * inputRate

// Read reads the connection, no faster than linkRate.
func (l *link) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p[:min(len(p), linkRate/4)])
	for l.pace.Fill(time.Now()); !l.pace.Allows(n) && err == nil; l.pace.Fill(time.Now()) {
		time.Sleep(10 * time.Millisecond)
	}
	l.pace.Spend(n)
	return n, err
}

// begin ends the time limit of a connection, whose session begins.
func (l *link) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun && !l.closed {
		l.begun = true
		l.timer.Stop()
		l.door.mu.Lock()
		l.door.waiting--
		l.door.mu.Unlock()
	}
}

// tooSlow closes a connection without a session.
func (l *link) tooSlow() {
	l.mu.Lock()
	late := !l.begun && !l.closed
	l.mu.Unlock()
	if late {
		l.door.server.flood.log(fmt.Sprintf("%s dropped: no session within %v (--handshake)", l.RemoteAddr(),
			l.door.server.options.Limits.Handshake))
		_ = l.Close()
	}
}

// Close closes the connection.
func (l *link) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.timer.Stop()
	l.door.mu.Lock()
	delete(l.door.links, l)
	if !l.begun {
		l.door.waiting--
	}
	l.door.mu.Unlock()
	return l.Conn.Close()
}

// flood is a log of what strangers cause: of more lines than fit, it gives the number only.
type flood struct {
	to func(string)

	mu    sync.Mutex
	since time.Time
	lines int
	lost  int
}

// mostLines is how many lines a flood may log in linesTime.
const (
	mostLines = 20
	linesTime = 10 * time.Second
)

func (f *flood) log(line string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.since) >= linesTime {
		if f.lost > 0 {
			f.to(fmt.Sprintf("%d more lines about connections were left out", f.lost))
		}
		f.since, f.lines, f.lost = now, 0, 0
	}
	if f.lines++; f.lines > mostLines {
		f.lost++
		return
	}
	f.to(line)
}

package attach

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"prismtop/profiles"
	"prismtop/profiles/aggregate"
	"prismtop/profiles/machine"
	"prismtop/profiles/recording"
	"prismtop/profiles/settings"
)

// The client: joining a run in another process, receiving its past and present, and following it.

const (
	// answerLimit is how long a request waits for its answer.
	answerLimit = 2 * time.Second
	// attendEvery is the least time between two reports of a user's input.
	attendEvery = 250 * time.Millisecond
	// usedEvery is the time between two reports of the processor time used.
	usedEvery = time.Second
)

// Client is a run in another process. It delivers the snapshots that the run's own screen has or
// would have, and passes on what a user asks for. The run carries out what the screen's role and the lease allow.
type Client struct {
	net   net.Conn
	r     *bufio.Reader
	hello serverHello
	table func(workload string) *settings.Table
	used  func() float64

	offers chan *profiles.Snapshot
	done   chan struct{} // closed when the connection has ended

	writing sync.Mutex

	mu       sync.Mutex
	control  profiles.Control
	n        int64 // of the newest command
	waiting  map[int64]chan error
	err      error // why the connection ended; read it after done
	why      string
	over     string // how the run ended, as the newest snapshot says; empty before that
	attended time.Time
}

// ClientOptions say how to attach.
type ClientOptions struct {
	Version string // of the program
	Who     string // names the screen to others
	Take    bool   // operate the run even if another screen does
	Watch   bool   // do not operate it until asked to
	// Role is the highest role that the screen may have; 0 is Operator.
	Role Role
	// Used returns the seconds of processor time that the screen has used so far; nil is all that its
	// process has used.
	Used  func() float64
	Table func(workload string) *settings.Table
}

// Attach connects to the session behind a socket; Run receives from it.
func Attach(ctx context.Context, path string, o ClientOptions) (*Client, error) {
	hello := clientHello{Want: WantWatch, Version: o.Version, Who: o.Who, Take: o.Take, Watch: o.Watch, Role: o.Role}
	if o.Role == 0 {
		hello.Role = Operator
	}
	answer, c, err := dial(ctx, path, hello)
	if err != nil {
		return nil, err
	}
	client := newClient(c, answer, o.Table)
	if o.Used != nil {
		client.used = o.Used
	}
	return client, nil
}

func newClient(c net.Conn, hello serverHello, table func(string) *settings.Table) *Client {
	_ = c.SetDeadline(time.Time{})
	return &Client{
		net: c, r: bufio.NewReaderSize(c, 64<<10), hello: hello, control: hello.Control, table: table,
		used:   usedByProcess,
		offers: make(chan *profiles.Snapshot, 1), done: make(chan struct{}), waiting: map[int64]chan error{},
	}
}

// readHello reads the first message of a server, and nothing of what follows.
func readHello(r io.Reader, id string) (answer serverHello, err error) {
	k, body, err := readFrame(r, largestCommand)
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return answer, errGone
	case err != nil:
		return answer, err
	case k != helloFrame || json.Unmarshal(body, &answer) != nil:
		return answer, errors.New("it is not prismtop, or does not speak as one")
	case answer.Protocol != Protocol:
		return answer, &OtherVersionError{ID: id, Version: answer.Version, Protocol: answer.Protocol}
	case answer.Error != "":
		return answer, errors.New(answer.Error)
	}
	return answer, nil
}

// Info describes the session as it was when the client attached.
func (c *Client) Info() Info { return c.hello.Info }

// Control returns which screen operates the run.
func (c *Client) Control() profiles.Control {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.control
}

// Role returns the role that the client was granted.
func (c *Client) Role() Role { return c.hello.Role }

// Away returns what happened while no screen showed the run.
func (c *Client) Away() Away { return c.hello.Away }

// Snapshots delivers the newest snapshot; the channel is closed when Run returns.
func (c *Client) Snapshots() <-chan *profiles.Snapshot { return c.offers }

// leaveLimit bounds how long a client that leaves waits for the session to notice.
const leaveLimit = 300 * time.Millisecond

// leave ends the connection once the session knows: who attaches next finds the lease free.
func (c *Client) leave() {
	if half, ok := c.net.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil &&
		c.net.SetReadDeadline(time.Now().Add(leaveLimit)) == nil {
		return
	}
	_ = c.net.Close()
}

// Run receives until the session ends or ctx does, and returns how the run ended, as the session
// says.
func (c *Client) Run(ctx context.Context) (why string, err error) {
	defer close(c.offers)
	defer c.end()
	stop := context.AfterFunc(ctx, c.leave)
	defer stop()
	reporting := make(chan struct{})
	go func() {
		defer close(reporting)
		c.reportUsed()
	}()
	err = c.receive()
	_ = c.net.Close()
	if ctx.Err() != nil {
		err = nil
	}
	c.mu.Lock()
	if errors.Is(err, errLost) && c.over != "" { // the screen was too slow for the farewell
		c.why, err = c.over, nil
	}
	c.err = err
	why = c.why
	c.mu.Unlock()
	c.end()
	<-reporting
	return why, err
}

// end fails what waits for an answer.
func (c *Client) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.done:
	default:
		close(c.done)
	}
}

// errLost reports a connection that ended without a bye.
var errLost = errors.New("the connection ended: the process of the run was killed")

// receive handles the frames of the server until the connection ends.
func (c *Client) receive() error {
	s := show{client: c, present: c.hello.Moments}
	for {
		k, body, err := readFrame(c.r, largestData)
		if errors.Is(err, errSize) {
			return err
		}
		if err != nil {
			return errLost
		}
		switch k {
		case dataFrame:
			err = s.take(body)
		case stateFrame:
			err = s.stands(body)
		case replyFrame:
			err = c.replied(body)
		case leaseFrame:
			var now profiles.Control
			if err = json.Unmarshal(body, &now); err == nil {
				c.mu.Lock()
				c.control = now
				c.mu.Unlock()
			}
		case byeFrame:
			var b bye
			if err := json.Unmarshal(body, &b); err != nil {
				return fmt.Errorf("the end of the session makes no sense: %w", err)
			}
			if b.Error != "" {
				return errors.New(b.Error)
			}
			c.mu.Lock()
			c.why = b.Why
			c.mu.Unlock()
			return nil
		default: // of a later version of the program
		}
		if err != nil {
			return err
		}
	}
}

// show turns data frames into snapshots.
type show struct {
	client     *Client
	unpacker   *recording.Unpacker
	aggregator *aggregate.Aggregator
	feed       *feed
	next       int64 // number of the next moment
	present    int64 // moments that make up the past: the first snapshot is that of the last of them
	behind     bool  // the newest snapshot is that of stands
}

// feed is the source of the aggregator: one moment at a time.
type feed struct {
	moment  *recording.Moment
	dropped int64
	changes []profiles.Change // of a run as it stands, which are kept from the aggregator
}

// Drain passes on the events of the moment.
func (f *feed) Drain(take func(*profiles.Event)) bool {
	if f.moment == nil {
		return false
	}
	m := f.moment
	f.moment = nil
	return m.Each(take)
}

// Dropped returns the number of events that the run's own aggregator lost.
func (f *feed) Dropped() int64 { return f.dropped }

// take consumes a data frame.
func (s *show) take(body []byte) (err error) {
	defer recovered(&err)
	f, err := fetchedOf(body)
	if err != nil {
		return err
	}
	if f.reset {
		s.unpacker = recording.NewUnpacker(s.client.hello.Began, s.client.table)
		s.feed = &feed{}
		s.aggregator = aggregate.New(s.feed, aggregate.Options{})
		s.next = f.first
	}
	if s.aggregator == nil || f.first > s.next {
		return errors.New("a part of the session is missing")
	}
	if len(f.data) == 0 {
		return nil
	}
	moments, err := s.unpacker.Unpack(f.data)
	if err != nil {
		return err
	}
	for i := range moments {
		if f.extra {
			s.consume(&moments[i])
			if f.rests {
				s.tick(&moments[i])
			}
			continue
		}
		if f.first+int64(i) < s.next { // it has that already
			continue
		}
		s.next++
		s.consume(&moments[i])
	}
	if s.behind && s.next >= s.present && len(moments) > 0 { // its last moment was no tick
		s.tick(&moments[len(moments)-1])
	}
	return nil
}

// recovered turns a panic over events that make no sense together into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("what the session sent makes no sense: %v", p)
	}
}

// stands offers the run as it stands, while its past is on the way.
func (s *show) stands(body []byte) (err error) {
	defer recovered(&err)
	f, err := fetchedOf(body)
	if err != nil {
		return err
	}
	moments, err := recording.NewUnpacker(s.client.hello.Began, s.client.table).Unpack(f.data)
	if err != nil {
		return err
	}
	if s.present = max(s.present, f.first); s.next >= s.present {
		return nil
	}
	now := show{client: s.client, feed: &feed{}}
	now.aggregator = aggregate.New(asStands{now.feed}, aggregate.Options{})
	for i := range moments {
		m := &moments[i]
		now.feed.moment, now.feed.dropped = m, m.Own.Dropped
		shown := *now.aggregator.Tick(m.At)
		shown.Own, shown.Changes = m.Own, now.feed.changes
		withoutPast(&shown)
		s.behind = true
		s.offer(&shown)
	}
	return nil
}

// withoutPast marks the snapshot of a run that stands, and removes what its only iteration would say of the
// iterations before it.
func withoutPast(s *profiles.Snapshot) {
	s.CatchingUp, s.Alerts, s.Effects, s.ETA, s.ETAKnown = true, nil, nil, 0, false
	for i := range s.Caches {
		s.Caches[i] = profiles.CacheView{CacheCounters: s.Caches[i].CacheCounters}
	}
}

// asStands is the source of the aggregator of a run as it stands. It withholds the changes of settings: without the
// iterations between them, the aggregator would join them into one change. Begin has the settings in force.
type asStands struct{ *feed }

// Drain passes on the events of the moment but for changes.
func (f asStands) Drain(take func(*profiles.Event)) bool {
	return f.feed.Drain(func(e *profiles.Event) {
		if c, ok := e.Body.(*profiles.Changed); ok {
			f.changes = append(f.changes, c.Change)
			return
		}
		take(e)
	})
}

// consume passes a moment to the aggregator. Those of the past give no snapshot.
func (s *show) consume(m *recording.Moment) {
	s.feed.moment, s.feed.dropped = m, m.Own.Dropped
	if m.Drain {
		s.aggregator.Drain(m.At)
		return
	}
	if s.next < s.present {
		s.aggregator.Advance(m.At)
		return
	}
	s.tick(m)
}

// tick offers the snapshot of a moment.
func (s *show) tick(m *recording.Moment) {
	before := s.aggregator.Last()
	if now := s.aggregator.Tick(m.At); now != before {
		shown := *now
		shown.Own, s.behind = m.Own, false
		s.offer(&shown)
	}
}

// offer replaces a snapshot that nobody has read. Receive is the only sender.
func (s *show) offer(snapshot *profiles.Snapshot) {
	s.client.mu.Lock()
	s.client.over = Ending(snapshot)
	s.client.mu.Unlock()
	offers := s.client.offers
	select {
	case <-offers:
	default:
	}
	offers <- snapshot
}

// Ending returns how the run of a snapshot ended; empty if it has not.
func Ending(s *profiles.Snapshot) string {
	switch s.State {
	case profiles.Finished, profiles.Stopped, profiles.Failed:
	default:
		return ""
	}
	if s.EndedBy != "" {
		return s.State.String() + " by " + s.EndedBy
	}
	return s.State.String()
}

// usedByProcess returns the seconds of processor time that this process has used; NaN if they cannot be
// read.
func usedByProcess() float64 {
	l := machine.ReadLoad()
	if l.Reason != "" {
		return math.NaN()
	}
	return l.Own
}

// reportUsed reports the processor time that this screen uses, which is not that of other programs,
// until the connection ends.
func (c *Client) reportUsed() {
	tick := time.NewTicker(usedEvery)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-tick.C:
			spent := c.used()
			if math.IsNaN(spent) { // not known; the report still says that the screen is there
				spent = 0
			}
			_ = c.write(usedFrame, used{spent}) // the receiver finds out
		}
	}
}

package attach

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"prismtop/profiles/atomicfile"
)

// The folder of sessions: their sockets, listed, listened on, dialled and stopped.

// socketEnding ends the names of sockets.
const socketEnding = ".sock"

// longestPath is the longest path of a socket: the least that systems allow for, which is macOS's.
const longestPath = 103

// Folders returns the folders in which sessions have their sockets, the best one first: prismtop in
// $XDG_RUNTIME_DIR, if that is set, and in the folder of state given.
func Folders(state string) (all []string) {
	if run := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(run) {
		all = append(all, filepath.Join(run, "prismtop"))
	}
	if state != "" {
		all = append(all, state)
	}
	return all
}

// idLetters are those of IDs: none looks like another, and no ID is a word.
const idLetters = "23456789bcdfghjkmnpqrstvwxz"

// idLength makes two hundred sessions share an ID once in a thousand times; see errTaken.
const (
	idLength = 5
	idTries  = 8
)

// newID returns a random ID.
func newID() string {
	b := make([]byte, idLength)
	_, _ = rand.Read(b) // never fails
	for i := range b {
		b[i] = idLetters[int(b[i])%len(idLetters)]
	}
	return string(b)
}

// errTaken reports an ID that another session has.
var errTaken = errors.New("the ID is taken")

// listen makes the socket of an ID in the first folder that can be used.
func listen(folders []string, id string) (l net.Listener, path string, err error) {
	err = errors.New("there is no folder for it: XDG_RUNTIME_DIR, or a home folder, must be set")
	for _, folder := range folders {
		if l, path, err = listenIn(folder, id); err == nil || errors.Is(err, errTaken) {
			return l, path, err
		}
	}
	return nil, "", err
}

// listenIn makes a socket in a folder. It gets its name once it is listened to, so that one that
// nobody listens to is left over from a process that was killed.
func listenIn(folder, id string) (net.Listener, string, error) {
	path := filepath.Join(folder, id+socketEnding)
	early := filepath.Join(folder, "."+id)
	if len(path) > longestPath {
		return nil, "",
			fmt.Errorf("socket %s: its path is longer than %d bytes: set XDG_RUNTIME_DIR to a shorter one", path,
				longestPath)
	}
	if err := atomicfile.OwnFolder(folder); err != nil {
		return nil, "", err
	}
	if _, err := os.Lstat(path); err == nil {
		return nil, "", errTaken
	}
	_ = os.Remove(early) // of a process that was killed
	l, err := net.Listen("unix", early)
	if err != nil {
		return nil, "", fmt.Errorf("socket %s: %w", path, err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it has another name
	if err = os.Chmod(early, 0o600); err == nil {
		err = os.Rename(early, path)
	}
	if err != nil {
		_ = os.Remove(early)
		return nil, "", errors.Join(err, l.Close())
	}
	return l, path, nil
}

// dialLimit is how long a session may take to answer, other than with what it was asked for.
const dialLimit = 3 * time.Second

// Found is a session that was found.
type Found struct {
	ID   string
	Path string // of its socket
	Info Info
	Err  error // why it does not answer; then Info has its ID only
}

// List lists the sessions that have sockets in the folders, the oldest first. What is left of
// processes that were killed is removed.
func List(ctx context.Context, folders []string, version string) (all []Found) {
	paths := sockets(folders)
	found := make([]*Found, len(paths))
	var group sync.WaitGroup
	for i, path := range paths { // at once, since a stopped process keeps each of them waiting
		group.Go(func() {
			hello, c, err := dial(ctx, path, clientHello{Want: WantInfo, Version: version})
			if errors.Is(err, errGone) {
				return
			}
			if c != nil {
				_ = c.Close()
			}
			f := &Found{ID: idOf(path), Path: path, Info: hello.Info, Err: err}
			if err != nil {
				f.Info = Info{ID: f.ID}
			}
			found[i] = f
		})
	}
	group.Wait()
	for _, f := range found {
		if f != nil {
			all = append(all, *f)
		}
	}
	slices.SortStableFunc(all, func(a, b Found) int { return a.Info.Began.Compare(b.Info.Began) })
	return all
}

// sockets lists the paths of sockets in folders that only the user can enter.
func sockets(folders []string) (all []string) {
	for _, folder := range folders {
		info, err := os.Lstat(folder)
		if err != nil || !info.IsDir() || ownedByUser(folder, info) != nil {
			continue
		}
		paths, _ := filepath.Glob(filepath.Join(folder, "*"+socketEnding)) // the pattern is right
		all = append(all, paths...)
	}
	return all
}

func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), socketEnding) }

// errGone reports a socket that nobody listens to any more.
var errGone = errors.New("its process has ended")

// dial connects to a socket, says hello and returns the answer.
func dial(ctx context.Context, path string, hello clientHello) (answer serverHello, c net.Conn, err error) {
	limited, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	c, err = new(net.Dialer).DialContext(limited, "unix", path)
	switch {
	case refused(err):
		_ = os.Remove(path)
		return answer, nil, errGone
	case errors.Is(err, fs.ErrNotExist):
		return answer, nil, errGone
	case err != nil:
		return answer, nil, err
	}
	defer func() {
		if err != nil {
			_ = c.Close()
			c = nil
		}
	}()
	if err = sameUser(c); err != nil {
		return answer, c, err
	}
	stop := context.AfterFunc(limited, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	hello.Protocol = Protocol
	f, err := message(helloFrame, hello)
	if err != nil {
		return answer, c, err
	}
	if _, err = c.Write(f); err != nil {
		return answer, c, errGone
	}
	answer, err = readHello(c, idOf(path))
	switch {
	case err != nil && ctx.Err() != nil:
		err = ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = errDelayed
	}
	return answer, c, err
}

// errDelayed reports a session that was sent a hello and has not answered.
var errDelayed = errors.New("it does not answer: its process is stopped, or busy")

// Stop ends the run of the session behind a socket, waits for its end, and returns how it ended. A session that does
// not answer in time is told all the same.
func Stop(ctx context.Context, path, version string) (why string, err error) {
	_, c, err := dial(ctx, path, clientHello{Want: WantStop, Version: version, Role: Operator})
	switch {
	case errors.Is(err, errDelayed):
		return "", fmt.Errorf("%w; it ends once it goes on", err)
	case err != nil:
		return "", err
	}
	defer c.Close()
	_ = c.SetDeadline(time.Time{})
	end := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer end()
	k, body, err := readFrame(c, largestCommand)
	var b bye
	switch {
	case err != nil && ctx.Err() != nil:
		return "", ctx.Err()
	case err != nil:
		return "", errLost
	case k != byeFrame || json.Unmarshal(body, &b) != nil:
		return "", errors.New("what it sent makes no sense")
	case b.Error != "":
		return "", errors.New(b.Error)
	}
	return b.Why, nil
}

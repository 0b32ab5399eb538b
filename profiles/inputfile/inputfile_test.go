package inputfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const limit = 1 << 10

// written is a file with a content.
func written(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// pipe is a named pipe.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skipf("no named pipes here: %v", err)
	}
	return path
}

// within calls do, which must not wait for anything: a fault of the kind that is tested
// would last for ever.
func within(t *testing.T, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still waiting after 30 s")
	}
}

type reader struct {
	name string
	read func(context.Context, string, int64) ([]byte, error)
}

var readers = []reader{{"Read", Read}, {"ReadNamed", ReadNamed}}

func TestARegularFileIsReadUpToTheLimit(t *testing.T) {
	for _, r := range readers {
		for _, content := range []string{"", "short", strings.Repeat("x", limit)} {
			text, err := r.read(t.Context(), written(t, content), limit)
			if err != nil || string(text) != content {
				t.Errorf("%s: %d bytes of %d, %v", r.name, len(text), len(content), err)
			}
		}
		var size *SizeError
		_, err := r.read(t.Context(), written(t, strings.Repeat("x", limit+1)), limit)
		if !errors.As(err, &size) || err.Error() != "is larger than 1 KiB" {
			t.Errorf("%s of one byte more: %v", r.name, err)
		}
		if _, err := r.read(t.Context(), filepath.Join(t.TempDir(), "none"), limit); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), "none") {
			t.Errorf("%s of no file: %v, want an error without the path", r.name, err)
		}
		if _, err := r.read(t.Context(), t.TempDir(), limit); err == nil || err.Error() != "is a folder" {
			t.Errorf("%s of a folder: %v", r.name, err)
		}
	}
}

// Endless files and pipes without a writer are rejected by type instead of being
// waited for.
func TestPipesAndDevicesAreNoFiles(t *testing.T) {
	zero := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("/dev/zero", zero); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe(t): "is a pipe", zero: "is a device"} {
		within(t, func() {
			var kind *KindError
			if _, err := Read(t.Context(), path, limit); !errors.As(err, &kind) || err.Error() != want {
				t.Errorf("Read: %v, want %q", err, want)
			}
			if f, _, err := Open(path); !errors.As(err, &kind) {
				t.Errorf("Open: %v, %v", f, err)
			}
		})
	}
	within(t, func() {
		var size *SizeError
		if _, err := ReadNamed(t.Context(), zero, limit); !errors.As(err, &size) {
			t.Errorf("/dev/zero by its name: %v, want that it is too large", err)
		}
	})
}

// The name that the shell uses for <(…).
func TestAPipeIsReadWhereAUserNamesIt(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	path := fmt.Sprintf("/dev/fd/%d", r.Fd())
	if _, err := os.Stat(path); err != nil {
		t.Skipf("no names of open files here: %v", err)
	}
	const content = "radius = 3\n"
	if _, err := w.WriteString(content); err != nil {
		t.Fatal(err)
	}
	w.Close()
	within(t, func() {
		if text, err := ReadNamed(t.Context(), path, limit); err != nil || string(text) != content {
			t.Errorf("%q, %v", text, err)
		}
	})
}

func TestAPipeThatNothingWritesToIsAnError(t *testing.T) {
	path := pipe(t)
	within(t, func() {
		if _, err := ReadNamed(t.Context(), path, limit); !errors.Is(err, ErrNoWriter) {
			t.Errorf("%v", err)
		}
	})
}

// A writer that says nothing is waited for, but no longer than the context lasts.
func TestTheContextEndsTheWaitForAPipe(t *testing.T) {
	path := pipe(t)
	f, err := os.OpenFile(path, os.O_RDWR, 0) // a writer that is there
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(10*time.Millisecond, cancel)
	within(t, func() {
		if _, err := ReadNamed(ctx, path, limit); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

func TestNothingIsReadOnceTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, r := range readers {
		if _, err := r.read(ctx, written(t, "content"), limit); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", r.name, err)
		}
	}
}

func TestTextIsUTF8WithOrWithoutItsMark(t *testing.T) {
	for content, want := range map[string]string{
		"a = 1": "a = 1", "\xef\xbb\xbfa = 1": "a = 1", "": "", "\xef\xbb": "\xef\xbb", "\xef\xbb\xbf": "",
	} {
		if text, err := Text([]byte(content)); err != nil || string(text) != want {
			t.Errorf("%q: %q, %v", content, text, err)
		}
	}
	for content, want := range map[string]string{
		"\xff\xfea\x00": "is in UTF-16: must be in UTF-8", "\xfe\xff\x00a": "is in UTF-16: must be in UTF-8",
		"\xff\xfe\x00\x00a\x00\x00\x00": "is in UTF-32: must be in UTF-8", "\x00\x00\xfe\xff\x00\x00\x00a": "is in UTF-32: must be in UTF-8",
	} {
		if _, err := Text([]byte(content)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %q", content, err, want)
		}
	}
}

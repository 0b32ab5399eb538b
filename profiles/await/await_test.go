package await

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestResultIsThatOfTheCall(t *testing.T) {
	fault := errors.New("no")
	if v, err := Result(t.Context(), func() (int, error) { return 7, fault }); v != 7 || err != fault {
		t.Errorf("%d, %v", v, err)
	}
}

// A call that never returns does not keep the one who waits.
func TestResultIsTheContextsErrorWhereThatEndsFirst(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	v, err := Result(ctx, func() (int, error) {
		cancel()
		<-release
		return 7, nil
	})
	if v != 0 || !errors.Is(err, context.Canceled) {
		t.Errorf("%d, %v", v, err)
	}
}

// What fails because the context has ended is the context's end.
func TestAnErrorAfterTheContextsEndIsThatOfTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Result(ctx, func() (int, error) {
		cancel()
		return 0, errors.New("truncated")
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestAPanicIsThatOfTheCaller(t *testing.T) {
	defer func() {
		if v, ok := recover().(string); !ok || !strings.HasPrefix(v, "broken") || !strings.Contains(v, "await_test.go") {
			t.Errorf("recovered %v, want the panic and its stack", v)
		}
	}()
	_, _ = Result(t.Context(), func() (int, error) { panic("broken") })
}

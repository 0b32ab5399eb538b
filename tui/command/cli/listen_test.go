package cli

import (
	"net"
	"strings"
	"testing"
)

// Of a port that is taken, the error names one that is free, never the one that failed.
func TestATakenPortNamesAFreeOne(t *testing.T) {
	taken, err := Listen(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	_, err = Listen(t.Context(), taken.Addr().String())
	if err == nil {
		t.Fatal("listens where another does")
	}
	said, found := strings.CutSuffix(err.Error(), " is free")
	said, prefixed := strings.CutPrefix(said, `"`+taken.Addr().String()+`": another program listens there: `)
	if !found || !prefixed {
		if !strings.Contains(err.Error(), "0 takes one") {
			t.Error(err)
		}
		t.Skipf("skipped: no free port nearby: %v", err)
	}
	free, err := Listen(t.Context(), said)
	if err != nil {
		t.Errorf("the free address: %v", err)
	} else {
		_ = free.Close()
	}
}

// An address of one family is listened on in that family alone, and shown as it was given.
func TestAnAddressIsOfItsFamily(t *testing.T) {
	l, err := Listen(t.Context(), "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if at := l.Addr().(*net.TCPAddr); at.IP.To4() == nil || !strings.HasPrefix(at.String(), "0.0.0.0:") {
		t.Errorf("listens at %v", at)
	}
	for _, bad := range []string{"192.0.2.1:0", "host", "127.0.0.1:x"} {
		if _, err := Listen(t.Context(), bad); err == nil || !strings.HasPrefix(err.Error(), `"`+bad+`": `) || !strings.Contains(err.Error(), "must be") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

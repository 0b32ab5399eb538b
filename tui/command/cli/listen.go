package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// portsTried bounds the search for a free port to name in an error.
const portsTried = 50

// Listen listens at HOST:PORT: on IPv4 alone for an IPv4 address, 0.0.0.0 among them, and on IPv6 alone for an IPv6
// address. An error begins with the address and says what would do; a port that is taken is named with the next that is
// free.
func Listen(ctx context.Context, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("%q: must be HOST:PORT, as 127.0.0.1:2222", address)
	}
	l, err := new(net.ListenConfig).Listen(ctx, network(host), address)
	switch {
	case err == nil:
		return l, nil
	case !errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%q: %w: must be an address of this machine, as 127.0.0.1:%s", address,
			listenCause(err), port)
	}
	if free, ok := freePort(ctx, host, port); ok {
		return nil, fmt.Errorf("%q: another program listens there: %s is free", address, free)
	}
	return nil, fmt.Errorf("%q: another program listens there: must be a free port; 0 takes one", address)
}

// network returns the network that an address's host stands for.
func network(host string) string {
	ip := net.ParseIP(host)
	switch {
	case ip == nil: // a name, or all of this machine's addresses
		return "tcp"
	case ip.To4() != nil:
		return "tcp4"
	}
	return "tcp6"
}

// freePort returns the address of the next port above one that is free now.
func freePort(ctx context.Context, host, port string) (string, bool) {
	taken, err := strconv.Atoi(port)
	if err != nil {
		return "", false
	}
	for p := taken + 1; p <= min(taken+portsTried, 1<<16-1); p++ {
		address := net.JoinHostPort(host, strconv.Itoa(p))
		if l, err := new(net.ListenConfig).Listen(ctx, network(host), address); err == nil {
			return address, l.Close() == nil
		}
	}
	return "", false
}

// listenCause is the system's error without the operation and the address.
func listenCause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

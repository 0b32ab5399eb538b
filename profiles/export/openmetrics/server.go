package openmetrics

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The server of metrics: its address, its limits, its end.

// Path is where the metrics are served.
const Path = "/metrics"

// ServeHTTP answers with the metrics. It waits neither for the run nor for its screen.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
		return
	}
	if r.URL.Path != Path {
		http.Error(w, "the metrics are at "+Path, http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", "no-store")
	_ = c.families().answer(w, r) // a client that went away misses nothing
}

// Address completes an address: a port alone, with or without a colon, is one of the loopback
// interface, so that nobody outside the machine can read it unless asked for.
func Address(given string) (string, error) {
	wrong := fmt.Errorf("%q: must be HOST:PORT, as 127.0.0.1:9464, or a port from 0 to 65535 on this machine alone",
		given)
	address := given
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", wrong
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", wrong
	}
	if host == "" {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port), nil
}

// Server serves metrics until it is closed.
type Server struct {
	listener net.Listener
	host     string // of the address, as given
	server   *http.Server
	done     chan struct{}
}

// NewServer makes a server of a listener at an address as returned by Address.
func NewServer(l net.Listener, address string) *Server {
	host, _, _ := net.SplitHostPort(address)
	return &Server{listener: l, host: host, done: make(chan struct{})}
}

// Public reports whether other machines can reach the server.
func (s *Server) Public() bool {
	tcp, ok := s.listener.Addr().(*net.TCPAddr)
	return !ok || !tcp.IP.IsLoopback()
}

// guarded answers requests that name a host of this machine only. A page of another site whose name suddenly leads to
// the loopback interface could otherwise read the metrics in a browser here (DNS rebinding).
func (s *Server) guarded(h http.Handler) http.Handler {
	if s.Public() {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.local(r.Host) {
			http.Error(w, "the host must be localhost or a loopback address", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// local reports whether the host of a request is a name of this machine; HTTP/1.0 has none.
func (s *Server) local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.ToLower(strings.Trim(host, "[]")), ".")
	ip := net.ParseIP(host)
	return host == "" || host == "localhost" || strings.HasSuffix(host, ".localhost") ||
		strings.EqualFold(host, s.host) || ip != nil && ip.IsLoopback()
}

// URL is where the metrics are.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + Path }

// Serve begins to answer requests.
func (s *Server) Serve(c *Collector) {
	s.server = &http.Server{
		Handler: s.guarded(c), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second,
		WriteTimeout: 10 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 1 << 14,
	}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(s.listener) // returns once the server is closed
	}()
}

// Close ends the server and its connections.
func (s *Server) Close() {
	if s.server == nil {
		_ = s.listener.Close()
		return
	}
	_ = s.server.Close()
	<-s.done
}

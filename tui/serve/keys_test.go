package serve

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"
)

var testRoles = []string{"viewer", "operator"}

// line returns a public key as in a file of OpenSSH.
func line(t testing.TB, key any) string {
	t.Helper()
	public, err := gossh.NewPublicKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(gossh.MarshalAuthorizedKey(public)))
}

func TestParseKeys(t *testing.T) {
	ed := strings.TrimSpace(string(gossh.MarshalAuthorizedKey(signer(t, 'a').PublicKey())))
	print := gossh.FingerprintSHA256(signer(t, 'a').PublicKey())
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := ParseKeys([]byte("\n# people\n  operator   "+ed+" ada@laptop\r\nviewer "+line(t, &curve.PublicKey)+"\nviewer SHA256:"+strings.Repeat("A", 43)+" wall display\n"), testRoles)
	if err != nil || len(keys) != 3 {
		t.Fatalf("%v, %v", keys, err)
	}
	if k := keys[print]; k != (Key{print, "operator", "ada@laptop"}) {
		t.Errorf("the first is %+v", k)
	}
	if k := keys["SHA256:"+strings.Repeat("A", 43)]; k.Role != "viewer" || k.Name != "wall display" {
		t.Errorf("the last is %+v", k)
	}
	for text, want := range map[string]string{
		ed:                                   `line 1: "ssh-ed25519": must begin with a role: viewer, operator`,
		"root " + ed:                         `"root": must begin with a role`,
		"\x1b[2J " + ed:                      `"\\x1b[2J": must begin`,
		"viewer":                             "must be a role and a public key",
		"viewer ssh-ed25519 AAAA":            "must be a role and a public key",
		"viewer SHA256:short x":              "must be a fingerprint",
		"viewer no-pty " + ed:                `option "no-pty"`,
		"viewer " + ed + "\noperator " + ed:  "line 2: this key has another line",
		"viewer " + line(t, &weak.PublicKey): "an RSA key of less than 2048 bits",
	} {
		if _, err := ParseKeys([]byte(text), testRoles); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Others cannot be able to write the keys, nor to put another file in their place.
func TestKeysAreSafe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys")
	if _, err := LoadKeys(path, testRoles); err == nil || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("no file: %v", err)
	}
	for _, c := range []struct {
		file, folder os.FileMode
		want         string
	}{
		{0o600, 0o700, ""}, {0o644, 0o755, ""},
		{0o620, 0o700, "keys can be written by others"}, {0o602, 0o700, "keys can be written by others"},
		{0o600, 0o770, "can be written by others"}, {0o600, 0o702, "can be written by others"},
	} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for path, mode := range map[string]os.FileMode{path: c.file, filepath.Dir(path): c.folder} {
			if err := os.Chmod(path, mode); err != nil {
				t.Fatal(err)
			}
		}
		_, err := LoadKeys(path, testRoles)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%o in %o: %v, want %q", c.file, c.folder, err, c.want)
		}
	}
}

// The host key is made once, even by several servers at a time.
func TestHostKeyIsMadeOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "key")
	prints := make([]string, 8)
	var group sync.WaitGroup
	for i := range prints {
		group.Go(func() {
			key, err := HostKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			prints[i] = gossh.FingerprintSHA256(key.PublicKey())
		})
	}
	group.Wait()
	for _, p := range prints {
		if p != prints[0] {
			t.Errorf("keys %q", prints)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".hostkey-*")); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// Any text gives keys with roles of the list and printable names, or an error.
func FuzzParseKeys(f *testing.F) {
	ed := string(gossh.MarshalAuthorizedKey(signer(f, 'a').PublicKey()))
	f.Add([]byte("operator " + ed))
	f.Add([]byte("viewer SHA256:" + strings.Repeat("A", 43) + " \x1b[2J"))
	f.Add([]byte("viewer command=\"x\" " + ed))
	f.Fuzz(func(t *testing.T, text []byte) {
		keys, err := ParseKeys(text, testRoles)
		if err != nil {
			return
		}
		for print, k := range keys {
			if print != k.Fingerprint || !strings.HasPrefix(print, fingerprintStart) || k.Role != "viewer" && k.Role != "operator" || k.Name == "" || strings.ContainsAny(k.Name, "\x1b\n\r") {
				t.Errorf("%+v", k)
			}
		}
	})
}

// A weak key does not log in by its fingerprint, which does not show what it is of.
func TestAWeakKeyIsRefusedByFingerprintToo(t *testing.T) {
	r := serving(t, quick)
	for bits, ok := range map[int]bool{1024: false, 2048: true} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		by, err := gossh.NewSignerFromKey(key)
		if err != nil {
			t.Fatal(err)
		}
		r.keys["rsa"] = by
		r.authorise("rsa", "viewer")
		r.reload()
		c, err := r.dial(gossh.PublicKeys(by))
		if err == nil {
			c.Close()
		}
		if (err == nil) != ok {
			t.Errorf("a key of %d bits: %v", bits, err)
		}
	}
	r.logs("an RSA key of less than 2048 bits")
}

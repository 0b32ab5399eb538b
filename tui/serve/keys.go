package serve

import (
	"bufio"
	"bytes"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/inputfile"
	"prismtop/profiles/visible"
)

// Key is an authorised key.
type Key struct {
	Fingerprint string // "SHA256:…"
	Role        string
	Name        string // the comment of its line, else the beginning of the fingerprint
}

// Keys are authorised keys by their fingerprints.
type Keys map[string]Key

// Limits of a file of keys, and the least size of an RSA key in bits.
const (
	largestKeys = 256 << 10
	mostKeys    = 1000
	leastRSA    = 2048
	longestName = 40
)

// fingerprintStart begins a fingerprint.
const fingerprintStart = "SHA256:"

// LoadKeys reads a file of authorised keys, which nobody but its owner may be able to write.
func LoadKeys(path string, roles []string) (Keys, error) {
	f, info, err := inputfile.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf(`%s does not exist: must have a line for each key, a role (%s) and the public key: mkdir -p %s && echo "%s $(cat ~/.ssh/id_ed25519.pub)" >> %[1]s`,
			path, strings.Join(roles, ", "), filepath.Dir(path), roles[len(roles)-1])
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer f.Close()
	if err := safe(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, largestKeys+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", path, err)
	case len(text) > largestKeys:
		return nil, fmt.Errorf("%s: %w", path, &inputfile.SizeError{Limit: largestKeys})
	}
	keys, err := ParseKeys(text, roles)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// safe returns an error if others can change a file: directly, or by another one in its place.
func safe(path string, info fs.FileInfo) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	folder, err := os.Stat(filepath.Dir(real))
	if err != nil {
		return err
	}
	for _, each := range []struct {
		path string
		info fs.FileInfo
	}{{real, info}, {filepath.Dir(real), folder}} {
		if each.info.Mode().Perm()&0o022 != 0 && each.info.Mode()&fs.ModeSticky == 0 {
			return fmt.Errorf("%s can be written by others: chmod go-w %[1]s", each.path)
		}
		if err := ownFile(each.path, each.info); err != nil {
			return err
		}
	}
	return nil
}

// ParseKeys parses the text of a file of authorised keys. A line is a role, and a public key as OpenSSH
// writes it or a fingerprint, with a comment; lines that begin with # and empty ones are ignored.
func ParseKeys(text []byte, roles []string) (Keys, error) {
	keys := Keys{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, largestKeys+1)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, err := parseKey(line, roles)
		if err == nil {
			if _, twice := keys[key.Fingerprint]; twice {
				err = errors.New("this key has another line")
			}
		}
		if err == nil && len(keys) == mostKeys {
			err = fmt.Errorf("must be at most %d keys", mostKeys)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		keys[key.Fingerprint] = key
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return keys, nil
}

// parseKey parses a line.
func parseKey(line string, roles []string) (key Key, err error) {
	role, rest, _ := strings.Cut(line, " ")
	rest = strings.TrimSpace(rest)
	if !slices.Contains(roles, role) {
		return key, fmt.Errorf("%q: must begin with a role: %s", visible.Text(shortened(role)),
			strings.Join(roles, ", "))
	}
	key.Role = role
	if strings.HasPrefix(rest, fingerprintStart) {
		key.Fingerprint, key.Name, _ = strings.Cut(rest, " ")
		sum, err := base64.RawStdEncoding.Strict().DecodeString(key.Fingerprint[len(fingerprintStart):])
		if err != nil || len(sum) != 32 {
			return key, fmt.Errorf("%q: must be a fingerprint as ssh-keygen -l prints it",
				visible.Text(shortened(key.Fingerprint)))
		}
		key.Name = nameOf(key)
		return key, nil
	}
	public, comment, options, _, err := gossh.ParseAuthorizedKey([]byte(rest))
	switch {
	case err != nil:
		return key, errors.New("must be a role and a public key, as in ~/.ssh/id_ed25519.pub, or its fingerprint")
	case len(options) > 0:
		return key, fmt.Errorf("option %q: must be a role and a public key, without options",
			visible.Text(shortened(options[0])))
	}
	if err := strong(public); err != nil {
		return key, err
	}
	key.Fingerprint, key.Name = gossh.FingerprintSHA256(public), comment
	key.Name = nameOf(key)
	return key, nil
}

// strong returns an error for keys that are not accepted.
func strong(public gossh.PublicKey) error {
	switch public.Type() {
	case gossh.KeyAlgoED25519, gossh.KeyAlgoECDSA256, gossh.KeyAlgoECDSA384, gossh.KeyAlgoECDSA521,
		gossh.KeyAlgoSKED25519, gossh.KeyAlgoSKECDSA256:
		return nil
	case gossh.KeyAlgoRSA:
		key, _ := public.(gossh.CryptoPublicKey)
		if rsa, ok := key.CryptoPublicKey().(*rsa.PublicKey); ok && rsa.N.BitLen() >= leastRSA {
			return nil
		}
		return fmt.Errorf("an RSA key of less than %d bits: must be an Ed25519, ECDSA or larger RSA key", leastRSA)
	}
	return fmt.Errorf("a key of the type %s: must be an Ed25519, ECDSA or RSA key, and no certificate",
		visible.Text(public.Type()))
}

// nameOf returns the name of a key as it is shown and logged.
func nameOf(k Key) string {
	if name := visible.Text(strings.TrimSpace(k.Name)); name != "" {
		return shortened(name)
	}
	return k.Fingerprint[:len(fingerprintStart)+8]
}

// shortened cuts a text that is shown.
func shortened(s string) string {
	if runes := []rune(s); len(runes) > longestName {
		return string(runes[:longestName-1]) + "…"
	}
	return s
}

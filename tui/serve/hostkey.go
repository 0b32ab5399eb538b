package serve

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	gossh "golang.org/x/crypto/ssh"

	"prismtop/profiles/inputfile"
)

// largestHostKey bounds the file of a host key in bytes.
const largestHostKey = 16 << 10

// HostKey returns the host key in a file, which it makes if there is none: an Ed25519 key that only the
// user can read.
func HostKey(path string) (gossh.Signer, error) {
	key, err := readHostKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeHostKey(path); err != nil {
			return nil, fmt.Errorf("host key %s: %w", path, err)
		}
		key, err = readHostKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("host key %s: %w", path, err)
	}
	return key, nil
}

func readHostKey(path string) (gossh.Signer, error) {
	f, info, err := inputfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("others can read it: chmod 600 %s, or remove it for another key", path)
	}
	if err := ownFile(path, info); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, largestHostKey))
	if err != nil {
		return nil, err
	}
	key, err := gossh.ParsePrivateKey(text)
	if err != nil {
		return nil, fmt.Errorf("%w: must be a private key without a passphrase", err)
	}
	if kind := key.PublicKey().Type(); kind != gossh.KeyAlgoED25519 {
		return nil, fmt.Errorf("a key of the type %s: must be %s", kind, gossh.KeyAlgoED25519)
	}
	return key, nil
}

// makeHostKey writes a new key. Of several programs that do so at a time, the first one wins.
func makeHostKey(path string) error {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := gossh.MarshalPrivateKey(key, "prismtop")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".hostkey-*") // of mode 600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(pem.EncodeToMemory(block))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// Command gen compiles the kernels of package ptx with clang-19, and writes their PTX, the archive of it that the
// program holds, packed by zstd, and the sums of sources and results. It is run by go generate in the package's folder;
// with the argument pack it only makes the archive.
package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("gen: ")
	if slices.Equal(os.Args[1:], []string{"pack"}) {
		if err := pack(); err != nil {
			log.Fatal(err)
		}
		return
	}
	sources, err := filepath.Glob("*.cu")
	if err != nil {
		log.Fatal(err)
	}
	for _, target := range []string{"sm_75", "sm_80"} {
		if err := os.MkdirAll(target, 0o755); err != nil {
			log.Fatal(err)
		}
		stale, err := filepath.Glob(target + "/*.ptx")
		if err != nil {
			log.Fatal(err)
		}
		for _, source := range sources {
			result := filepath.Join(target, strings.TrimSuffix(source, ".cu")+".ptx")
			if err := compile(source, target, result); err != nil {
				log.Fatal(err)
			}
			stale = slices.DeleteFunc(stale, func(s string) bool { return s == result })
		}
		for _, s := range stale {
			if err := os.Remove(s); err != nil {
				log.Fatal(err)
			}
		}
	}
	if err := errors.Join(pack(), writeSums()); err != nil {
		log.Fatal(err)
	}
}

// pack writes the archive of all PTX.
func pack() error {
	names, err := filepath.Glob("sm_*/*.ptx")
	if err != nil {
		return err
	}
	var all txtar.Archive
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		all.Files = append(all.Files, txtar.File{Name: filepath.ToSlash(name), Data: text})
	}
	// Levels above 19 and a window larger than all files take a quarter less than the package zstd at its best.
	text := txtar.Format(&all)
	command := exec.Command("zstd", "--ultra", "-22", "--long=24",
		fmt.Sprintf("--stream-size=%d", len(text)), "--force", "--quiet", "-o", "kernels.zst")
	command.Stdin = bytes.NewReader(text)
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("packing the PTX with zstd: %w", err)
	}
	return nil
}

// compile writes the PTX of a source for a target.
func compile(source, target, result string) error {
	version := "+ptx65" // has the matrix instructions of both targets' devices
	if target == "sm_80" {
		version = "+ptx70"
	}
	command := exec.Command("clang-19", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch="+target,
		"--cuda-feature="+version,
		"-nocudainc", "-nocudalib", "-std=c++17", "-Wall", "-Werror", "-O3", "-ffp-contract=fast", "-S", "-o",
		"-", source)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return fmt.Errorf("%s for %s: %w", source, target, err)
	}
	return os.WriteFile(result, text, 0o644)
}

// writeSums writes the SHA-256 sums of the sources and of the PTX.
func writeSums() error {
	var sums bytes.Buffer
	for _, pattern := range []string{"*.h", "*.cu", "sm_*/*.ptx"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(text), filepath.ToSlash(name))
		}
	}
	return os.WriteFile("SHA256SUMS", sums.Bytes(), 0o644)
}

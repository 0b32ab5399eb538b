package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateNotices = flag.Bool("update-notices", false, "write docs/third-party.txt anew")

// linked is a package of the program, as go list describes it.
type linked struct {
	ImportPath, Dir string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
	}
}

// releases are the systems of which a program is released.
var releases = []string{"linux", "darwin", "windows"}

// packages lists the packages of the program on all systems of which it is released.
func packages(t *testing.T) (all []linked) {
	t.Helper()
	for _, system := range releases {
		list := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Standard,Module", "prismtop")
		list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOARCH=amd64", "GOOS="+system)
		var stderr bytes.Buffer
		list.Stderr = &stderr
		out, err := list.Output()
		if err != nil {
			t.Fatalf("go list for %s: %v\n%s", system, err, stderr.Bytes())
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p linked
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
	}
	return all
}

// licensed are the names of files with a licence or a notice.
var licensed = regexp.MustCompile(`(?i)^((.*-)?licen[cs]e|copying|notice|patents)[^.]*(\.(txt|md))?$`)

// notices returns the licences of everything in the program but its own, each text once.
func notices(t *testing.T) []byte {
	t.Helper()
	folders, titles := map[string][]string{}, map[string]string{} // by module
	for _, p := range packages(t) {
		if p.Module == nil || p.Module.Main {
			continue
		}
		path := p.Module.Path
		titles[path] = path + " " + p.Module.Version
		folders[path] = append(folders[path], p.Module.Dir, p.Dir)
		if strings.Contains(p.ImportPath, "/gofont/") {
			folders[path] = append(folders[path], filepath.Join(filepath.Dir(p.Dir), "ttfs"))
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	titles["Go"], folders["Go"] = "Go, its standard library", []string{strings.TrimSpace(string(root))}
	var texts []string
	of := map[string][]string{} // modules by text
	for path, where := range folders {
		slices.Sort(where)
		some := false
		for _, folder := range slices.Compact(where) {
			files, err := os.ReadDir(folder)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				fonts := filepath.Base(folder) == "ttfs" && f.Name() == "README"
				if f.IsDir() || !licensed.MatchString(f.Name()) && !fonts {
					continue
				}
				text, err := os.ReadFile(filepath.Join(folder, f.Name()))
				if err != nil {
					t.Fatal(err)
				}
				clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r", ""))
				if of[clean] == nil {
					texts = append(texts, clean)
				}
				if some = true; !slices.Contains(of[clean], titles[path]) {
					of[clean] = append(of[clean], titles[path])
				}
			}
		}
		if !some {
			t.Errorf("%s has no licence", path)
		}
	}
	for _, names := range of {
		slices.Sort(names)
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Or(slices.Compare(of[a], of[b]), cmp.Compare(a, b)) })
	var b bytes.Buffer
	fmt.Fprintln(&b, "\nprismtop contains the following works.")
	for _, text := range texts {
		fmt.Fprintf(&b, "\n%s\n%s\n\n%s\n", strings.Repeat("-", 80), strings.Join(of[text], "\n"), text)
	}
	return b.Bytes()
}

// The notices that the program prints are those of the modules that it is made of.
func TestNoticesAreThoseOfTheModules(t *testing.T) {
	want := notices(t)
	const path = "../../docs/third-party.txt"
	if *updateNotices {
		if err := os.WriteFile(path, want, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, want) {
		t.Errorf("%s is not that of the modules (%v); go test ./tui/command -run Notices -update-notices writes it anew", path, err)
	}
}

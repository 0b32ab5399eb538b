package sessions

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// smallDisk mounts a disk of so many bytes.
func smallDisk(t *testing.T, size string) string {
	t.Helper()
	folder := t.TempDir()
	if err := unix.Mount("none", folder, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("skipped: no disk can be mounted here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	return folder
}

func used(t *testing.T, folder string) int64 {
	t.Helper()
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		t.Fatal(err)
	}
	return int64(s.Blocks-s.Bfree) * s.Bsize
}

// What a program prints has room after the disk is full: first what was kept, then that of its beginning.
func TestAProgramPrintsOnWhereTheDiskIsFull(t *testing.T) {
	for _, fill := range []int{10, 200, 500, 1000, 1500} { // others fill the disk after so many lines
		t.Run(strconv.Itoa(fill), func(t *testing.T) { printOnAFullDisk(t, fill) })
	}
}

func printOnAFullDisk(t *testing.T, fill int) {
	disk := smallDisk(t, "4m")
	f, err := os.Create(filepath.Join(disk, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r, line := NewRoom(f), []byte(strings.Repeat("x", 1<<10-1)+"\n")
	printed, forgot := int64(0), false
	for i := range 8 << 10 {
		if i == fill {
			_ = os.WriteFile(filepath.Join(disk, "others"), make([]byte, 4<<20), 0o600)
		}
		lost, err := r.Keep(printed)
		if err != nil {
			t.Fatalf("after %d bytes: %v", printed, err)
		}
		forgot = forgot || lost
		n, err := f.Write(line)
		if err != nil {
			t.Fatalf("after %d bytes: %v", printed, err)
		}
		printed += int64(n)
	}
	if !forgot {
		t.Error("nothing was given up on a full disk")
	}
	last := make([]byte, roomKept)
	if _, err := f.ReadAt(last, printed-roomKept); err != nil || bytes.Count(last, line) != roomKept>>10 {
		t.Errorf("the end is not kept: %v", err)
	}
	before := used(t, disk)
	r.Release(printed)
	if after := used(t, disk); after >= before {
		t.Errorf("%d bytes in use after the release, %d before", after, before)
	}
	if info, err := f.Stat(); err != nil || info.Size() != printed {
		t.Errorf("the file has %v bytes, %v, want %d", info.Size(), err, printed)
	}
}

// Without room for its first lines a program is not started.
func TestAFullDiskHasNoRoom(t *testing.T) {
	disk := smallDisk(t, "64k")
	f, err := os.Create(filepath.Join(disk, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := NewRoom(f).Keep(0); !full(err) {
		t.Errorf("a full disk: %v", err)
	}
}

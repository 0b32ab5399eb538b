//go:build !amd64 || noasm

package vec

var built = []Set{Go}

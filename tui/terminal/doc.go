// Package terminal communicates with the terminal, independently of the contents of the screen:
// a writer that never blocks (Output) and sends only changed cells (Wire), limits on the bytes
// sent (Pacer, Bucket), pictures in Kitty's protocol (Graphics), keyboard input and terminal
// modes that are restored however the program ends (Console), and output that other code prints
// to the screen (Stray).
package terminal

// Package terminal is what the screen says to its terminal and hears from it, whatever
// the screen shows: a writer that never blocks (Output) and sends the cells that differ
// (Wire), how many bytes that may take (Pacer, Bucket), pictures by Kitty's protocol
// (Graphics), keys as they come in and the modes that every end gives back (Console),
// and what others print beside the screen (Stray).
package terminal

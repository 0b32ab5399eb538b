// Package widget has the parts of which full screens are made: bars of keys, dialogs, sheets of help,
// lists with a selected row, and lines of text being edited.
package widget

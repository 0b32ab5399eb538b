package command

// version is the program's version; released builds set it by
//
//	go build -ldflags '-X prismtop/tui/command.version=1.2.3'
var version = "0.1.0-dev"

package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockFile returns the file, which nobody else can open until it is closed or the process ends.
func lockFile(path string) (*os.File, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_ALWAYS, windows.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return nil, ErrInUse
	}
	if err != nil {
		return nil, os.NewSyscallError("CreateFile", err)
	}
	return os.NewFile(uintptr(h), path), nil
}

// A file that is open cannot be removed here.
func stillNamed(*os.File) error { return nil }

// A folder cannot be synchronized here; names last with what they name.
const foldersSync = false

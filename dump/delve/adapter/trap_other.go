//go:build !linux

package adapter

import "errors"

func trapped(int, int) (uint64, error) {
	return 0, errors.New("OS threads are not looked at on this system")
}

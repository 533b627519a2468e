package dump

import "strconv"

// A hash is FNV-1a of the words written to it, so that keys are the same in every process and version.
type hash uint64

// KeyLength is how many digits a whole key has.
const KeyLength = 16

const newHash hash = 0xcbf29ce484222325

// word adds s, and an end to it.
func (h hash) word(s string) hash {
	for i := range len(s) {
		h = (h ^ hash(s[i])) * 0x100000001b3
	}
	return (h ^ 0xff) * 0x100000001b3 // no byte of UTF-8
}

// String writes the hash as sixteen hexadecimal digits.
func (h hash) String() string {
	s := strconv.FormatUint(uint64(h), 16)
	return "0000000000000000"[len(s):] + s
}

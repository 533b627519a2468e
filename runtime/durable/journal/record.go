package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
)

// A record is its length and its CRC-32C (four bytes each, little endian), and a list of entries as JSON. The highest bit of the length says that all of the file before it
// was synchronized when it was written.
const (
	recordHeader = 8
	maxRecord    = maxBytes + 1<<20
	afterSync    = 1 << 31
	recordBegins = `[{"thread":` // since an Entry does
)

// MarkSynced says in a record that all before it was synchronized. So what is no record, and has one of these behind it, is not what a process was writing when it ended.
func MarkSynced(record []byte) {
	n := binary.LittleEndian.Uint32(record)
	binary.LittleEndian.PutUint32(record, n|afterSync)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ReadFile calls f with the entries of a file, and returns how many bytes of it are records. Of the newest file what is no record at its end is left out, unless it had been
// synchronized ([MarkSynced]); then, and in another file, it is an error that matches [ErrDamaged].
func ReadFile(path string, newest bool, f func(Entry) error) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<20)
	bad := int64(-1) // where there was no record a moment ago
	for {
		record, err := readRecord(r)
		switch {
		case err == io.EOF:
			return size, nil
		case newest && err == ErrDamaged: // else it could not be read
			synced, err := syncedAfter(file, size)
			if err == nil && !synced {
				return size, nil
			}
			if err == nil && bad != size { // it may have been written meanwhile
				bad = size
				if _, err = file.Seek(size, io.SeekStart); err == nil {
					r.Reset(file)
					continue
				}
			}
			if err == nil {
				err = fmt.Errorf("%w: there are records behind it", ErrDamaged)
			}
			return size, fmt.Errorf("%s at byte %d: %w", path, size, err)
		case err != nil:
			return size, fmt.Errorf("%s at byte %d: %w", path, size, err)
		}
		var entries []Entry
		if err := json.Unmarshal(record, &entries); err != nil {
			return size, fmt.Errorf("%s at byte %d: %w: %w", path, size, ErrDamaged, err)
		}
		for _, e := range entries {
			if err := f(e); err != nil {
				return size, fmt.Errorf("%s at byte %d: %w", path, size, err)
			}
		}
		size += int64(recordHeader + len(record))
	}
}

// syncedAfter reports whether behind a position there is a record that was written when all before it was synchronized.
func syncedAfter(file *os.File, position int64) (bool, error) {
	rest, err := io.ReadAll(io.NewSectionReader(file, position, math.MaxInt64-position))
	if err != nil {
		return false, err
	}
	for at := recordHeader; at < len(rest); at++ {
		i := bytes.Index(rest[at:], []byte(recordBegins))
		if i < 0 {
			return false, nil
		}
		at += i
		head := rest[at-recordHeader : at]
		n := binary.LittleEndian.Uint32(head)
		if n&afterSync == 0 {
			continue
		}
		if n &^= afterSync; uint64(n) <= uint64(len(rest)-at) && at > recordHeader && crc32.Checksum(rest[at:at+int(n)], castagnoli) == binary.LittleEndian.Uint32(head[4:]) {
			return true, nil
		}
	}
	return false, nil
}

// readRecord returns the next record; io.EOF after the last, and else [ErrDamaged] or an error of reading.
func readRecord(r io.Reader) ([]byte, error) {
	var header [recordHeader]byte
	switch _, err := io.ReadFull(r, header[:]); {
	case err == io.ErrUnexpectedEOF:
		return nil, ErrDamaged
	case err != nil:
		return nil, err
	}
	n := binary.LittleEndian.Uint32(header[:]) &^ afterSync
	if n == 0 || n > maxRecord {
		return nil, ErrDamaged
	}
	var record []byte
	for len(record) < int(n) { // what is damaged does not say how much is allocated
		at := len(record)
		record = append(record, make([]byte, min(int(n)-at, 1<<20))...)
		switch _, err := io.ReadFull(r, record[at:]); {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, ErrDamaged
		case err != nil:
			return nil, err
		}
	}
	if crc32.Checksum(record, castagnoli) != binary.LittleEndian.Uint32(header[4:]) {
		return nil, ErrDamaged
	}
	return record, nil
}

// NewRecord returns the record that holds entries. The error matches [ErrTooLarge].
func NewRecord(entries []Entry) ([]byte, error) {
	text, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	if len(text) > maxRecord {
		return nil, fmt.Errorf("%w: a record of %d bytes", ErrTooLarge, len(text))
	}
	record := make([]byte, recordHeader, recordHeader+len(text))
	binary.LittleEndian.PutUint32(record, uint32(len(text)))
	binary.LittleEndian.PutUint32(record[4:], crc32.Checksum(text, castagnoli))
	return append(record, text...), nil
}

package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/vtscope/vtscope/internal/plainfile"
)

// A record is its length and its CRC-32C (four bytes each, little endian), and a list of entries as JSON. The highest bit of the length says that all of the file before it
// was synchronized when it was written.
const (
	recordHeader = 8
	recordSlack  = 1 << 20 // what a record may have beside the text of a thread
	afterSync    = 1 << 31
	recordBegins = `[{"thread":` // since an Entry does
)

// record returns how large a record may be: what is written, and what is read. A base repeats what is in other records, and needs a little more.
func (l Limits) record() (written, read int) {
	const longest = afterSync - 1
	return min(l.Bytes, longest-recordSlack) + recordSlack, min(l.Bytes, longest-2*recordSlack) + 2*recordSlack
}

// MarkSynced says in a record that all before it was synchronized. So what is no record, and has one of these behind it, is not what a process was writing when it ended.
func MarkSynced(record []byte) {
	n := binary.LittleEndian.Uint32(record)
	binary.LittleEndian.PutUint32(record, n|afterSync)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// ReadFile is [Limits.ReadFile] with the defaults.
func ReadFile(path string, newest bool, f func(Entry) error) (size int64, err error) {
	return Limits{}.ReadFile(path, newest, f)
}

// ReadFile calls f with the entries of a file, and returns how many bytes of it are records. Of the newest file what is no record at its end is left out, unless it had been
// synchronized ([MarkSynced]); then, and in another file, it is an error that matches [ErrDamaged]. A record of more than the limits is never left out: the error matches [ErrTooLarge]
// or [ErrMemory]. It allocates no more than a few times what they allow, whatever is in the file.
func (l Limits) ReadFile(path string, newest bool, f func(Entry) error) (size int64, err error) {
	if l, err = l.checked(); err != nil {
		return 0, err
	}
	file, r, err := openRecords(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	bad := int64(-1) // where there was no record a moment ago
	for {
		record, _, err := l.readRecord(r)
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
		entries, err := l.UnpackEntries(record)
		if err != nil {
			return size, fmt.Errorf("%s at byte %d: %w", path, size, err)
		}
		for _, e := range entries {
			if err := f(e); err != nil {
				return size, fmt.Errorf("%s at byte %d: %w", path, size, err)
			}
		}
		size += int64(recordHeader + len(record))
	}
}

func openRecords(path string) (*os.File, *bufio.Reader, error) {
	file, err := plainfile.Open(path)
	return file, bufio.NewReaderSize(file, 1<<20), err
}

// SyncedUpTo returns up to where a file says of itself that it was synchronized: where the last record begins that is marked so ([MarkSynced]), before the first bytes that are no record.
func (l Limits) SyncedUpTo(path string) (synced int64, err error) {
	if l, err = l.checked(); err != nil {
		return 0, err
	}
	file, r, err := openRecords(path)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	for size := int64(0); ; {
		record, marked, err := l.readRecord(r)
		switch {
		case err == io.EOF, err == ErrDamaged, errors.Is(err, ErrTooLarge): // who reads the file tells
			return synced, nil
		case err != nil:
			return synced, fmt.Errorf("%s at byte %d: %w", path, size, err)
		}
		if marked {
			synced = size
		}
		size += int64(recordHeader + len(record))
	}
}

// syncedAfter reports whether behind a position there is a record that was written when all before it was synchronized. It looks at a window of the file at a time: the file may be of any
// size, and say of itself what it likes.
func syncedAfter(file *os.File, position int64) (bool, error) {
	const window = 1 << 20
	info, err := file.Stat()
	if err != nil {
		return false, err
	}
	size := info.Size()
	buffer := make([]byte, 0, window)
	from := position           // where the buffer begins
	patience := 1<<30 + 4*size // bytes that may be summed: none of what a process writes needs more
	for {
		n, err := file.ReadAt(buffer[len(buffer):window], from+int64(len(buffer)))
		if err != nil && err != io.EOF {
			return false, err
		}
		buffer = buffer[:len(buffer)+n]
		for at := 0; ; at++ {
			i := bytes.Index(buffer[at:], []byte(recordBegins))
			if i < 0 {
				break
			}
			if at += i; at < recordHeader || from+int64(at) <= position+recordHeader {
				continue
			}
			head := buffer[at-recordHeader : at]
			begins, length := from+int64(at), int64(binary.LittleEndian.Uint32(head))
			if length&afterSync == 0 || length&^afterSync > size-begins {
				continue
			}
			length &^= afterSync
			if patience -= length; patience < 0 {
				return false, fmt.Errorf("%w: what is behind it says too often that it is a record", ErrDamaged)
			}
			whole, err := sumIs(io.NewSectionReader(file, begins, length), length, binary.LittleEndian.Uint32(head[4:]))
			if whole || err != nil {
				return whole, err
			}
		}
		if err == io.EOF {
			return false, nil
		}
		keep := min(len(buffer), recordHeader+len(recordBegins)-1) // a header may begin in this window, and its record in the next
		from += int64(len(buffer) - keep)
		buffer = buffer[:copy(buffer, buffer[len(buffer)-keep:])]
	}
}

// sumIs reports whether the next n bytes are there, and have that sum. It does not keep them.
func sumIs(r io.Reader, n int64, sum uint32) (bool, error) {
	hash := crc32.New(castagnoli)
	switch read, err := io.CopyN(hash, r, n); {
	case err == io.EOF || err == nil && read < n:
		return false, nil
	case err != nil:
		return false, err
	}
	return hash.Sum32() == sum, nil
}

// readRecord returns the next record, and whether it is marked ([MarkSynced]); io.EOF after the last, and else [ErrDamaged], an error that matches [ErrTooLarge], or one of reading.
func (l Limits) readRecord(r io.Reader) (record []byte, marked bool, err error) {
	var header [recordHeader]byte
	switch _, err := io.ReadFull(r, header[:]); {
	case err == io.ErrUnexpectedEOF:
		return nil, false, ErrDamaged
	case err != nil:
		return nil, false, err
	}
	length, sum := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
	n := int(length &^ afterSync)
	if n == 0 {
		return nil, false, ErrDamaged
	}
	if _, most := l.record(); n > most { // who has written it had larger limits, unless it is none
		whole, err := sumIs(r, int64(n), sum)
		if err == nil && whole {
			err = fmt.Errorf("%w: a record of %d bytes, at most %d; try larger Limits", ErrTooLarge, n, most)
		} else if err == nil {
			err = ErrDamaged
		}
		return nil, false, err
	}
	for len(record) < n { // what is damaged does not say how much is allocated
		at := len(record)
		record = append(record, make([]byte, min(n-at, 1<<20))...)
		switch _, err := io.ReadFull(r, record[at:]); {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, false, ErrDamaged
		case err != nil:
			return nil, false, err
		}
	}
	if crc32.Checksum(record, castagnoli) != sum {
		return nil, false, ErrDamaged
	}
	return record, length&afterSync != 0, nil
}

// NewRecord is [Limits.NewRecord] with the defaults.
func NewRecord(entries []Entry) ([]byte, error) { return Limits{}.NewRecord(entries) }

// NewRecord returns the record that holds entries. The error matches [ErrTooLarge] or [ErrMemory]: ReadFile with the same limits takes what it returns.
func (l Limits) NewRecord(entries []Entry) ([]byte, error) {
	l, err := l.checked()
	if err != nil {
		return nil, err
	}
	most, _ := l.record()
	return l.newRecord(entries, most)
}

// NewRecordAgain is NewRecord for what was in other records, of the same limits.
func (l Limits) NewRecordAgain(entries []Entry) ([]byte, error) {
	l, err := l.checked()
	if err != nil {
		return nil, err
	}
	_, most := l.record()
	return l.newRecord(entries, most)
}

func (l Limits) newRecord(entries []Entry, most int) ([]byte, error) {
	text, err := l.PackEntries(entries)
	if err != nil {
		return nil, err
	}
	if len(text) > most {
		return nil, fmt.Errorf("%w: a record of %d bytes, at most %d; try larger Limits", ErrTooLarge, len(text), most)
	}
	record := make([]byte, recordHeader, recordHeader+len(text))
	binary.LittleEndian.PutUint32(record, uint32(len(text)))
	binary.LittleEndian.PutUint32(record[4:], crc32.Checksum(text, castagnoli))
	return append(record, text...), nil
}

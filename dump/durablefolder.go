package dump

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/vtscope/vtscope/runtime/durable/journal"
	"github.com/vtscope/vtscope/runtime/flight"
)

// DurablesOfFolder lists the threads in the folder of a file store, whoever uses it, and disturbs nobody. Of a damaged folder it returns what stands before the damage, and the
// error.
func DurablesOfFolder(dir string, o DurableOptions) (*Durables, error) {
	folder, err := journal.ReadFolder(dir)
	if folder == nil || len(folder.Files.Logs) == 0 && folder.Files.Base == 0 {
		return nil, noStore(dir, err)
	}
	source := folderSource(dir, folder)
	fold := NewDurableFold(o, time.Now())
	for _, root := range folder.Trees.Roots() {
		root.Walk(func(im *journal.Image) bool {
			fold.Add(source.row(journal.RowOf(im)))
			return true
		})
	}
	return fold.Done(source, damage(err)...), err
}

// DurableThreadOfFolder tells the history of a thread in the folder of a file store, as [DurablesOfFolder] does; nil if the thread is not there.
func DurableThreadOfFolder(dir, id string, l journal.Look) (*DurableThread, error) {
	folder, err := journal.ReadFolder(dir)
	if folder == nil || len(folder.Files.Logs) == 0 && folder.Files.Base == 0 {
		return nil, noStore(dir, err)
	}
	im := journal.Find(folder.Trees.Roots(), id)
	if im == nil {
		return nil, err
	}
	source := folderSource(dir, folder)
	h := journal.HistoryOf(im, l)
	h.Row = source.row(h.Row)
	for i := range h.Children {
		h.Children[i] = source.row(h.Children[i])
	}
	return NewDurableThread(h, source, time.Now(), damage(err)...), err
}

func noStore(dir string, err error) error {
	if err != nil {
		return err
	}
	return fmt.Errorf("%s: no file store: it has no file like %s", dir, filepath.Base(journal.LogPath("", 1)))
}

func damage(err error) []string {
	if err == nil {
		return nil
	}
	return []string{err.Error() + ": what was recorded after that is not shown"}
}

func folderSource(dir string, f *journal.Folder) DurableSource {
	s := DurableSource{Kind: FromFolder, Path: dir, Files: len(f.Files.Logs), Bytes: f.Bytes, Tail: f.Tail, PID: journal.Holder(dir)}
	if f.Files.Base > 0 {
		s.Files++
	}
	if s.PID != 0 {
		if r, err := flight.OpenPID(s.PID); err == nil {
			p := r.Process()
			s.Program, s.Status = p.Program, Status(p.Status.String())
			r.Close()
		}
	}
	return s
}

// row tells of a row what the journal does not: that a process has the thread.
func (s *DurableSource) row(r journal.DurableRow) journal.DurableRow {
	if r.State == journal.Runnable && s.PID != 0 {
		r.State = journal.Running
	}
	return r
}

// DurablesOfBytes lists the thread, with its children, of the bytes of a parked thread. The errors are those of [journal.Unpack].
func DurablesOfBytes(path string, b []byte, keys *journal.Keys, o DurableOptions) (*Durables, error) {
	im, err := journal.Unpack(b, keys)
	if err != nil {
		return nil, err
	}
	fold := NewDurableFold(o, time.Now())
	im.Walk(func(im *journal.Image) bool { fold.Add(journal.RowOf(im)); return true })
	return fold.Done(DurableSource{Kind: FromBytes, Path: path, Bytes: int64(len(b))}), nil
}

// DurableThreadOfBytes tells the history of a thread in the bytes of a parked one; nil if it is not there.
func DurableThreadOfBytes(path string, b []byte, keys *journal.Keys, id string, l journal.Look) (*DurableThread, error) {
	root, err := journal.Unpack(b, keys)
	if err != nil {
		return nil, err
	}
	im := journal.Find([]*journal.Image{root}, id)
	if im == nil {
		return nil, nil
	}
	return NewDurableThread(journal.HistoryOf(im, l), DurableSource{Kind: FromBytes, Path: path, Bytes: int64(len(b))}, time.Now()), nil
}

package flight

import "encoding/binary"

// Names are the names of threads, read by the thousand: for those who want those of many. It keeps at most 32 MiB of them. It is for one goroutine at a time.
type Names struct {
	r      *Reader
	blocks map[uint32][]byte // by the number of their first name / namesPerBlock; nil: cut, or damaged
	order  [maxNameBlocks]uint32
	loaded int // blocks so far; the oldest is at order[loaded%maxNameBlocks]
	asked  int // names since the last block was loaded
}

const (
	namesPerBlock = 1024 // divides namesPerSegment
	maxNameBlocks = 512

	// worthBlock is for how many names that were asked for a block is loaded when another must go for it: those of threads in any order are read by themselves.
	worthBlock = 16
)

// Names returns the names of threads as they are when they are first asked for.
func (r *Reader) Names() *Names { return &Names{r: r, blocks: map[uint32][]byte{}} }

// block returns the block of a name, or nil.
func (n *Names) block(i uint32) []byte {
	n.asked++
	at := i / namesPerBlock
	b, read := n.blocks[at]
	if read || n.loaded >= maxNameBlocks && n.asked < worthBlock {
		return b
	}
	n.asked = 0
	spare := []byte(nil)
	slot := &n.order[n.loaded%maxNameBlocks]
	if n.loaded >= maxNameBlocks {
		spare = n.blocks[*slot]
		delete(n.blocks, *slot)
	}
	if offset, ok := n.r.locate(segmentName, i-i%namesPerBlock, namesPerSegment, nameSize); ok {
		if b = spare; b == nil {
			b = make([]byte, namesPerBlock*nameSize)
		}
		if n.r.src.readAt(b, offset) < len(b) {
			b = nil
		}
	}
	n.blocks[at], *slot = b, at
	n.loaded++
	return b
}

// Of is [Reader.ThreadName], from what was read before where that will do.
func (n *Names) Of(row ThreadRow) string {
	if row.Name == 0 {
		return ""
	}
	i := uint32(row.Name - 1)
	if block := n.block(i); block != nil {
		// The bulk was copied once only, so a name may have changed meanwhile: one with an odd version, or of another thread, is read by itself.
		b := block[i%namesPerBlock*nameSize:][:nameSize]
		if b[0]&1 == 0 && ThreadID(binary.LittleEndian.Uint64(b[8:])) == row.ID {
			return n.r.text(TextThread, nameOf(b))
		}
	}
	return n.r.ThreadName(row)
}

package flight

import "encoding/binary"

// Has reports whether the name of a thread is in a block that was read, how many blocks are kept, and how many were loaded.
func (n *Names) Has(row ThreadRow) (has bool, kept, loaded int) {
	i := uint32(row.Name - 1)
	b := n.blocks[i/namesPerBlock]
	has = b != nil && ThreadID(binary.LittleEndian.Uint64(b[i%namesPerBlock*nameSize+8:])) == row.ID
	return has, len(n.blocks), n.loaded
}

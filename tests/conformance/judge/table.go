package main

import "log"

// table is the function table, which begins with its magic number, two zeros, the alignment of
// instructions and the size of a pointer. What ends it is not looked for: debug/gosym needs no end.
type table struct {
	*program
	address uint64
	data    []byte
	magic   uint32
}

func findTable(p *program) (table, bool) {
	for _, magic := range []uint32{0xfffffffb, 0xfffffffa, 0xfffffff0, 0xfffffff1} {
		for _, quantum := range []byte{1, 2, 4} {
			header := []byte{0, 0, 0, 0, 0, 0, quantum, byte(p.word)}
			p.order.PutUint32(header, magic)
			if address, found := p.find(header, func(uint64) bool { return true }); found {
				return table{p, address, p.bytes(address), magic}, true
			}
		}
	}
	return table{}, false
}

// hasOffsets tells whether its addresses count from the start of the text: from Go 1.18 on.
func (t table) hasOffsets() bool { return t.magic <= 0xfffffff1 }

// A linker that spreads the text over several sections leaves gaps between them: the offsets from
// `start` on are the addresses from `address` on.
type textSection struct{ start, end, address uint64 }

// textSections come from moduledata, which begins with the address of the table. Nearly each
// release lays it out anew, but words 20 and 22 have been the first function and the start of the
// text all along, and just one of its slices begins with a section that starts there at offset 0.
func (t table) textSections() []textSection {
	var module []uint64
	_, found := t.find(t.pointerBytes(t.address), func(address uint64) bool {
		module = t.pointers(address, 60)
		return module != nil && module[20] == module[22] && t.isCode(module[22])
	})
	if !found {
		log.Fatal("no moduledata")
	}
	for i := 23; i+2 < len(module); i++ {
		if count := module[i+1]; count > 1 && count < 100 && count == module[i+2] {
			sections := t.readSections(module[i], int(count))
			if sections != nil && sections[0].start == 0 && sections[0].address == module[22] {
				return sections
			}
		}
	}
	return []textSection{{0, 1 << 32, module[22]}}
}

func (t table) readSections(address uint64, count int) []textSection {
	var sections []textSection
	for words := t.pointers(address, 3*count); len(words) > 0; words = words[3:] {
		sections = append(sections, textSection{words[0], words[1], words[2]})
	}
	return sections
}

// Places in a function record of the offsets of two of its tables, behind the entry.
const pcfileField, pclnField = 16, 20

// lacks tells whether a function has no such table: its offset is 0, which debug/gosym takes for
// that of a table all the same.
func (t table) lacks(field uint64, index int) bool {
	entrySize, functab, records := t.word, t.data[8+t.word:], t.data
	switch t.magic {
	case 0xfffffffa:
		records = t.data[t.pointer(t.data[8+6*t.word:]):]
		functab = records
	case 0xfffffff0, 0xfffffff1:
		records = t.data[t.pointer(t.data[8+7*t.word:]):]
		functab = records
		entrySize = 4
	}
	pair := functab[2*uint64(index)*entrySize:]
	offset := uint64(t.order.Uint32(pair[4:]))
	if entrySize == t.word {
		offset = t.pointer(pair[t.word:])
	}
	return t.order.Uint32(records[offset+entrySize+field:]) == 0
}

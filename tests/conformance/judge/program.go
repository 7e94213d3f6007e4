package main

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// program is an ELF file as the kernel would load it.
type program struct {
	order    binary.ByteOrder
	word     uint64 // size of a pointer
	entry    uint64
	segments []segment
}

type segment struct {
	address uint64
	data    []byte
	isCode  bool
}

func openProgram(path string) (*program, error) {
	file, err := elf.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	p := &program{order: file.ByteOrder, word: 4, entry: file.Entry}
	if file.Class == elf.ELFCLASS64 {
		p.word = 8
	}
	for _, prog := range file.Progs {
		if prog.Type != elf.PT_LOAD || prog.Filesz == 0 {
			continue
		}
		data := make([]byte, prog.Filesz)
		if _, err := prog.ReadAt(data, 0); err != nil {
			return nil, err
		}
		p.segments = append(p.segments, segment{prog.Vaddr, data, prog.Flags&elf.PF_X != 0})
	}
	return p, nil
}

// bytes are those from an address to the end of its segment.
func (p *program) bytes(address uint64) []byte {
	for _, s := range p.segments {
		if address-s.address < uint64(len(s.data)) {
			return s.data[address-s.address:]
		}
	}
	return nil
}

func (p *program) isCode(address uint64) bool {
	for _, s := range p.segments {
		if s.isCode && address-s.address < uint64(len(s.data)) {
			return true
		}
	}
	return false
}

func (p *program) pointer(data []byte) uint64 {
	if p.word == 4 {
		return uint64(p.order.Uint32(data))
	}
	return p.order.Uint64(data)
}

func (p *program) pointerBytes(value uint64) []byte {
	data := make([]byte, p.word)
	if p.word == 4 {
		p.order.PutUint32(data, uint32(value))
	} else {
		p.order.PutUint64(data, value)
	}
	return data
}

// pointers are as many words from an address on, or none if they are not all there.
func (p *program) pointers(address uint64, count int) []uint64 {
	data := p.bytes(address)
	if len(data) < count*int(p.word) {
		return nil
	}
	values := make([]uint64, count)
	for i := range values {
		values[i] = p.pointer(data[i*int(p.word):])
	}
	return values
}

// find returns the first aligned address with these bytes that is accepted.
func (p *program) find(pattern []byte, accepts func(address uint64) bool) (uint64, bool) {
	for _, s := range p.segments {
		for at := 0; ; at++ {
			next := bytes.Index(s.data[at:], pattern)
			if next < 0 {
				break
			}
			at += next
			address := s.address + uint64(at)
			if address%p.word == 0 && accepts(address) {
				return address, true
			}
		}
	}
	return 0, false
}

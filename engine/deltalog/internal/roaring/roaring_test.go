package roaring

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// encode writes a set; kind says how the containers are written: 'a' as arrays, 'b' as bitmaps, 'r' as runs.
func encode(values []uint64, kind byte) []byte {
	buckets := map[uint32][]uint32{}
	var order []uint32
	for _, v := range values {
		key := uint32(v >> 32)
		if buckets[key] == nil {
			order = append(order, key)
		}
		buckets[key] = append(buckets[key], uint32(v))
	}
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(order)))
	for _, key := range order {
		data = binary.LittleEndian.AppendUint32(data, key)
		data = append(data, encode32(buckets[key], kind)...)
	}
	return data
}

func encode32(values []uint32, kind byte) []byte {
	containers := map[uint16][]uint16{}
	var order []uint16
	for _, v := range values {
		key := uint16(v >> 16)
		if containers[key] == nil {
			order = append(order, key)
		}
		containers[key] = append(containers[key], uint16(v))
	}
	var data, bodies []byte
	if kind == 'r' {
		data = binary.LittleEndian.AppendUint32(data, 12347|uint32(len(order)-1)<<16)
		data = append(data, bytes.Repeat([]byte{0xff}, (len(order)+7)/8)...)
	} else {
		data = binary.LittleEndian.AppendUint32(data, 12346)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(order)))
	}
	for _, key := range order {
		data = binary.LittleEndian.AppendUint16(data, key)
		data = binary.LittleEndian.AppendUint16(data, uint16(len(containers[key])-1))
	}
	offsets := kind != 'r' || len(order) >= 4
	for _, key := range order {
		if offsets {
			data = binary.LittleEndian.AppendUint32(data, 0)
		}
		bodies = append(bodies, encodeContainer(containers[key], kind)...)
	}
	return append(data, bodies...)
}

func encodeContainer(values []uint16, kind byte) (data []byte) {
	switch kind {
	case 'a':
		for _, v := range values {
			data = binary.LittleEndian.AppendUint16(data, v)
		}
	case 'b':
		data = make([]byte, 8192)
		for _, v := range values {
			data[v/8] |= 1 << (v % 8)
		}
	case 'r':
		var runs [][2]uint16
		for _, v := range values {
			if n := len(runs); n > 0 && int(runs[n-1][0])+int(runs[n-1][1])+1 == int(v) {
				runs[n-1][1]++
			} else {
				runs = append(runs, [2]uint16{v})
			}
		}
		data = binary.LittleEndian.AppendUint16(data, uint16(len(runs)))
		for _, run := range runs {
			data = binary.LittleEndian.AppendUint16(data, run[0])
			data = binary.LittleEndian.AppendUint16(data, run[1])
		}
	}
	return data
}

func some(seed uint64, count int, within uint64) []uint64 {
	r := rand.New(rand.NewPCG(seed, 0))
	set := map[uint64]bool{}
	for len(set) < count {
		set[r.Uint64N(within)] = true
	}
	var all []uint64
	for v := range set {
		all = append(all, v)
	}
	slices.Sort(all)
	return all
}

func count(from, to uint64) (all []uint64) {
	for v := from; v < to; v++ {
		all = append(all, v)
	}
	return all
}

func TestDecode(t *testing.T) {
	for name, c := range map[string]struct {
		values []uint64
		kind   byte
	}{
		"nothing":                 {nil, 'a'},
		"few":                     {[]uint64{0, 1, 65535, 65536, 1 << 31, 1<<32 - 1}, 'a'},
		"several buckets":         {[]uint64{0, 1 << 32, 1<<32 + 1, 1<<63 - 1}, 'a'},
		"arrays":                  {some(1, 4000, 1<<20), 'a'},
		"a full array":            {count(0, 4096), 'a'},
		"a bitmap":                {some(2, 5000, 1<<16), 'b'},
		"a full bitmap":           {count(0, 1<<16), 'b'},
		"runs, no offsets":        {count(10, 100000), 'r'},
		"runs with offsets":       {append(count(65000, 300000), count(1<<20, 1<<20+1)...), 'r'},
		"a run to the last value": {count(65530, 65536), 'r'},
		"a run of all":            {count(0, 65536), 'r'},
	} {
		got, err := Decode(encode(c.values, c.kind), int64(len(c.values)))
		if err != nil || !slices.Equal(got, c.values) {
			t.Errorf("%s: %d values, %v; want %d", name, len(got), err, len(c.values))
		}
	}
}

func TestDamagedSets(t *testing.T) {
	ordered := encode([]uint64{1, 2, 1 << 16}, 'a')
	change := func(at int, to byte) []byte {
		data := bytes.Clone(ordered)
		data[at] = to
		return data
	}
	for name, c := range map[string]struct {
		data  []byte
		count int64
	}{
		"cut short":              {ordered[:len(ordered)-1], 3},
		"too long":               {append(bytes.Clone(ordered), 0), 3},
		"unknown format":         {change(12, 0), 3},
		"containers not ordered": {change(20, 1), 3},
		"values not ordered":     {change(len(ordered)-6, 9), 3},
		"buckets":                {change(0, 2), 3},
		"a key below zero":       {change(11, 0x80), 3},
		"a bucket for each byte": {bytes.Repeat([]byte{0xff}, 100), 3},
		"a value less":           {ordered, 4},
		"a value more":           {ordered, 2},
		"none":                   {ordered, 0},
		"nothing at all":         {nil, 0},
		"a bitmap of fewer":      {encode(count(0, 5000), 'b')[:8+4+8+4+4+100], 5000},
		"a run over the end":     {append(encode([]uint64{65535}, 'r')[:8+4+4+1+4], 1, 0, 255, 255, 1, 0), 1},
	} {
		if got, err := Decode(c.data, c.count); err == nil {
			t.Errorf("%s: %v is taken", name, got)
		}
	}
}

// Whatever the bytes are, no more values come than were announced, in order, and all of them.
func FuzzDecode(f *testing.F) {
	for _, kind := range []byte("abr") {
		f.Add(encode(count(3, 5000), kind), int64(4997))
		f.Add(encode([]uint64{1, 1 << 16, 1 << 40}, kind), int64(3))
	}
	f.Add([]byte{}, int64(0))
	f.Fuzz(func(t *testing.T, data []byte, count int64) {
		count %= 1 << 20
		got, err := Decode(data, count)
		if err != nil {
			return
		}
		if int64(len(got)) != count || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("%d values, want %d", len(got), count)
		}
		if again, err := Decode(encode(got, 'r'), count); count > 0 && (err != nil || !slices.Equal(again, got)) {
			t.Fatalf("written again: %v", err)
		}
	})
}

// Package roaring reads sets of 64-bit integers in the portable serialisation of Roaring bitmaps
// (github.com/RoaringBitmap/RoaringFormatSpec), as deletion vectors of Delta tables hold them.
package roaring

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"
)

// The first two bytes of a 32-bit bitmap: without run containers, and with them.
const (
	cookieNoRuns   = 12346
	cookieRuns     = 12347
	fewForOffsets  = 4    // a bitmap with runs and fewer containers has no offsets
	mostInArray    = 4096 // a container with more values is a bitmap
	bitmapBytes    = 8192
	containerSpan  = 1 << 16
	mostContainers = 1 << 16
)

var errCut = errors.New("the bitmap is cut short")

// Decode gives the values of a set in ascending order. The caller says how many there are, so that damaged data of a few
// bytes cannot ask for more memory than the set needs.
func Decode(data []byte, count int64) ([]uint64, error) {
	r := &reader{data: data}
	buckets := r.long()
	// Each bucket takes at least 12 bytes.
	if r.cut || buckets > uint64(len(data))/12+1 {
		return nil, errCut
	}
	values := &values{left: count}
	last := int64(-1)
	for range buckets {
		key := r.word()
		if r.cut {
			return nil, errCut
		}
		if int64(key) <= last || key > 1<<31-1 {
			return nil, errors.New("the buckets of the bitmap are not in order")
		}
		last = int64(key)
		if err := r.bitmap(uint64(key)<<32, values); err != nil {
			return nil, err
		}
	}
	if len(r.data) > 0 {
		return nil, errors.New(strconv.Itoa(len(r.data)) + " bytes follow the bitmap")
	}
	if values.left != 0 {
		return nil, errors.New("the bitmap has " + strconv.Itoa(len(values.all)) + " values, not " + strconv.FormatInt(count, 10))
	}
	return values.all, nil
}

// values collects a set; it takes no more than announced.
type values struct {
	all  []uint64
	left int64
}

func (v *values) reserve(n int) error {
	if int64(n) > v.left {
		return errors.New("the bitmap has more values than announced")
	}
	v.left -= int64(n)
	return nil
}

type reader struct {
	data []byte
	cut  bool
}

// take gives the next n bytes.
func (r *reader) take(n int) []byte {
	if r.cut || len(r.data) < n {
		r.cut = true
		return make([]byte, min(n, 8))
	}
	b := r.data[:n]
	r.data = r.data[n:]
	return b
}

func (r *reader) short() uint16 { return binary.LittleEndian.Uint16(r.take(2)) }
func (r *reader) word() uint32  { return binary.LittleEndian.Uint32(r.take(4)) }
func (r *reader) long() uint64  { return binary.LittleEndian.Uint64(r.take(8)) }

// container is one of a 32-bit bitmap: the values that share their upper bits.
type container struct {
	key   uint16
	count int
	runs  bool
}

// bitmap reads a 32-bit bitmap whose values are above base.
func (r *reader) bitmap(base uint64, to *values) error {
	containers, offsets, err := r.header()
	if err != nil {
		return err
	}
	if offsets {
		r.take(4 * len(containers)) // the containers follow in order, so where they begin is known
	}
	last := -1
	for _, c := range containers {
		if int(c.key) <= last {
			return errors.New("the containers of the bitmap are not in order")
		}
		last = int(c.key)
		if err := to.reserve(c.count); err != nil {
			return err
		}
		if err := r.container(base|uint64(c.key)<<16, c, to); err != nil {
			return err
		}
	}
	return nil
}

func (r *reader) header() (all []container, offsets bool, err error) {
	cookie := r.word()
	var size int
	var runs []byte
	switch {
	case r.cut:
		return nil, false, errCut
	case cookie == cookieNoRuns:
		n := r.word()
		if n > mostContainers {
			return nil, false, errors.New("the bitmap has too many containers")
		}
		size, offsets = int(n), true
	case cookie&0xffff == cookieRuns:
		size = int(cookie>>16) + 1
		runs = r.take((size + 7) / 8)
		offsets = size >= fewForOffsets
	default:
		return nil, false, errors.New("the bitmap begins with " + strconv.FormatUint(uint64(cookie), 10) + ", which is no known format")
	}
	if r.cut || len(r.data) < 4*size {
		return nil, false, errCut
	}
	all = make([]container, size)
	for i := range all {
		all[i].key = r.short()
		all[i].count = int(r.short()) + 1
		all[i].runs = runs != nil && runs[i/8]&(1<<(i%8)) != 0
	}
	return all, offsets, nil
}

func (r *reader) container(base uint64, c container, to *values) error {
	before := len(to.all)
	last := -1
	add := func(v int) {
		if v > last {
			to.all = append(to.all, base|uint64(v))
			last = v
		} else {
			r.cut = true
		}
	}
	switch {
	case c.runs:
		r.eachRun(c.count, add)
	case c.count <= mostInArray:
		for range c.count {
			if add(int(r.short())); r.cut {
				break
			}
		}
	default:
		words := r.take(bitmapBytes)
		for at := 0; !r.cut && at < bitmapBytes; at += 8 {
			for word := binary.LittleEndian.Uint64(words[at:]); word != 0; word &= word - 1 {
				add(at*8 + bits.TrailingZeros64(word))
			}
		}
	}
	if r.cut {
		return errors.New("a container of the bitmap is cut short or not in order")
	}
	if got := len(to.all) - before; got != c.count {
		return errors.New("a container of the bitmap has " + strconv.Itoa(got) + " values, not " + strconv.Itoa(c.count))
	}
	return nil
}

// eachRun reads runs, each its first value and how many follow it; it stops when there are more values than announced.
func (r *reader) eachRun(count int, add func(int)) {
	for range r.short() {
		first, more := int(r.short()), int(r.short())
		if count -= more + 1; r.cut || count < 0 || first+more >= containerSpan {
			r.cut = true
			return
		}
		for v := first; v <= first+more; v++ {
			add(v)
		}
	}
}

package deltalog

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"github.com/ubunye-io/ubunye/engine/deltalog/internal/roaring"
	"github.com/ubunye-io/ubunye/internal/exactjson"
)

// DeletionVector says which rows of a data file are no longer in the table.
type DeletionVector struct {
	Storage     string // "u": a file below the table; "p": a file by its absolute path; "i": in the log itself
	Path        string // of what Storage says
	Offset      *int32 // bytes from the file's begin
	Size        int32  // bytes of the bitmap
	Cardinality int64  // rows
	other       members
}

func readVector(r *exactjson.Reader) *DeletionVector {
	if r.Null() {
		return nil
	}
	v := &DeletionVector{}
	r.Object(func(name []byte) {
		switch string(name) {
		case "storageType":
			v.Storage = r.Text()
		case "pathOrInlineDv":
			v.Path = r.Text()
		case "offset":
			if n := readLong(r); n != nil {
				if *n < 0 || *n > math.MaxInt32 {
					r.Fail("the deletion vector's offset is none")
				}
				offset := int32(*n)
				v.Offset = &offset
			}
		case "sizeInBytes":
			v.Size = int32(r.Long(32))
		case "cardinality":
			v.Cardinality = r.Long(64)
		default:
			v.other.keep(name, r)
		}
	})
	return v
}

// id tells the vector from others of the same data file.
func (v *DeletionVector) id() string {
	if v == nil {
		return ""
	}
	id := v.Storage + v.Path
	if v.Offset != nil {
		id += "@" + strconv.Itoa(int(*v.Offset))
	}
	return id
}

// uuidChars is how many characters a UUID has in Z85.
const uuidChars = 20

// File gives the file that holds the vector, relative to the table or absolute; empty if the log itself holds it.
func (v *DeletionVector) File() (path string, absolute bool, err error) {
	switch v.Storage {
	case "i":
		return "", false, nil
	case "p":
		return DecodePath(v.Path)
	case "u":
		cut := len(v.Path) - uuidChars
		if cut < 0 {
			return "", false, errors.New("the deletion vector names no file: " + strconv.Quote(v.Path))
		}
		id, err := decodeZ85(v.Path[cut:])
		if err != nil {
			return "", false, err
		}
		name := "deletion_vector_" + uuidText(id) + ".bin"
		if prefix := v.Path[:cut]; prefix != "" {
			if strings.ContainsAny(prefix, `/\`) || prefix == "." || prefix == ".." {
				return "", false, errors.New("the deletion vector's folder is none: " + strconv.Quote(prefix))
			}
			name = prefix + "/" + name
		}
		return name, false, nil
	}
	return "", false, errors.New("the deletion vector is stored in an unknown way: " + strconv.Quote(v.Storage))
}

func uuidText(id []byte) string {
	const hex = "0123456789abcdef"
	var b strings.Builder
	for i, c := range id {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			b.WriteByte('-')
		}
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return b.String()
}

// Rows gives the rows that are gone, as positions in the data file from 0, in ascending order. file is the content of File,
// and not looked at if the log itself holds the vector.
func (v *DeletionVector) Rows(file []byte) ([]uint64, error) {
	data, err := v.bitmap(file)
	if err != nil {
		return nil, err
	}
	const magic = 1681511377
	if len(data) < 4 || binary.LittleEndian.Uint32(data) != magic {
		return nil, errors.New("the deletion vector is of an unknown format")
	}
	return roaring.Decode(data[4:], v.Cardinality)
}

// bitmap gives the vector's bytes, checked.
func (v *DeletionVector) bitmap(file []byte) ([]byte, error) {
	if v.Size < 0 || v.Cardinality < 0 {
		return nil, errors.New("the deletion vector has a negative size")
	}
	size := int(v.Size)
	if v.Storage == "i" {
		data, err := decodeZ85(v.Path)
		if err == nil && len(data) < size {
			err = errors.New("the deletion vector is cut short")
		}
		if err != nil {
			return nil, err
		}
		return data[:size], nil // Z85 fills the last four bytes up
	}
	at := 0
	if v.Offset != nil {
		at = int(*v.Offset)
	}
	const around = 4 // bytes of the size before the bitmap, and of the checksum after it
	if len(file) == 0 || file[0] != 1 {
		return nil, errors.New("the file of deletion vectors is of an unknown version")
	}
	if at < 0 || len(file)-at < size+2*around {
		return nil, errors.New("the file of deletion vectors is cut short")
	}
	if got := binary.BigEndian.Uint32(file[at:]); int64(got) != int64(size) {
		return nil, errors.New("the deletion vector has " + strconv.FormatUint(uint64(got), 10) + " bytes, not " + strconv.Itoa(size))
	}
	data := file[at+around : at+around+size]
	if binary.BigEndian.Uint32(file[at+around+size:]) != crc32.ChecksumIEEE(data) {
		return nil, errors.New("the deletion vector's checksum is wrong: the file is damaged")
	}
	return data, nil
}

// z85 are the digits of the encoding, by value (rfc.zeromq.org/spec/32).
const z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"

// decodeZ85 gives four bytes for every five characters.
func decodeZ85(text string) ([]byte, error) {
	if len(text)%5 != 0 {
		return nil, errors.New("the deletion vector's text is cut short")
	}
	data := make([]byte, 0, len(text)/5*4)
	for i := 0; i < len(text); i += 5 {
		var n uint64
		for _, c := range []byte(text[i : i+5]) {
			digit := strings.IndexByte(z85, c)
			if digit < 0 {
				return nil, errors.New("the deletion vector's text has " + strconv.QuoteRune(rune(c)) + ", which encodes nothing")
			}
			n = n*85 + uint64(digit)
		}
		if n > math.MaxUint32 {
			return nil, errors.New("the deletion vector's text encodes nothing")
		}
		data = binary.BigEndian.AppendUint32(data, uint32(n))
	}
	return data, nil
}

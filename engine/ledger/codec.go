package ledger

// The JSON forms of the document's objects: each keeps the members that it does not know.

// MarshalJSON upholds json.Marshaler.
func (x Document) MarshalJSON() ([]byte, error) {
	type plain Document
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Document) UnmarshalJSON(data []byte) (err error) {
	type plain Document
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Holder) MarshalJSON() ([]byte, error) {
	type plain Holder
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Holder) UnmarshalJSON(data []byte) (err error) {
	type plain Holder
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Output) MarshalJSON() ([]byte, error) {
	type plain Output
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Output) UnmarshalJSON(data []byte) (err error) {
	type plain Output
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Entry) MarshalJSON() ([]byte, error) {
	type plain Entry
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Entry) UnmarshalJSON(data []byte) (err error) {
	type plain Entry
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Try) MarshalJSON() ([]byte, error) {
	type plain Try
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Try) UnmarshalJSON(data []byte) (err error) {
	type plain Try
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Finished) MarshalJSON() ([]byte, error) {
	type plain Finished
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Finished) UnmarshalJSON(data []byte) (err error) {
	type plain Finished
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x FinishedOutput) MarshalJSON() ([]byte, error) {
	type plain FinishedOutput
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *FinishedOutput) UnmarshalJSON(data []byte) (err error) {
	type plain FinishedOutput
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Batch) MarshalJSON() ([]byte, error) {
	type plain Batch
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Batch) UnmarshalJSON(data []byte) (err error) {
	type plain Batch
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Pending) MarshalJSON() ([]byte, error) {
	type plain Pending
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Pending) UnmarshalJSON(data []byte) (err error) {
	type plain Pending
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

// MarshalJSON upholds json.Marshaler.
func (x Origin) MarshalJSON() ([]byte, error) {
	type plain Origin
	return encodeKeeping(plain(x), x.extra)
}

// UnmarshalJSON upholds json.Unmarshaler.
func (x *Origin) UnmarshalJSON(data []byte) (err error) {
	type plain Origin
	x.extra, err = decodeKeeping(data, (*plain)(x))
	return err
}

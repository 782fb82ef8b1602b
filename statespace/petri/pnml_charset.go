package petri

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// readBytes is how much is read at a time.
const readBytes = 64 << 10

// decode returns a reader of UTF-8. If the first bytes of r show its encoding,
// known is true, and the XML declaration does not count. Otherwise the
// declaration, which can be read as ASCII, decides.
func decode(r io.Reader) (in io.Reader, known bool, err error) {
	buf := bufio.NewReaderSize(r, readBytes)
	head, _ := buf.Peek(4) // an error comes again with the first read
	starts := func(prefix string) bool { return bytes.HasPrefix(head, []byte(prefix)) }
	var enc encoding.Encoding
	switch {
	case starts("\xef\xbb\xbf"):
		_, err = buf.Discard(3)
		return buf, true, err
	case starts("\xff\xfe\x00\x00"), starts("\x00\x00\xfe\xff"):
		enc = utf32.UTF32(utf32.BigEndian, utf32.UseBOM)
	case starts("\xff\xfe"), starts("\xfe\xff"):
		enc = unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case starts("<\x00"):
		enc = unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM)
	case starts("\x00<"):
		enc = unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM)
	case starts("\x1f\x8b"), starts("PK\x03\x04"), starts("BZh"), starts("\xfd7zX"):
		return nil, false, errors.New("the file is compressed; unpack it first")
	default:
		return buf, false, nil
	}
	return enc.NewDecoder().Reader(buf), true, nil
}

// charset returns a reader that turns a character set, declared by its label,
// into UTF-8.
func charset(label string, in io.Reader) (io.Reader, error) {
	switch l := strings.ToLower(label); {
	case strings.HasPrefix(l, "utf-16"), l == "utf16", l == "unicode", l == "utf8":
		// The declaration would not have been readable in UTF-16: some writers
		// declare it and write UTF-8 all the same.
		return in, nil
	}
	enc, err := ianaindex.IANA.Encoding(label)
	if err != nil || enc == nil {
		enc, err = htmlindex.Get(label) // knows names in use but not registered
	}
	if err != nil || enc == nil {
		return nil, fmt.Errorf("the character set %s is not known; convert the file to UTF-8",
			quote(label))
	}
	return enc.NewDecoder().Reader(in), nil
}

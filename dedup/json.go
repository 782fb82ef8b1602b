package dedup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// value is the value of the key, without the spaces and escapes that JSON leaves to the writer. Of
// a key that is there twice it is the last value.
//
// encoding/json checks the record and decodes no string: it makes U+FFFD of every invalid byte and
// of every half of a surrogate pair, and different strings would be one.
func (f *Format) value(record []byte) ([]byte, error) {
	var object json.RawMessage
	if err := json.Unmarshal(record, &object); err != nil {
		return nil, fmt.Errorf("no JSON object: %w", err)
	}
	if object = bytes.TrimLeft(object, jsonSpaces); object[0] != '{' {
		return nil, fmt.Errorf("no JSON object: it begins with %q", object[0])
	}
	value := valueOf(object, f.Key)
	if value == nil {
		return nil, fmt.Errorf("the JSON object has no key %q", f.Key)
	}
	if value[0] == '"' {
		return append([]byte{'"'}, unescape(value[1:len(value)-1])...), nil
	}
	var compact bytes.Buffer
	err := json.Compact(&compact, value)
	return compact.Bytes(), err
}

// valueOf is the value of a key of a valid object, nil if it has none.
func valueOf(object []byte, key string) (value []byte) {
	key = strings.ReplaceAll(key, `\`, `\\`) // as unescape leaves it
	for at := skipSpaces(object, 1); object[at] != '}'; {
		end := skipString(object, at)
		name := object[at+1 : end-1]
		at = skipSpaces(object, skipSpaces(object, end)+1) // the colon is between them
		if end = skipValue(object, at); string(unescape(name)) == key {
			value = object[at:end]
		}
		if at = skipSpaces(object, end); object[at] == ',' {
			at = skipSpaces(object, at+1)
		}
	}
	return value
}

const jsonSpaces = " \t\r\n"

func skipSpaces(text []byte, at int) int {
	for strings.IndexByte(jsonSpaces, text[at]) >= 0 {
		at++
	}
	return at
}

// skipString is where the string ends that begins at a place.
func skipString(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue is where the value ends that begins at a place of a valid object.
func skipValue(text []byte, at int) int {
	for depth := 0; ; at++ {
		switch text[at] {
		case '"':
			at = skipString(text, at) - 1
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		next := text[at+1] // the object's end follows at last
		if depth == 0 && strings.IndexByte(jsonSpaces+",}]", next) >= 0 {
			return at + 1
		}
	}
}

// unescape decodes what is between the quotes of a valid string. Different strings stay different:
// an invalid byte stays as it is, and so does the escape of half of a surrogate pair. A backslash
// that is escaped stays escaped, so that it begins no such escape.
func unescape(text []byte) []byte {
	if bytes.IndexByte(text, '\\') < 0 {
		return text
	}
	plain := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] != '\\' {
			plain, text = append(plain, text[0]), text[1:]
			continue
		}
		c := text[1]
		if c == 'u' {
			plain, text = appendUnicode(plain, text)
			continue
		}
		switch i := strings.IndexByte("bfnrt", c); {
		case i >= 0:
			plain = append(plain, "\b\f\n\r\t"[i])
		case c == '\\':
			plain = append(plain, `\\`...)
		default: // a quote or a slash
			plain = append(plain, c)
		}
		text = text[2:]
	}
	return plain
}

// appendUnicode appends the character whose escape text begins with, and returns the rest of text.
func appendUnicode(dst, text []byte) (appended, rest []byte) {
	r, rest := unit(text)
	if r == '\\' {
		return append(dst, `\\`...), rest
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(dst, r), rest
	}
	if bytes.HasPrefix(rest, []byte(`\u`)) {
		low, after := unit(rest)
		if whole := utf16.DecodeRune(r, low); whole != utf8.RuneError {
			return utf8.AppendRune(dst, whole), after
		}
	}
	return fmt.Appendf(dst, `\u%04x`, r), rest
}

// unit is the unit of UTF-16 whose escape text begins with.
func unit(text []byte) (r rune, rest []byte) {
	n, _ := strconv.ParseUint(string(text[2:6]), 16, 16) // digits, as text is valid
	return rune(n), text[6:]
}

package trust

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// A database of SQLite 3 as a program of NSS expects it, each table on one page. The
// format is https://www.sqlite.org/fileformat2.html.
const (
	sqlitePage   = 4096
	sqliteHeader = 100 // bytes at the begin of the first page
	tableLeaf    = 0x0d
	indexLeaf    = 0x0a
)

// sqliteTable is a table whose rows are numbered from 1. The first column stands for
// that number where it is an INTEGER PRIMARY KEY, and is nil in a row.
type sqliteTable struct {
	name string
	sql  string
	rows [][]any
	keys bool // an empty index stands behind a primary key that is no number
}

// sqlite returns the database that holds tables. It fails for what does not fit.
func sqlite(tables []sqliteTable) ([]byte, error) {
	var schema, pages [][]byte
	next := func() int { return len(pages) + 2 } // the first page is the schema's
	for _, t := range tables {
		schema = append(schema, sqliteRow(len(schema)+1, "table", t.name, t.name, next(), t.sql))
		var cells [][]byte
		for i, r := range t.rows {
			cells = append(cells, sqliteRow(i+1, r...))
		}
		page, err := sqliteLeaf(tableLeaf, 0, cells)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", t.name, err)
		}
		pages = append(pages, page)
		if t.keys {
			schema = append(schema, sqliteRow(len(schema)+1, "index", "sqlite_autoindex_"+t.name+"_1", t.name, next(), nil))
			page, _ := sqliteLeaf(indexLeaf, 0, nil) // nothing always fits
			pages = append(pages, page)
		}
	}
	file, err := sqliteLeaf(tableLeaf, sqliteHeader, schema)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	sqliteHead(file, len(pages)+1)
	for _, p := range pages {
		file = append(file, p...)
	}
	return file, nil
}

// sqliteHead writes the file's header over the first bytes of its first page.
func sqliteHead(file []byte, pages int) {
	be := binary.BigEndian
	copy(file, "SQLite format 3\x00")
	be.PutUint16(file[16:], sqlitePage)
	copy(file[18:], []byte{1, 1, 0, 64, 32, 32}) // a rollback journal, and fixed fractions
	for at, v := range map[int]uint32{
		24: 1, 92: 1, // the change that the number of pages is of
		28: uint32(pages),
		40: 1, 44: 4, // the schema's number and format
		56: 1,         // UTF-8
		96: 3_040_000, // the version that wrote it
	} {
		be.PutUint32(file[at:], v)
	}
}

// sqliteLeaf is a page of cells, behind room for a header.
func sqliteLeaf(kind byte, header int, cells [][]byte) ([]byte, error) {
	const head = 8
	page := make([]byte, sqlitePage)
	end := sqlitePage
	for i, c := range cells {
		at := header + head + 2*i
		if end -= len(c); end < at+2 {
			return nil, errors.New("more than one page")
		}
		copy(page[end:], c)
		binary.BigEndian.PutUint16(page[at:], uint16(end))
	}
	page[header] = kind
	binary.BigEndian.PutUint16(page[header+3:], uint16(len(cells)))
	binary.BigEndian.PutUint16(page[header+5:], uint16(end))
	return page, nil
}

// sqliteRow is a cell: its length, the row's number, the types of the values, and
// these. A value is nil, a small number, a text or bytes.
func sqliteRow(number int, values ...any) []byte {
	var types, data []byte
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			types = append(types, 0)
		case int:
			types, data = append(types, 1), append(data, byte(v))
		case string:
			types, data = varint(types, 13+2*len(v)), append(data, v...)
		case []byte:
			types, data = varint(types, 12+2*len(v)), append(data, v...)
		}
	}
	head := len(types) + 1 // with its own length, in one byte as it is below 128
	cell := varint(varint(nil, head+len(data)), number)
	return append(append(append(cell, byte(head)), types...), data...)
}

// varint appends a number below 2^21, the highest seven bits first.
func varint(b []byte, v int) []byte {
	for shift := 14; shift > 0; shift -= 7 {
		if v>>shift > 0 {
			b = append(b, byte(v>>shift)|0x80)
		}
	}
	return append(b, byte(v)&0x7f)
}

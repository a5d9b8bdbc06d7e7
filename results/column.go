package results

import "reflect"

// column is a column of the CSV: a field of Row.
type column struct {
	name   string
	field  int
	number bool // else text
}

// columns stand in the order of the CSV.
var columns, columnOf = columnsOfRow()

func columnsOfRow() (list []column, byName map[string]column) {
	byName = map[string]column{}
	t := reflect.TypeFor[Row]()
	for i := range t.NumField() {
		c := column{t.Field(i).Tag.Get("csv"), i, t.Field(i).Type == reflect.TypeFor[Num]()}
		list = append(list, c)
		byName[c.name] = c
	}
	return list, byName
}

// in points to the column's value in a row: *Num or *string.
func (c column) in(r *Row) any { return reflect.ValueOf(r).Elem().Field(c.field).Addr().Interface() }

// text is the column's value as it stands in the CSV.
func (c column) text(r *Row) string {
	if c.number {
		return c.in(r).(*Num).String()
	}
	return *c.in(r).(*string)
}

// Columns are the names of the CSV's columns in their order.
func Columns() []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.name
	}
	return names
}

// Numbers are the names of the columns that hold numbers, in the order of the CSV.
func Numbers() []string {
	var names []string
	for _, c := range columns {
		if c.number {
			names = append(names, c.name)
		}
	}
	return names
}

// Number is the value of a column that holds numbers; ok is false for any other name.
func (r *Row) Number(name string) (n Num, ok bool) {
	c := columnOf[name]
	if !c.number {
		return Num{}, false
	}
	return *c.in(r).(*Num), true
}

// Text is the value of any column as it stands in the CSV; ok is false for a name that is no column.
func (r *Row) Text(name string) (s string, ok bool) {
	c, ok := columnOf[name]
	if !ok {
		return "", false
	}
	return c.text(r), true
}

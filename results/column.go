package results

import (
	"reflect"
)

// Numbers are the names of the columns that hold numbers, in the order of the CSV.
func Numbers() []string {
	var names []string
	for _, c := range Columns() {
		if _, ok := numberField[c]; ok {
			names = append(names, c)
		}
	}
	return names
}

// Number is the value of a column that holds numbers; ok is false for any other name.
func (r *Row) Number(column string) (n Num, ok bool) {
	i, ok := numberField[column]
	if !ok {
		return Num{}, false
	}
	return reflect.ValueOf(r).Elem().Field(i).Interface().(Num), true
}

// Text is the value of any column as it stands in the CSV; ok is false for a name that is no column.
func (r *Row) Text(column string) (s string, ok bool) {
	if n, ok := r.Number(column); ok {
		return n.String(), true
	}
	i, ok := textField[column]
	if !ok {
		return "", false
	}
	return reflect.ValueOf(r).Elem().Field(i).String(), true
}

// The fields of Row by column: numbers and text.
var numberField, textField = fieldsOf()

func fieldsOf() (numbers, text map[string]int) {
	numbers, text = map[string]int{}, map[string]int{}
	t := reflect.TypeFor[Row]()
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == reflect.TypeFor[Num]() {
			numbers[f.Tag.Get("csv")] = i
		} else {
			text[f.Tag.Get("csv")] = i
		}
	}
	return numbers, text
}

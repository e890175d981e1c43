package method

// Schema is a JSON Schema (draft 7), with only the keywords that these methods need.
type Schema struct {
	Type        any                `json:"type,omitempty"` // a word, or a list of words
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Enum        []any              `json:"enum,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	OneOf       []*Schema          `json:"oneOf,omitempty"`
	AnyOf       []*Schema          `json:"anyOf,omitempty"`
	Minimum     *int               `json:"minimum,omitempty"`
	Maximum     *int               `json:"maximum,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`

	order []string // of the properties, for the docs
}

// field is a property of an object.
type field struct {
	name     string
	schema   *Schema
	required bool
}

func needs(name string, schema *Schema, description string) field {
	return field{name, schema.says(description), true}
}

func may(name string, schema *Schema, description string) field {
	return field{name, schema.says(description), false}
}

// says returns the schema with a description.
func (s *Schema) says(description string) *Schema {
	described := *s
	described.Description = description
	return &described
}

func object(fields ...field) *Schema {
	s := &Schema{Type: "object", Properties: map[string]*Schema{}}
	for _, f := range fields {
		s.Properties[f.name] = f.schema
		s.order = append(s.order, f.name)
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

func listOf(items *Schema) *Schema { return &Schema{Type: "array", Items: items} }

func oneOfWords(words ...any) *Schema { return &Schema{Type: "string", Enum: words} }

func between(least, most int) *Schema {
	return &Schema{Type: []string{"integer", "string"}, Title: "number", Minimum: &least, Maximum: &most}
}

// Texts and numbers in JSON. The service also accepts what these schemas do not: numbers as hex or
// decimal text, and hex in any case.
var (
	hexBytes  = &Schema{Type: "string", Title: "hex", Pattern: "^0x([0-9a-fA-F]{2})*$"}
	hash      = &Schema{Type: "string", Title: "hash", Pattern: "^0x[0-9a-fA-F]{64}$"}
	address   = &Schema{Type: "string", Title: "address", Pattern: "^0x[0-9a-fA-F]{40}$"}
	quantity  = &Schema{Type: "string", Title: "quantity", Pattern: "^0x(0|[1-9a-f][0-9a-f]*)$"}
	decimal   = &Schema{Type: "string", Title: "decimal", Pattern: "^-?[0-9]+$"}
	integer   = &Schema{Type: "integer"}
	anyNumber = &Schema{Type: []string{"integer", "string"}, Title: "number"}
	uuid36    = &Schema{Type: "string", Title: "UUID"}
	text      = &Schema{Type: "string"}
	boolean   = &Schema{Type: "boolean"}
	null      = &Schema{Type: "null"}
	timestamp = &Schema{Type: "string", Title: "RFC 3339 time"}
	block     = &Schema{Type: []string{"integer", "string"}, Title: "block",
		Description: "a number, or latest, pending, earliest, or a block's hash"}
)

// Fields are the names of an object's properties, in the order in which they are explained.
func (s *Schema) Fields() []string { return s.order }

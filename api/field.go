package api

// field is what a schema says of a member beside its type. Limits are in the member's own unit, both ends included.
type field struct {
	says     string
	min, max any
	above    any // the least, not included
	longest  int // of text in characters, of a list in items
	shortest int
	pattern  string
	enum     []string
	standard any  // what an absent one means
	null     bool // it may be null
	each     *field
}

// put adds to a type's schema what is said of the member.
func (f field) put(s *schema) *schema {
	if f.each != nil && s.Items != nil {
		s.Items = f.each.put(s.Items)
	}
	s.Description, s.Pattern, s.Enum, s.Default = f.says, f.pattern, f.enum, f.standard
	s.Minimum, s.Maximum, s.Above = f.min, f.max, f.above
	if s.Items != nil {
		s.MinItems, s.MaxItems = f.shortest, f.longest
	} else {
		s.MinLength, s.MaxLength = f.shortest, f.longest
	}
	if f.null {
		return orNull(s)
	}
	return s
}

//! The column types of NDJSON, which states none. They come from the values in the first lines, or in
//! all lines if the first ones do not show all types.
//!
//! The rules are those of Arrow's JSON reader: integers beside floats are floats, and so are integers
//! beyond 64 bits; a struct has every member that any object has, in the order in which they come. Text
//! stays text, even if it looks like a date. If two values do not fit together, the first one decides,
//! and the line of the other is refused when it is read.

use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};

use crate::json::{Error, Kind, Reader, integer_i64};

/// The deepest nesting of a value that has a type.
const DEEPEST: usize = 64;
/// The most members of an object.
const MOST_MEMBERS: usize = 1000;

/// The type of the values so far.
#[derive(Debug, Clone, PartialEq)]
enum Shape {
    Null,
    Boolean,
    Integer,
    Float,
    Text,
    List(Box<Shape>),
    Object(Vec<(String, Shape)>),
}

impl Shape {
    /// Whether more values may show more of the type: nulls show nothing, and objects may have more
    /// members.
    fn is_open(&self) -> bool {
        match self {
            Shape::Null | Shape::Object(_) => true,
            Shape::List(items) => items.is_open(),
            Shape::Boolean | Shape::Integer | Shape::Float | Shape::Text => false,
        }
    }
}

/// Infers the types of columns from lines.
#[derive(Debug)]
pub(super) struct Inference {
    /// The wanted columns, in their order.
    columns: Vec<Column>,
}

/// A wanted column.
#[derive(Debug)]
struct Column {
    name: String,
    /// The type; `None` if no line has the column yet.
    shape: Option<Shape>,
    /// Whether its type is decided.
    is_settled: bool,
}

impl Inference {
    pub fn new(names: &Schema) -> Inference {
        let column = |name: &String| Column { name: name.clone(), shape: None, is_settled: false };
        Inference { columns: names.fields().iter().map(|field| column(field.name())).collect() }
    }

    /// Decides the types that the lines so far have shown completely; later lines do not change
    /// them. Returns false if there are others: columns that no line has, nulls only, objects.
    pub fn settle(&mut self) -> bool {
        for column in &mut self.columns {
            column.is_settled = column.shape.as_ref().is_some_and(|shape| !shape.is_open());
        }
        self.columns.iter().all(|column| column.is_settled)
    }

    /// Looks at a line. A broken line shows nothing.
    pub fn look_at(&mut self, line: &[u8]) {
        let Ok(text) = std::str::from_utf8(line) else { return };
        let mut found: Vec<(usize, Shape)> = Vec::new();
        let mut reader = Reader::new(text);
        let read: Result<(), Error> = reader.object(|reader, key| {
            let is_looked_for = |column: &Column| !column.is_settled && key.eq_str(&column.name);
            match self.columns.iter().position(is_looked_for) {
                Some(index) => found.push((index, shape_of(reader, 0)?)),
                None => reader.skip()?,
            }
            Ok(())
        });
        if read.and_then(|()| reader.end()).is_err() {
            return;
        }
        for (index, shape) in found {
            let Some(column) = self.columns.get_mut(index) else { continue };
            match &mut column.shape {
                Some(known) => join(known, shape),
                None => column.shape = Some(shape),
            }
        }
    }

    /// Returns the columns that any line has.
    pub fn schema(self) -> SchemaRef {
        let fields = self.columns.into_iter().filter_map(|Column { name, shape, .. }| {
            shape.map(|shape| Field::new(name, data_type(shape), true))
        });
        SchemaRef::new(Schema::new(fields.collect::<Vec<Field>>()))
    }
}

fn shape_of(reader: &mut Reader<'_>, depth: usize) -> Result<Shape, Error> {
    if depth > DEEPEST {
        return Err(reader.error("nested too deeply"));
    }
    Ok(match reader.peek()? {
        Kind::Null => {
            reader.null()?;
            Shape::Null
        }
        Kind::True | Kind::False => {
            reader.boolean()?;
            Shape::Boolean
        }
        Kind::Number => match integer_i64(reader.number()?) {
            Some(_) => Shape::Integer,
            None => Shape::Float,
        },
        Kind::String => {
            reader.string()?;
            Shape::Text
        }
        Kind::Array => {
            let mut items = Shape::Null;
            reader.array(|reader| {
                join(&mut items, shape_of(reader, depth + 1)?);
                Ok::<(), Error>(())
            })?;
            Shape::List(Box::new(items))
        }
        Kind::Object => {
            let mut members = Vec::new();
            let mut name = String::new();
            reader.object(|reader, key| {
                let key = key.decode(&mut name)?.to_string();
                join_member(&mut members, key, shape_of(reader, depth + 1)?);
                Ok::<(), Error>(())
            })?;
            Shape::Object(members)
        }
    })
}

/// Joins the types of two values. If they have no common type, the first stays.
fn join(known: &mut Shape, other: Shape) {
    match (&mut *known, other) {
        (_, Shape::Null) => {}
        (Shape::Null, other) => *known = other,
        (Shape::Integer, Shape::Float) => *known = Shape::Float,
        (Shape::List(items), Shape::List(others)) => join(items, *others),
        (Shape::Object(members), Shape::Object(others)) => {
            others.into_iter().for_each(|(name, shape)| join_member(members, name, shape));
        }
        _ => {}
    }
}

fn join_member(members: &mut Vec<(String, Shape)>, name: String, shape: Shape) {
    match members.iter().position(|(known, _)| *known == name) {
        Some(place) => join(&mut members[place].1, shape),
        None if members.len() < MOST_MEMBERS => members.push((name, shape)),
        None => {}
    }
}

/// Returns the type as it is handed out; a column of nulls only may become text later.
fn data_type(shape: Shape) -> DataType {
    match shape {
        Shape::Null | Shape::Text => DataType::Utf8View,
        Shape::Boolean => DataType::Boolean,
        Shape::Integer => DataType::Int64,
        Shape::Float => DataType::Float64,
        Shape::List(items) => DataType::new_list(data_type(*items), true),
        Shape::Object(members) => {
            let field = |(name, shape)| Field::new(name, data_type(shape), true);
            DataType::Struct(members.into_iter().map(field).collect::<Fields>())
        }
    }
}

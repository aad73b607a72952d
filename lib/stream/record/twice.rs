//! Repeated names: if two columns have the same name, nobody knows which one is meant.

use std::collections::HashSet;

use arrow_schema::{DataType, Fields};

/// Returns why these columns cannot be read by name, if two of them, or two fields of one struct,
/// have the same name.
pub fn column_twice(fields: &Fields) -> Option<String> {
    let name = name_twice(fields)?;
    Some(format!("column {name} is there twice; try: rename one or leave it out"))
}

/// Returns the first repeated name, with the names of the fields around it.
fn name_twice(fields: &Fields) -> Option<String> {
    let mut seen = HashSet::new();
    fields.iter().find_map(|field| {
        if seen.insert(field.name()) {
            Some(format!("{}.{}", field.name(), name_twice(members(field.data_type())?)?))
        } else {
            Some(field.name().clone())
        }
    })
}

/// Returns the fields of a struct, or of the structs in a list.
fn members(of: &DataType) -> Option<&Fields> {
    match of {
        DataType::Struct(fields) => Some(fields),
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::ListView(item)
        | DataType::LargeListView(item)
        | DataType::FixedSizeList(item, _)
        | DataType::Map(item, _) => members(item.data_type()),
        _ => None,
    }
}

//! The ids of records that were made of one: a chat that is split has a record for each of its turns.

/// Returns the id of one of the records into which another was split; `part` is its number, from 1.
pub fn part_id(id: &str, part: usize) -> String {
    format!("{id}#{part}")
}

/// Returns the id of the record that was split: the id without the number of [`part_id`].
pub fn whole_of(id: &str) -> &str {
    match id.rsplit_once('#') {
        Some((whole, number))
            if number.parse::<usize>().is_ok_and(|of| part_id("", of)[1..] == *number) =>
        {
            whole
        }
        _ => id,
    }
}

//! Divides a number of bytes among parts: small parts are kept whole, large ones are cut to the same size.

/// Returns the size to which each part is cut so that all parts together need at most `room`.
pub fn limit(sizes: &[usize], room: usize) -> usize {
    let mut sizes = sizes.to_vec();
    sizes.sort_unstable();
    let mut left = room;
    for (place, size) in sizes.iter().enumerate() {
        let each = left / (sizes.len() - place);
        if *size > each {
            return each;
        }
        left -= size;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_large_ones_share_what_the_small_ones_leave() {
        assert_eq!(limit(&[5, 5], 10), usize::MAX);
        assert_eq!(limit(&[100, 2, 50], 42), 20);
        assert_eq!(limit(&[30, 30, 30], 10), 3);
        assert_eq!(limit(&[], 10), usize::MAX);
        for room in 0..200 {
            let sizes = [1, 40, 7, 90, 3];
            let limit = limit(&sizes, room);
            assert!(sizes.iter().map(|size| size.min(&limit)).sum::<usize>() <= room);
        }
    }
}

// SPDX-License-Identifier: GPL-2.0

//! What `Documentation/rules.rst` says, to be held against what is.

/// The text.
const TEXT: &str = include_str!("../../../Documentation/rules.rst");

/// The rows of the table whose second column is headed `heading`: number and name.
pub fn table(heading: &str) -> Vec<(u8, String)> {
    let mut lines = TEXT.lines();
    lines
        .find(|line| line.split_whitespace().take(2).eq(["Number", heading]))
        .unwrap_or_else(|| panic!("no table of {heading}"));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with('='))
        .map(|line| {
            let mut words = line.split_whitespace();
            let number = words.next().unwrap().parse().unwrap();
            (number, words.next().unwrap().to_owned())
        })
        .collect()
}

/// The numbers of the table of deviations.
pub fn deviations() -> Vec<u8> {
    TEXT.lines()
        .filter_map(|line| line.strip_prefix('M')?.split(' ').next()?.parse().ok())
        .collect()
}

/// Whether `printed` is there, as a block.
pub fn shows(printed: &str) -> bool {
    let lines: Vec<_> = TEXT.lines().map(str::trim).collect();
    let printed: Vec<_> = printed.lines().map(str::trim).collect();
    lines.windows(printed.len()).any(|window| window == printed)
}

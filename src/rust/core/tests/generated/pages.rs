//! Help pages that are written by hand: the section in them that is generated.

use anvil_core::ops::Row;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// First line of the section. It ends before the next tag.
const FIRST: &str = "#' @section Properties:\n";

/// A comment of roxygen, and what comes after it up to the next one.
struct Block {
    comment: String,
    rest: String,
}

impl Block {
    fn tag(&self, name: &str) -> Option<&str> {
        let tag = format!("#' @{name} ");
        self.comment.lines().find_map(|line| line.strip_prefix(&tag))
    }

    /// The function that it documents.
    fn function(&self) -> Option<&str> {
        self.rest.lines().next()?.split_once(" <- function(").map(|(name, _)| name)
    }

    /// The name of its page.
    fn page(&self) -> Option<&str> {
        self.tag("rdname").or_else(|| self.tag("name")).or_else(|| self.function())
    }

    /// The comment with this section, in the place of an older one or before the errors or the examples.
    fn with(&self, section: &str) -> String {
        let (before, after) = match self.comment.split_once(FIRST) {
            Some((before, old)) => (before, &old[old.find("#' @").unwrap_or(old.len())..]),
            None => {
                let next =
                    ["#' @section Errors:", "#' @examples"].iter().find_map(|tag| self.comment.find(tag));
                self.comment.split_at(next.unwrap_or(self.comment.len()))
            }
        };
        format!("{before}{section}{after}")
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut all = vec![Block { comment: String::new(), rest: String::new() }];
    for line in text.split_inclusive('\n') {
        let documents = line.starts_with("#'");
        if documents && !all.last().expect("one").rest.is_empty() {
            all.push(Block { comment: String::new(), rest: String::new() });
        }
        let last = all.last_mut().expect("one");
        if documents { &mut last.comment } else { &mut last.rest }.push_str(line);
    }
    all
}

/// The help pages in `man` that do not hold the section which the comments in `folder` have.
pub fn lagging(folder: &Path, man: &Path) -> Vec<String> {
    // What is the same in both languages.
    let words = |text: &str| {
        let marks = ["\\itemize", "\\item", "\\code", "\\section", "#' @section", "#'"];
        let plain = marks.iter().fold(text.to_string(), |text, mark| text.replace(mark, ""));
        plain.replace(|c: char| c.is_whitespace() || "{}`*:".contains(c), "")
    };
    let (mut pages, mut lagging) = (0, Vec::new());
    for entry in fs::read_dir(folder).unwrap() {
        for block in blocks(&fs::read_to_string(entry.unwrap().path()).unwrap()) {
            let Some(at) = block.comment.find(FIRST) else { continue };
            let section = &block.comment[at..];
            let end = section[FIRST.len()..].find("#' @").map_or(section.len(), |end| FIRST.len() + end);
            let page = block.page().expect("what has the section has a page");
            let help = fs::read_to_string(man.join(format!("{page}.Rd"))).unwrap_or_default();
            if !words(&help).contains(&words(&section[..end])) {
                lagging.push(page.to_string());
            }
            pages += 1;
        }
    }
    assert!(pages > 80, "only {pages} pages have the section");
    lagging
}

/// Writes `section` into the page of each function, from the rows that the page is for; gives the pages whose
/// section was another one.
pub fn bring_up_to_date(
    folder: &Path,
    rows: impl Iterator<Item = &'static Row>,
    section: impl Fn(&[&'static Row]) -> String,
) -> Vec<String> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        // Generated as a whole.
        if !text.starts_with("# Generated") {
            files.insert(path, blocks(&text));
        }
    }
    let mut pages: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        let documented = files.values().flatten().find(|block| block.function() == Some(row.function));
        // One that is not is the function of another row, which is generated.
        if let Some(page) = documented.and_then(Block::page) {
            pages.entry(page.into()).or_default().push(row);
        }
    }
    let mut stale = Vec::new();
    for (path, blocks) in &mut files {
        for block in blocks.iter_mut().filter(|block| block.tag("rdname").is_none()) {
            let Some(rows) = block.page().and_then(|page| pages.get(page)) else { continue };
            let comment = block.with(&section(rows));
            if comment != block.comment {
                stale.push(block.page().expect("found by it").to_string());
                block.comment = comment;
            }
        }
        let text: String = blocks.iter().flat_map(|block| [&*block.comment, &*block.rest]).collect();
        if fs::read_to_string(path).unwrap() != text {
            fs::write(path, text).unwrap();
        }
    }
    stale
}

//! Text that grows by fragments and is cheap to clone.

use std::sync::Arc;

/// A streaming text. Appending and cloning cost the same however long it is, so that the core can work on a
/// copy of its state for every fragment of a long reply.
#[derive(Debug, Clone, Default)]
pub struct StreamingText {
    last: Option<Arc<Fragment>>,
    bytes: usize,
}

#[derive(Debug)]
struct Fragment {
    before: Option<Arc<Fragment>>,
    text: Box<str>,
}

impl StreamingText {
    pub fn push(&mut self, text: &str) {
        self.bytes += text.len();
        let before = self.last.take();
        self.last = Some(Arc::new(Fragment { before, text: text.into() }));
    }

    /// The whole text so far.
    pub fn collect(&self) -> String {
        let mut fragments = Vec::new();
        let mut next = self.last.as_ref();
        while let Some(fragment) = next {
            fragments.push(&*fragment.text);
            next = fragment.before.as_ref();
        }
        let mut text = String::with_capacity(self.bytes);
        text.extend(fragments.into_iter().rev());
        text
    }
}

impl From<&str> for StreamingText {
    fn from(text: &str) -> Self {
        let mut streaming = Self::default();
        if !text.is_empty() {
            streaming.push(text);
        }
        streaming
    }
}

impl PartialEq for StreamingText {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.collect() == other.collect()
    }
}

impl Drop for Fragment {
    fn drop(&mut self) {
        // The derived drop would recurse once per fragment and overflow the stack on a long reply.
        let mut before = self.before.take();
        while let Some(fragment) = before {
            before = Arc::into_inner(fragment).and_then(|mut inner| inner.before.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_its_text_when_the_original_grows() {
        let mut text = StreamingText::from("one ");
        let before = text.clone();
        text.push("two");
        assert_eq!((before.collect().as_str(), text.collect().as_str()), ("one ", "one two"));
    }

    #[test]
    fn a_million_fragments_are_dropped_without_recursion() {
        let mut text = StreamingText::default();
        for _ in 0..1_000_000 {
            text.push("x");
        }
        assert_eq!(text.collect().len(), 1_000_000);
    }
}

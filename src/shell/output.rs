//! Output of a command, kept up to a bound: its beginning and its end, and how much was left out between them.

use std::collections::VecDeque;

#[derive(Debug)]
pub struct Output {
    /// Bytes that are kept: half of them at the beginning, half at the end.
    limit: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    cut: u64,
    /// Nothing more comes, so that an unfinished character is a broken one.
    closed: bool,
}

impl Output {
    /// `limit` is in bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), cut: 0, closed: false }
    }

    pub fn push(&mut self, bytes: &[u8]) {
        let room = (self.limit / 2).saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(bytes.len().min(if self.tail.is_empty() { room } else { 0 }));
        self.head.extend_from_slice(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.limit - self.limit / 2);
        self.tail.drain(..over);
        self.cut += over as u64;
    }

    pub fn close(&mut self) {
        self.closed = true;
    }

    pub fn is_cut(&self) -> bool {
        self.cut > 0
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// As text. Bytes that are no UTF-8 become U+FFFD; control characters stay what they are.
    pub fn text(&self) -> String {
        let (mut text, unfinished) = self.parts();
        if self.closed {
            text.push_str(&String::from_utf8_lossy(&unfinished));
        }
        text
    }

    /// The text so far, which is then forgotten. A character of which only a part has come stays for the next time.
    pub fn take(&mut self) -> String {
        let (mut text, mut unfinished) = self.parts();
        if self.closed {
            text.push_str(&String::from_utf8_lossy(&std::mem::take(&mut unfinished)));
        }
        *self = Self { head: unfinished, closed: self.closed, ..Self::new(self.limit) };
        text
    }

    /// The text, and the bytes at its end that begin a character.
    fn parts(&self) -> (String, Vec<u8>) {
        let mut last: Vec<u8> = self.tail.iter().copied().collect();
        if self.cut == 0 {
            last.splice(0..0, self.head.iter().copied());
            let unfinished = last.split_off(last.len() - unfinished_suffix(&last));
            return (String::from_utf8_lossy(&last).into_owned(), unfinished);
        }
        // The cut may go through a character at either side.
        let head = &self.head[..self.head.len() - unfinished_suffix(&self.head)];
        let begins = last.iter().take(3).take_while(|byte| is_continuation(**byte)).count();
        let unfinished = last.split_off(last.len() - unfinished_suffix(&last));
        let cut = self.cut + (self.head.len() - head.len() + begins) as u64;
        let (head, tail) = (String::from_utf8_lossy(head), String::from_utf8_lossy(&last[begins..]));
        (format!("{head}\n[... {cut} bytes left out ...]\n{tail}"), unfinished)
    }
}

fn is_continuation(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// How many bytes at the end begin a character that is not complete.
fn unfinished_suffix(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    (1..=tail.len())
        .find(|length| {
            let suffix = &tail[tail.len() - length..];
            !is_continuation(suffix[0])
        })
        .filter(|length| {
            let suffix = &tail[tail.len() - length..];
            std::str::from_utf8(suffix).is_err_and(|error| error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::Output;

    fn output(limit: usize, pieces: &[&[u8]]) -> Output {
        let mut output = Output::new(limit);
        for piece in pieces {
            output.push(piece);
        }
        output
    }

    #[test]
    fn what_fits_is_kept_as_it_came() {
        let output = output(8, &[b"ab", b"cdefgh"]);
        assert_eq!(output.text(), "abcdefgh");
        assert!(!output.is_cut());
    }

    #[test]
    fn what_does_not_fit_is_cut_in_the_middle_and_says_how_much() {
        let output = output(8, &[b"abcdefgh", b"12", b"3456"]);
        assert_eq!(output.text(), "abcd\n[... 6 bytes left out ...]\n3456");
        assert!(output.is_cut());
    }

    #[test]
    fn no_character_is_halved_by_the_cut() {
        let output = output(8, &["aaaéb€cc".as_bytes(), "€d".as_bytes()]);
        // Kept are `aaa` and the first byte of `é`, and the last four bytes.
        assert_eq!(output.text(), "aaa\n[... 8 bytes left out ...]\n€d");
    }

    #[test]
    fn a_character_that_comes_in_two_pieces_is_one() {
        let mut output = output(100, &[b"a\xe2\x82"]);
        assert_eq!(output.text(), "a");
        output.push(b"\xac!");
        assert_eq!(output.text(), "a\u{20ac}!");
    }

    #[test]
    fn bytes_that_are_no_text_are_marked_and_control_characters_are_kept() {
        let mut output = output(100, &[b"\xff\x1b[31m\x00red\xe2\x82"]);
        output.close();
        assert_eq!(output.text(), "\u{fffd}\u{1b}[31m\0red\u{fffd}");
    }

    #[test]
    fn what_was_taken_is_gone_and_half_a_character_stays() {
        let mut output = output(100, &[b"one \xe2"]);
        assert_eq!(output.take(), "one ");
        output.push(b"\x82\xac two");
        assert_eq!(output.take(), "\u{20ac} two");
        assert_eq!(output.take(), "");
        assert!(output.is_empty());
    }
}

//! Page cursors. A cursor names the last item of its page, never an offset, so that items which come, go or
//! move while someone pages make no other one appear twice.

use super::StoreError;

/// Where a page of Sessions ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub updated_at: i64,
    pub session_id: String,
}

impl Listed {
    pub fn encode(updated_at: i64, session_id: &str) -> String {
        format!("listed:{updated_at}:{session_id}")
    }

    pub fn decode(text: &str) -> Result<Self, StoreError> {
        let (updated_at, session_id) = split(text, "listed:")?;
        Ok(Self { updated_at, session_id: session_id.to_owned() })
    }
}

/// Where a page of pending Interactions ended: `asked` counts the Interactions of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Pending {
    pub created_at: i64,
    pub asked: u64,
}

impl Pending {
    pub fn encode(self) -> String {
        format!("pending:{}:{}", self.created_at, self.asked)
    }

    pub fn decode(text: &str) -> Result<Self, StoreError> {
        let (created_at, asked) = split(text, "pending:")?;
        Ok(Self { created_at, asked: asked.parse().map_err(|_| StoreError::BadCursor)? })
    }
}

fn split<'a>(text: &'a str, prefix: &str) -> Result<(i64, &'a str), StoreError> {
    let (time, rest) =
        text.strip_prefix(prefix).and_then(|rest| rest.split_once(':')).ok_or(StoreError::BadCursor)?;
    Ok((time.parse().map_err(|_| StoreError::BadCursor)?, rest))
}

/// Makes a page of up to `limit + 1` items: the one too many only tells that there is a next page.
pub(super) fn page<T>(
    mut items: Vec<T>,
    limit: u32,
    cursor: impl FnOnce(&T) -> String,
) -> (Vec<T>, Option<String>) {
    let limit = limit as usize;
    let more = items.len() > limit;
    items.truncate(limit);
    let next = if more { items.last().map(cursor) } else { None };
    (items, next)
}

//! `MemoryStore`: the specification of a store in its shortest form. It answers every call before returning.

mod session;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    ops::Bound,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use self::session::Session;
use super::{
    Authority, CaughtUp, FeedPage, ListPage, Liveness, Member, MessagePage, Opened, OwnerId, PendingItem,
    PendingList, Reply, SessionKey, SessionList, SessionSummary, Snapshot, Store, StoreError,
    UnfinishedSession,
    cursor::{self, Listed, Pending},
    ownership::Members,
};
use crate::core::{
    change::{Change, Commit, SessionRow},
    engine::Receipt,
    interaction::Interaction,
    message::Message,
};

/// Keeps Sessions for as long as the process lives.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    sessions: HashMap<SessionKey, Session>,
    /// What is pending, by agent and age: its Session, and its place there.
    pending: BTreeMap<(Arc<str>, Pending), (Arc<str>, usize)>,
    /// The last fencing number given; common to all Sessions, so that one made again never repeats one.
    last_fence: u64,
    /// How many Interactions were ever asked.
    asked: u64,
    members: Members,
    /// What was published in any Session, in order, with its agent; `None` for what a removed one had published.
    feed: Vec<Option<(Arc<str>, Arc<str>)>>,
}

impl MemoryStore {
    pub fn new() -> Self {
        Self::default()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the other members, when the lock is released.
    fn notify(&self, key: &SessionKey, by: &OwnerId) {
        let others = self.state().members.others(&key.agent_id, by);
        for notice in others {
            notice(Some(key));
        }
    }

    /// Reads one Session, and replies when the lock is released.
    fn read<T>(&self, key: &SessionKey, reply: Reply<T>, read: impl FnOnce(&Session) -> T) {
        let result = self.state().sessions.get(key).map(read).ok_or(StoreError::NotFound);
        reply(result);
    }
}

impl State {
    fn session(&mut self, key: &SessionKey) -> Result<&mut Session, StoreError> {
        self.sessions.get_mut(key).ok_or(StoreError::NotFound)
    }

    fn create(&mut self, key: &SessionKey, row: SessionRow) -> Result<u64, StoreError> {
        if self.sessions.contains_key(key) {
            return Err(StoreError::Exists);
        }
        self.last_fence += 1;
        self.sessions.insert(key.clone(), Session::new(row, self.last_fence));
        Ok(self.last_fence)
    }

    fn append(
        &mut self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: &Commit,
    ) -> Result<Receipt, StoreError> {
        let Self { sessions, pending, asked, last_fence, feed, .. } = self;
        let session = sessions.get_mut(key).ok_or(StoreError::NotFound)?;
        match authority {
            Authority::Owner { fence } if fence != session.ownership.fence => {
                return Err(StoreError::LeaseLost);
            }
            Authority::Taking { seen } if seen != session.ownership.fence => {
                return Err(StoreError::Conflict);
            }
            _ if session.row.commits != commit.expected_commits => return Err(StoreError::Conflict),
            Authority::Taking { .. } => {
                *last_fence += 1;
                session.ownership.fence = *last_fence;
            }
            _ => {}
        }
        if !commit.unfinished {
            session.ownership.owner = None;
        } else if authority != Authority::Guest {
            session.ownership.owner = Some(by.clone());
        }
        session.count(commit);
        for change in &commit.changes {
            session.apply(change);
            if let Change::Interaction(row) = change {
                let (place, age) = session.put_interaction(row, asked);
                let age = (key.agent_id.clone(), age);
                if row.interaction.is_pending() {
                    pending.insert(age, (key.session_id.clone(), place));
                } else {
                    pending.remove(&age);
                }
            }
        }
        session.publish(commit, feed.len());
        feed.extend(commit.journal.iter().map(|entry| Some((key.agent_id.clone(), entry.body.clone()))));
        Ok(Receipt::new(&commit.commit_id, session.ownership.fence).published_at(feed.len() as u64))
    }

    fn release(&mut self, key: &SessionKey, by: &OwnerId) -> Result<(), StoreError> {
        self.session(key)?.ownership.owner.take_if(|owner| owner == by);
        Ok(())
    }

    /// Gives up all that an owner has.
    fn leave(&mut self, owner: &OwnerId) -> Vec<SessionKey> {
        self.members.leave(owner);
        let mut given_up = Vec::new();
        for (key, session) in &mut self.sessions {
            if session.ownership.owner.take_if(|current| current == owner).is_some() {
                given_up.push(key.clone());
            }
        }
        given_up
    }

    fn unfinished(&self, agent_id: &str) -> Vec<UnfinishedSession> {
        let of_agent = self.sessions.iter().filter(|(key, _)| *key.agent_id == *agent_id);
        let mut found: Vec<_> = of_agent
            .filter(|(_, session)| session.is_unfinished())
            .map(|(key, session)| UnfinishedSession {
                session_id: key.session_id.clone(),
                owner: session.ownership.owner.clone(),
            })
            .collect();
        found.sort_unstable_by(|a, b| a.session_id.cmp(&b.session_id));
        found
    }

    fn feed(&self, agent_id: &str, after: Option<u64>, limit: u32) -> FeedPage {
        let after = after.map_or(self.feed.len(), |after| usize::try_from(after).unwrap_or(usize::MAX));
        let mut page = FeedPage { bodies: Vec::new(), place: after as u64 };
        for (place, published) in self.feed.iter().enumerate().skip(after) {
            if let Some((_, body)) = published.as_ref().filter(|(agent, _)| **agent == *agent_id) {
                if page.bodies.len() >= limit as usize {
                    break;
                }
                page.bodies.push(body.clone());
            }
            page.place = place as u64 + 1;
        }
        page
    }

    fn list(&self, agent_id: &str, page: &ListPage) -> Result<SessionList, StoreError> {
        let after = page.after.as_deref().map(Listed::decode).transpose()?;
        let after = after.as_ref().map(|last| (Reverse(last.updated_at), last.session_id.as_str()));
        let mut found: Vec<_> = self
            .sessions
            .iter()
            .filter(|(key, session)| *key.agent_id == *agent_id && session.archived == page.archived)
            .map(|(key, session)| ((Reverse(session.row.updated_at), &*key.session_id), session))
            .filter(|(place, _)| after.is_none_or(|after| *place > after))
            .collect();
        found.sort_unstable_by_key(|(place, _)| *place);
        let (items, next) =
            cursor::page(found, page.limit, |((at, session_id), _)| Listed::encode(at.0, session_id));
        let items = items.into_iter().map(|(_, session)| SessionSummary {
            session: session.row.clone(),
            pending: session.pending_count(),
        });
        Ok(SessionList { items: items.collect(), next })
    }

    fn pending_of_agent(
        &self,
        agent_id: &str,
        limit: u32,
        after: Option<&str>,
    ) -> Result<PendingList, StoreError> {
        let first = Pending { created_at: i64::MIN, asked: 0 };
        let after = after.map_or(Ok(first), Pending::decode)?;
        let found = self
            .pending
            .range((Bound::Excluded((Arc::from(agent_id), after)), Bound::Unbounded))
            .take_while(|((agent, _), _)| **agent == *agent_id)
            .filter_map(|((agent, age), (session_id, place))| {
                let key = SessionKey { agent_id: agent.clone(), session_id: session_id.clone() };
                let session = self.sessions.get(&key).filter(|session| !session.archived)?;
                Some((*age, session_id, session.interaction_at(*place)))
            })
            .take((limit as usize).saturating_add(1))
            .collect();
        let (items, next) = cursor::page(found, limit, |(age, _, _)| age.encode());
        let items = items.into_iter().map(|(_, session_id, interaction)| PendingItem {
            session_id: session_id.to_string(),
            interaction: interaction.clone(),
        });
        Ok(PendingList { items: items.collect(), next })
    }

    fn archive(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        let session = self.session(key)?;
        if session.row.active_turn_id.is_some() && !session.archived {
            return Err(StoreError::Running);
        }
        session.archived = true;
        Ok(())
    }

    fn remove(&mut self, key: &SessionKey) -> Result<(), StoreError> {
        let session = self.session(key)?;
        if session.row.active_turn_id.is_some() {
            return Err(StoreError::Running);
        }
        let ages: Vec<Pending> = session.pending_ages().collect();
        let published = std::mem::take(&mut session.feed_places);
        self.sessions.remove(key);
        for age in ages {
            self.pending.remove(&(key.agent_id.clone(), age));
        }
        for place in published {
            self.feed[place] = None;
        }
        Ok(())
    }
}

/// Each call lets go of the lock before it replies: a reply may call the store again.
impl Store for MemoryStore {
    fn create(&self, key: &SessionKey, row: SessionRow, reply: Reply<u64>) {
        let result = self.state().create(key, row);
        reply(result);
    }

    fn open(&self, key: &SessionKey, reply: Reply<Opened>) {
        self.read(key, reply, opened);
    }

    fn catch_up(&self, key: &SessionKey, after: u64, reply: Reply<CaughtUp>) {
        self.read(key, reply, |session| {
            let journal = session.journal_after(after, u32::MAX).into_iter().map(|(_, body)| body);
            CaughtUp { opened: opened(session), journal: journal.collect() }
        });
    }

    fn append(
        &self,
        key: &SessionKey,
        by: &OwnerId,
        authority: Authority,
        commit: Arc<Commit>,
        reply: Reply<Receipt>,
    ) {
        let result = self.state().append(key, by, authority, &commit);
        let written = result.is_ok();
        reply(result);
        if written {
            self.notify(key, by);
        }
    }

    fn release(&self, key: &SessionKey, by: &OwnerId, reply: Reply<()>) {
        let result = self.state().release(key, by);
        reply(result);
        self.notify(key, by);
    }

    fn join(&self, member: Member) {
        self.state().members.join(member);
    }

    fn leave(&self, owner: &OwnerId) {
        let given_up = self.state().leave(owner);
        for key in given_up {
            self.notify(&key, owner);
        }
    }

    fn liveness(&self, owner: &OwnerId, reply: Reply<Liveness>) {
        // Whoever can see this store is in its process, so that nobody dies unnoticed.
        let lives = self.state().members.has(owner);
        reply(Ok(if lives { Liveness::Alive } else { Liveness::Dead }));
    }

    fn unfinished(&self, agent_id: &str, reply: Reply<Vec<UnfinishedSession>>) {
        let found = self.state().unfinished(agent_id);
        reply(Ok(found));
    }

    fn messages(&self, key: &SessionKey, page: MessagePage, reply: Reply<Vec<Message>>) {
        self.read(key, reply, |session| session.messages(page));
    }

    fn snapshot(&self, key: &SessionKey, limit: u32, reply: Reply<Snapshot>) {
        self.read(key, reply, |session| Snapshot {
            session: session.row.clone(),
            messages: session.messages(MessagePage { before_sequence: None, limit }),
            pending: session.pending(),
        });
    }

    fn pending(&self, key: &SessionKey, reply: Reply<Vec<Interaction>>) {
        self.read(key, reply, Session::pending);
    }

    fn interaction(&self, key: &SessionKey, interaction_id: &str, reply: Reply<Option<Interaction>>) {
        self.read(key, reply, |session| session.interaction(interaction_id).cloned());
    }

    fn journal(&self, key: &SessionKey, after: u64, limit: u32, reply: Reply<Vec<(u64, Arc<str>)>>) {
        self.read(key, reply, |session| session.journal_after(after, limit));
    }

    fn feed(&self, agent_id: &str, after: Option<u64>, limit: u32, reply: Reply<FeedPage>) {
        let page = self.state().feed(agent_id, after, limit);
        reply(Ok(page));
    }

    fn list(&self, agent_id: &str, page: ListPage, reply: Reply<SessionList>) {
        let result = self.state().list(agent_id, &page);
        reply(result);
    }

    fn pending_of_agent(&self, agent_id: &str, limit: u32, after: Option<String>, reply: Reply<PendingList>) {
        let result = self.state().pending_of_agent(agent_id, limit, after.as_deref());
        reply(result);
    }

    fn archive(&self, key: &SessionKey, reply: Reply<()>) {
        let result = self.state().archive(key);
        reply(result);
    }

    fn remove(&self, key: &SessionKey, reply: Reply<()>) {
        let result = self.state().remove(key);
        let removed = result.is_ok();
        reply(result);
        if removed {
            self.notify(key, &OwnerId::from(""));
        }
    }
}

fn opened(session: &Session) -> Opened {
    Opened { rows: session.open_rows(), ownership: session.ownership.clone() }
}

//! A thread with an inbox, started by its first request.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, SendError, Sender, channel},
    },
    thread::{self, JoinHandle},
};

use super::{error::io_error, request::Request};
use crate::storage::StoreError;

pub(super) type Inbox = Receiver<Box<dyn Request>>;

/// Ends, with its thread, once it is dropped and its inbox is worked off.
pub(super) struct Worker {
    name: &'static str,
    serve: Arc<dyn Fn(&Inbox) + Send + Sync>,
    running: Mutex<Option<Running>>,
}

struct Running {
    inbox: Sender<Box<dyn Request>>,
    thread: JoinHandle<()>,
}

impl Worker {
    pub fn new(name: &'static str, serve: impl Fn(&Inbox) + Send + Sync + 'static) -> Self {
        Self { name, serve: Arc::new(serve), running: Mutex::new(None) }
    }

    /// Hands the request to the thread. It never waits; a request that cannot be taken is answered so.
    pub fn submit(&self, request: Box<dyn Request>) {
        if let Err((request, error)) = self.send(request) {
            request.answer(Err(error));
        }
    }

    fn send(&self, request: Box<dyn Request>) -> Result<(), (Box<dyn Request>, StoreError)> {
        let mut running = self.running();
        if running.is_none() {
            match self.start() {
                Ok(started) => *running = Some(started),
                Err(error) => return Err((request, io_error(&error))),
            }
        }
        let Some(Running { inbox, .. }) = &*running else { unreachable!("it was started above") };
        inbox.send(request).map_err(|SendError(request)| {
            *running = None;
            (request, StoreError::Unavailable("the store's thread has ended".to_owned()))
        })
    }

    fn start(&self) -> io::Result<Running> {
        let (inbox, requests) = channel();
        let serve = self.serve.clone();
        let thread = thread::Builder::new().name(self.name.to_owned()).spawn(move || serve(&requests))?;
        Ok(Running { inbox, thread })
    }

    /// Waits until all that was submitted is answered and the thread has let go of the file.
    pub fn close(&self) {
        let running = self.running().take();
        let Some(Running { inbox, thread }) = running else { return };
        drop(inbox);
        // A reply runs on the thread itself, which cannot wait for its own end.
        if thread.thread().id() != thread::current().id() {
            // A panic was reported where it happened.
            let _ = thread.join();
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

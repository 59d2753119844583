// What the page is told as it happens: server-sent events.

/** Bytes that may wait for a page. */
const LONGEST_QUEUE = 8 << 20;

/** Sends events to one page, until it goes. */
export class Feed {
  #response;
  #beat;

  constructor(response) {
    this.#response = response;
    response.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    // A page that hears nothing for long takes the connection for broken.
    this.#beat = setInterval(() => response.write(": here\n\n"), 10_000);
    this.#beat.unref();
    response.on("close", () => clearInterval(this.#beat));
  }

  /** A page that does not read is let go: it comes back, and is told anew. */
  send(event, data) {
    if (this.#response.writableLength > LONGEST_QUEUE) this.#response.destroy();
    else this.#response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  on_close(listener) {
    this.#response.on("close", listener);
  }

  end() {
    this.#response.end();
  }
}

const SHOWN = 200;

/** The inbox over all Sessions, told to every page whenever it changes. */
export class Inbox {
  #agent;
  #feeds = new Set();
  #looking = false;
  #again = false;
  #unsubscribe;
  #told = new Set();

  constructor(agent) {
    this.#agent = agent;
    this.#unsubscribe = agent.subscribe((mutation) => this.#on_mutation(mutation));
  }

  async add(feed) {
    feed.send("inbox", await this.#look());
    this.#feeds.add(feed);
    feed.on_close(() => this.#feeds.delete(feed));
  }

  end() {
    this.#unsubscribe();
    for (const feed of this.#feeds) feed.end();
  }

  #on_mutation(mutation) {
    if (mutation.variant === "delta") return;
    for (const interaction of interactions_of(mutation)) {
      if (interaction.status === "pending" || this.#told.has(interaction.interaction_id)) continue;
      this.#told.add(interaction.interaction_id);
      this.#broadcast("ended", { session_id: mutation.session_id, interaction });
    }
    void this.#refresh();
  }

  /** One look at a time; what happens meanwhile has one more follow. */
  async #refresh() {
    this.#again = true;
    if (this.#looking) return;
    this.#looking = true;
    try {
      while (this.#again) {
        this.#again = false;
        this.#broadcast("inbox", await this.#look());
      }
    } catch (error) {
      process.stderr.write(`The inbox could not be read: ${error.message}\n`);
    } finally {
      this.#looking = false;
    }
  }

  async #look() {
    const [pending, sessions] = await Promise.all([
      this.#agent.interactions({ limit: SHOWN }),
      this.#agent.sessions.list({ limit: SHOWN }),
    ]);
    return { pending: pending.items, more: pending.next !== undefined, sessions: sessions.items };
  }

  #broadcast(event, data) {
    for (const feed of this.#feeds) feed.send(event, data);
  }
}

function interactions_of(mutation) {
  if (mutation.variant !== "part") return [];
  const { part } = mutation;
  if (part.type === "interaction") return [part.interaction];
  return part.type === "tool" ? (part.interactions ?? []) : [];
}

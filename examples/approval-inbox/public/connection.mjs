// The page's line to its server. It carries the token, and comes back by itself when the server does.

/** The token came in the address once, where no server sees it; it is kept for this tab and taken off. */
const token = (() => {
  const given = location.hash.slice(1);
  if (given !== "") {
    sessionStorage.setItem("token", given);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem("token") ?? "";
})();

const authorization = `Bearer ${token}`;

/** Asks the server to do something. Throws an Error with `status` and what the server said. */
export async function call(path, body) {
  const headers = { authorization, "content-type": "application/json" };
  const response = await fetch(path, { method: "POST", headers, body: JSON.stringify(body) });
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.message ?? `The server refused it (${response.status}).`), {
    status: response.status,
    ...answer,
  });
}

const FIRST_WAIT_MS = 250;
const LONGEST_WAIT_MS = 3000;

/** Follows a feed until the signal ends it. `on_state` hears "connected", "lost" and "refused". */
export async function follow(path, { signal, on_event, on_state = () => {} }) {
  let wait = FIRST_WAIT_MS;
  while (!signal?.aborted) {
    try {
      const response = await fetch(path, { headers: { authorization }, signal });
      if (response.status === 401) return on_state("refused");
      if (response.ok) {
        on_state("connected");
        wait = FIRST_WAIT_MS;
        await read_events(response.body, on_event);
      }
    } catch {
      // The line is gone; tried again below.
    }
    if (signal?.aborted) return;
    on_state("lost");
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  }
}

async function read_events(body, on_event) {
  let text = "";
  for await (const piece of pieces_of(body.pipeThrough(new TextDecoderStream()))) {
    const events = (text + piece).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(event) ?? [];
      if (name !== undefined) on_event(name, JSON.parse(data));
    }
  }
}

/** Not every browser iterates a stream by itself. */
async function* pieces_of(stream) {
  const reader = stream.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    yield value;
  }
}

// The page: cards on the left, a conversation beside them, both as they happen.
import { Card } from "/card.mjs";
import { call, follow } from "/connection.mjs";
import { Conversation } from "/conversation.mjs";
import { announce, element, shown } from "/dom.mjs";

const at = (id) => document.getElementById(id);
const conversation = new Conversation();
const cards = new Map();
let sessions = [];
let selected;

const CONNECTION = {
  connected: "Connected",
  lost: "The server is away. The page comes back by itself.",
  refused: "This page has no valid token. Open the address the server printed.",
};

void follow("/api/inbox", {
  on_state: (state) => {
    at("connection").dataset.state = state;
    at("connection").textContent = CONNECTION[state];
  },
  on_event: (name, data) => {
    if (name === "inbox") show_inbox(data);
    else cards.get(data.interaction.interaction_id)?.end(data.interaction);
  },
});

function show_inbox({ pending, more, sessions: listed }) {
  sessions = listed;
  const ids = new Set(pending.map(({ interaction_id }) => interaction_id));
  for (const [id, card] of cards) if (!ids.has(id)) card.end();
  const fresh = pending.filter(({ interaction_id }) => !cards.has(interaction_id));
  for (const interaction of fresh) add_card(interaction);
  if (fresh.length > 0) announce(fresh.length === 1 ? "A new request." : `${fresh.length} new requests.`);
  at("count").textContent = `${pending.length}${more ? "+" : ""}`;
  at("more").hidden = !more;
  document.title = pending.length === 0 ? "Approval inbox" : `(${pending.length}) Approval inbox`;
  tell_nothing();
  show_sessions();
}

function add_card(interaction) {
  const on_open = (session_id) => {
    select(session_id);
    at("messages").focus();
  };
  const card = new Card(interaction, {
    task: task_of(interaction.session_id),
    on_gone: remove_card,
    on_open,
  });
  cards.set(interaction.interaction_id, card);
  at("cards").append(card.node);
}

/** Whoever was at the card finds themselves at the next one, or at the top where there is none. */
function remove_card(card) {
  const had_focus = card.node.contains(document.activeElement) || document.activeElement === document.body;
  const next = card.node.nextElementSibling ?? card.node.previousElementSibling;
  card.node.remove();
  for (const [id, known] of cards) if (known === card) cards.delete(id);
  tell_nothing();
  if (had_focus) (next?.querySelector("h3") ?? at("inbox-title")).focus();
}

function tell_nothing() {
  at("nothing").hidden = cards.size > 0;
}

function task_of(session_id) {
  return sessions.find((session) => session.session_id === session_id)?.metadata?.task ?? session_id;
}

function show_sessions() {
  const items = sessions.map(({ session_id, state, pending, updated_at }) => {
    const words = pending > 0 ? `waits for you: ${pending}` : state === "running" ? "at work" : "idle";
    const time = new Date(updated_at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const button = element(
      "button",
      {
        type: "button",
        "data-session": session_id,
        "aria-current": session_id === selected ? "true" : undefined,
        on_click: () => select(session_id),
      },
      element("span", { class: "task" }, ...shown(task_of(session_id))),
      element("small", { "data-state": pending > 0 ? "waiting" : state }, `${words} · ${time}`),
    );
    return element("li", {}, button);
  });
  const focused = document.activeElement?.dataset?.session;
  at("sessions").replaceChildren(...items);
  if (focused !== undefined)
    at("sessions")
      .querySelector(`[data-session="${CSS.escape(focused)}"]`)
      ?.focus();
  if (selected === undefined && sessions.length > 0) select(sessions[0].session_id);
}

function select(session_id) {
  if (selected === session_id) return;
  selected = session_id;
  conversation.show(session_id);
  show_sessions();
}

function on_submit(form, field, work) {
  at(form).addEventListener("submit", async (event) => {
    event.preventDefault();
    const query = at(field).value.trim();
    if (query === "") return;
    await work(query).catch((error) => announce(error.message));
  });
}

on_submit("new-task", "task", async (query) => {
  const { session_id } = await call("/api/task", { query });
  select(session_id);
});
on_submit("prompt", "query", async (query) => {
  await call("/api/prompt", { session_id: selected, query });
  at("query").value = "";
});
at("stop").addEventListener("click", () => {
  call("/api/stop", { session_id: selected }).catch((error) => announce(error.message));
});

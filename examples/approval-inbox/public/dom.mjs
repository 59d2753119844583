// Elements out of data. All text becomes text nodes: nothing a model or a tool says is ever markup.
import { visible, visible_json } from "/visible.mjs";

/** An element. `attributes` named `on_…` are listeners; children are nodes and strings, or nothing. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (key.startsWith("on_")) made.addEventListener(key.slice(3), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== undefined));
  return made;
}

/** Text of others, with what is hidden in it written out and marked. */
export function shown(text) {
  const nodes = [];
  let plain = "";
  for (const character of String(text)) {
    const written = visible(character, { lines: true });
    if (written === character) {
      plain += character;
      continue;
    }
    if (plain !== "") nodes.push(plain);
    plain = "";
    nodes.push(element("mark", { class: "unseen", title: "a character that cannot be seen" }, written));
  }
  if (plain !== "") nodes.push(plain);
  return nodes;
}

/** A value exactly as it is, as JSON. */
export function json(value, label) {
  return element(
    "pre",
    { class: "exact", tabindex: "0", role: "group", "aria-label": label },
    visible_json(value ?? null),
  );
}

/** Text exactly as it is. */
export function exact(text, label) {
  return element("pre", { class: "exact", tabindex: "0", role: "group", "aria-label": label }, shown(text));
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });

/** "since 14:02 (3 min)", kept up to date. */
export function since(time) {
  const made = element("time", { datetime: new Date(time).toISOString(), "data-since": String(time) });
  tell_since(made);
  return made;
}

function tell_since(made) {
  const time = Number(made.dataset.since);
  const minutes = Math.floor((Date.now() - time) / 60_000);
  const far = minutes >= 24 * 60;
  const long = far
    ? `${Math.floor(minutes / 1440)} d`
    : minutes >= 60
      ? `${Math.floor(minutes / 60)} h`
      : `${minutes} min`;
  made.textContent = `since ${(far ? DAY : CLOCK).format(time)}${minutes < 1 ? "" : ` (${long})`}`;
}

setInterval(() => {
  for (const made of document.querySelectorAll("time[data-since]")) tell_since(made);
}, 15_000);

/** Says something to people who listen to the page. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}

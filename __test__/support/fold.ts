/** What an observer knows who does nothing but apply Mutations, and everything that must hold on the way. */
import { isDeepStrictEqual } from "node:util";
import type {
  Message,
  Mutation,
  Part,
  Session,
  SessionInteraction,
  SessionSnapshot,
  ToolPart,
  ToolState,
} from "@downcity/agent";
import { expect } from "vitest";

type Of<Variant> = Extract<Mutation, { variant: Variant }>;

const TRANSITIONS: { readonly [from in ToolState]: readonly ToolState[] } = {
  "input-streaming": ["ready", "failed"],
  ready: ["running", "waiting-user", "failed"],
  running: ["waiting-user", "completed", "failed"],
  "waiting-user": ["running", "failed"],
  completed: [],
  failed: [],
};

export class Fold {
  revision = 0;
  turn_id: string | undefined;
  closed = false;
  /** Everything that was seen and must not be. */
  readonly faults: string[] = [];
  readonly #messages = new Map<string, Message>();
  readonly #asked = new Set<string>();
  readonly #mutation_ids = new Set<string>();
  readonly #may_skip: boolean;

  /** Begins with a snapshot, or with an empty Session. `may_skip`: deltas may have been merged. */
  constructor(snapshot?: SessionSnapshot, { may_skip = false } = {}) {
    this.#may_skip = may_skip;
    if (snapshot === undefined) return;
    const { revision_of_session, messages, interactions, status } = structuredClone(snapshot);
    this.revision = revision_of_session;
    this.turn_id = status.active_turn_id;
    for (const { interaction_id } of interactions) this.#asked.add(interaction_id);
    for (const message of messages) this.#messages.set(message.message_id, message);
  }

  get messages(): Message[] {
    return [...this.#messages.values()].sort((one, other) => one.sequence - other.sequence);
  }

  /** Oldest first. */
  get pending(): SessionInteraction[] {
    const all = this.messages.flatMap(({ parts }) => (parts as Part[]).flatMap(interactions_of));
    const found = [...this.#asked].map((id) => all.find(({ interaction_id }) => interaction_id === id));
    return found.filter((item) => item !== undefined).filter(({ status }) => status === "pending");
  }

  take(given: Mutation): void {
    const mutation = structuredClone(given);
    this.#check_number(mutation);
    this.revision = mutation.revision_of_session;
    switch (mutation.variant) {
      case "message":
        this.#take_message(mutation);
        break;
      case "part":
        this.#take_part(mutation);
        break;
      case "delta":
        this.#take_delta(mutation);
        break;
      case "turn":
        this.#take_turn(mutation);
        break;
      default:
        if (mutation.type === "closed") this.closed = true;
    }
  }

  #check_number({ revision_of_session: revision, mutation_id }: Mutation): void {
    const follows = this.#may_skip ? revision > this.revision : revision === this.revision + 1;
    if (!follows) this.#fault(`revision_of_session ${revision} after ${this.revision}`);
    if (this.#mutation_ids.has(mutation_id)) this.#fault(`${mutation_id} came twice`);
    this.#mutation_ids.add(mutation_id);
    if (this.closed) this.#fault(`revision ${revision} came after the Session was closed`);
  }

  #take_message({ message, message_id, revision, type }: Of<"message">): void {
    const fits = message.message_id === message_id && message.revision === revision && message.role === type;
    if (!fits) this.#fault(`a message Mutation that disagrees with its message ${message_id}`);
    const before = this.#messages.get(message_id);
    if (before) this.#check_revision(before, revision);
    else if (message.sequence !== this.#messages.size + 1 && !this.#may_skip) {
      const last = this.messages.at(-1)?.sequence;
      if (last !== undefined && message.sequence !== last + 1) this.#fault(`a gap before ${message_id}`);
    }
    for (const part of message.parts as Part[]) this.#check_part(part_of(before, part.part_id), part);
    this.#messages.set(message_id, message);
    this.#check_state(message);
  }

  #take_part(mutation: Of<"part">): void {
    const { part, message_id } = mutation;
    const message = this.#messages.get(message_id);
    if (message === undefined) {
      this.#fault(`a Part of the unknown message ${message_id}`);
      return;
    }
    if (part.type !== mutation.type) this.#fault(`a part Mutation of type ${mutation.type}`);
    const parts = message.parts as Part[];
    const at = parts.findIndex(({ part_id }) => part_id === part.part_id);
    this.#check_part(parts[at], part);
    if (at >= 0) parts[at] = part;
    else parts.push(part);
    this.#touch(message, mutation);
  }

  #take_delta(mutation: Of<"delta">): void {
    const { message_id, part_id, type, delta } = mutation;
    const message = this.#messages.get(message_id);
    const part = part_of(message, part_id);
    if (message === undefined || part === undefined) {
      this.#fault(`a delta of no Part: ${part_id}`);
      return;
    }
    if (delta === "") this.#fault("an empty delta");
    if (part.type === "tool" && type === "tool_input" && part.state === "input-streaming") {
      part.input_text = (part.input_text ?? "") + delta;
    } else if ((part.type === "text" || part.type === "reasoning") && part.type === type) {
      if (part.state !== "streaming") this.#fault(`a delta after the end of ${part_id}`);
      part.text += delta;
    } else this.#fault(`a ${type} delta for a ${part.type} Part`);
    this.#touch(message, mutation);
  }

  #take_turn(mutation: Of<"turn">): void {
    if (mutation.type === "start") {
      if (this.turn_id !== undefined) this.#fault(`a Turn starts while ${this.turn_id} goes on`);
      this.turn_id = mutation.turn_id;
      return;
    }
    if (this.turn_id !== mutation.turn_id) this.#fault(`${mutation.turn_id} ends and is not active`);
    this.turn_id = undefined;
    if (this.pending.length > 0) this.#fault("a Turn ended with something pending");
    if (this.messages.some(({ state }) => state !== "done")) this.#fault("a Turn ended with something open");
  }

  #touch(message: Message, { revision, created_at }: Of<"part"> | Of<"delta">): void {
    this.#check_revision(message, revision);
    message.revision = revision;
    message.updated_at = created_at;
    message.state = state_of(message);
  }

  #check_revision({ message_id, revision: before }: Message, revision: number): void {
    const follows = revision === before || revision === before + 1 || (this.#may_skip && revision > before);
    if (!follows) this.#fault(`revision ${revision} of ${message_id} after ${before}`);
  }

  #check_part(before: Part | undefined, part: Part): void {
    for (const interaction of interactions_of(part)) {
      this.#asked.add(interaction.interaction_id);
      const known = before && interactions_of(before).find(is_same(interaction));
      const final = known === undefined || known.status === "pending";
      if (!final && !isDeepStrictEqual(known, interaction))
        this.#fault(`${interaction.interaction_id} changed`);
    }
    if (part.type === "tool") this.#check_tool(before as ToolPart | undefined, part);
  }

  #check_tool(before: ToolPart | undefined, part: ToolPart): void {
    const waits = interactions_of(part).some(({ status }) => status === "pending");
    if (waits !== (part.state === "waiting-user")) this.#fault(`${part.part_id} is ${part.state}: ${waits}`);
    if (before === undefined || before.state === part.state) return;
    if (!TRANSITIONS[before.state].includes(part.state)) {
      this.#fault(`${part.part_id} goes from ${before.state} to ${part.state}`);
    }
  }

  #check_state(message: Message): void {
    if (message.state !== state_of(message)) this.#fault(`${message.message_id} says it is ${message.state}`);
  }

  #fault(what: string): void {
    this.faults.push(what);
  }
}

const is_same = (one: SessionInteraction) => (other: SessionInteraction) =>
  one.interaction_id === other.interaction_id;

function part_of(message: Message | undefined, id: string): Part | undefined {
  return (message?.parts as Part[] | undefined)?.find(({ part_id }) => part_id === id);
}

export function interactions_of(part: Part): SessionInteraction[] {
  if (part.type === "interaction") return [part.interaction];
  return part.type === "tool" ? (part.interactions ?? []) : [];
}

function state_of(message: Message): Message["state"] {
  return (message.parts as Part[]).some(is_open) ? "streaming" : "done";
}

function is_open(part: Part): boolean {
  if (part.type === "text" || part.type === "reasoning") return part.state === "streaming";
  if (part.type === "tool") return part.state !== "completed" && part.state !== "failed";
  return part.type === "interaction" && part.interaction.status === "pending";
}

/** All stored Messages, page by page. */
export async function all_messages(session: Session): Promise<Message[]> {
  const pages: Message[][] = [];
  let before_sequence: number | undefined;
  do {
    const page = await session.messages({ before_sequence, limit: 100 });
    pages.unshift(page.items);
    const next = page.next_before_sequence;
    if (next !== undefined && next >= (before_sequence ?? Number.POSITIVE_INFINITY))
      throw new Error("no end");
    before_sequence = next;
  } while (before_sequence !== undefined);
  return pages.flat();
}

/** Keeps what a Session publishes, and can tell at any time whether that is the whole truth. */
export class Observer {
  readonly mutations: Mutation[] = [];
  readonly #session: Session;

  constructor(session: Session) {
    this.#session = session;
    session.subscribe((mutation) => this.mutations.push(mutation));
  }

  /** Folds what was seen, up to a revision. */
  fold(up_to = Number.POSITIVE_INFINITY): Fold {
    const fold = new Fold();
    for (const mutation of this.mutations) if (mutation.revision_of_session <= up_to) fold.take(mutation);
    expect(fold.faults).toEqual([]);
    return fold;
  }

  /** While nothing goes on: what was seen is what is stored. */
  async agrees(): Promise<void> {
    const fold = this.fold();
    expect(fold.messages).toEqual(await all_messages(this.#session));
    expect(fold.pending).toEqual(await this.#session.interactions());
  }

  /** While anything goes on: what was seen up to some moment is what was stored at it. */
  async agrees_at_once(): Promise<void> {
    const { snapshot, unsubscribe } = await this.#session.watch(() => {});
    unsubscribe();
    const fold = this.fold(snapshot.revision_of_session);
    expect(fold.revision).toBe(snapshot.revision_of_session);
    expect(fold.messages.slice(-100)).toEqual(snapshot.messages);
    expect(fold.pending).toEqual(snapshot.interactions);
    expect(fold.turn_id).toBe(snapshot.status.active_turn_id);
  }
}

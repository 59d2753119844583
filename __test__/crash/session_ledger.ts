/** What is known of one Session from what all its processes told, and every contradiction in it. */
import { isDeepStrictEqual } from "node:util";
import type { Interaction, Mutation, SessionSnapshot, TurnResult } from "@downcity/agent";
import { Fold } from "../support/fold.js";
import { faults_of_end } from "./ending.js";
import type { Call, End, Entered, Fact, PromptMessage, Requested } from "./facts.js";
import { type Before, faults_of_history, faults_of_recovery, survivors } from "./reopened.js";
import { asked_in, by_id, faults_of_snapshot, is_pending } from "./views.js";

export interface Prompt {
  query: string;
  acknowledged: boolean;
  /** A stop or close was tried while it may have been queued. */
  may_be_dropped: boolean;
}

export class SessionLedger {
  readonly faults: string[] = [];
  created = false;
  /** Answers that were tried, by Interaction. */
  readonly tried = new Map<string, unknown[]>();
  /** The committed Interactions that `respond` has given back. */
  readonly answered = new Map<string, Interaction>();
  readonly prompts: Prompt[] = [];
  readonly entered = new Map<string, (Entered & { child: number })[]>();
  readonly returned = new Map<string, unknown[]>();
  readonly got: Requested[] = [];
  readonly #requests = new Map<string, string>();
  readonly #results = new Map<string, unknown>();
  readonly #rules = new Set<string>();
  readonly #ended_turns = new Set<string>();
  /** When each Interaction was first seen, and when the last stop was over. */
  readonly #seen = new Map<string, number>();
  #stop_over = -1;
  #stops_open = 0;
  #modes = ["ask"];
  #fold: Fold | undefined;
  #revision = 0;
  #clock = 0;
  #child = -1;

  /** A process told this of the Session. */
  take(fact: Fact & { s: string }, child: number, prompts: PromptMessage[][]): void {
    this.#clock += 1;
    if (child !== this.#child) this.#begin(child);
    if (fact.f === "opened") this.#opened(fact.snapshot);
    else if (fact.f === "look") this.#report(faults_of_snapshot(fact.snapshot));
    else if (fact.f === "m") this.#mutation(fact.m);
    else if (fact.f === "try" || fact.f === "ok" || fact.f === "no") this.#call(fact);
    else if (fact.f === "entered") this.#entered(fact);
    else if (fact.f === "asked" || fact.f === "got") this.#request(fact);
    else if (fact.f === "returning") {
      this.returned.set(fact.id, [...(this.returned.get(fact.id) ?? []), fact.output]);
    } else if (fact.f === "rule") this.#rule(fact.key);
    else if (fact.f === "finished") this.#finished(fact.result);
    else if (fact.f === "end") this.#end(fact, prompts);
  }

  /** What is stored after a kill, before anybody has gone on with it. */
  left(snapshot: SessionSnapshot): void {
    this.#report(faults_of_snapshot(snapshot));
    this.#report(faults_of_history(this.#fold?.messages ?? [], snapshot));
    this.#check_answers(snapshot);
  }

  /** What must still be pending now that the process is dead. */
  get survivors(): Interaction[] {
    return survivors(this.#before());
  }

  fault(what: string): void {
    this.faults.push(`child ${this.#child}: ${what}`);
  }

  #report(faults: Iterable<string>): void {
    for (const what of faults) this.fault(what);
  }

  /** Whatever was being done when the last process died may have been done. */
  #begin(child: number): void {
    this.#child = child;
    if (this.#stops_open > 0) this.#stop_over = this.#clock;
    this.#stops_open = 0;
  }

  #before(): Before {
    const entered = [...this.entered].filter(([, entries]) =>
      entries.every(({ replay, child }) => !replay && child !== this.#child),
    );
    return {
      messages: this.#fold?.messages ?? [],
      turn_id: this.#fold?.turn_id,
      is_touched: (id) =>
        this.tried.has(id) || this.#stops_open > 0 || (this.#seen.get(id) ?? -1) <= this.#stop_over,
      entered_once: new Set(entered.map(([id]) => id)),
    };
  }

  #opened(snapshot: SessionSnapshot): void {
    this.created = true;
    const before = this.#before();
    if (snapshot.revision_of_session < this.#revision) {
      this.fault(`I2: revision ${this.#revision} was published, ${snapshot.revision_of_session} is stored`);
    }
    this.#report(faults_of_snapshot(snapshot));
    this.#report(faults_of_history(before.messages, snapshot));
    this.#report(faults_of_recovery(before, snapshot));
    this.#check_answers(snapshot);
    const { active_turn_id } = snapshot.status;
    if (active_turn_id !== undefined && this.#ended_turns.has(active_turn_id)) {
      this.fault(`${active_turn_id} had ended and is active again`);
    }
    const turn_ids = snapshot.messages.map(({ turn_id }) => turn_id);
    const ended = turn_ids.filter((turn_id) => turn_id !== undefined && turn_id !== active_turn_id);
    // A Turn that went on may have ended before the snapshot was made.
    const went_on = ended.some((turn_id) => !this.#ended_turns.has(turn_id as string));
    this.#check_mode(snapshot, went_on);
    for (const turn_id of ended) this.#ended_turns.add(turn_id as string);
    this.#fold = new Fold(snapshot);
    this.#revision = snapshot.revision_of_session;
    for (const { interaction_id } of snapshot.interactions) this.#see(interaction_id);
  }

  /** I4: no acknowledged answer is lost, and none is there that nobody gave. */
  #check_answers({ messages }: SessionSnapshot): void {
    const stored = by_id(asked_in(messages));
    for (const [id, interaction] of this.answered) {
      const kept = stored.get(id);
      if (kept !== undefined && !isDeepStrictEqual(kept, interaction)) {
        this.fault(`I4: the acknowledged answer to ${id} is not the stored one`);
      }
    }
    for (const [id, { response, status }] of stored) {
      if (status !== "resolved" && status !== "denied") continue;
      const given = (this.tried.get(id) ?? []).some((tried) => isDeepStrictEqual(tried, response));
      if (!given) this.fault(`${id} has an answer that nobody gave`);
    }
  }

  /** What is set after the last checkpoint of a Turn that `went_on` waits for the next one. */
  #check_mode({ status: { state, security } }: SessionSnapshot, went_on: boolean): void {
    const { approval_mode, effective_approval_mode } = security;
    if (!this.#modes.includes(approval_mode)) {
      this.fault(`the mode is ${approval_mode} after ${this.#modes.join(", ")} was set`);
    }
    if (state === "idle" && !went_on && approval_mode !== effective_approval_mode) {
      this.fault("a reopened idle Session has a change of mode queued");
    }
    this.#modes = [approval_mode];
  }

  #mutation(mutation: Mutation): void {
    const fold = this.#fold;
    if (fold === undefined) {
      this.fault("a Mutation before the snapshot");
      return;
    }
    fold.take(mutation);
    this.#report(fold.faults.splice(0));
    this.#revision = mutation.revision_of_session;
    if (mutation.variant === "part") {
      const { part } = mutation;
      const list = part.type === "interaction" ? [part.interaction] : [];
      const asked = part.type === "tool" ? (part.interactions ?? []) : list;
      for (const { interaction_id } of asked) this.#see(interaction_id);
    }
    if (mutation.variant !== "turn") return;
    const { turn_id, type } = mutation;
    if (this.#ended_turns.has(turn_id)) this.fault(`${turn_id}: a ${type} after its end`);
    if (type === "finish") this.#ended_turns.add(turn_id);
  }

  /** A prompt that was withdrawn while it waited has come to its end before the Turn has. */
  #finished({ turn_id, status }: TurnResult): void {
    if (status !== "stopped" && !this.#ended_turns.has(turn_id)) this.fault(`${turn_id} was not finished`);
  }

  #see(interaction_id: string): void {
    if (!this.#seen.has(interaction_id)) this.#seen.set(interaction_id, this.#clock);
  }

  #call(fact: Call): void {
    const { f, op, query = "", approval_mode = "", interaction_id = "", response } = fact;
    if (op === "create" && f === "ok") this.created = true;
    if (op === "prompt" && f === "try") {
      this.prompts.push({ query, acknowledged: false, may_be_dropped: this.#stops_open > 0 });
    }
    const prompt = this.prompts.find((one) => one.query === query);
    if (prompt !== undefined && f === "ok") prompt.acknowledged = true;
    if (op === "set" && f === "try") this.#modes.push(approval_mode);
    if (op === "set" && f === "ok") this.#modes = [approval_mode];
    if (op === "respond" && f === "try") {
      this.tried.set(interaction_id, [...(this.tried.get(interaction_id) ?? []), response]);
    }
    if (op === "respond" && f === "ok") this.#answer(interaction_id, fact.value as Interaction, response);
    // A withdrawal may stop the Turn; nobody is told when.
    if (op === "stop" || op === "close" || op === "withdraw") this.#stop(f);
  }

  #answer(interaction_id: string, interaction: Interaction, response: unknown): void {
    if (this.answered.has(interaction_id)) this.fault(`I3: two answers to ${interaction_id} were accepted`);
    if (!isDeepStrictEqual(interaction.response, response)) {
      this.fault(`${interaction_id} was committed with another answer than was given`);
    }
    this.answered.set(interaction_id, interaction);
  }

  #stop(f: Call["f"]): void {
    this.#stops_open += f === "try" ? 1 : -1;
    if (f === "try") for (const prompt of this.prompts) prompt.may_be_dropped = true;
    else this.#stop_over = this.#clock;
  }

  /** I9 */
  #entered(fact: Entered): void {
    const { id, tool, replay, resumed } = fact;
    const entries = this.entered.get(id) ?? [];
    if (entries.length > 0 && !replay) this.fault(`I9: ${id} of ${tool} was entered again`);
    if (entries.length > 0 && !resumed) this.fault(`I9: ${id} of ${tool} is not told that it is resumed`);
    if (resumed && !replay) this.fault(`I9: ${id} of ${tool} is resumed and has not opted in`);
    if (entries.some(({ child }) => child === this.#child))
      this.fault(`I9: ${id} was entered twice by one process`);
    if (entries.some(({ input }) => !isDeepStrictEqual(input, fact.input))) {
      this.fault(`${id} was entered with another input`);
    }
    this.entered.set(id, [...entries, { ...fact, child: this.#child }]);
  }

  /** A request that is made again is the same Interaction, and has the same answer. */
  #request(fact: Requested): void {
    const { f, id, position, interaction_id, value } = fact;
    const drifts = this.entered.get(id)?.at(-1)?.tool === "drifting";
    const key = `${id}/${position}`;
    if (interaction_id !== undefined && !drifts) {
      const known = this.#requests.get(key) ?? interaction_id;
      if (known !== interaction_id) this.fault(`request ${position} of ${id} was asked anew`);
      this.#requests.set(key, interaction_id);
    }
    if (f === "asked") return;
    this.got.push(fact);
    if (this.#results.has(key) && !isDeepStrictEqual(this.#results.get(key), value)) {
      this.fault(`I4: request ${position} of ${id} was answered in another way after a restart`);
    }
    this.#results.set(key, value);
  }

  /** A gate is decided once: when it has asked, its rule is not evaluated again. */
  #rule(key: string): void {
    const asked = asked_in(this.#fold?.messages ?? []).some(
      ({ type, payload }) => type === "approval" && key_of(payload.validated_input) === key,
    );
    if (asked && this.#rules.has(key)) this.fault(`O-13: the rule of ${key} was evaluated again`);
    this.#rules.add(key);
  }

  #end(end: End, prompts: PromptMessage[][]): void {
    const fold = this.#fold;
    if (fold && !isDeepStrictEqual(fold.messages, end.messages.slice(-fold.messages.length))) {
      this.fault("I2: what was published adds up to something else than is stored");
    }
    if (fold?.pending.some(is_pending)) this.fault("something is pending at the end");
    this.#report(faults_of_end(this, end, prompts));
  }
}

export function key_of(input: unknown): unknown {
  return typeof input === "object" && input !== null && "key" in input ? input.key : undefined;
}

/** What children tell: one JSON object a line, in files that outlive them. */
import { existsSync, readFileSync } from "node:fs";
import type {
  Interaction,
  Message,
  Mutation,
  SessionItem,
  SessionSnapshot,
  SessionStatus,
  TurnResult,
} from "@downcity/agent";

export interface Opened {
  f: "opened";
  s: string;
  snapshot: SessionSnapshot;
}

/** An API call: before it is made, and when it was answered or refused. */
export interface Call {
  f: "try" | "ok" | "no";
  op: string;
  s: string;
  query?: string;
  approval_mode?: string;
  interaction_id?: string;
  response?: unknown;
  value?: unknown;
}

export interface Entered {
  f: "entered";
  s: string;
  id: string;
  turn_id: string;
  tool: string;
  input: unknown;
  resumed: boolean;
  replay: boolean;
}

/** A request of a tool: what it is known under, or what it came to. */
export interface Requested {
  f: "asked" | "got";
  s: string;
  id: string;
  position: number;
  interaction_id?: string;
  value?: { approved?: boolean; auto_approved?: boolean };
}

export interface End {
  f: "end";
  s: string;
  result: TurnResult;
  messages: Message[];
  interactions: Interaction[];
  status: SessionStatus;
}

export type PromptMessage = { role: string; content: unknown };

export type Fact =
  | Opened
  | Call
  | Entered
  | Requested
  | End
  | { f: "look"; s: string; snapshot: SessionSnapshot }
  | { f: "m"; s: string; m: Mutation }
  | { f: "returning"; s: string; id: string; output: unknown }
  | { f: "rule"; s: string; key: string }
  | { f: "finished"; s: string; result: TurnResult }
  | { f: "list"; items: SessionItem[] }
  | { f: "prompt"; prompt: PromptMessage[] }
  | { f: "hit"; point: string }
  | { f: "fault"; what: string }
  | { f: "done" };

/** All that a child told; the last line of a killed one may be cut off. */
export function read_facts(folder: string, number: number): Fact[] {
  const file = `${folder}/facts-${number}.jsonl`;
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, "utf8").split("\n");
  lines.pop();
  return lines.map((line) => JSON.parse(line) as Fact);
}

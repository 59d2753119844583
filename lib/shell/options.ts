/** What a Shell is made with. */
import type { ShellOptions } from "../../types/shell.js";
import { accept_count, accept_optional, invalid } from "../accept.js";

const KEYS = ["sandbox", "timeout", "max_output", "env"];
const TIMEOUT_MS = 120_000;
const MAX_OUTPUT = 65_536;
/** Milliseconds and bytes cross the border as 32 bits. */
const LARGEST = 2 ** 31 - 1;

export interface ShellSettings {
  readonly sandbox: boolean;
  readonly timeout_ms: number;
  readonly max_output: number;
  readonly env: Environment;
}

/** By name: a value, or true for the value of this process. */
export type Environment = ReadonlyMap<string, string | true>;

/** @throws SessionError `INVALID_INPUT` */
export function accept_shell(options: ShellOptions | undefined, method: string): ShellSettings {
  const given = accept_optional(options, method, KEYS);
  const { sandbox = true } = given;
  if (typeof sandbox !== "boolean") throw invalid("`sandbox` has to be true or false.");
  return Object.freeze({
    sandbox,
    timeout_ms: bounded(given.timeout, "timeout", TIMEOUT_MS),
    max_output: bounded(given.max_output, "max_output", MAX_OUTPUT),
    env: accept_environment(given.env),
  });
}

function bounded(value: unknown, name: string, otherwise: number): number {
  const count = accept_count(value, name) ?? otherwise;
  if (count > LARGEST) throw invalid(`\`${name}\` has to be at most ${LARGEST}.`);
  return count;
}

/** What a command gets of the environment of this process without being told. */
const PASSED_ON = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ"];
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

function accept_environment(env: unknown): Environment {
  const list = new Map<string, string | true>(PASSED_ON.map((name) => [name, true]));
  list.set("TERM", "dumb");
  if (env === undefined) return list;
  if (typeof env !== "object" || env === null || Array.isArray(env)) {
    throw invalid("`env` has to be an object: { NAME: value }, with true for the value of this process.");
  }
  for (const [name, value] of Object.entries(env)) {
    if (!NAME.test(name))
      throw invalid(`\`env\` has ${JSON.stringify(name)}, which is no name of a variable.`);
    if (value !== true && (typeof value !== "string" || value.includes("\0"))) {
      throw invalid(`\`env.${name}\` has to be a string, or true for the value of this process.`);
    }
    list.set(name, value);
  }
  return list;
}

/** The environment of one command, and nothing else of this process's. */
export function environment_of(env: Environment, confined: boolean): [string, string][] {
  const variables = [...env].flatMap(([name, value]): [string, string][] => {
    const text = value === true ? process.env[name] : value;
    return text === undefined ? [] : [[name, text]];
  });
  return confined ? [...variables, ["TMPDIR", "/tmp"]] : variables;
}

/** For the description of a tool that runs commands. */
export function confinement_in_words({ sandbox }: ShellSettings): string {
  if (!sandbox) return "Nothing confines a command, so a person may be asked before each.";
  return (
    "Commands are confined: they read the system, write only in the workspace and in /tmp, and have no network. If " +
    "one needs more, run it with unrestricted: true and a reason; a person may then be asked."
  );
}

/**
 * The one place where users' values become JSON.
 *
 * | value | becomes |
 * | --- | --- |
 * | `undefined`, NaN, infinite numbers | null; an undefined member of an object is left out |
 * | a hole in an array | null |
 * | Date, URL and whatever else has `toJSON` | what `toJSON` returns; an invalid Date is null |
 * | Error, DOMException | `{ name, message }`, without stack; its `toJSON` is not asked |
 * | RegExp | its text, such as `"/a+/g"` |
 * | a boxed string, number or boolean | the primitive |
 * | an instance of a class | its own enumerable members, as JSON has it |
 * | BigInt, symbol, function | refused |
 * | Map, Set, Promise or any thenable, streams, async iterables | refused |
 * | Buffer, typed arrays, ArrayBuffer, Blob | refused: text or base64 is a decision only their owner can take |
 * | a built-in without members, such as Response or Headers | refused, as JSON would show `{}` |
 * | what contains itself, a getter or `toJSON` that throws | refused |
 * | nesting deeper than 128, more than 16 MiB of JSON | refused |
 *
 * Strings and keys come out well formed. A refusal names the path and the kind of the offender. Values are told
 * apart by their shape and tag, never by `instanceof`: they may come from another realm.
 */
import { message_of } from "./errors.js";
import { well_formed } from "./text.js";

export { cut, SurrogateJoiner, well_formed } from "./text.js";

export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** Deepest nesting of arrays and objects a value may have. */
export const MAX_DEPTH = 128;
/** Largest JSON text of a value, in bytes. */
export const MAX_BYTES = 16 * 1024 * 1024;

/** A value that JSON cannot hold. The message is a whole sentence and names the path. */
export class JsonError extends Error {
  readonly path: string;

  constructor(path: string, problem: string) {
    super(`${path} ${problem}`);
    this.path = path;
  }
}

Object.defineProperty(JsonError.prototype, "name", {
  value: "JsonError",
  configurable: true,
  writable: true,
});

export interface Normalised {
  /** Well-formed JSON text of `value`. */
  text: string;
  /** A detached copy that holds nothing but JSON. */
  value: JsonValue;
}

/**
 * Turns a value into JSON once, so that everyone afterwards sees the same.
 * @param root what the value is called in messages, such as `result`
 * @throws JsonError
 */
export function normalise(value: unknown, root = "value", limits: Limits = VALUE_LIMITS): Normalised {
  const copy = new Walk(root, limits).copy(value);
  const text = JSON.stringify(copy);
  if (Buffer.byteLength(text) > limits.bytes) throw new JsonError(root, TOO_LARGE);
  return { text, value: copy };
}

const TOO_LARGE = "is larger than 16 MiB as JSON";

/** UTF-8 takes at most so many bytes for one unit of a string. */
const BYTES_PER_UNIT = 3;

export interface Limits {
  depth: number;
  bytes: number;
}

const VALUE_LIMITS: Limits = { depth: MAX_DEPTH, bytes: MAX_BYTES };

/** For what carries a value some levels down: the value itself is judged where it is taken out. */
export const CARRIER_LIMITS: Limits = { depth: MAX_DEPTH + 8, bytes: 4 * MAX_BYTES };

class Walk {
  readonly #root: string;
  readonly #limits: Limits;
  readonly #path: (string | number)[] = [];
  readonly #ancestors = new Set<object>();
  #depth = 0;
  /** A lower bound of the text's length, so that a huge value is refused before it is copied. */
  #size = 0;

  constructor(root: string, limits: Limits) {
    this.#root = root;
    this.#limits = limits;
  }

  copy(value: unknown): JsonValue {
    return this.#value(value, true);
  }

  #value(value: unknown, ask_to_json: boolean): JsonValue {
    this.#grow(1);
    switch (typeof value) {
      case "string":
        this.#grow(value.length + 1);
        return this.#text(well_formed(value));
      case "boolean":
        return value;
      case "number":
        return Number.isFinite(value) ? value : null;
      case "undefined":
        return null;
      case "object":
        return value === null ? null : this.#object(value, ask_to_json);
      case "bigint":
        return this.#bigint(value, ask_to_json);
      case "symbol":
        return this.#refuse("is a symbol, which JSON cannot hold; use its description instead");
      default:
        return this.#refuse("is a function, which JSON cannot hold; use its result or leave it out");
    }
  }

  /** A text by itself keeps to what one value may have, whatever carries it. */
  #text(text: string): string {
    const is_near = text.length * BYTES_PER_UNIT > MAX_BYTES;
    return is_near && Buffer.byteLength(text) > MAX_BYTES ? this.#refuse(TOO_LARGE) : text;
  }

  #bigint(value: bigint, ask_to_json: boolean): JsonValue {
    // Some programs teach BigInt a toJSON; JSON.stringify heeds it.
    if (ask_to_json && typeof this.#read(value, "toJSON") === "function") return this.#to_json(value);
    return this.#refuse("is a BigInt; convert it to a string or a number");
  }

  #object(value: object, ask_to_json: boolean): JsonValue {
    if (this.#ancestors.has(value)) return this.#refuse("contains itself; use a value without cycles");
    this.#ancestors.add(value);
    const copy = this.#by_kind(value, ask_to_json);
    this.#ancestors.delete(value);
    return copy;
  }

  #by_kind(value: object, ask_to_json: boolean): JsonValue {
    const tag = this.#guard(() => Object.prototype.toString.call(value).slice(8, -1));
    if (this.#guard(() => Array.isArray(value))) return this.#array(value as unknown[]);
    if (tag === "Error" || tag === "DOMException") return this.#error(value);
    const known = REFUSED[tag];
    if (known !== undefined) return this.#refuse(known);
    if (this.#guard(() => ArrayBuffer.isView(value)))
      return this.#refuse(BYTES(this.#buffer_name(value, tag)));
    if (ask_to_json && typeof this.#read(value, "toJSON") === "function") return this.#to_json(value);
    this.#refuse_unfinished(value);
    if (tag === "RegExp") return well_formed(this.#guard(() => String(value)));
    if (tag === "String" || tag === "Number" || tag === "Boolean") {
      return this.#value(
        this.#guard(() => (value as { valueOf(): unknown }).valueOf()),
        false,
      );
    }
    return this.#members(value, tag);
  }

  #array(value: unknown[]): JsonValue {
    const length = this.#guard(() => value.length);
    this.#enter();
    const copy: JsonValue[] = [];
    for (let index = 0; index < length; index += 1) {
      this.#path.push(index);
      copy.push(this.#value(this.#read(value, index), true));
      this.#path.pop();
    }
    this.#depth -= 1;
    return copy;
  }

  #error(value: object): JsonValue {
    const field = (key: string): string => {
      const text = this.#read(value, key);
      return typeof text === "string" ? well_formed(text) : "";
    };
    const copy = { name: field("name") || "Error", message: field("message") };
    this.#grow(copy.name.length + copy.message.length);
    return copy;
  }

  #to_json(value: object | bigint): JsonValue {
    const key = String(this.#path.at(-1) ?? "");
    const replaced = this.#guard(
      () => (value as { toJSON(key: string): unknown }).toJSON(key),
      "has a toJSON that throws",
    );
    // JSON asks toJSON once: what it returns is taken as it is.
    if (replaced === value) return this.#members(value as object, "Object");
    return this.#value(replaced, false);
  }

  #members(value: object, tag: string): JsonValue {
    const keys = this.#guard(() => Object.keys(value));
    if (keys.length === 0 && tag !== "Object") {
      return this.#refuse(`is a ${tag}, which has nothing JSON can show; take out of it what is needed`);
    }
    this.#enter();
    const copy: JsonObject = {};
    for (const key of keys) {
      this.#path.push(key);
      const member = this.#read(value, key);
      if (member !== undefined) this.#set(copy, key, this.#value(member, true));
      this.#path.pop();
    }
    this.#depth -= 1;
    return copy;
  }

  #enter(): void {
    this.#grow(1);
    this.#depth += 1;
    const { depth } = this.#limits;
    if (this.#depth > depth) throw new JsonError(this.#root, `is nested deeper than ${depth} levels`);
  }

  #set(copy: JsonObject, key: string, member: JsonValue): void {
    const name = well_formed(key);
    this.#grow(name.length + 2);
    // Assigning to `__proto__` would set the prototype; as data it is a key like any other.
    if (name !== "__proto__") copy[name] = member;
    else
      Object.defineProperty(copy, name, {
        value: member,
        enumerable: true,
        configurable: true,
        writable: true,
      });
  }

  /** Refuses what has yet to produce its value, recognised by what it can do. */
  #refuse_unfinished(value: object): void {
    const can = (key: PropertyKey): boolean => typeof this.#read(value, key) === "function";
    if (can("then")) this.#refuse(REFUSED.Promise as string);
    if (can("pipe") && can("on")) this.#refuse(REFUSED.ReadableStream as string);
    if (can(Symbol.asyncIterator)) this.#refuse("is an async iterable; collect its items into an array");
  }

  #buffer_name(value: object, tag: string): string {
    const made_by = this.#read(value, "constructor");
    return typeof made_by === "function" && made_by.name === "Buffer" ? "Buffer" : tag;
  }

  #read(value: object | bigint, key: PropertyKey): unknown {
    return this.#guard(() => (value as { [key: PropertyKey]: unknown })[key]);
  }

  /** Runs users' code (getters, proxies), which may throw anything. */
  #guard<Result>(read: () => Result, problem = "cannot be read"): Result {
    try {
      return read();
    } catch (thrown) {
      return this.#refuse(`${problem}: ${message_of(thrown)}`);
    }
  }

  #grow(length: number): void {
    this.#size += length;
    if (this.#size > this.#limits.bytes) throw new JsonError(this.#root, TOO_LARGE);
  }

  #refuse(problem: string): never {
    throw new JsonError(this.#root + this.#path.map(path_segment).join(""), problem);
  }
}

const BYTES = (kind: string): string =>
  `is ${/^[AEIOU]/.test(kind) && !kind.startsWith("Ui") ? "an" : "a"} ${kind} of bytes; convert it to a string, such as base64, or to an array of numbers`;

/** By the tag of `Object.prototype.toString`. */
const REFUSED: { readonly [tag: string]: string | undefined } = Object.assign(Object.create(null), {
  Map: "is a Map; convert it to an object or an array",
  Set: "is a Set; convert it to an array",
  WeakMap: "is a WeakMap, whose contents cannot be listed",
  WeakSet: "is a WeakSet, whose contents cannot be listed",
  WeakRef: "is a WeakRef; use what it refers to",
  Promise: "is a Promise; await it first",
  BigInt: "is a BigInt; convert it to a string or a number",
  Symbol: "is a symbol, which JSON cannot hold; use its description instead",
  ReadableStream: "is a stream; read it to its end first",
  Generator: "is a generator; collect its items into an array",
  AsyncGenerator: "is an async generator; collect its items into an array",
  ArrayBuffer: BYTES("ArrayBuffer"),
  SharedArrayBuffer: BYTES("SharedArrayBuffer"),
  Blob: BYTES("Blob"),
  File: BYTES("File"),
});

/** How a place in a value is written in messages: `.name`, `["two words"]` or `[2]`. */
export function path_segment(key: string | number): string {
  if (typeof key === "number") return `[${key}]`;
  return /^[A-Za-z_$][\w$]*$/.test(key) ? `.${key}` : `[${JSON.stringify(well_formed(key))}]`;
}

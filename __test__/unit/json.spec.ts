import { Readable } from "node:stream";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { JsonError, normalise } from "../../lib/json.js";

const THEN = ["then"].join();

const refusal = (value: unknown): string => {
  try {
    normalise(value, "result");
  } catch (error) {
    expect(error).toBeInstanceOf(JsonError);
    return (error as Error).message;
  }
  throw new Error("the value was taken");
};

describe("what becomes JSON", () => {
  class Point {
    x = 1;
    y = 2;
    #hidden = 3;
    get sum(): number {
      return this.x + this.y + this.#hidden;
    }
  }

  it.each<[string, unknown, unknown]>([
    ["undefined", undefined, null],
    ["null", null, null],
    ["NaN", Number.NaN, null],
    ["Infinity", Number.POSITIVE_INFINITY, null],
    ["an integer", 17, 17],
    ["a large integer", 2 ** 53 + 1, 2 ** 53],
    ["text with NUL", "a\0b", "a\0b"],
    ["a Date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["an invalid Date", new Date(Number.NaN), null],
    ["a URL", new URL("https://example.org/a b"), "https://example.org/a%20b"],
    ["a RegExp", /a+/gi, "/a+/gi"],
    ["an Error", new TypeError("no"), { name: "TypeError", message: "no" }],
    [
      "an Error with a talkative toJSON",
      Object.assign(new Error("no"), { toJSON: () => ({ stack: "x" }) }),
      { name: "Error", message: "no" },
    ],
    ["an instance of a class", new Point(), { x: 1, y: 2 }],
    ["a boxed string", Object("text"), "text"],
    ["a sparse array", [1].concat(new Array(1), [3]), [1, null, 3]],
    ["undefined members and items", { a: undefined, b: [undefined] }, { b: [null] }],
    ["an object without prototype", Object.assign(Object.create(null), { a: 1 }), { a: 1 }],
    ["toJSON", { toJSON: () => ({ a: new Date(0) }) }, { a: "1970-01-01T00:00:00.000Z" }],
    ["a proxy", new Proxy({ a: 1 }, {}), { a: 1 }],
    ["symbol keys", { [Symbol("s")]: 1, a: 1 }, { a: 1 }],
    ["the same object twice", ((shared) => [shared, shared])({ a: 1 }), [{ a: 1 }, { a: 1 }]],
  ])("%s", (_name, value, expected) => {
    const { text, value: copy } = normalise(value);
    expect(copy).toEqual(expected);
    expect(JSON.parse(text)).toEqual(expected);
  });

  it("writes -0 as JSON does", () => {
    expect(normalise(-0).text).toBe("0");
  });

  it("keeps the order of keys", () => {
    expect(normalise({ z: 1, a: { y: 1, b: 2 } }).text).toBe('{"z":1,"a":{"y":1,"b":2}}');
  });

  it("keeps `__proto__` as data and sets no prototype", () => {
    const { text, value } = normalise(JSON.parse('{"__proto__":{"evil":true},"constructor":1}'));
    expect(text).toBe('{"__proto__":{"evil":true},"constructor":1}');
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect((value as { evil?: unknown }).evil).toBeUndefined();
  });

  it("makes strings and keys well formed and leaves whole pairs alone", () => {
    const { text } = normalise({ "\ud83ck": "a\ud83c", "\u{1f389}": "\u{1f389}" });
    expect(text).toBe('{"\ufffdk":"a\ufffd","\u{1f389}":"\u{1f389}"}');
  });

  it("hands out a detached copy", () => {
    const value = { list: [1] };
    const { value: copy } = normalise(value);
    value.list.push(2);
    expect(copy).toEqual({ list: [1] });
  });

  it("tells values of another realm apart by their shape", () => {
    const foreign = runInNewContext(
      "({ date: new Date(0), error: new TypeError('no'), list: [1], re: /x/ })",
    );
    expect(normalise(foreign).value).toEqual({
      date: "1970-01-01T00:00:00.000Z",
      error: { name: "TypeError", message: "no" },
      list: [1],
      re: "/x/",
    });
    expect(refusal(runInNewContext("({ m: new Map() })"))).toMatch(/^result\.m is a Map;/);
    expect(refusal(runInNewContext("new Uint8Array(2)"))).toMatch(/^result is a Uint8Array of bytes/);
  });
});

describe("what is refused, with the path and the kind", () => {
  it.each<[string, unknown, RegExp]>([
    ["a BigInt", { n: 10n }, /^result\.n is a BigInt; convert/],
    [
      "a Map deep inside",
      { items: [0, 1, { owner: new Map() }] },
      /^result\.items\[2\]\.owner is a Map; convert it to an object/,
    ],
    ["a Set", [new Set()], /^result\[0\] is a Set/],
    ["a function", { "two words": () => 1 }, /^result\["two words"\] is a function/],
    ["a symbol", Symbol("x"), /^result is a symbol/],
    ["a Promise", { p: Promise.resolve(1) }, /^result\.p is a Promise; await/],
    ["a thenable", Object.defineProperty({}, THEN, { value: () => 1 }), /^result is a Promise; await/],
    ["a web stream", new ReadableStream(), /^result is a stream/],
    ["a Node stream", Readable.from(["a"]), /^result is a stream/],
    ["a generator", (function* () {})(), /^result is a generator/],
    ["an async generator", (async function* () {})(), /^result is an async generator/],
    ["a Buffer", { b: Buffer.from("a") }, /^result\.b is a Buffer of bytes; convert it to a string/],
    ["a typed array", new Float64Array(1), /^result is a Float64Array/],
    ["an ArrayBuffer", new ArrayBuffer(1), /^result is an ArrayBuffer/],
    ["a Response", new Response("x"), /^result is a Response, which has nothing JSON can show/],
    [
      "a throwing getter",
      {
        get a() {
          throw new Error("boom");
        },
      },
      /^result\.a cannot be read: boom/,
    ],
    [
      "a throwing toJSON",
      {
        a: {
          toJSON() {
            throw "no";
          },
        },
      },
      /^result\.a has a toJSON that throws: no/,
    ],
    [
      "a hostile proxy",
      new Proxy(
        {},
        {
          ownKeys() {
            throw null;
          },
        },
      ),
      /^result cannot be read: null was thrown/,
    ],
  ])("%s", (_name, value, expected) => {
    expect(refusal(value)).toMatch(expected);
  });

  it("a circle", () => {
    const circle: { self?: unknown } = {};
    circle.self = [circle];
    expect(refusal(circle)).toMatch(/^result\.self\[0\] contains itself/);
  });

  it("a revoked proxy", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(refusal(proxy)).toMatch(/^result cannot be read/);
  });

  const nested = (levels: number): unknown => {
    let value: unknown = 1;
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };

  it("nesting deeper than 128, and nothing less deep", () => {
    expect(normalise(nested(128)).text).toHaveLength(257);
    expect(refusal(nested(129))).toBe("result is nested deeper than 128 levels");
    expect(refusal(nested(100_000))).toBe("result is nested deeper than 128 levels");
  });

  it("more than 16 MiB of JSON, and nothing smaller", () => {
    const most = "x".repeat(16 * 1024 * 1024 - 2);
    expect(normalise(most).text).toHaveLength(16 * 1024 * 1024);
    expect(refusal(`${most}x`)).toBe("result is larger than 16 MiB as JSON");
    expect(refusal("\u00e9".repeat(9 * 1024 * 1024))).toMatch(/larger than 16 MiB/);
  });

  it("a small value that would unfold into a huge one", () => {
    let value: unknown = "x".repeat(1_000);
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(refusal(value)).toMatch(/larger than 16 MiB/);
  });
});

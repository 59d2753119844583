/** Patterns of JSON Schema, which are ECMAScript's, in words that the native engine reads in the same way. */

/** What the native engine refuses, or reads differently once a pattern looks around or refers back. */
const HARD = /\(\?[=!<]|\\[0-9kbBcuv]|\[\^?\]/;

const SYNTAX = /[\^$\\.*+?()[\]{}|/]/;
const WORD = "0-9A-Za-z_";
const SPACE = "\t-\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff";
const LINE_ENDS = "\n\r\u2028\u2029";
/** Matches no character; the native engine repeats no group without an atom. */
const EMPTY = "(?:a{0})";
/** Matches nothing. */
const NOTHING = "(?!)";

const CLASSES: { readonly [letter: string]: string | undefined } = Object.assign(Object.create(null), {
  d: "[0-9]",
  D: "[^0-9]",
  w: `[${WORD}]`,
  W: `[^${WORD}]`,
  s: `[${SPACE}]`,
  S: `[^${SPACE}]`,
  b: `(?:(?<=[${WORD}])(?![${WORD}])|(?<![${WORD}])(?=[${WORD}]))`,
  B: `(?:(?<=[${WORD}])(?=[${WORD}])|(?<![${WORD}])(?![${WORD}]))`,
});

const CONTROLS: { readonly [letter: string]: string | undefined } = Object.assign(Object.create(null), {
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  f: "\f",
  0: "\0",
});

/**
 * The pattern for the native engine; the pattern itself where that reads it as it is, or cannot read it at all.
 * @throws SyntaxError for what is no regular expression in ECMAScript
 */
export function native_pattern(pattern: string): string {
  const mode = mode_of(pattern);
  if (mode === "v" || (mode === "u" && !HARD.test(pattern))) return pattern;
  return new Translation(pattern).run() ?? pattern;
}

/** JSON Schema asks for Unicode mode; patterns that only other modes take are common all the same. */
function mode_of(pattern: string): "u" | "v" | "" {
  for (const mode of ["u", "v"] as const) {
    try {
      new RegExp(pattern, mode);
      return mode;
    } catch {}
  }
  new RegExp(pattern);
  return "";
}

/** Reads a pattern that is known to be valid. Characters are code points, as in Unicode mode. */
class Translation {
  readonly #source: string;
  readonly #names: readonly (string | undefined)[];
  #at = 0;
  /** Groups opened so far. */
  #opened = 0;
  readonly #open: number[] = [];
  readonly #closed = new Set<number>();

  constructor(source: string) {
    this.#source = source;
    this.#names = group_names(source);
  }

  /** Nothing where a construct has no counterpart. */
  run(): string | undefined {
    let text = "";
    while (this.#at < this.#source.length) {
      const part = this.#part();
      if (part === undefined) return undefined;
      text += part;
    }
    return text;
  }

  #part(): string | undefined {
    const quantifier = this.#take(/\{\d+(?:,\d*)?\}/y);
    if (quantifier) return quantifier[0];
    const character = this.#character();
    switch (character) {
      case ".":
        return `[^${LINE_ENDS}]`;
      case "[":
        return this.#class();
      case "\\":
        return this.#escape();
      case "(":
        return this.#group();
      case ")":
        return this.#end_group();
      case "{":
      case "}":
      case "]":
        return `\\${character}`;
      default:
        return /[\^$*+?|]/.test(character) ? character : literal(character);
    }
  }

  #group(): string {
    const special = this.#take(/\?(?:[:=!]|<[=!])/y);
    if (special) {
      this.#open.push(0);
      return `(${special[0]}`;
    }
    this.#take(/\?<[^>]*>/y);
    this.#opened += 1;
    this.#open.push(this.#opened);
    return "(";
  }

  #end_group(): string {
    this.#closed.add(this.#open.pop() ?? 0);
    return ")";
  }

  #escape(): string | undefined {
    const named = this.#take(/k<([^>]*)>/y);
    if (named) return this.#reference(this.#names.indexOf(named[1]));
    const number = this.#take(/[1-9]\d*/y);
    if (number) return this.#reference(Number(number[0]));
    const property = this.#take(/[pP]\{[^}]*\}/y);
    if (property) return `\\${property[0]}`;
    const known = CLASSES[this.#source[this.#at] ?? ""];
    if (known === undefined) return optional(this.#escaped_character(), literal, NOTHING);
    this.#at += 1;
    return known;
  }

  /** A group that has not ended when it is referred to is empty. */
  #reference(group: number): string | undefined {
    if (group < 1 || group >= this.#names.length) return undefined;
    return this.#closed.has(group) ? `(?:\\${group})` : EMPTY;
  }

  /** Half a surrogate pair is null: well-formed text never has one. */
  #escaped_character(): string | null {
    const pair = this.#take(/u([dD][89abAB]\p{AHex}{2})\\u([dD][c-fC-F]\p{AHex}{2})/uy);
    if (pair) return String.fromCharCode(hex(pair[1]), hex(pair[2]));
    const code = this.#take(/u\{(\p{AHex}+)\}|u(\p{AHex}{4})|x(\p{AHex}{2})/uy);
    if (code) {
      const point = hex(code[1] ?? code[2] ?? code[3]);
      return point >= 0xd800 && point <= 0xdfff ? null : String.fromCodePoint(point);
    }
    const control = this.#take(/c([A-Za-z])/y);
    if (control) return String.fromCharCode((control[1] ?? "").charCodeAt(0) % 32);
    const character = this.#character();
    return CONTROLS[character] ?? character;
  }

  #class(): string | undefined {
    const negated = this.#take(/\^/y) !== null;
    if (this.#take(/\]/y)) return negated ? "[\\s\\S]" : NOTHING;
    let items = "";
    while (!this.#take(/\]/y)) {
      const from = this.#class_item();
      if (!from.single || !this.#take(/-(?!\])/y)) {
        items += from.text;
        continue;
      }
      const to = this.#class_item();
      items += to.single ? `${from.text}-${to.text}` : `${from.text}\\-${to.text}`;
    }
    if (items === "") return negated ? "[\\s\\S]" : NOTHING;
    return `[${negated ? "^" : ""}${items}]`;
  }

  #class_item(): { text: string; single: boolean } {
    const character = this.#character();
    if (character !== "\\") return { text: member(character), single: true };
    const property = this.#take(/[pP]\{[^}]*\}/y);
    if (property) return { text: `\\${property[0]}`, single: false };
    const letter = this.#take(/[dDwWsS]/y);
    // A class within a class is a union for the native engine, but no ECMAScript: these are written out.
    if (letter) return { text: WITHIN[letter[0]] ?? "", single: false };
    if (this.#take(/b/y)) return { text: "\b", single: true };
    const escaped = this.#escaped_character();
    return { text: optional(escaped, member, ""), single: escaped !== null };
  }

  /** The next code point. */
  #character(): string {
    const character = String.fromCodePoint(this.#source.codePointAt(this.#at) ?? 0);
    this.#at += character.length;
    return character;
  }

  /** Takes what a sticky expression matches here. */
  #take(expression: RegExp): RegExpExecArray | null {
    expression.lastIndex = this.#at;
    const match = expression.exec(this.#source);
    if (match) this.#at += match[0].length;
    return match;
  }
}

/** Everything but the characters of these classes, as ranges. */
const WITHIN: { readonly [letter: string]: string | undefined } = {
  d: "0-9",
  D: "\0-\\/:-\u{10ffff}",
  w: WORD,
  W: "\0-\\/:-@\\[-\\^`\\{-\u{10ffff}",
  s: SPACE,
  S: "\0-\b\u000e-\u001f!-\u009f\u00a1-\u167f\u1681-\u1fff\u200b-\u2027\u202a-\u202e\u2030-\u205e\u2060-\u2fff\u3001-\ufefe\uff00-\u{10ffff}",
};

/** The names of the groups by number; unnamed ones have none, and 0 is the whole match. */
function group_names(source: string): (string | undefined)[] {
  const names: (string | undefined)[] = [undefined];
  const tokens = /\\.|\[(?:\\.|[^\]\\])*\]|\((?!\?)|\(\?<(?![=!])([^>]*)>/gsu;
  for (const [text, name] of source.matchAll(tokens)) if (text.startsWith("(")) names.push(name);
  return names;
}

function literal(character: string): string {
  return SYNTAX.test(character) ? `\\${character}` : character;
}

/** Of a class, in which a hyphen has a meaning, and doubled marks have one for the native engine. */
function member(character: string): string {
  return character === "-" ? "\\-" : literal(character);
}

function optional(character: string | null, write: (character: string) => string, otherwise: string): string {
  return character === null ? otherwise : write(character);
}

function hex(digits: string | undefined): number {
  return Number.parseInt(digits ?? "", 16);
}

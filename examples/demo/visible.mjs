// Text that somebody else wrote, made safe to show: nothing in it can move the cursor, hide or turn round.

/** Controls, formats (also those that turn the writing direction), unassigned code points, and odd spaces. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}\p{Cn}\p{Cs}\u115F\u1160\u3164\uFFA0\u2800]|(?! )\p{Zs}/gu;

/** The text with each hidden character written out, such as \u202e. Line ends stay where they are allowed. */
export function visible(text, { lines = false } = {}) {
  return text.replace(HIDDEN, (character) => (lines && character === "\n" ? "\n" : escaped(character)));
}

/** The exact JSON, as it would be typed: what is hidden stands there as an escape of JSON's own. */
export function visible_json(value) {
  return visible(JSON.stringify(value, null, 2), { lines: true });
}

function escaped(character) {
  let out = "";
  for (let index = 0; index < character.length; index += 1) {
    out += `\\u${character.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }
  return out;
}

/** Cuts a line into pieces that fit, so that the terminal never breaks one by itself. Joined, they are the line. */
export function wrapped(line, width, { at_spaces = false } = {}) {
  const characters = Array.from(line);
  const pieces = [];
  do {
    const space = at_spaces && characters.length > width ? characters.lastIndexOf(" ", width - 1) : -1;
    pieces.push(characters.splice(0, space > 0 ? space + 1 : width).join(""));
  } while (characters.length > 0);
  return pieces;
}

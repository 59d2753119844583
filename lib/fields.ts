/** The members of a value nothing is known about. */
export type Fields = { readonly [key: PropertyKey]: unknown };

/** The members of an object or a function (arktype's schemas are functions); nothing for anything else. */
export function fields_of(value: unknown): Fields {
  return (typeof value === "object" && value !== null) || typeof value === "function"
    ? (value as Fields)
    : {};
}

/** A schema whose parsing differs from what it is given, and counts. */
import { z } from "zod";

export interface CountingSchema {
  input_schema: z.ZodType;
  /** How often an input was parsed. */
  transforms(): number;
}

/** Takes `{ n: "3", d: "2020-01-01", tags: "a,b" }`, and gives a number, a unit, a Date and an array. */
export function counting_schema(): CountingSchema {
  let count = 0;
  const input_schema = z.object({
    n: z.string().transform((text) => {
      count += 1;
      return Number(text);
    }),
    unit: z.string().default("C"),
    d: z.coerce.date(),
    tags: z.string().transform((text) => text.split(",")),
  });
  return { input_schema, transforms: () => count };
}

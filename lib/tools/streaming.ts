/** Tools that yield preliminary results before the last one. */
import { fields_of } from "../fields.js";

/** Takes each preliminary result as it is yielded. */
export type Preliminary = (result: unknown) => void;

interface Streaming {
  /** What a generator returns at its end counts, where it returns something; else the last yielded. */
  returns: boolean;
  signal: AbortSignal | undefined;
  preliminary: Preliminary | undefined;
}

/** Runs a generator to its end and gives its result. Once the call is aborted, it is closed where it next yields. */
export async function run_through(results: AsyncIterable<unknown>, streaming: Streaming): Promise<unknown> {
  const { returns, signal, preliminary } = streaming;
  const iterator = results[Symbol.asyncIterator]();
  let last: unknown;
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) return returns && value !== undefined ? value : last;
    last = value;
    if (signal?.aborted) {
      await iterator.return?.();
      return last;
    }
    try {
      preliminary?.(value);
    } catch (refusal) {
      await iterator.return?.();
      throw refusal;
    }
  }
}

export function is_async_iterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof fields_of(value)[Symbol.asyncIterator] === "function";
}

/** What an `async *execute()` gives. Streams and other iterables are not, but a result that JSON cannot hold. */
export function is_generator(value: unknown): value is AsyncIterable<unknown> {
  return is_async_iterable(value) && typeof fields_of(value).next === "function";
}

/** What is measured. Each section runs in a process of its own and gives plain numbers. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { memory, sqlite } from "@downcity/agent";
import { commit_kinds } from "./commit_kinds.mjs";
import { quantile } from "./quantile.mjs";
import { new_agent, new_streaming_agent, on_pending, pause, run_turn } from "./unit_of_work.mjs";

const now = () => performance.now();

export async function with_storage(kind, work) {
  if (kind === "memory") return work(memory());
  const folder = mkdtempSync(join(tmpdir(), "agent-bench-"));
  try {
    const path = join(folder, "sessions.db");
    return await work(sqlite(path), path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function warm_up(agent) {
  const until = now() + 1500;
  for (let count = 0; count < 500 && now() < until; count += 1) {
    const session = await agent.sessions.create();
    await run_turn(session);
    await session.close();
  }
}

async function fresh_sessions(storage) {
  const agent = new_agent(storage);
  await warm_up(agent);
  const waits = [];
  const started = now();
  const count = 1000;
  for (let done = 0; done < count; done += 1) {
    const session = await agent.sessions.create();
    waits.push(await run_turn(session));
    await session.close();
  }
  const elapsed = now() - started;
  return {
    turns_per_second: (count / elapsed) * 1000,
    respond_to_tool_ms_p50: quantile(waits, 0.5),
    respond_to_tool_ms_p99: quantile(waits, 0.99),
  };
}

async function sixty_four_sessions(storage) {
  const agent = new_agent(storage);
  await warm_up(agent);
  const sessions = await Promise.all(Array.from({ length: 64 }, () => agent.sessions.create()));
  const waits = [];
  const started = now();
  await Promise.all(
    sessions.map(async (session) => {
      const pending = on_pending(session);
      for (let turn = 0; turn < 20; turn += 1) waits.push(await run_turn(session, pending));
    }),
  );
  const elapsed = now() - started;
  return {
    turns_per_second: ((64 * 20) / elapsed) * 1000,
    respond_to_tool_ms_p50: quantile(waits, 0.5),
    respond_to_tool_ms_p99: quantile(waits, 0.99),
  };
}

async function streamed_deltas(storage) {
  const figures = {};
  for (const count of [20_000, 40_000]) {
    const agent = new_streaming_agent(storage, count);
    const times = [];
    for (let round = 0; round < 5; round += 1) {
      const session = await agent.sessions.create();
      let characters = 0;
      session.subscribe((mutation) => {
        if (mutation.variant === "delta") characters += mutation.delta.length;
      });
      const started = now();
      const turn = await session.prompt({ query: "go" });
      await turn.finished;
      if (round > 0) times.push(now() - started);
      if (characters !== count * 4) throw new Error(`${characters} characters arrived of ${count * 4}.`);
      await session.close();
    }
    figures[`ms_${count}`] = quantile(times, 0.5);
    figures[`us_per_delta_${count}`] = (quantile(times, 0.5) / count) * 1000;
  }
  return figures;
}

async function long_history(storage) {
  const agent = new_agent(storage);
  await warm_up(agent);
  const session = await agent.sessions.create();
  const pending = on_pending(session);
  const times = [];
  for (let turn = 0; turn < 1007; turn += 1) {
    const started = now();
    await run_turn(session, pending);
    times.push(now() - started);
  }
  return {
    ms_of_the_first_turns: quantile(times.slice(0, 7), 0.5),
    ms_after_1000_turns: quantile(times.slice(1000), 0.5),
  };
}

async function pending_sessions(storage) {
  const agent = new_agent(storage);
  await warm_up(agent);
  const resident = async () => {
    for (let round = 0; round < 6; round += 1) {
      globalThis.gc?.();
      await new Promise((resolve) => setTimeout(resolve, 60));
    }
    return process.memoryUsage().rss;
  };
  const before = await resident();
  const kept = [];
  for (let made = 0; made < 10_000; made += 100) {
    const batch = Array.from({ length: 100 }, async () => {
      const session = await agent.sessions.create();
      return { session, ...(await pause(session)) };
    });
    kept.push(...(await Promise.all(batch)));
  }
  const after = await resident();
  const figures = { kb_per_pending: (after - before) / kept.length / 1024 };
  agent.unref();
  return figures;
}

/** A page of an Agent's inbox, with few and with many Sessions that wait; most of them are not open. */
async function inbox_page(storage) {
  const agent = new_agent(storage);
  const figures = {};
  let made = 0;
  for (const count of [100, 10_000]) {
    for (; made < count; made += 100)
      await Promise.all(Array.from({ length: 100 }, () => left_pending(agent)));
    const first = [];
    const middle = [];
    // A cursor that counts what lies before it would show here.
    const half_way = await cursor_behind(agent, count / 2);
    for (let round = 0; round < 200; round += 1) {
      first.push(await time_of(() => agent.interactions({ limit: 50 })));
      middle.push(await time_of(() => agent.interactions({ limit: 50, after: half_way })));
    }
    figures[`first_page_ms_${count}`] = quantile(first, 0.5);
    figures[`middle_page_ms_${count}`] = quantile(middle, 0.5);
  }
  return figures;
}

async function left_pending(agent) {
  const session = await agent.sessions.create();
  await pause(session);
  await session.detach();
}

async function cursor_behind(agent, count) {
  let after;
  for (let read = 0; read < count; ) {
    const page = await agent.interactions({ limit: Math.min(1000, count - read), after });
    read += page.items.length;
    after = page.next;
  }
  return after;
}

async function time_of(work) {
  const started = now();
  await work();
  return now() - started;
}

export const sections = {
  fresh_sessions,
  sixty_four_sessions,
  streamed_deltas,
  long_history,
  pending_sessions,
  inbox_page,
  commit_kinds,
};

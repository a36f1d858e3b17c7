import type { HonestRequest, Turn } from '../actor.ts';
import { ask, type Asked } from '../client.ts';
import { type ExpectedResponse, judge } from '../judge.ts';

const behind = ['store', 'worker'] as const;

async function command(
  turn: Turn,
  path: string,
  { init = {}, wanted }: { init?: Asked; wanted: ExpectedResponse | (() => ExpectedResponse) },
): Promise<boolean> {
  const got = await ask(turn.stage.sites.port, path, init);
  const expected = typeof wanted === 'function' ? wanted() : wanted;
  return judge(turn, `${init.method ?? 'GET'} ${path}`, { got, wanted: { ...expected, behind } });
}

/** A store that was disturbed before the response came has lost its contents. */
const held =
  (turn: Turn, sinceMs: number, body: RegExp): (() => ExpectedResponse) =>
  () =>
    turn.stage.disturbances.excuse(['store'], sinceMs) ? { status: 200 } : { status: 200, body };

export const storeRequests: readonly HonestRequest[] = [
  async function setsAndGets(turn) {
    const [key, value] = [turn.random.word(12), turn.random.word(turn.random.pick([1, 12, 4000]))];
    const sinceMs = performance.now();
    const init = { method: 'POST', body: value };
    if (!(await command(turn, `/kv/set?k=${key}`, { init, wanted: { status: 200 } }))) return;
    await command(turn, `/kv/get?k=${key}`, { wanted: held(turn, sinceMs, new RegExp(`"${value}"`)) });
    await command(turn, `/kv/del?k=${key}`, { init: { method: 'DELETE' }, wanted: { status: 200 } });
  },
  async function counts(turn) {
    const key = turn.random.word(12);
    const sinceMs = performance.now();
    for (const number of [1, 2, 3]) {
      const init = { method: 'POST' };
      const wanted = number === 1 ? { status: 200 } : held(turn, sinceMs, new RegExp(`:\\s*${number}\\b`));
      if (!(await command(turn, `/kv/incr?k=${key}`, { init, wanted }))) return;
    }
    await command(turn, `/kv/expire?k=${key}`, {
      init: { method: 'POST', body: '5' },
      wanted: { status: 200 },
    });
  },
  async function hasFields(turn) {
    const [key, value] = [turn.random.word(12), turn.random.word(8)];
    const sinceMs = performance.now();
    const init = { method: 'POST', body: value };
    if (!(await command(turn, `/kv/hset?k=${key}&field=f`, { init, wanted: { status: 200 } }))) return;
    await command(turn, `/kv/hget?k=${key}&field=f`, {
      wanted: held(turn, sinceMs, new RegExp(`"${value}"`)),
    });
    await command(turn, `/kv/get?k=${key}`, { wanted: { status: 500, body: /kv_error/ } });
    await command(turn, `/kv/del?k=${key}`, { init: { method: 'POST' }, wanted: { status: 200 } });
  },
  async function isMissing(turn) {
    await command(turn, `/kv/get?k=${turn.random.word(12)}`, {
      wanted: { status: 200, body: '{"value":null}' },
    });
  },
];

import type { Actor } from '../actor.ts';
import { ask } from '../client.ts';
import { judge } from '../judge.ts';
import { mutate } from '../mutate.ts';
import type { Random } from '../random.ts';

interface Kind {
  readonly type: string;
  /** Valid bodies. */
  readonly seeds: readonly string[];
}

const KINDS: readonly Kind[] = [
  {
    type: 'application/x-www-form-urlencoded',
    seeds: [
      'name=a&price=1.5',
      'name=%C3%BC+b&tags=%7B%22a%22%3A1%7D',
      `name=${'%41'.repeat(3000)}`,
      'name=',
    ],
  },
  {
    type: 'text/csv',
    seeds: [
      'name,price\na,1\nb,2\n',
      'name,tags\r\n"a ""b""","{""x"":1}"\r\n',
      `name\n${'a\n'.repeat(2000)}`,
      '"name"\n"a\nb"',
    ],
  },
  {
    type: 'application/json',
    seeds: [
      '{"name":"a","price":1}',
      '[{"name":"a"},{"name":"b","tags":{"x":[1,2,{"y":null}]}}]',
      `[${Array.from({ length: 500 }, (_, i) => `{"name":"n${i}","price":${i}}`).join(',')}]`,
      `{"name":"a","tags":${'['.repeat(500)}${']'.repeat(500)}}`,
      '{"name":"\\u00e4\\ud83d\\ude00","price":1e3}',
    ],
  },
];

const PATHS = [
  'items',
  'items?columns=name,price',
  'items?select=id&on_conflict=id',
  'rpc/fail',
  'rpc/nap',
  'mine',
];
const PREFERENCES = [
  'return=minimal',
  'return=representation',
  'resolution=merge-duplicates',
  'missing=default',
  'tx=rollback',
];

/** The responses that a body may get: it was accepted, or the client is told what is wrong with it. */
const TAKEN_OR_REFUSED = [200, 201, 204, 400, 401, 403, 404, 405, 406, 409, 413, 415, 416, 418, 422];

/** A body of one kind, or bytes repeated to about the sizes at which buffers end. */
function bodyOf({ seeds }: Kind, random: Random): Buffer {
  if (random.chance(0.15)) {
    const byte = random.chance(0.5)
      ? random.below(256)
      : random.pick(['%', '"', '[', '{', '&', '=', ',', '\n', '\\']).charCodeAt(0);
    const length = random.pick([65_535, 65_536, 65_537, 65_538, 131_073, 200_000]);
    return Buffer.concat([
      Buffer.from(random.pick(['', 'a=', '{"name":"', 'name\n', '["'])),
      Buffer.alloc(length, byte),
    ]);
  }
  return random.chance(0.1) ? Buffer.from(random.pick(seeds)) : mutate(random.pick(seeds), random, 6);
}

/** Forms, CSV and JSON that are nearly valid, for tables and functions. */
export const bodies: Actor = {
  name: 'bodies',
  lanes: 2,
  async act(turn) {
    const { random, stage } = turn;
    const kind = random.pick(KINDS);
    const body = bodyOf(kind, random);
    const method = random.chance(0.85) ? 'POST' : random.pick(['PATCH', 'PUT']);
    const filter = method === 'POST' ? '' : 'items?id=eq.999999999';
    const path = `/api/${filter || random.pick(PATHS)}`;
    const type = random.chance(0.05)
      ? random.pick(['', 'text/plain', 'application/json; charset=x', '*/*'])
      : kind.type;
    const headers = { 'content-type': type, prefer: random.pick(PREFERENCES) };
    const got = await ask(stage.sites.port, path, { method, headers, body });
    if (got.failure === 'ECONNRESET' || got.failure === 'EPIPE') return turn.count('cut');
    const wanted = { status: TAKEN_OR_REFUSED, behind: ['database', 'worker'] as const };
    judge(turn, `${method} of ${kind.type}`, { got, wanted });
  },
};

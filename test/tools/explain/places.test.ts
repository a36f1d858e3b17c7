import { dirname } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AccountRound } from '../../../src/tools/explain/index.ts';
import { load } from '../../../src/pipeline.ts';
import { startGateway } from '../../harness/gateway.ts';
import { perTier } from '../../harness/tier.ts';
import { accountOf } from './explained.ts';

/*
 * Random trees of locations: each location stands on a line of its own and responds with its number, so that a running
 * gateway shows which location a request reached.
 */
const SEGMENTS = ['a', 'b', 'ab', 'a.php', 'img', 'i'] as const;
const PATTERNS = ['a', '^/a', 'b$', '\\.php$', '^/[ab]+/i', 'img', '^/(a|b)/', 'i/?$'] as const;
const SEED = 20;
const SERVERS = perTier({ short: 4, long: 8 });

interface Tree {
  readonly kind: 'prefix' | 'stop' | 'exact' | 'regex' | 'caseless';
  readonly segment: string;
  readonly pattern: string;
  readonly slash: boolean;
  readonly inner: readonly Tree[];
}

const trees = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    kind: fc.constantFrom<Tree['kind']>('prefix', 'prefix', 'stop', 'exact', 'regex', 'caseless'),
    segment: fc.constantFrom(...SEGMENTS),
    pattern: fc.constantFrom(...PATTERNS),
    slash: fc.boolean(),
    inner: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constant([]),
      fc.array(tie('tree'), { maxLength: 4 }),
    ),
  }),
}));

const servers = fc.sample(fc.array(trees.tree, { minLength: 2, maxLength: 7 }), {
  seed: SEED,
  numRuns: SERVERS,
});
const paths = fc.sample(
  fc
    .array(fc.constantFrom(...SEGMENTS, 'A', 'bi', ''), { minLength: 1, maxLength: 4 })
    .map((segments) => `/${segments.join('/')}`.replace(/\/{2,}/g, '/')),
  { seed: SEED, numRuns: 30 },
);

/** The lines of locations inside `around`, without those that nginx would refuse. */
function linesOf(locations: readonly Tree[], around: string, isRegex = false): readonly string[] {
  const taken = new Set<string>();
  return locations.flatMap(({ kind, segment, pattern, slash, inner }) => {
    const path = `${around}${around.endsWith('/') ? '' : '/'}${segment}${slash ? '/' : ''}`;
    const isPattern = kind === 'regex' || kind === 'caseless';
    const key = isPattern ? `${kind} ${pattern}` : `${kind === 'exact' ? '=' : ''} ${path}`;
    if (taken.has(key) || (isRegex && !isPattern)) return [];
    taken.add(key);
    const mark = { prefix: '', stop: '^~ ', exact: '= ', regex: '~ ', caseless: '~* ' }[kind];
    const nested = kind === 'exact' ? [] : linesOf(inner, isPattern ? around : path, isPattern);
    return [`location ${mark}${isPattern ? `"${pattern}"` : path} { return 200 LINE;`, ...nested, '}'];
  });
}

const http = servers
  .flatMap((locations, index) => [
    `server { server_name s${index}; return_nothing;`,
    ...linesOf(locations, ''),
    '}',
  ])
  .filter((line) => line !== '')
  .map((line) => line.replace(' return_nothing;', ''))
  .join('\n');

/** Every location names the line of the file on which it stands. */
function numbered(text: string, before: number): string {
  return text
    .split('\n')
    .map((line, index) => line.replace('LINE', String(index + before)))
    .join('\n');
}

/** The line on which `http` begins in the file that the harness writes. */
const FIRST_LINE = 5;

function chosenIn({ steps }: AccountRound): readonly string[] {
  return steps.flatMap((step) =>
    step.kind === 'location' && step.search
      ? step.search.candidates.filter(({ chosen }) => chosen).map(({ place }) => place)
      : [],
  );
}

test('explain names the location that the gateway chooses, for any tree', async (t) => {
  const gateway = await startGateway(t, numbered(http, FIRST_LINE));
  const loaded = load({ confFile: gateway.conf, name: 'gw.conf', prefix: dirname(gateway.conf) });
  const explained = { dir: gateway.dir, loaded };
  const differing: string[] = [];
  for (const [index] of servers.entries()) {
    for (const path of paths) {
      const host = `s${index}`;
      const { status, body } = await gateway.fetch(path, { headers: { host } });
      const account = await accountOf(explained, { url: `${gateway.url}${path}`, headers: [['Host', host]] });
      const line = status === 200 ? body : undefined;
      const place = status === 200 ? `gw.conf:${line}` : account.location?.place;
      const chosen = account.rounds.flatMap(chosenIn);
      const same =
        account.answer.status === status &&
        account.location?.place === place &&
        (status === 200 ? chosen.length === 1 && chosen[0] === place : chosen.length === 0);
      if (!same)
        differing.push(
          `${host} ${path}: ${status} ${line}, explained: ${account.answer.status} ${account.location?.place} ${chosen.join()}`,
        );
    }
  }
  expect(differing).toEqual([]);
});

import { expect, test } from 'vitest';
import { load } from '../../src/pipeline.ts';
import type { LocationPlan } from '../../src/plan/index.ts';

function locationOf(text: string): LocationPlan {
  const { plan, report } = load({ confFile: '/gw.conf', name: 'gw.conf', prefix: '/', text });
  expect(report.faults).toEqual([]);
  let location = plan?.servers[0]?.root as LocationPlan;
  while (location.locations[0]) location = location.locations[0];
  return location;
}

const scalars = [
  { it: 'has its default when no level sets it', levels: ['', '', ''], bytes: 1_048_576 },
  { it: 'is inherited from http', levels: ['8k', '', ''], bytes: 8192 },
  { it: 'is replaced by the server', levels: ['8k', '4k', ''], bytes: 4096 },
  { it: 'is replaced by the location', levels: ['8k', '4k', '0'], bytes: 0 },
] as const;

for (const { it, levels, bytes } of scalars) {
  test(`a single value ${it}`, () => {
    const [http, server, location] = levels.map((size) =>
      size === '' ? '' : `client_max_body_size ${size};`,
    );
    const conf = `http { ${http} server { ${server} location / { ${location} location /a { } } } }`;
    expect(locationOf(conf).core.maxBodyBytes).toBe(bytes);
  });
}

test('a list that a level sets replaces the inherited one whole', () => {
  const { core } = locationOf(
    'http { error_page 404 /a; error_page 500 /b; server { error_page 403 /c; location / { } } }',
  );
  expect(core.errorPages?.map(({ codes }) => codes)).toEqual([[403]]);
});

test('several types blocks of one level add up, and a level of its own replaces them', () => {
  const both = 'types { text/a a; text/x x; } types { text/b b x; }';
  expect(locationOf(`http { ${both} server { location / { } } }`).core.types).toEqual({
    a: 'text/a',
    b: 'text/b',
    x: 'text/b',
  });
  expect(locationOf(`http { ${both} server { location / { types { text/c c; } } } }`).core.types).toEqual({
    c: 'text/c',
  });
});

test('directives that act are not inherited: return and set apply only to their own level', () => {
  const { modules } = locationOf('http { server { set $a b; location / { return 200; location /a { } } } }');
  expect(modules['rewrite']).toBeUndefined();
});

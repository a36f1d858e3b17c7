import { expect, test } from 'vitest';
import { loadConf, testLoadFaults } from '../../harness/load-faults.ts';

testLoadFaults(import.meta.url);

const accepted = [
  {
    it: 'the smallest configuration',
    conf: 'worker_events_api; worker_events_zone z; worker_events_channel c;',
  },
  {
    it: 'a zone that is exactly as large as its ring',
    conf: 'worker_events_api; worker_events_zone z 11456; worker_events_channel c; worker_events_ring_size 16;',
  },
  {
    it: 'the largest ring',
    conf: 'worker_events_api; worker_events_zone z; worker_events_channel c; worker_events_ring_size 381300;',
  },
  {
    it: 'a channel of 64 bytes',
    conf: `worker_events_api; worker_events_zone z; worker_events_channel ${'é'.repeat(32)};`,
  },
  { it: 'directives that nothing uses', conf: 'worker_events_zone z; return 204;' },
];
for (const { it, conf } of accepted) {
  test(`${it} loads`, () => {
    expect(loadConf(`events {} http { server { location / { ${conf} } } }`).report.faults).toEqual([]);
  });
}

test('locations that name one zone share one declaration', () => {
  const location = (path: string) =>
    `location ${path} { worker_events_api; worker_events_zone bus; worker_events_channel ${path.slice(1)}; }`;
  const { plan } = loadConf(`events {} http { server { ${location('/a')} ${location('/b')} } }`);
  expect(plan?.zones).toEqual([{ name: 'bus', kind: 'ring', capacity: 1024, isCarried: true }]);
});

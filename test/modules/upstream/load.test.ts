import { expect, test } from 'vitest';
import { load } from '../../../src/pipeline.ts';

const loadText = (text: string) =>
  load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text });

test('an upstream keeps its servers in file order', () => {
  const { plan } = loadText(
    'http { upstream u { server a.example:1; server 127.0.0.1:2; server [::1]:3; server unix:/run/x.sock; } }',
  );
  expect(plan?.upstreams).toEqual([
    {
      name: 'u',
      peers: [
        { address: 'a.example:1' },
        { address: '127.0.0.1:2' },
        { address: '[::1]:3' },
        { address: 'unix:/run/x.sock' },
      ],
    },
  ]);
});

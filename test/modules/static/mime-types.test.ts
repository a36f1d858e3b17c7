import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { load } from '../../../src/pipeline.ts';

const shipped = fileURLToPath(new URL('../../../conf/mime.types', import.meta.url));

test('the shipped mime.types loads, has no extension twice, and has the types that nginx configurations name', () => {
  const text = `events {} http { include ${shipped}; server { } }`;
  const { plan, report } = load({ confFile: '/etc/gw/gw.conf', name: 'gw.conf', prefix: '/etc/gw', text });
  expect(report.faults).toEqual([]);
  expect(plan?.servers[0]?.root.core.types).toMatchObject({
    html: 'text/html',
    css: 'text/css',
    js: 'application/javascript',
    json: 'application/json',
    xml: 'text/xml',
    svg: 'image/svg+xml',
    ico: 'image/x-icon',
    woff2: 'font/woff2',
    wasm: 'application/wasm',
    mp4: 'video/mp4',
    pdf: 'application/pdf',
    txt: 'text/plain',
    zip: 'application/zip',
  });
  expect(readFileSync(shipped, 'utf8')).toMatch(/^# .*\n\ntypes \{\n/);
});

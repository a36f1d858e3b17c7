import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Gateway, startGateway } from '../../harness/gateway.ts';
import { wholeFile } from '../../harness/owner.ts';

const file = wholeFile();
let gw: Gateway;

beforeAll(async () => {
  gw = await startGateway(
    file,
    `server {
       server_name s.example;
       root site;
       location /quiet/ { log_not_found off; }
       location /nowhere/ { root nothing; }
       location /guarded/ { alias site/; disable_symlinks on from=$document_root; }
       location /default/ { root html; }
       location /listed/ { alias site/missing/; index none; autoindex on; }
     }`,
    { files: { 'site/page.html': 'page', 'site/quiet/x/y': '' } },
  );
  mkdirSync(join(gw.dir, 'site/empty'));
  symlinkSync('page.html', join(gw.dir, 'site/link.html'));
});

const cases = [
  {
    request: '/missing',
    status: 404,
    says: 'open() "DIR/site/missing" failed (2: No such file or directory)',
  },
  {
    request: '/page.html/x',
    status: 404,
    says: 'open() "DIR/site/page.html/x" failed (20: Not a directory)',
  },
  {
    request: `/${'x'.repeat(300)}`,
    status: 404,
    says: `open() "DIR/site/${'x'.repeat(300)}" failed (36: File name too long)`,
  },
  { request: '/empty/', status: 403, says: 'directory index of "DIR/site/empty/" is forbidden' },
  {
    request: '/missing/',
    status: 404,
    says: '"DIR/site/missing/index.html" is not found (2: No such file or directory)',
  },
  {
    request: '/page.html/',
    status: 404,
    says: '"DIR/site/page.html/index.html" is not found (20: Not a directory)',
  },
  {
    request: '/guarded/link.html',
    status: 403,
    says: 'openat() "DIR/site/link.html" failed (40: Too many levels of symbolic links)',
  },
  {
    request: '/nowhere/x',
    status: 404,
    says: 'open() "DIR/nothing/nowhere/x" failed (2: No such file or directory)',
  },
  {
    request: '/default/x',
    status: 404,
    says: 'open() "DIR/html/default/x" failed (2: No such file or directory)',
  },
];

for (const { request, status, says } of cases) {
  test(`${request.slice(0, 30)} gets ${status} and is logged in nginx's words`, async () => {
    await gw.expect(`GET ${request}`, { status });
    const message = says.replace('DIR', gw.dir);
    const context = `client: 127.0.0.1, server: s.example, request: "GET ${request} HTTP/1.1", host: "127.0.0.1`;
    const [line] = await gw.waitForLog(new RegExp(`^.*${escaped(`${message}, ${context}`)}.*$`, 'm'));
    expect(line).toContain('[error]');
  });
}

test('log_not_found off keeps only missing files out of the log', async () => {
  await gw.expect('GET /quiet/missing', { status: 404 });
  await gw.expect('GET /quiet/missing/', { status: 404 });
  await gw.expect('GET /quiet/x/', { status: 403 });
  await gw.waitForLog(/directory index of ".*\/site\/quiet\/x\/" is forbidden/);
  expect(gw.errorLog()).not.toContain('quiet/missing');
});

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
}

import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { loadConf } from '../../harness/load-faults.ts';
import { type TestPeer, startPeer } from '../../harness/peer.ts';
import type { IncomingHttpHeaders } from 'node:http';
import type { Owner } from '../../harness/owner.ts';

const load = oneGateway();

/** An upstream, and the headers that it got. */
async function startHeaderPeer(t: Owner): Promise<TestPeer & { readonly seen: IncomingHttpHeaders[] }> {
  const seen: IncomingHttpHeaders[] = [];
  const peer = await startPeer(t, 'peer', ({ headers }, response) => {
    seen.push(headers);
    response.end('ok');
  });
  return { ...peer, seen };
}

const forged = [
  { it: 'by its name', header: 'X-User' },
  { it: 'in another case', header: 'x-uSER' },
  { it: 'with an underscore', header: 'X_User' },
];

for (const { it, header } of forged)
  test(`an upstream does not get an identity header that a client sends ${it}`, async (t) => {
    const peer = await startHeaderPeer(t);
    const gw = await load(
      t,
      `underscores_in_headers on; identity_headers X-User X-Groups;
       server { location / { proxy_pass http://127.0.0.1:${peer.port}; } }`,
    );
    await gw.expect('GET /', { status: 200 }, { headers: { [header]: 'admin', 'X-Other': 'kept' } });
    expect(peer.seen[0]).toMatchObject({ 'x-other': 'kept' });
    expect(Object.keys(peer.seen[0] ?? {}).filter((name) => /user/i.test(name))).toEqual([]);
  });

test('what the gateway sets itself reaches the upstream, and nothing before reads what the client sent', async (t) => {
  const peer = await startHeaderPeer(t);
  const gw = await load(
    t,
    `server { identity_headers X-User;
       location / { proxy_set_header X-User "$remote_addr$http_x_user"; proxy_pass http://127.0.0.1:${peer.port}; }
       location /if { if ($http_x_user) { return 200 "$http_x_user"; } return 200 none; }
       location /own { identity_headers X-Other; return 200 "$http_x_user$http_x_other"; } }`,
  );
  const init = { headers: { 'X-User': 'admin', 'X-Other': 'other' } };
  await gw.expect('GET /', { status: 200 }, init);
  expect(peer.seen[0]).toMatchObject({ 'x-user': '127.0.0.1' });
  await gw.expect('GET /if', { body: 'none' }, init);
  await gw.expect('GET /own', { body: 'admin' }, init);
});

test('a name that is no header is refused', () => {
  const { report } = loadConf('http { identity_headers "a b"; server { } }');
  expect(report.faults.map(({ message }) => message)).toEqual(['invalid header name "a b"']);
});

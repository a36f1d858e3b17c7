import { expect, test } from 'vitest';
import { startGateway } from '../../harness/gateway.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const cases = ['/text', '/page', '/nothing', '/headers', '/typeless'];

test('bytes_sent is the number of bytes that the client received', async (t) => {
  const gw = await startGateway(
    t,
    `log_format sent '$request_uri $bytes_sent';
     server {
       access_log sent.log sent;
       location /text { return 200 "some text"; }
       location /page { return 404; }
       location /nothing { return 204; }
       location /headers { add_header X-One 1; add_header X-Two two; return 200 ""; }
       location /typeless { return 418; }
     }`,
  );
  for (const path of cases) {
    const response = await gw.raw(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const length = Buffer.byteLength(response);
    await expect.poll(() => gw.read('sent.log')).toContain(`${path} ${length}\n`);
  }
});

const SCRIPTS = readScripts(`
head-alone: "HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\n" <close>
half-body: "HTTP/1.1 200 OK\\r\\nContent-Length: 10\\r\\n\\r\\nhalf" <close>
nothing: <close>`);

test('bytes_sent counts the part of a response that breaks off', async (t) => {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  const gw = await startGateway(
    t,
    `log_format sent '$request_uri $bytes_sent'; access_log sent.log sent;
     server { location / { proxy_pass http://127.0.0.1:${upstream.port}; } }`,
  );
  for (const path of ['/~head-alone', '/~half-body', '/~nothing']) {
    const response = await gw.raw(`GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`);
    expect(response).toMatch(/^HTTP\/1.1 /);
    await expect.poll(() => gw.read('sent.log')).toContain(`${path} ${response.length}\n`);
  }
});

import { expect, test } from 'vitest';
import { oneGateway } from '../../harness/gateway.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const cases: readonly {
  readonly it: string;
  /** Header lines of the upstream; one character is one byte. */
  readonly head: string;
  readonly passed: Readonly<Record<string, string>>;
  readonly absent?: readonly string[];
}[] = [
  {
    it: 'passes on plain headers, also repeated ones and empty ones',
    head: 'X-A: 1\r\nX-B:\r\nX-A: \t2 3\t\r\n',
    passed: { 'x-a': '1, 2 3', 'x-b': '' },
  },
  {
    it: 'drops what any of several Connection headers names',
    head: 'Connection: X-Hop\r\nX-Hop: 1\r\nX-A: 1\r\nConnection: keep-alive\r\n',
    passed: { 'x-a': '1' },
    absent: ['x-hop'],
  },
  {
    it: 'passes on bytes of UTF-8 beside plain headers',
    head: 'X-A: \u00c3\u00a4\r\nX-B: 1\r\n',
    passed: { 'x-a': '\u00c3\u00a4', 'x-b': '1' },
  },
  {
    it: 'drops a value with a control byte, and only that',
    head: 'X-A: a\u0001b\r\nX-B: 1\r\nX-C: a\rX-D: 1\r\n',
    passed: { 'x-b': '1' },
    absent: ['x-a', 'x-c', 'x-d'],
  },
  {
    it: 'drops a header whose name is no token',
    head: 'X(A): 1\r\nX-B: 1\r\n',
    passed: { 'x-b': '1' },
    absent: ['x(a)'],
  },
  {
    it: 'gives way to the Accept-Ranges of a file that it names',
    head: 'X-Accel-Redirect: /file\r\nAccept-Ranges: bytes\r\nSet-Cookie: a\r\n',
    passed: { 'accept-ranges': 'bytes', 'set-cookie': 'a' },
  },
  {
    it: 'gives the first one of headers that occur once',
    head: 'ETag: "a"\r\nETag: "b"\r\nExpires: 0\r\nExpires: -1\r\nLocation: /a\r\nLocation: /b\r\nX-Accel-Charset: a\r\n',
    passed: { etag: '"a"', expires: '0', location: expect.stringMatching(/\/a$/) as string },
  },
];

for (const { it, head, passed, absent = [] } of cases) {
  test(`a response of an upstream ${it}`, async (t) => {
    const text = JSON.stringify(`HTTP/1.1 200 OK\r\n${head}Content-Length: 2\r\n\r\nhi`);
    const { port } = await startScriptedUpstream(t, readScripts(`script: ${text}`));
    const gw = await load(
      t,
      (dir) => `server {
        location / { proxy_pass http://127.0.0.1:${port}; }
        location /file { internal; alias ${dir}/file; }
      }`,
      { file: 'hi' },
    );
    const response = await gw.raw('GET /~script HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const lines = response.slice(0, response.indexOf('\r\n\r\n')).split('\r\n').slice(1);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', value = ''] = /^([^:]+): ?(.*)$/s.exec(line) ?? [];
      const before = headers.get(name.toLowerCase());
      headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
    }
    expect(Object.fromEntries(headers)).toMatchObject(passed);
    for (const name of absent) expect([...headers.keys()]).not.toContain(name);
    expect(response.endsWith('hi')).toBe(true);
  });
}

test('a duplicate header line of an upstream is ignored and logged', async (t) => {
  const text = JSON.stringify('HTTP/1.1 200 OK\r\nServer: a\r\nServer: b\r\nContent-Length: 0\r\n\r\n');
  const { port } = await startScriptedUpstream(t, readScripts(`script: ${text}`));
  const gw = await load(
    t,
    `server { location / { proxy_pass_header Server; proxy_pass http://127.0.0.1:${port}; } }`,
  );
  expect((await gw.fetch('/~script')).headers.get('server')).toBe('a');
  await gw.waitForLog(
    /\[warn\] .*upstream sent duplicate header line: "Server: b", previous value: "Server: a", ignored/,
  );
});

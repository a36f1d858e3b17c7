import { expect, test } from 'vitest';
import { oneGateway, type Owner, type Gateway } from '../../harness/gateway.ts';
import { readScripts, startScriptedUpstream } from '../../harness/scripted-upstream.ts';

const load = oneGateway();

const SCRIPTS = readScripts(
  String.raw`named: "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Accel-Charset: one\r\nAccept-Ranges: bytes\r\nCache-Control: max-age=60\r\nContent-Length: 10\r\n\r\nabcabcabca"`,
);

/** Serves responses of ten bytes, whose letters are recoded: from a file, and from a cache. */
async function start(t: Owner): Promise<Gateway> {
  const upstream = await startScriptedUpstream(t, SCRIPTS);
  return load(
    t,
    `charset_map one two { 61 62; 62 61; } proxy_cache_path cache keys_zone=z:1m;
     server {
       root .; default_type text/plain; charset two; source_charset one;
       location / { }
       location /up/ { charset one; source_charset two; proxy_cache z; proxy_cache_key $uri; proxy_pass http://127.0.0.1:${upstream.port}; }
     }`,
    { file: 'abcabcabca', 'large/file': 'abcabcabca'.repeat(20_000) },
  );
}

const cases = [
  { it: 'a file', path: '/file', size: 10, first: 2 },
  { it: 'a file that is sent in pieces', path: '/large/file', size: 200_000, first: 100_000 },
  { it: 'a stored response whose upstream names the charset', path: '/up/~named', size: 10, first: 2 },
];

for (const { it, path, size, first } of cases) {
  test(`several ranges of ${it} are recoded, but not the text between them`, async (t) => {
    const gw = await start(t);
    await gw.fetch(path);
    const last = `${size - 3}-${size - 1}`;
    const { status, headers, body } = await gw.fetch(path, {
      headers: { range: `bytes=0-${first - 1},${last}` },
    });
    expect(status).toBe(206);
    const [, boundary] =
      /^multipart\/byteranges; boundary=(\d+)$/.exec(headers.get('content-type') ?? '') ?? [];
    const [, charset] = /charset=(\w+)/.exec((await gw.fetch(path)).headers.get('content-type') ?? '') ?? [];
    const part = (range: string, text: string): string =>
      `\r\n--${boundary}\r\nContent-Type: text/plain; charset=${charset}\r\nContent-Range: bytes ${range}/${size}\r\n\r\n${text}`;
    expect(body).toBe(
      `${part(`0-${first - 1}`, 'bacbacbacb'.repeat(size / 10).slice(0, first))}${part(last, 'acb')}\r\n--${boundary}--\r\n`,
    );
  });
}

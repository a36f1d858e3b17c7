import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../../harness/gateway.ts';

const load = oneGateway();

/** An upstream that responds when `expected` requests have come. */
async function startGate(t: Owner, expected: number): Promise<{ readonly port: number; most: () => number }> {
  const waiting: (() => void)[] = [];
  let most = 0;
  const server = createServer((request, response) => {
    waiting.push(() => response.end(`<${request.url}>`));
    most = Math.max(most, waiting.length);
    if (waiting.length < expected) return;
    for (const respond of waiting.splice(0).toReversed()) respond();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { port: (server.address() as AddressInfo).port, most: () => most };
}

const page = (text: string): Record<string, string> => ({ 'page.html': text });

test('inclusions are requested at once, and keep their order', async (t) => {
  const gate = await startGate(t, 4);
  const text = [1, 2, 3, 4].map((n) => `${n}:<!--#include virtual="/up/${n}" -->`).join(' ');
  const gw = await load(
    t,
    `server { root .; ssi on; default_type text/html; location /up/ { ssi off; proxy_pass http://127.0.0.1:${gate.port}; } }`,
    page(text),
  );
  const { body } = await gw.fetch('/page.html');
  expect(body).toBe('1:</up/1> 2:</up/2> 3:</up/3> 4:</up/4>');
  expect(gate.most()).toBe(4);
});

test('an inclusion that is waited for comes first', async (t) => {
  const gate = await startGate(t, 1);
  const text = '<!--#include virtual="/up/a" wait="yes" --><!--#include virtual="/up/b" wait="yes" -->';
  const gw = await load(
    t,
    `server { root .; ssi on; default_type text/html; location /up/ { proxy_pass http://127.0.0.1:${gate.port}; } }`,
    page(text),
  );
  expect((await gw.fetch('/page.html')).body).toBe('</up/a></up/b>');
  expect(gate.most()).toBe(1);
});

test('a page of many inclusions requests fifty at once', async (t) => {
  const gate = await startGate(t, 50);
  const text = '<!--#include virtual="/up/x" -->'.repeat(100);
  const gw = await load(
    t,
    `server { root .; ssi on; default_type text/html; location /up/ { proxy_pass http://127.0.0.1:${gate.port}; } }`,
    page(text),
  );
  expect((await gw.fetch('/page.html')).body).toBe('</up/x>'.repeat(100));
  expect(gate.most()).toBe(50);
});

test('a page that includes itself ends', async (t) => {
  const gw = await load(
    t,
    'server { root .; ssi on; default_type text/html; }',
    page('x<!--#include virtual="page.html" -->y'),
  );
  const { body } = await gw.fetch('/page.html');
  expect(body.match(/x/g)?.length).toBe(51);
  await gw.waitForLog(/subrequests cycle while processing "\/page\.html"/);
});

test('a response that is too long for a variable ends the page, and only that', async (t) => {
  const gw = await load(
    t,
    `server { root .; ssi on; default_type text/html; subrequest_output_buffer_size 8;
       location /brief { ssi off; subrequest_output_buffer_size 9; return 200 "123456789"; }
       location /long { ssi off; return 200 "123456789"; } }`,
    {
      ...page('a<!--#include virtual="/long" set="x" -->b'),
      'short.html': 'a<!--#include virtual="/brief" set="x" --><!--#echo var="x" -->',
    },
  );
  // The location that responds decides the limit.
  expect((await gw.fetch('/short.html')).body).toBe('a123456789');
  await expect(gw.fetch('/page.html')).rejects.toThrow(/socket hang up|aborted/);
  await gw.waitForLog(/the body of a response could not be made: .*too big subrequest response: 9/);
  expect((await gw.fetch('/long')).status).toBe(200);
});

test('a page and what it includes have one $request_id', async (t) => {
  const gw = await load(
    t,
    `server { root .; ssi on; default_type text/html; add_header X-Id $request_id; location /id { return 200 "$request_id"; } }`,
    page('<!--#include virtual="/id" -->'),
  );
  const { headers, body } = await gw.fetch('/page.html');
  expect(body).toBe(headers.get('x-id'));
});

test('the filters run in the order of nginx: sub_filter, charset, SSI, gzip', async (t) => {
  const gw = await load(
    t,
    `charset_map koi8-r utf-8 { C1 D0B0; }
     server { root .; default_type text/html; ssi on; ssi_types *; gzip on; gzip_types *; gzip_min_length 1;
       sub_filter "<!--#tell" "<!--#echo"; sub_filter included replaced; sub_filter_once off;
       location /inc { return 200 included; } }`,
    page(
      '<!--#tell var="uri" --> included <!--#include virtual="/inc" --> <!--#echo var="arg_x" encoding="none" -->',
    ),
  );
  const response = await gw.fetch('/page.html?x=included', {
    headers: { 'accept-encoding': 'gzip', range: 'bytes=0-3' },
  });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-encoding')).toBe('gzip');
  expect(response.headers.get('accept-ranges')).toBeNull();
  expect(gunzipSync(response.bytes).toString()).toBe('/page.html replaced replaced included');
});

test('a pattern of a page is bounded like those of the configuration', async (t) => {
  const gw = await load(
    t,
    'server { root .; ssi on; default_type text/html; }',
    page('a<!--#if expr="$arg_x = /^(a+)+(b)(?!x)\\1?!/" -->b<!--#endif -->c'),
  );
  const { body } = await gw.fetch(`/page.html?x=${'a'.repeat(200)}`);
  expect(body).toMatch(/^a.*c$/s);
});

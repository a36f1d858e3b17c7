import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { withListen } from '../harness/conf.ts';
import { oneGateway } from '../harness/gateway.ts';
import type { CallInit, ReceivedResponse } from '../harness/http.ts';
import { callOn, openHttp2 } from '../harness/http2-client.ts';
import { perTier } from '../harness/tier.ts';
import { HAS_NGINX, hasModules, modulesOf, startNginx } from './nginx.ts';
import { responseLine } from './response-line.ts';
import { makeSite } from './site.ts';

/*
 * The requests of cases/*.case over HTTP/2: every module serves them as nginx does over HTTP/2, or, where nginx is not there, as
 * over HTTP/1.1. nginx 1.22 speaks only HTTP/2 on such a port, so the cases that proxy to themselves are compared with the
 * record too.
 */
const directory = new URL('cases/', import.meta.url);
const load = oneGateway({ expectAlerts: true });

/** What Node.js decides before or behind our code, and what gw serves over HTTP/2 as over HTTP/1.1. */
const NOT_COMPARED: readonly RegExp[] = [
  // nghttp2 drops a field whose value begins or ends with a blank (RFC 9113, 8.2.1: it is malformed).
  /X-One: {2}|bytes= 1/,
  // Node.js sends no status above 599; such a response becomes a 500.
  /\/(?:600|999)\b/,
  // A field of HTTP/1 that no client of HTTP/2 can send.
  /\| Upgrade:/,
  // nginx 1.22 shows the error page for too large a body over HTTP/1.1 only.
  /=> 413 text\/html: too big/,
  // $request_length: nginx counts compressed fields, which Node.js does not show.
  /\/tcp /,
];

/** HTTP/1.1's words for HTTP/2's. */
function overHttp2(recorded: string): string {
  return recorded.replaceAll('HTTP/1.1', 'HTTP/2.0');
}

/** The distance between those requests of a file that are sent, unless a response depends on the requests before it. */
const STEP = perTier({ short: 3, long: 1 });

/** Sends requests on one connection, or on another one where a response has closed it. */
async function linesOf(port: number, requests: readonly string[], shown: readonly string[]): Promise<string> {
  let session = openHttp2(port);
  /** Names the length of the body, as browsers and curl do. */
  const send = (_: number, path: string, init: CallInit): Promise<ReceivedResponse> => {
    if (session.closed || session.destroyed) session = openHttp2(port);
    if (init.body === undefined) return callOn(session, path, init);
    const length = String(Buffer.byteLength(init.body));
    return callOn(session, path, { ...init, headers: { 'Content-Length': length, ...init.headers } });
  };
  let lines = '';
  for (const request of requests)
    lines += `${request} => ${await responseLine(port, request, { shown, send })}\n`;
  session.destroy();
  return lines;
}

for (const file of readdirSync(directory)) {
  const [conf = '', recorded = ''] = readFileSync(new URL(file, directory), 'utf8').split('----------\n');
  const lines = recorded.trimEnd().split('\n');
  const step = /\b(?:upstream |proxy_cache|limit_)/.test(conf) ? 1 : STEP;
  const kept = lines.filter(
    (line, index) => index % step === 0 && !NOT_COMPARED.some((pattern) => pattern.test(line)),
  );
  const requests = kept.map((line) => line.split(' => ', 1)[0] as string);
  const shown = /^# show: (.*)$/m.exec(conf)?.[1]?.split(' ') ?? [];
  const files = Object.fromEntries(
    [...conf.matchAll(/^# file (\S+): (.*)$/gm)].map(([, name, content]) => [
      name,
      content?.replaceAll('\\n', '\n'),
    ]),
  );

  test(`the requests of ${file.replace('.case', '')} over HTTP/2`, async (t) => {
    const site = conf.includes('SITE') ? makeSite(t) : '';
    const http = conf.replaceAll('SITE', site);
    const gw = await load(t, (_, port) => `http2 on; ${http.replaceAll('PORT', String(port))}`, files);
    const ours = await linesOf(gw.port, requests, shown);
    const isAlone = conf.includes('PORT');
    if (!HAS_NGINX || isAlone || !hasModules(modulesOf(conf))) {
      expect(ours.replaceAll(site || '\0', 'SITE')).toBe(overHttp2(`${kept.join('\n')}\n`));
      return;
    }
    const listening = withListen(http, 'PORT').replaceAll(/(listen [^;]*PORT[^;]*);/g, '$1 http2;');
    expect(ours).toBe(await linesOf(await startNginx(t, listening, files), requests, shown));
  });
}

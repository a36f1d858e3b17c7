import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { oneGateway, type Owner } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';
import { readScripts, startScriptedUpstream } from '../harness/scripted-upstream.ts';
import { wholeResponse } from './whole-response.ts';
import { maskPort } from './mask-port.ts';

/*
 * proxy/*.case: the content of `http`, the scripts of the upstream, and requests, separated by dashes. Each request is followed
 * by what the client got (`=>`) and by what the upstream got (`<-`). Recorded from a real nginx (RECORD=1 writes them
 * again); where nginx is on the PATH it still has to respond so, and gw always.
 */
const directory = new URL('proxy/', import.meta.url);
const DASHES = '----------\n';

const load = oneGateway();

const servers: readonly { name: string; start: (t: Owner, http: string) => Promise<number> }[] = [
  ...(HAS_NGINX ? [{ name: 'nginx', start: startNginx }] : []),
  { name: 'gw', start: startGw },
];

async function startGw(t: Owner, http: string): Promise<number> {
  const gw = await load(t, (_, port) => http.replaceAll('PORT', String(port)));
  return gw.port;
}

for (const file of readdirSync(directory)) {
  const recorded = readFileSync(new URL(file, directory), 'utf8');
  const [http = '', scripts = '', lines = ''] = recorded.split(DASHES);
  const requests = lines.split('\n').filter((line) => /^[A-Z]/.test(line));

  for (const { name, start } of servers) {
    test(`${name} proxies the requests of ${file.replace('.case', '')} as recorded`, async (t) => {
      const upstream = await startScriptedUpstream(t, readScripts(scripts));
      const closed = await freePort();
      const port = await start(
        t,
        http.replaceAll('UPSTREAM', String(upstream.port)).replaceAll('CLOSED', String(closed)),
      );
      const masked = (text: string): string =>
        maskPort(maskPort(maskPort(text, upstream.port, 'UPSTREAM'), port), closed, 'CLOSED');
      let seen = '';
      for (const request of requests) {
        seen += `${request}\n=> ${masked(await wholeResponse(port, request))}\n`;
        for (const line of upstream.heard()) seen += `<- ${masked(line)}\n`;
      }
      if (process.env['RECORD'] && name === 'nginx')
        writeFileSync(new URL(file, directory), [http, scripts, seen].join(DASHES));
      else expect(seen).toBe(lines);
    });
  }
}

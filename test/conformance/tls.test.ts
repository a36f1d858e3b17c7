import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { type Owner, startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';
import { tlsLine } from './tls-line.ts';

/*
 * tls/*.tls: the content of `http`, a line of dashes, then `what it shows: words => what came back`, recorded from a real nginx
 * (RECORD=1 writes it again). `gw:` says how gw responds on purpose instead: each server has the protocols that it names.
 */
const FILE = new URL('tls/servers.tls', import.meta.url);
const DASHES = '----------\n';
const [conf = '', lines = ''] = readFileSync(FILE, 'utf8').split(DASHES);
const cases = lines
  .trimEnd()
  .split('\n')
  .map((line) => {
    const [, it = '', words = '', response = '', ours = response] =
      /^(.*?): (.*?) => (.*?)(?: gw: (.*))?$/.exec(line) ?? [];
    return { it, words, response, ours };
  });

let certificates: Certificates;

beforeAll(() => {
  if (!HAS_OPENSSL) return;
  certificates = new Certificates();
  certificates.authority('ca');
  certificates.authority('stranger');
  certificates.signed('rsa', 'ca', { kind: 'rsa', subject: '/CN=a.example' });
  certificates.signed('ec', 'ca', { subject: '/CN=a.example' });
  certificates.signed('other', 'ca', { subject: '/CN=b.example' });
  certificates.lock('other', 'secret');
  certificates.write('passwords', 'wrong\nsecret\n');
  certificates.signed('client', 'ca', { subject: '/C=DE/O=A, B & C/OU=Ümlaut/CN=client' });
  certificates.signed('gone', 'ca');
  certificates.signed('between', 'ca', { isAuthority: true });
  certificates.signed('deep', 'between');
  certificates.signed('unknown', 'stranger');
  certificates.revoke('ca', 'gone');
  certificates.write('deep.crt', certificates.read('deep.crt') + certificates.read('between.crt'));
});

afterAll(() => {
  if (HAS_OPENSSL) rmSync(certificates.dir, { recursive: true, force: true });
});

async function startGw(t: Owner, http: string): Promise<number> {
  const port = await freePort();
  await startGateway(t, http.replaceAll('PORT', String(port)), { port });
  return port;
}

async function responsesOf(start: typeof startGw, t: Owner): Promise<readonly string[]> {
  const port = await start(t, conf.replaceAll('DIR', certificates.dir));
  const responses: string[] = [];
  for (const { words } of cases) responses.push(await tlsLine(port, words, certificates));
  return responses;
}

test.runIf(HAS_OPENSSL && HAS_NGINX)('nginx handshakes and responses are as recorded', async (t) => {
  const responses = await responsesOf(startNginx, t);
  if (process.env['RECORD']) writeFileSync(FILE, conf + DASHES + recorded(responses));
  else expect(responses).toEqual(cases.map(({ response }) => response));
});

function recorded(responses: readonly string[]): string {
  const written = cases.map(({ it, words, response, ours }, index) => {
    const given = responses[index] as string;
    return `${it}: ${words} => ${given}${ours === response || ours === given ? '' : ` gw: ${ours}`}\n`;
  });
  return written.join('');
}

test.runIf(HAS_OPENSSL)('gw handshakes and responses are those of nginx', async (t) => {
  const responses = await responsesOf(startGw, t);
  expect(cases.map(({ it }, index) => `${it} => ${responses[index]}`)).toEqual(
    cases.map(({ it, ours }) => `${it} => ${ours}`),
  );
});

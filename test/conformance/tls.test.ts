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
    const [, it = '', words = '', answer = '', ours = answer] =
      /^(.*?): (.*?) => (.*?)(?: gw: (.*))?$/.exec(line) ?? [];
    return { it, words, answer, ours };
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

async function answersOf(start: typeof startGw, t: Owner): Promise<readonly string[]> {
  const port = await start(t, conf.replaceAll('DIR', certificates.dir));
  const answers: string[] = [];
  for (const { words } of cases) answers.push(await tlsLine(port, words, certificates));
  return answers;
}

test.runIf(HAS_OPENSSL && HAS_NGINX)('nginx shakes hands and answers as recorded', async (t) => {
  const answers = await answersOf(startNginx, t);
  if (process.env['RECORD']) writeFileSync(FILE, conf + DASHES + recorded(answers));
  else expect(answers).toEqual(cases.map(({ answer }) => answer));
});

function recorded(answers: readonly string[]): string {
  const written = cases.map(({ it, words, answer, ours }, index) => {
    const given = answers[index] as string;
    return `${it}: ${words} => ${given}${ours === answer || ours === given ? '' : ` gw: ${ours}`}\n`;
  });
  return written.join('');
}

test.runIf(HAS_OPENSSL)('gw shakes hands and answers as nginx does', async (t) => {
  const answers = await answersOf(startGw, t);
  expect(cases.map(({ it }, index) => `${it} => ${answers[index]}`)).toEqual(
    cases.map(({ it, ours }) => `${it} => ${ours}`),
  );
});

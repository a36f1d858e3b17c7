import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Owner, startGateway } from '../harness/gateway.ts';
import { freePort } from '../harness/ports.ts';
import { exchangeRaw } from '../harness/raw.ts';
import { HAS_NGINX, startNginx } from './nginx.ts';
import { maskPort } from './mask-port.ts';

/*
 * error-lines.golden: the content of `http`, a line of dashes, the bytes of requests, a line of dashes, and the lines that a
 * real nginx writes into its error log for them (RECORD=1 writes them again). gw writes the same lines, except where a
 * second line begins with `gw:`. Programs such as fail2ban read them.
 */
const file = new URL('error-lines.golden', import.meta.url);
const DASHES = '----------\n';
const [http = '', sent = '', recorded = ''] = readFileSync(file, 'utf8').split(DASHES);
const requests = sent.trimEnd().split('\n');
/** For a line of nginx, the line that gw writes on purpose instead. */
const deviations = new Map(
  [...recorded.matchAll(/^(.*\n)(gw: .*\n)/gm)].map(([, line, ours]) => [line as string, ours as string]),
);
const LAST = '/the-last-one';

interface Site {
  readonly dir: string;
  readonly http: string;
  readonly port: number;
  /** A port on which no server listens. */
  readonly closed: number;
}

async function site(t: Owner): Promise<Site> {
  const dir = mkdtempSync(join(tmpdir(), 'gw-lines-'));
  t.onTestFinished(async () => rmSync(dir, { recursive: true }));
  mkdirSync(join(dir, 'html/folder'), { recursive: true });
  writeFileSync(join(dir, 'users'), 'ann:{PLAIN}secret\n');
  const [port, closed] = [await freePort(), await freePort()];
  const conf = http.replaceAll('CLOSED', String(closed)).replaceAll('PORT', String(port));
  return { dir, port, closed, http: conf.replaceAll('DIR', dir) };
}

/** Sends everything, then gives the lines of the log without the parts that differ from run to run. */
async function linesOf({ dir, port, closed }: Site, portOf: number): Promise<string> {
  for (const request of [
    ...requests,
    `GET ${LAST} HTTP/1.1\\r\\nHost: a\\r\\nConnection: close\\r\\n\\r\\n`,
  ]) {
    const bytes = request.replaceAll('\\r', '\r').replaceAll('\\n', '\n').replaceAll('PORT', String(port));
    await exchangeRaw(
      portOf,
      bytes.replaceAll(/<(\d+) (.)>/g, (_, count, letter: string) => letter.repeat(Number(count))),
      20,
    );
  }
  const log = join(dir, 'lines.log');
  await expect.poll(() => readFileSync(log, 'utf8')).toContain(LAST);
  return readFileSync(log, 'utf8')
    .split('\n')
    .filter(
      (line) => line.includes(', client: ') && !line.includes(LAST) && !line.includes('waiting for request'),
    )
    .map((line) => maskPort(maskPort(line, port), closed, 'CLOSED'))
    .map((line) =>
      line
        .replace(/^\S+ \S+ (\[\w+\]) \d+#\d+: \*\d+ /, '$1 *N ')
        // The amount that drained meanwhile depends on the clock.
        .replace(/excess: (?:0\.9\d\d|1\.000)/, 'excess: 1.000')
        .replaceAll(dir, 'DIR'),
    )
    .map((line) => `${line}\n`)
    .join('');
}

test.runIf(HAS_NGINX)('nginx writes these lines into its error log', async (t) => {
  const here = await site(t);
  const lines = await linesOf(here, await startNginx(t, here.http));
  if (process.env['RECORD']) {
    const withOurs = lines.replaceAll(/^.*\n/gm, (line) => line + (deviations.get(line) ?? ''));
    return writeFileSync(file, http + DASHES + sent + DASHES + withOurs);
  }
  expect(lines).toBe(recorded.replaceAll(/^gw: .*\n/gm, ''));
});

test('gw writes the same lines into its error log', async (t) => {
  const here = await site(t);
  await startGateway(t, here.http, { port: here.port, main: 'http_engine node;' });
  const ours = recorded.replaceAll(/^.*\ngw: (.*\n)/gm, (_, line: string) => (line === 'none\n' ? '' : line));
  expect(await linesOf(here, here.port)).toBe(ours);
});

/** What fail2ban's filters for nginx look for, word for word except for the host. */
const FILTERS = {
  'nginx-http-auth':
    /\[error\] \*N user "(?:[^"]+|.*?)":? (?:password mismatch|was not found in "[^"]*"), client: [\d.]+, server: \S*, request: "\S+ \S+ HTTP\/\d+\.\d+", host: "\S+"(?:, referrer: "\S+")?\s*$/m,
  'nginx-limit-req': /\[[a-z]+\] \*N limiting requests, excess: [\d.]+ by zone "(?:[^"]+)", client: [\d.]+,/m,
  'nginx-botsearch':
    /\[error\] \*N (\S+ )?"\S+" (failed|is not found) \(2: No such file or directory\), client: [\d.]+, server: \S*, request: "(GET|POST|HEAD) \S+ \S+", .*?$/m,
  'nginx-forbidden': /\[error\] \*N .* forbidden .*, client: [\d.]+, .*$/m,
};

for (const [name, pattern] of Object.entries(FILTERS)) {
  test(`fail2ban's filter ${name} finds its lines`, () => {
    expect(recorded).toMatch(pattern);
  });
}

import { spawn, spawnSync } from 'node:child_process';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import type { TopFacts } from '../../bin/running/top/facts.ts';
import { GW, oneGateway } from '../harness/gateway.ts';
import type { Owner } from '../harness/owner.ts';
import { startPeer } from '../harness/peer.ts';
import { postgres } from '../harness/postgres.ts';
import { directoryWith } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const run = firstAsProgram();
const load = oneGateway({ workers: 2 });

const conf = (peer: number): string => `upstream group { server 127.0.0.1:${peer}; }
  server { server_name shop; location = /metrics { control_api metrics; }
    location /a { return 200 ok; } location /missing { return 404; } location /down { return 500; }
    location /kv { kv_pass embedded:top; kv_key $uri; } location /peer { proxy_pass http://group; } }`;

/** Asks for what the table shows until both readings of `gw top` are done. */
async function busy<T>(ask: () => Promise<unknown>, act: Promise<T>): Promise<T> {
  let isDone = false;
  const done = act.finally(() => (isDone = true));
  while (!isDone) await ask();
  return done;
}

test('gw top prints rates, quantiles and errors by location, workers, stores and peers once', async (t) => {
  const peer = await startPeer(t, 'p');
  const gw = await load(t, conf(peer.port));
  const ask = () => Promise.all(['/a', '/missing', '/down', '/kv/x', '/peer'].map((path) => gw.fetch(path)));
  await ask();
  const { code, stdout, stderr } = await busy(ask, run(gw.dir, ['top', '-c', gw.conf]));
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^gw \d\S* · up \d+s · http:\/\/127\.0\.0\.1:\d+\/metrics\nrequests \d+\.\d\/s · p50 /,
  );
  expect(stdout).toMatch(/\nLOCATION +REQ\/S +P50 +P95 +P99 +4XX\/S +5XX\/S\n/);
  expect(stdout).toMatch(/\nshop \/a +\d+(\.\d)? +[\d.]+ [µm]s +[\d.]+ [µm]?s +[\d.]+ [µm]?s +0 +0\n/);
  expect(stdout).toMatch(/\nshop \/missing .* [\d.]+ +0\n/);
  expect(stdout).toMatch(/\nshop \/down .* 0 +[\d.]+\n/);
  expect(stdout).toMatch(/\nWORKER +CPU +LAG +HEAP +RESTARTS\n1 +\d+ % .* MB +0\n2 /);
  expect(stdout).toMatch(/\nkv get +[\d.]+ /);
  expect(stdout).toMatch(/\ngroup 127\.0\.0\.1:\d+ +yes +[\d.]+ +0 /);
  expect(stdout).not.toContain('\u001b');
});

test('gw top --json gives the same as one object', async (t) => {
  const peer = await startPeer(t, 'p');
  const gw = await load(t, conf(peer.port));
  await gw.fetch('/down');
  const { code, stdout } = await busy(() => gw.fetch('/down'), run(gw.dir, ['top', '--json', '-c', gw.conf]));
  expect(code).toBe(0);
  const facts = JSON.parse(stdout) as TopFacts;
  expect(facts).toMatchObject({ reloadSuccessful: true, workers: [{ id: '1', restarts: 0 }, { id: '2' }] });
  expect(facts.intervalSeconds).toBeGreaterThanOrEqual(1);
  const down = facts.locations.find(({ location }) => location === '/down');
  expect(down?.serverErrorsPerSecond).toBeGreaterThan(0);
  expect(down?.p50).toBeGreaterThan(0);
  expect(facts.requests.serverErrorsPerSecond).toBe(down?.serverErrorsPerSecond);
});

/** A server that responds to everything with this text. */
async function serveText(t: Owner, text: () => string): Promise<string> {
  const server = createServer((_, response) => response.end(text()));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('gw top prints names from outside without control bytes', async (t) => {
  const name = '/\u001b[2J\u0007\u009b31m\u202eevil';
  const labels = `server="s\u001b]0;t\u0007",location="${name}"`;
  const text = `process_start_time_seconds 1\ngw_http_request_duration_seconds_count{${labels}} 5\n`;
  const address = await serveText(t, () => text);
  const { code, stdout } = await run(directoryWith(t, {}), ['top', '--address', address]);
  expect(code).toBe(0);
  expect(stdout).toContain('evil');
  // eslint-disable-next-line no-control-regex -- what must not be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test('gw top says in one line why there is nothing to show', async (t) => {
  const dir = directoryWith(t, {});
  const away = await run(dir, ['top', '--address', 'http://127.0.0.1:1/']);
  expect(away).toMatchObject({ code: 1, stdout: '' });
  expect(away.stderr).toMatch(/^gw: http:\/\/127\.0\.0\.1:1\/runtime\/metrics does not respond: .*\n$/);
  const other = await serveText(t, () => '<html>');
  const said = await run(dir, ['top', '--address', other]);
  expect(said).toMatchObject({ code: 1, stderr: 'gw: "<html>" is no metric\n' });
});

const canOpenTerminals = spawnSync('script', ['--version']).error === undefined;

/** A terminal of 80 columns and 24 lines in which `gw top` runs. */
function startTop(t: Owner, address: string, env: NodeJS.ProcessEnv) {
  const command = `stty rows 24 cols 80; exec ${process.execPath} ${GW} top --address ${address}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', ...env },
  });
  t.onTestFinished(async () => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (text += piece));
  const ended = once(child, 'exit').then(([code]) => code as number);
  /** The lines of the last whole screen. */
  const screen = (): readonly string[] =>
    (
      text
        .split('\u001b[H')
        .filter((shown) => shown.includes('\u001b[J'))
        .at(-1) ?? ''
    )
      .split('\u001b[J')[0]
      ?.split('\r\n')
      .map((line) => line.replace('\u001b[K', '').replaceAll('\r', '')) ?? [];
  const shows = (pattern: RegExp): Promise<void> =>
    vi.waitFor(() => expect(screen().join('\n')).toMatch(pattern), { timeout: 20_000, interval: 50 });
  return { press: (keys: string) => child.stdin.write(keys), screen, shows, ended, all: () => text };
}

test.skipIf(!canOpenTerminals)(
  'gw top follows its keys on a terminal, and leaves it as it was',
  async (t) => {
    const peer = await startPeer(t, 'p');
    const gw = await load(t, conf(peer.port));
    for (const path of ['/a', '/missing', '/peer']) await gw.fetch(path);
    const sample = (await gw.fetch('/metrics')).body;
    const shown = startTop(t, await serveText(t, () => sample), { NO_COLOR: '1' });
    await shown.shows(/LOCATION .*\n.*shop \/a /s);
    expect(shown.screen()).toHaveLength(24);
    expect(Math.max(...shown.screen().map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(shown.screen().join('')).not.toContain('\u001b');
    shown.press('2');
    await shown.shows(/\[2 workers\][^]*\nWORKER/);
    shown.press('4');
    await shown.shows(/group 127\.0\.0\.1:\d+ +yes/);
    shown.press('1/miss\r');
    await shown.shows(/only "miss"[^]*shop \/missing/);
    expect(shown.screen().join('\n')).not.toContain('shop /a ');
    shown.press('\u001b');
    await shown.shows(/shop \/a /);
    shown.press('s');
    await shown.shows(/s sort: P50/);
    shown.press('p');
    await shown.shows(/ · paused/);
    shown.press('?');
    await shown.shows(/sort by the next column/);
    shown.press('q');
    expect(await shown.ended).toBe(0);
    expect(shown.all()).toContain('\u001b[?1049h');
    expect(shown.all().trimEnd()).toMatch(/\[\?25h.\[\?1049l$/);
  },
);

test.skipIf(!canOpenTerminals)(
  'gw top says that the gateway is away, and shows it again when it is back',
  async (t) => {
    const gw = await load(t, conf(1));
    const { body } = await gw.fetch('/metrics');
    let text = 'nonsense';
    const top = startTop(t, await serveText(t, () => text), {});
    await top.shows(/"nonsense" is no metric; asking again/);
    text = body;
    await top.shows(/gw \d\S* · up /);
    top.press('\u0003');
    expect(await top.ended).toBe(0);
  },
);

const FIXTURE = `create table items (id int primary key, name text);
  insert into items values (1, 'a');
  create function slow(seconds float8) returns text language sql volatile as $$ select pg_sleep(seconds)::text $$;
  grant select on items to anon;`;
const restConf = (
  dsn: string,
  more = '',
): string => `server { location = /metrics { control_api metrics; } ${more}
  location /rest/ { dbrest_pass ${dsn}; dbrest_anon_role anon; } }`;
const STATEMENTS = 'location = /statements { control_api statements; }';

/** A gateway whose slowest statement is that of the function. */
async function startRest(t: Owner) {
  const { dsn } = await postgres(FIXTURE);
  const gw = await load(t, restConf(dsn, STATEMENTS));
  const read = () => gw.fetch('/rest/items?name=eq.planted&select=own:name');
  await read();
  const slow = await gw.fetch('/rest/rpc/slow', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"seconds":1.5}',
  });
  expect(slow.status).toBe(200);
  return { gw, read, database: dsn.replace(/^.*@/, '') };
}

test('gw top prints the slowest statements first, with calls, times and their part of all time', async (t) => {
  const { gw, read } = await startRest(t);
  const { code, stdout } = await busy(read, run(gw.dir, ['top', '-c', gw.conf]));
  expect(code).toBe(0);
  const [, table = ''] = /\nSTATEMENT +CALLS\/S +CALLS +FAIL +MEAN +MAX +TIME\n([^]*)$/.exec(stdout) ?? [];
  expect(table).toMatch(/^\/rest\/ .*\n\/rest\/ /);
  const lines = table.trimEnd().split('\n');
  expect(lines[0]).toMatch(/^\/rest\/ .*slow.* 0\.0 +1 +0 +[\d.]+ m?s +[\d.]+ m?s +\d+ %$/);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(120);
  expect(stdout).not.toContain('planted');
});

test('gw top --json has the statements with their whole text', async (t) => {
  const { gw, read, database } = await startRest(t);
  const { stdout } = await busy(read, run(gw.dir, ['top', '--json', '-c', gw.conf]));
  const { statements = [] } = JSON.parse(stdout) as TopFacts;
  const ofDatabase = statements.filter((one) => one.database === database);
  expect(ofDatabase[0]).toMatchObject({
    location: '/rest/',
    role: 'anon',
    calls: 1,
    errors: 0,
    rows: 1,
    perSecond: 0,
  });
  expect(ofDatabase[0]?.sql).toMatch(/"slow".*\$1/);
  expect(ofDatabase[0]?.meanSeconds).toBeGreaterThanOrEqual(1.5);
  const own = ofDatabase.find(({ sql }) => sql.includes('"own"'));
  expect(own?.perSecond).toBeGreaterThan(0);
  expect(own?.share).toBeLessThan(ofDatabase[0]?.share ?? 0);
  expect(stdout).not.toContain('planted');
});

/** A gateway at an address that shows this statement. */
async function serveStatement(t: Owner, sql: string): Promise<string> {
  const statement = { database: 'd', location: '/\u001b[2J', role: null, calls: 7, errors: 1, rows: 9, sql };
  const statements = [{ ...statement, total_ms: 3_500, max_ms: 2_000 }];
  const report = JSON.stringify({ status: 'ok', total_ms: 7_000, statements });
  const server = createServer((request, response) =>
    response.end(request.url?.includes('/statements') ? report : 'process_start_time_seconds 1\n'),
  );
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.onTestFinished(async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test('gw top prints statements on one line each, without control bytes', async (t) => {
  const address = await serveStatement(t, 'select 1 as "\u001b]0;t\u0007\n\u009b31m\u202eevil"');
  const { stdout } = await run(directoryWith(t, {}), ['top', '--once', '--address', address]);
  expect(stdout).toMatch(/\n\/.*select 1 as ".*evil" +0\.0 +7 +1 +500 ms +2 s +50 %\n$/);
  // eslint-disable-next-line no-control-regex -- what must not be there
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/);
});

test.skipIf(!canOpenTerminals)(
  'gw top fits statements to the terminal, and says where they come from',
  async (t) => {
    const sql = `select ${'"column", '.repeat(50)}`;
    const shown = startTop(t, await serveStatement(t, sql), { NO_COLOR: '1' });
    await shown.shows(/LOCATION/);
    shown.press('6');
    await shown.shows(/\[6 statements\][^]*\nSTATEMENT .*\n.*select .*… +0\.0 +7 +1 +500 ms +2 s +50 %\n/);
    expect(shown.screen()).toHaveLength(24);
    expect(Math.max(...shown.screen().map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(shown.screen().at(-1)).toMatch(/s sort: TIME/);
    shown.press('/nothing\r');
    await shown.shows(/only "nothing"/);
    expect(shown.screen().join('\n')).not.toContain('select');
    shown.press('q');
    expect(await shown.ended).toBe(0);
    const without = startTop(t, await serveText(t, () => 'process_start_time_seconds 1\n'), {
      NO_COLOR: '1',
    });
    await without.shows(/LOCATION/);
    without.press('6');
    await without.shows(/add "location = \/statements \{ control_api statements; \}"/);
    without.press('q');
    expect(await without.ended).toBe(0);
  },
);

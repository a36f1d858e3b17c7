import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { expect, test, type TestContext } from 'vitest';
import { gw } from '../cli/command.ts';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import { launch } from '../harness/launch.ts';
import { freePort } from '../harness/ports.ts';

/** The account that stands for an ordinary user where root runs the tests. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;

/** The program of this checkout, for a command in another directory. */
const PROGRAM = resolve('bin/gw');

/** The accounts that run `gw demo`: root changes to `nobody` for the second one. */
const users = isRoot ? (['root', 'nobody'] as const) : (['us'] as const);

function demoCommand(user: (typeof users)[number], args: readonly string[]): readonly [string, ...string[]] {
  const gw = [process.execPath, GW, 'demo', ...args] as const;
  return user === 'nobody'
    ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups', ...gw]
    : gw;
}

function dataDir(t: TestContext, user: (typeof users)[number]): string {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gw-demo-')));
  if (user === 'nobody') chownSync(dir, NOBODY, NOBODY);
  // Root's demo serves as nobody, who needs access to this directory.
  else chmodSync(dir, 0o711);
  t.onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return join(dir, 'data');
}

/** Starts the demo, makes the calls that its banner shows, and stops it with Ctrl-C. */
async function tryDemo(user: (typeof users)[number], data: string): Promise<string> {
  const port = await freePort();
  const [program, ...args] = demoCommand(user, ['--port', String(port), '--data', data]);
  const demo = launch(program, args, { cwd: '/', env: { PATH: process.env['PATH'] } });
  try {
    await demo.waitForOutput(/Ctrl-C stops everything/);
    expect(demo.output()).toContain(`  control   ${PROGRAM} status -p ${data} && curl `);
    const rows = await call(port, '/rest/todos?select=id,task&done=is.false&order=id');
    expect(JSON.parse(rows.body)).toEqual([
      { id: 2, task: 'try the gateway' },
      { id: 3, task: 'break conf/demo.conf and run gw check' },
    ]);
    expect((await call(port, '/kv/set/hello', { method: 'POST', body: 'world' })).body).toBe('{"ok":true}');
    expect((await call(port, '/kv/hello')).body).toBe('{"value":"world"}');
    const headers = { 'Content-Type': 'application/json' };
    const published = await call(port, '/events', { method: 'POST', headers, body: '{"type":"hello"}' });
    expect(JSON.parse(published.body)).toMatchObject({ status: 'published', generation: 1 });
  } finally {
    expect(await demo.stop('SIGINT')).toEqual({ code: 0, signal: null });
  }
  return demo.output();
}

test.for(users)(
  'the demo runs twice in a row as %s, keeps its data, and leaves no process',
  async (user, t) => {
    const data = dataDir(t, user);
    const first = await tryDemo(user, data);
    const banner =
      /^starting the demo on http:\/\/127\.0\.0\.1:\d+\/: its PostgreSQL is created in \S+, once\ngw \S+ · node \S+ · 2 workers · conf \S+\/conf\/demo\.conf \(gw check: 0 errors, 0 warnings\)\n/;
    expect(first).toMatch(banner);
    expect(await tryDemo(user, data)).toMatch(/^starting the demo on http:\/\/127\.0\.0\.1:\d+\/\n/);
    // `stop` has checked the process group; PostgreSQL removes this file when it ends in good order.
    expect(existsSync(join(data, 'pg/postmaster.pid'))).toBe(false);
  },
);

test.runIf(isRoot)(
  'the demo of root serves as root where its data is accessible to root only, and reports it',
  async (t) => {
    const data = dataDir(t, 'root');
    chmodSync(dirname(data), 0o700);
    expect(await tryDemo('root', data)).toContain('(gw check: 0 errors, 1 warnings)');
  },
);

test('the demo names a free port when its own is taken', async (t) => {
  const taken = createServer();
  t.onTestFinished(() => void taken.close());
  const port = await new Promise<number>((resolve) => {
    taken.listen(0, '127.0.0.1', () => resolve((taken.address() as { port: number }).port));
  });
  const data = dataDir(t, users[0]);
  const demo = launch(process.execPath, [GW, 'demo', '--port', String(port), '--data', data], { cwd: '/' });
  expect(await demo.exited).toEqual({ code: 1, signal: null });
  expect(demo.output()).toMatch(
    new RegExp(
      `^gw: port ${port} is in use; port \\d+ is free: ${PROGRAM} demo --port \\d+ --data ${data}\n$`,
    ),
  );
  expect(existsSync(data)).toBe(false);
  await demo.stop();
});

const NEEDS_ROOT = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8')) > 80;
test.runIf(NEEDS_ROOT)('the demo says when only root may have its port', async (t) => {
  const user = users[users.length - 1] ?? 'us';
  const [program, ...args] = demoCommand(user, ['--port', '80', '--data', dataDir(t, user)]);
  const demo = launch(program, args, { cwd: '/' });
  expect(await demo.exited).toEqual({ code: 1, signal: null });
  expect(demo.output()).toMatch(
    /^gw: port 80 needs root, or "sysctl net\.ipv4\.ip_unprivileged_port_start=80"; port 80\d\d is free: .* demo --port 80\d\d --data \S+\n$/,
  );
  await demo.stop();
});

test('Ctrl-C during the first start leaves no fault, and the next start is a first one', async (t) => {
  const data = dataDir(t, users[0]);
  const port = String(await freePort());
  const [program, ...args] = demoCommand(users[0], ['--port', port, '--data', data]);
  const demo = launch(program, args, { cwd: '/', env: { PATH: process.env['PATH'] } });
  // PostgreSQL's directory is being made.
  await expect
    .poll(() => existsSync(data) && readdirSync(data).some((name) => name.startsWith('pg.draft')))
    .toBe(true);
  // A terminal sends the signal to all processes of the group.
  process.kill(-(await demo.started), 'SIGINT');
  expect(await demo.exited).toEqual({ code: 0, signal: null });
  expect(demo.output()).toMatch(/^starting the demo .*\n$/);
  expect(readdirSync(data).filter((name) => name.includes('draft'))).toEqual([]);
  await demo.stop();
  await tryDemo(users[0], data);
});

test('commands find the demo of their directory, whose data no second one takes', async (t) => {
  const directory = dirname(dataDir(t, users[0]));
  const port = await freePort();
  const demo = launch(process.execPath, [GW, 'demo', '--port', String(port)], { cwd: directory });
  t.onTestFinished(async () => void (await demo.stop('SIGINT')));
  await demo.waitForOutput(/Ctrl-C stops everything/);
  const file = resolve('conf/demo.conf');
  const question = ['explain', 'GET', `http://127.0.0.1:${port}/rest/todos`];
  const commands = [
    ['ready'],
    ['status'],
    ['flag', 'set', 'new_greeting'],
    ['demo', '--port', String(await freePort())],
    question,
    ['check'],
    ['check', '--fix'],
    [...question, '-c', file],
    ['-t'],
    ['-s', 'reload', '--wait'],
  ];
  const said = await Promise.all(commands.map((args) => gw(directory, args)));
  expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 1, 0, 0, 2, 0, 0, 0]);
  const told = `gw: using the configuration file ${file}: a demo runs on .gw\n`;
  for (const at of [4, 5, 8]) expect(said[at]?.stderr.startsWith(told)).toBe(true);
  for (const at of [4, 7])
    expect(said[at]?.stdout).toMatch(new RegExp(`^LOCATION +/rest/ +${file}:\\d+$`, 'm'));
  expect(said[6]?.stderr).toContain("the demo's configuration is a part of gw");
  expect(said[0]?.stdout).toBe(`OK: http://127.0.0.1:${port}/runtime/ready\n`);
  expect(said[3]?.stderr).toBe(
    `gw: a demo runs on ".gw" already: http://127.0.0.1:${port}/, process ${demo.pid}; ${PROGRAM} demo --data DIR takes another directory\n`,
  );
  expect((await call(port, '/greeting')).headers.get('x-new-greeting')).toBe('1');
});

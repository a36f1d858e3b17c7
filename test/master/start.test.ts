import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DROPS_HIGH_BYTES } from '../../src/worker/transport/uws/loader.ts';
import { type Gateway, GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import { freeLowPort, freePort } from '../harness/ports.ts';
import { isAlive, sharedSupervised, startSupervised } from './processes.ts';
import { IS_ROOT, NOBODY } from './rights.ts';

const CONF = 'server { location / { return 200 ok; } }';

/** A gateway beside which others are started, in its directory. */
const first = sharedSupervised(CONF);

/** Runs a command line of gw to its end. */
function run(gw: Gateway, ...args: string[]): Promise<{ code: number; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [GW, '-p', gw.dir, ...args], (error, _, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stderr });
    });
  });
}

test('a port in use ends the second gateway in the words of nginx, and leaves the pid file of the first', async (t) => {
  const gw = await first(t);
  const { pid } = gw;
  writeFileSync(
    join(gw.dir, 'second.conf'),
    `pid gw.pid; error_log ${gw.dir}/second.log; http { server { listen 127.0.0.1:${gw.port}; } }`,
  );
  const { code, stderr } = await run(gw, '-c', 'second.conf');
  const message = `bind() to 127.0.0.1:${gw.port} failed (98: Address already in use)`;
  expect({ code, stderr }).toEqual({ code: 1, stderr: `gw: [emerg] ${message}\n` });
  expect(gw.read('second.log')).toContain(`[emerg] `);
  expect(gw.read('second.log')).toContain(message);
  expect(gw.pid).toBe(pid);
  await gw.expect('GET /', { status: 200, body: 'ok' });
});

test('a start fails when a process cannot be started', async (t) => {
  const gw = await first(t);
  const preload = join(gw.dir, 'preload.cjs');
  writeFileSync(preload, `process.execPath = '/nonexistent/node';`);
  const { status, stderr } = spawnSync(process.execPath, ['--require', preload, GW, '-c', gw.conf], {
    encoding: 'utf8',
    timeout: 10_000,
    killSignal: 'SIGKILL',
  });
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: 'gw: [alert] supervisor: spawn /nonexistent/node ENOENT\n',
  });
});

/** Without `user`, root becomes nobody. */
const accounts = IS_ROOT ? ['', 'user root;'] : [''];
for (const user of accounts)
  test(`logs that cannot be opened refuse a start in the words of nginx (${user || 'no user'})`, async (t) => {
    const gw = await first(t);
    const port = await freePort();
    writeFileSync(
      join(gw.dir, 'second.conf'),
      `${user} pid second.pid; error_log ${gw.dir}/none/e.log; http { access_log ${gw.dir}/none/e.log; server {
         error_log ${gw.dir}/none/e.log; listen 127.0.0.1:${port}; } }`,
    );
    const failed = `open() "${gw.dir}/none/e.log" failed (2: No such file or directory)`;
    const { code, stderr } = await run(gw, '-c', 'second.conf');
    expect({ code, stderr }).toEqual({ code: 1, stderr: `gw: [emerg] ${failed}\n` });
  });

test('a start warns where the process may open fewer files than worker_rlimit_nofile', async (t) => {
  const gw = await first(t);
  writeFileSync(
    join(gw.dir, 'second.conf'),
    `pid second.pid; error_log ${gw.dir}/second.log; worker_rlimit_nofile 2147483647; http { server { listen 127.0.0.1:${gw.port}; } }`,
  );
  const { code, stderr } = await run(gw, '-c', 'second.conf');
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /^gw: \[warn\] "worker_rlimit_nofile 2147483647" has no effect: the process may open \d+ files; .*\ngw: \[emerg\] bind\(\)/,
  );
});

for (const engine of ['uws', 'node']) {
  test(`a file that is not a socket is not removed as a leftover (${engine})`, async (t) => {
    const gw = await first(t);
    gw.lay({ notes: 'precious' });
    const listen = `listen unix:${gw.dir}/notes engine=${engine};`;
    writeFileSync(
      join(gw.dir, 'second.conf'),
      `pid second.pid; error_log ${gw.dir}/second.log; http { server { ${listen} } }`,
    );
    const { code, stderr } = await run(gw, '-c', 'second.conf');
    const message = `bind() to unix:${gw.dir}/notes failed (98: Address already in use)`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: `gw: [emerg] ${message}\n` });
    expect(gw.read('notes')).toBe('precious');
    expect(await gw.reload(`server { ${listen} return 200 ok; }`)).toBe('refused');
    expect(gw.read('notes')).toBe('precious');
  });
}

test.runIf(IS_ROOT)(
  'a start that fails after it opened a low port prints the reason and nothing else',
  async (t) => {
    const gw = await first(t);
    gw.lay({ 'theirs/e.log': '' });
    chmodSync(join(gw.dir, 'theirs/e.log'), 0o600);
    chownSync(join(gw.dir, 'theirs'), NOBODY.uid, 0);
    const port = await freeLowPort();
    writeFileSync(
      join(gw.dir, 'second.conf'),
      `user nobody; pid second.pid; error_log ${gw.dir}/theirs/e.log; http { access_log off; server { listen 127.0.0.1:${port}; } }`,
    );
    const { code, stderr } = await run(gw, '-c', 'second.conf');
    const remedy = 'chown the file, or let nobody but root write its directory';
    const message = `open() "${gw.dir}/theirs/e.log" failed (13: Permission denied) for user "nobody"; ${remedy}`;
    expect({ code, stderr }).toEqual({ code: 1, stderr: `gw: [emerg] ${message}\n` });
  },
);

test('the pid file appears when every port accepts', async (t) => {
  const gw = await first(t);
  const [one, two] = [await freePort(), await freePort()];
  const pidFile = join(gw.dir, 'late.pid');
  writeFileSync(
    join(gw.dir, 'late.conf'),
    `pid ${pidFile}; error_log ${gw.dir}/late.log warn; worker_processes 4; http { access_log off;
       server { listen 127.0.0.1:${one}; listen 127.0.0.1:${two} engine=node; return 200 ok; } }`,
  );
  const started = run(gw, '-c', 'late.conf');
  while (!existsSync(pidFile) || gw.read('late.pid') === '') await new Promise(setImmediate);
  for (const port of [one, two]) expect((await call(port, '/')).body).toBe('ok');
  process.kill(Number(gw.read('late.pid')), 'SIGTERM');
  expect(await started).toEqual({ code: 0, stderr: '' });
});

test.runIf(DROPS_HIGH_BYTES)(
  'a start says once that header values lose bytes, on stderr where the log leaves it out',
  async (t) => {
    const gw = await first(t);
    const [one, two, three] = [await freePort(), await freePort(), await freePort()];
    const [conf, pidFile] = [join(gw.dir, 'losing.conf'), join(gw.dir, 'losing.pid')];
    const servers = (...ports: readonly number[]): string =>
      ports.map((port) => `server { listen 127.0.0.1:${port}; return 200 $http_x_name; }`).join(' ');
    const configure = (http: string): void =>
      writeFileSync(
        conf,
        `pid ${pidFile}; error_log ${gw.dir}/losing.log; worker_processes 4; http { access_log ${gw.dir}/losing.access; ${http} }`,
      );
    configure(servers(one, two));
    const started = run(gw, '-c', conf);
    // The file is there before its line is.
    await expect.poll(() => existsSync(pidFile) && gw.read('losing.pid')).toMatch(/\d\n/);
    configure(servers(one, two, three));
    for (const _ of [1, 2]) process.kill(Number(gw.read('losing.pid')), 'SIGHUP');
    await expect
      .poll(() =>
        call(three, '/').then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
    process.kill(Number(gw.read('losing.pid')), 'SIGTERM');
    const line = (...ports: readonly number[]): string =>
      `gw: [warn] uWebSockets.js drops bytes from 0x80 on at the ends of header values ("José" arrives as "Jos") on ${ports.map((port) => `127.0.0.1:${port}`).join(', ')}: "http_engine node;" at the top of the file keeps them\n`;
    expect(await started).toEqual({ code: 0, stderr: line(one, two) + line(three) });
    // The stop may come before the second reload is done.
    expect(gw.read('losing.log')).toMatch(/^(?:.* reload refused, .*: the gateway is stopping\n)?$/);
  },
);

for (const [main, listen] of [
  ['http_engine auto;', ''],
  ['http_engine uws;', ''],
  ['', 'engine=uws'],
]) {
  test(`a start does not say what is lost where "${main}${listen}" has chosen`, async (t) => {
    const gw = await first(t);
    const port = await freePort();
    writeFileSync(
      join(gw.dir, 'chosen.conf'),
      `pid ${gw.dir}/chosen.pid; error_log stderr; ${main} http { access_log off; server { listen 127.0.0.1:${port} ${listen}; return 200 $http_x_name; } }`,
    );
    const chosen = run(gw, '-c', 'chosen.conf');
    await expect.poll(() => existsSync(join(gw.dir, 'chosen.pid')) && gw.read('chosen.pid')).toMatch(/\d\n/);
    process.kill(Number(gw.read('chosen.pid')), 'SIGTERM');
    expect(await chosen).toEqual({ code: 0, stderr: '' });
  });
}

for (const [signal, logged] of [
  ['reload', /reload done/],
  ['reopen', /start worker processes/],
  ['quit', /gracefully shutting down[^]*#0: exit\n$/],
  ['stop', /exiting[^]*#0: exit\n$/],
] as const) {
  test(`-s ${signal} reaches the gateway through its pid file`, async (t) => {
    const gw = await startSupervised(t, CONF, { expectAlerts: true });
    expect(await run(gw, '-c', gw.conf, '-s', signal)).toEqual({ code: 0, stderr: '' });
    await expect.poll(() => gw.errorLog(), { timeout: 5_000 }).toMatch(logged);
    if (signal === 'quit' || signal === 'stop') await gw.ended();
    else await gw.expect('GET /', { status: 200 });
  });
}

for (const alone of ['off', 'on'] as const) {
  test(`daemon on returns once the gateway serves, with master_process ${alone}`, async (t) => {
    const gw = await first(t);
    const port = await freePort();
    writeFileSync(
      join(gw.dir, 'daemon.conf'),
      `daemon on; master_process ${alone}; pid daemon.pid; error_log ${gw.dir}/daemon.${alone}.log notice;
       http { access_log off; server { listen 127.0.0.1:${port}; location / { return 200 daemon; } } }`,
    );
    expect(await run(gw, '-c', 'daemon.conf')).toEqual({ code: 0, stderr: '' });
    const pid = Number(gw.read('daemon.pid'));
    t.onTestFinished(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')));
    expect(isAlive(pid)).toBe(true);
    expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('daemon');
    expect(await run(gw, '-c', 'daemon.conf', '-s', 'quit')).toEqual({ code: 0, stderr: '' });
    await expect.poll(() => isAlive(pid), { timeout: 5_000 }).toBe(false);
    expect(gw.read(`daemon.${alone}.log`)).toMatch(/#0: exit\n$/);
    expect(gw.read('daemon.pid')).toBe('');
  });
}

test('daemon on fails in the foreground when the configuration cannot serve', async (t) => {
  const gw = await first(t);
  writeFileSync(
    join(gw.dir, 'daemon.conf'),
    `daemon on; pid daemon.pid; error_log ${gw.dir}/daemon.log; http { server { listen 127.0.0.1:${gw.port}; } }`,
  );
  const { code, stderr } = await run(gw, '-c', 'daemon.conf');
  expect(code).toBe(1);
  expect(stderr).toContain('failed (98: Address already in use)');
});

test('master_process off serves and takes signals in one process', async (t) => {
  const gw = await startSupervised(t, CONF, { main: 'master_process off;', workers: 2 });
  expect(await gw.reload(CONF.replace('ok', 'new'))).toBe('done');
  await gw.expect('GET /', { status: 200, body: 'new' });
  await gw.stop('SIGQUIT');
  gw.assertHealthy();
});

test('a request head may be as large as large_client_header_buffers says', async (t) => {
  const gw = await startSupervised(t, `large_client_header_buffers 4 16k; ${CONF}`);
  const headers = { 'x-a': 'a'.repeat(15_000), 'x-b': 'b'.repeat(15_000), 'x-c': 'c'.repeat(15_000) };
  await gw.expect('GET /', { status: 200 }, { headers });
  await gw.expect('GET /', { status: 400 }, { headers: { 'x-a': 'a'.repeat(16_500) } });
});

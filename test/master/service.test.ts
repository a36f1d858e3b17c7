import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, runIn, type Said } from '../cli/command.ts';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import type { Owner } from '../harness/owner.ts';
import { freePort } from '../harness/ports.ts';
import { isAlive } from './processes.ts';

/*
 * The command lines of Debian's unit file, init script and logrotate stanza for nginx, word for word except for the paths:
 * gw is installed there under nginx's name, and finds its configuration without -c.
 */
interface Service {
  /** Its pid file. */
  readonly pidFile: string;
  readonly pid: number;
  configure(body: string): void;
  /** Content of a file, '' while there is none. */
  read(path: string): string;
  move(from: string, to: string): void;
  body(): Promise<string>;
  /** `{}` in a word is replaced by the directory. */
  run(...words: readonly string[]): Promise<Said>;
}

const ON = 'daemon on; master_process on;';
const SUCCESS = { code: 0, stdout: '', stderr: '' };
const HAS_START_STOP = spawnSync('start-stop-daemon', ['--version']).error === undefined;

async function install(t: Owner, name: string): Promise<Service> {
  const port = await freePort();
  const dir = directoryWith(t, { 'sbin/keep': '', 'run/keep': '', 'log/keep': '' });
  const pidFile = `run/${name}.pid`;
  symlinkSync(GW, join(dir, 'sbin', name));
  const read = (path: string): string =>
    existsSync(join(dir, path)) ? readFileSync(join(dir, path), 'utf8') : '';
  const service: Service = {
    pidFile,
    get pid() {
      return Number(read(pidFile));
    },
    configure: (body) =>
      writeFileSync(
        join(dir, 'gateway.conf'),
        `user www-data; worker_processes 2; pid ${dir}/${pidFile}; error_log ${dir}/log/error.log notice;
         env TZ=Asia/Kathmandu; env HOME; events { worker_connections 768; }
         http { access_log ${dir}/log/access.log; server { listen 127.0.0.1:${port}; return 200 ${body}; } }`,
      ),
    read,
    move: (from, to) => renameSync(join(dir, from), join(dir, to)),
    body: async () => (await call(port, '/')).body,
    run: (...words) =>
      runIn(
        dir,
        words.map((word) => word.replaceAll('{}', dir)),
      ),
  };
  service.configure('one');
  t.onTestFinished(async () => {
    const { pid } = service;
    if (pid > 1 && isAlive(pid)) process.kill(pid, 'SIGTERM');
    await expect.poll(() => pid > 1 && isAlive(pid), { timeout: 10_000 }).toBe(false);
  });
  return service;
}

for (const name of ['gw', 'nginx']) {
  const program = `{}/sbin/${name}`;

  test(`the unit file of nginx tests, starts and reloads a program called ${name}`, async (t) => {
    const service = await install(t, name);
    // ExecStartPre, ExecStart: with Type=forking, systemd reads PIDFile as soon as the command has ended.
    expect(await service.run(program, '-t', '-q', '-g', ON)).toEqual(SUCCESS);
    expect(await service.run(program, '-g', ON)).toEqual(SUCCESS);
    const { pid } = service;
    expect(isAlive(pid)).toBe(true);
    expect(await service.body()).toBe('one');
    service.configure('two');
    expect(await service.run(program, '-g', ON, '-s', 'reload')).toEqual(SUCCESS);
    await expect.poll(() => service.body()).toBe('two');
    expect(service.pid).toBe(pid);
    expect(await service.run(program, '-s', 'quit', '-g', ON)).toEqual(SUCCESS);
    await expect.poll(() => isAlive(pid), { timeout: 10_000 }).toBe(false);
    expect(service.read(service.pidFile)).toBe('');
    expect(service.read('log/error.log')).not.toMatch(/\[(alert|emerg|crit)\]/);
  });

  test.skipIf(!HAS_START_STOP)(
    `the init script of nginx (start-stop-daemon) rotates logs of ${name} and stops it`,
    async (t) => {
      const service = await install(t, name);
      const { pidFile } = service;
      expect(await service.run(program, '-g', ON)).toEqual(SUCCESS);
      await service.body();
      await expect.poll(() => service.read('log/access.log')).toContain('"GET / HTTP/1.1" 200');
      for (const log of ['access', 'error']) service.move(`log/${log}.log`, `log/${log}.log.1`);
      const ssd = ['start-stop-daemon', '--stop', '--quiet', '--pidfile', `{}/${pidFile}`, '--name', name];
      expect(await service.run(...ssd, '--signal', 'USR1')).toEqual(SUCCESS);
      await expect
        .poll(() => service.read('log/error.log'))
        .toMatch(/worker 1 reopened[^]*worker 2 reopened|worker 2[^]*worker 1/);
      await service.body();
      await expect
        .poll(() => service.read('log/access.log'))
        .toMatch(/^[^\n]*"GET \/ HTTP\/1\.1" 200[^\n]*\n$/);
      // ExecStop
      const { pid } = service;
      const stop = [
        'start-stop-daemon',
        '--quiet',
        '--stop',
        '--retry',
        'QUIT/5',
        '--pidfile',
        `{}/${pidFile}`,
      ];
      expect(await service.run(...stop)).toEqual(SUCCESS);
      expect(isAlive(pid)).toBe(false);
    },
  );
}

test('a program called nginx goes into the background by itself, as unit files and init scripts expect', async (t) => {
  const service = await install(t, 'nginx');
  expect(await service.run('{}/sbin/nginx')).toEqual(SUCCESS);
  expect(isAlive(service.pid)).toBe(true);
  expect(await service.body()).toBe('one');
});

test('the signals of an upgrade replace the program, and stop nothing else', async (t) => {
  const service = await install(t, 'gw');
  expect(await service.run('{}/sbin/gw', '-g', ON)).toEqual(SUCCESS);
  process.kill(service.pid, 'SIGUSR2');
  await expect.poll(() => service.read('log/error.log')).toMatch(/gw\/\S+ was upgraded to gw\/\S+/);
  process.kill(service.pid, 'SIGWINCH');
  await expect
    .poll(() => service.read('log/error.log'))
    .toMatch(/signal 28 \(SIGWINCH\) received, gw does not stop/);
  expect(await service.body()).toBe('one');
});

test('a variable of env is visible to the process', async (t) => {
  const service = await install(t, 'gw');
  expect(await service.run('{}/sbin/gw', '-g', ON)).toEqual(SUCCESS);
  await service.body();
  await expect.poll(() => service.read('log/access.log')).toContain(' +0545] ');
  expect(readFileSync(`/proc/${service.pid}/comm`, 'utf8')).toBe('gw\n');
});

test('a service whose configuration is broken reports it and starts nothing', async (t) => {
  const service = await install(t, 'nginx');
  service.configure('one; nonsense');
  for (const words of [['-t', '-q'], []]) {
    const said = await service.run('{}/sbin/nginx', ...words, '-g', ON);
    expect(said.code).toBe(1);
    expect(said.stderr).toContain('unknown directive "nonsense" in gateway.conf');
  }
  expect(service.read(service.pidFile)).toBe('');
});

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Certificates, HAS_OPENSSL } from '../harness/certificates.ts';
import { GW } from '../harness/gateway.ts';
import { call } from '../harness/http.ts';
import { freeLowPort } from '../harness/ports.ts';
import { isAlive, masterPid, sharedSupervised, startSupervised } from './processes.ts';
import { childrenOf, IS_ROOT, NOBODY, peerNames, rightsOf, startAsNobody } from './rights.ts';

const SIMPLE = 'server { return 200 ok; }';
const asNobody = sharedSupervised(SIMPLE, { main: 'user nobody;', workers: 2 });

test.runIf(IS_ROOT)(
  'a gateway that root starts serves as the account of "user" in every thread, before and after a reload',
  async (t) => {
    const gw = await asNobody(t);
    await gw.expect('GET /', { status: 200, body: 'ok' });
    expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
    expect(await gw.reload('server { return 200 new; }')).toBe('done');
    await gw.expect('GET /', { status: 200, body: 'new' });
    expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts serves as nobody by default, and as root with "user root"',
  async (t) => {
    const bare = await startSupervised(t, 'server { return 200 ok; }', { main: '# no user ' });
    expect(rightsOf(masterPid(bare))).toEqual([NOBODY.rights]);
    const root = await startSupervised(t, 'server { return 200 ok; }', { main: 'user root;' });
    expect(rightsOf(masterPid(root))[0]).toMatch(/^Uid 0 0 0 0/);
  },
);

test.runIf(IS_ROOT)('a gateway that root starts reads no file that only root can read', async (t) => {
  const gw = await asNobody(t);
  expect(await gw.reload('server { location /etc/ { alias /etc/; } }')).toBe('done');
  await gw.expect('GET /etc/shadow', { status: 403 });
  await gw.expect('GET /etc/passwd', { status: 200 });
});

test.runIf(IS_ROOT && HAS_OPENSSL)(
  'serves TLS with keys that only root can read, old ones and new ones, on all workers',
  async (t) => {
    const certificates = new Certificates();
    certificates.authority('ca');
    for (const name of ['one', 'two']) certificates.signed(name, 'ca');
    for (const file of readdirSync(certificates.dir)) chmodSync(certificates.path(file), 0o600);
    const port = await freeLowPort();
    const conf = (name: string): string =>
      `server { listen 127.0.0.1:${port} ssl; ssl_certificate ${certificates.path(name)}.crt; ssl_certificate_key ${certificates.path(name)}.key; return 200 ok; }`;
    const gw = await startAsNobody(t, conf('one'), { workers: 2 });
    expect(await peerNames(port)).toEqual(new Set(['one']));
    expect(await gw.reload(conf('two'))).toBe('done');
    expect(await peerNames(port)).toEqual(new Set(['two']));
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts continues in new log files after a rotation, and in those of a reload',
  async (t) => {
    const conf = (dir: string, log = 'a.log'): string =>
      `access_log ${dir}/logs/${log}; server { return 200 ok; }`;
    const gw = await asNobody(t);
    gw.lay({ 'logs/.keep': '' });
    expect(await gw.reload(conf(gw.dir))).toBe('done');
    const from = gw.errorLog().length;
    await gw.expect('GET /1', { status: 200 });
    await expect.poll(() => gw.read('logs/a.log')).toContain('GET /1');
    renameSync(join(gw.dir, 'logs/a.log'), join(gw.dir, 'logs/a.log.1'));
    gw.signal('SIGUSR1');
    for (const worker of [1, 2]) await gw.waitForLog(new RegExp(`worker ${worker} reopened its logs`), from);
    await gw.expect('GET /2', { status: 200 });
    await expect.poll(() => gw.read('logs/a.log')).toContain('GET /2');
    expect(gw.read('logs/a.log.1')).not.toContain('GET /2');
    expect(await gw.reload(conf(gw.dir, 'b.log'))).toBe('done');
    await gw.expect('GET /3', { status: 200 });
    await expect.poll(() => gw.read('logs/b.log')).toContain('GET /3');
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts keeps its embedded store, and its pid file names the process that takes signals',
  async (t) => {
    const conf = (dir: string): string => `server {
    location = /set { kv_pass embedded:${dir}/store; kv_command set; kv_key k; }
    location = /get { kv_pass embedded:${dir}/store; kv_key k; }
  }`;
    const gw = await startAsNobody(t, (dir) => conf(dir), { workers: 2 });
    await gw.expect('POST /set', { status: 200 }, { method: 'POST', body: 'v' });
    await gw.expect('GET /get', { status: 200 });
    expect(gw.pid).not.toBe(masterPid(gw));
    expect(await gw.reload(conf(gw.dir))).toBe('done');
    await gw.expect('GET /get', { status: 200 });
    await gw.stop('SIGQUIT');
    expect(gw.read('gw.pid')).toBe('');
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts makes the directories above an embedded store, and has access to them',
  async (t) => {
    const conf = (dir: string): string =>
      `server { location = /get { kv_pass embedded:${dir}/data/of/store; kv_key k; } }`;
    const gw = await startAsNobody(t, conf);
    await gw.expect('GET /get', { status: 200 });
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts runs an embedded database that it can reach, before and after a reload',
  async (t) => {
    const conf = (dir: string): string =>
      `server { location /rest/ { dbrest_pass embedded:${dir}/pg; dbrest_embedded_init ${dir}/init.sql; dbrest_anon_role postgres; } }`;
    const gw = await startAsNobody(t, (dir) => conf(dir), {
      workers: 2,
      files: { 'init.sql': 'create table words (word text); insert into words values ($$hi$$);' },
    });
    await gw.expect('GET /rest/words', { status: 200, body: '[{"word":"hi"}]' });
    expect(await gw.reload(conf(gw.dir))).toBe('done');
    await gw.expect('GET /rest/words', { status: 200, body: '[{"word":"hi"}]' });
    await gw.stop('SIGTERM');
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts is restarted as the same account when its process dies',
  async (t) => {
    const port = await freeLowPort();
    const gw = await startAsNobody(t, `server { listen 127.0.0.1:${port}; return 200 ok; }`, {
      port,
      expectAlerts: true,
    });
    const master = masterPid(gw);
    gw.write('server { retrun 200; }');
    process.kill(master, 'SIGKILL');
    await expect.poll(() => masterPid(gw)).not.toBe(master);
    await gw.expect('GET /', { status: 200, body: 'ok' });
    expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
  },
);

test.runIf(IS_ROOT)(
  'a gateway that root starts has a process of root also without a supervisor, which ends with it',
  async (t) => {
    const port = await freeLowPort();
    const conf = (listen: string): string => `server { ${listen} return 200 ok; }`;
    const gw = await startAsNobody(t, conf(`listen 127.0.0.1:${port};`), {
      main: 'user nobody; master_process off;',
      port,
    });
    expect(rightsOf(gw.pid)).toEqual([NOBODY.rights]);
    const added = await freeLowPort();
    const [keeper] = childrenOf(gw.pid);
    // `killall -USR1 gw`
    for (const signal of ['SIGUSR1', 'SIGUSR2'] as const) process.kill(Number(keeper), signal);
    expect(await gw.reload(conf(`listen 127.0.0.1:${port}; listen 127.0.0.1:${added};`))).toBe('done');
    expect((await call(added, '/')).body).toBe('ok');
    expect(gw.output()).not.toContain('Debugger listening');
    await gw.stop('SIGQUIT');
    await expect.poll(() => isAlive(Number(keeper))).toBe(false);
    expect(gw.read('gw.pid')).toBe('');
  },
);

const states = [
  { it: 'by default', more: '', path: 'cluster/main' },
  { it: 'at any depth', more: 'state_path a/b/c;', path: 'a/b/c' },
  { it: 'below one of the account', more: 'state_path theirs/b/c;', path: 'theirs/b/c' },
];
const clusters = states.map(
  ({ more }, nth) =>
    `cluster ${['main', 'deep', 'below'][nth]} { backend redis://127.0.0.1:1; secret s; ${more} }`,
);
const withClusters = sharedSupervised(
  (dir) => {
    mkdirSync(join(dir, 'theirs'));
    chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
    return `${clusters.join(' ')} server { return 200 ok; }`;
  },
  { main: 'user nobody;' },
);
for (const { it, path } of states)
  test.runIf(IS_ROOT)(`the directory that a cluster keeps its state in ${it} is the account's`, async (t) => {
    const gw = await withClusters(t);
    await gw.expect('GET /', { status: 200 });
    expect(statSync(join(gw.dir, path, 'node_id')).uid).toBe(NOBODY.uid);
  });

test.runIf(IS_ROOT)('a log that root may not give to the account refuses a start and a reload', async (t) => {
  const conf = (dir: string): string => {
    chmodSync(join(dir, 'theirs/a.log'), 0o600);
    chownSync(join(dir, 'theirs'), NOBODY.uid, 0);
    return `access_log ${dir}/theirs/a.log; server { return 200 ok; }`;
  };
  const files = { 'theirs/a.log': '' };
  await expect(startAsNobody(t, (dir) => conf(dir), { files, expectAlerts: true })).rejects.toThrow(
    /open\(\) ".*\/theirs\/a\.log" failed \(13: Permission denied\) for user "nobody"; chown the file/,
  );
  const gw = await asNobody(t);
  gw.lay(files);
  expect(await gw.reload('server { return 200 old; }')).toBe('done');
  const from = gw.errorLog().length;
  expect(await gw.reload(conf(gw.dir))).toBe('refused');
  await gw.waitForLog(/reload refused.*failed \(13: Permission denied\) for user "nobody"/, from);
  await gw.expect('GET /', { status: 200, body: 'old' });
});

test.runIf(IS_ROOT)(
  'a gateway that root starts keeps the old configuration when the new one cannot be loaded',
  async (t) => {
    const gw = await asNobody(t);
    expect(await gw.reload(SIMPLE)).toBe('done');
    const from = gw.errorLog().length;
    expect(await gw.reload('server { retrun 200; }')).toBe('refused');
    await gw.waitForLog(/unknown directive "retrun" in .*gw\.conf:\d+:\d+/, from);
    await gw.expect('GET /', { status: 200, body: 'ok' });
  },
);

for (const [user, said] of [
  ['nonesuch', 'getpwnam("nonesuch") failed'],
  ['nobody nonesuch', 'getgrnam("nonesuch") failed'],
] as const) {
  test.runIf(IS_ROOT)(`"user ${user}" refuses a start, a test and a reload, but not gw check`, async (t) => {
    const gw = await asNobody(t);
    expect(await gw.reload(SIMPLE)).toBe('done');
    const from = gw.errorLog().length;
    const file = join(gw.dir, 'other.conf');
    writeFileSync(file, `user ${user};\nevents {}\nhttp { server { listen 127.0.0.1:1; return 204; } }`);
    for (const args of [['-t'], []]) {
      const { status, stderr } = spawnSync(process.execPath, [GW, ...args, '-c', file], { encoding: 'utf8' });
      expect(status).toBe(1);
      expect(stderr).toContain(`${said} in ${file}:1:6\n`);
    }
    expect(spawnSync(process.execPath, [GW, 'check', file]).status).toBe(0);
    writeFileSync(gw.conf, readFileSync(gw.conf, 'utf8').replace('user nobody;', `user ${user};`));
    gw.signal('SIGHUP');
    await gw.waitForLog(
      /reload refused, the old configuration goes on: get(?:pw|gr)nam\("nonesuch"\) failed/,
      from,
    );
    await gw.expect('GET /', { status: 200, body: 'ok' });
  });
}

test.runIf(IS_ROOT)('another "user" takes effect after a restart, and a reload says so', async (t) => {
  const gw = await asNobody(t);
  expect(await gw.reload(SIMPLE)).toBe('done');
  const from = gw.errorLog().length;
  writeFileSync(gw.conf, readFileSync(gw.conf, 'utf8').replace('user nobody;', 'user daemon;'));
  gw.signal('SIGHUP');
  await gw.waitForLog(/another "user" takes effect after a restart/, from);
  await gw.waitForLog(/reload done/, from);
  expect(rightsOf(masterPid(gw))).toEqual([NOBODY.rights]);
});

test.runIf(!IS_ROOT)('an account other than root cannot change to another, which is logged', async (t) => {
  const gw = await startSupervised(t, 'server { return 200 ok; }', { main: 'user nobody;' });
  await gw.waitForLog(
    /the "user" directive makes sense only if the master process runs with super-user privileges/,
  );
  await gw.expect('GET /', { status: 200, body: 'ok' });
});

import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from '../../src/version.ts';
import { GW } from '../harness/gateway.ts';
import { directoryWith, HAS_NGINX, runIn, type Said } from './command.ts';
import { firstAsProgram } from './in-process.ts';

const gw = firstAsProgram();

const GOOD = 'events {}\nhttp { server { listen 127.0.0.1:18999; location / { return 200 a; } } }\n';
const files = { 'good.conf': GOOD, 'bad.conf': 'events {}\nhtp {}\n', 'logs/keep': '' };

/** Each message is nginx's, with the name of gw. */
const sameAsNginx: readonly { args: readonly string[]; code: number; stderr: string; stdout?: string }[] = [
  {
    args: ['-t', '-c', 'good.conf'],
    code: 0,
    stderr:
      'gw: the configuration file DIR/good.conf syntax is ok\ngw: configuration file DIR/good.conf test is successful\n',
  },
  { args: ['-tq', '-c', 'good.conf'], code: 0, stderr: '' },
  { args: ['-z'], code: 1, stderr: 'gw: invalid option: "z"\n' },
  { args: ['-c'], code: 1, stderr: 'gw: option "-c" requires file name\n' },
  { args: ['-p'], code: 1, stderr: 'gw: option "-p" requires directory name\n' },
  { args: ['-g'], code: 1, stderr: 'gw: option "-g" requires parameter\n' },
  { args: ['-e'], code: 1, stderr: 'gw: option "-e" requires file name\n' },
  { args: ['-s'], code: 1, stderr: 'gw: option "-s" requires parameter\n' },
  { args: ['-s', 'restart'], code: 1, stderr: 'gw: invalid option: "-s restart"\n' },
  { args: ['-t', 'stray'], code: 1, stderr: 'gw: invalid option: "stray"\n' },
];

for (const { args, code, stderr } of sameAsNginx) {
  const expected = { code, stderr, stdout: '' };
  test(`gw ${args.join(' ')} ends with ${code} and nginx's message`, async (t) => {
    const dir = directoryWith(t, files);
    expect(await gw(dir, ['-p', dir, ...args])).toEqual(expected);
  });
  test.runIf(HAS_NGINX)(`nginx ${args.join(' ')} ends with ${code} and the same message`, async (t) => {
    const dir = directoryWith(t, files);
    const said = await runIn(dir, ['nginx', '-p', dir, '-e', 'stderr', ...args]);
    expect({ ...said, stderr: said.stderr.replaceAll('nginx: ', 'gw: ') }).toEqual(expected);
  });
}

test('a test of a file that is missing fails in the words of nginx', async (t) => {
  const dir = directoryWith(t, files);
  const stderr =
    'gw: [emerg] open() "DIR/missing.conf" failed (2: No such file or directory)\n' +
    'gw: configuration file DIR/missing.conf test failed\n';
  expect(await gw(dir, ['-p', dir, '-t', '-c', 'missing.conf'])).toEqual({ code: 1, stdout: '', stderr });
});

test('a test of a broken file shows the fault even with -q', async (t) => {
  const dir = directoryWith(t, files);
  const said = await gw(dir, ['-p', dir, '-tq', '-c', 'bad.conf']);
  expect(said.code).toBe(1);
  expect(said.stderr).toContain('gw: [emerg] unknown directive "htp" in bad.conf:2:1\n');
  expect(said.stderr).toContain('gw: configuration file DIR/bad.conf test failed\n');
});

const ADVICE =
  'gw: --compat=skip serves what does not depend on the directives that are not supported, and responds 501 to the rest\n';
const refusals: readonly { it: string; http: string; advised: boolean }[] = [
  { it: 'only what gw does not support', http: 'modsecurity on;', advised: true },
  {
    it: 'a directive of a module and its variable',
    http: 'geoip_country x.dat; add_header X-Country $geoip_country_code;',
    advised: true,
  },
  { it: 'also a fault', http: 'modsecurity on; htp on;', advised: false },
];
for (const { it, http, advised } of refusals) {
  test(`a test that refuses ${it} ${advised ? 'tells of' : 'does not tell of'} --compat=skip`, async (t) => {
    const dir = directoryWith(t, { 'gw.conf': `events {}\nhttp { ${http} }\n`, 'logs/keep': '' });
    const { code, stderr } = await gw(dir, ['-p', dir, '-t', '-c', 'gw.conf']);
    expect(code).toBe(1);
    expect(stderr.includes(ADVICE)).toBe(advised);
  });
}

test('-v prints only the version and starts nothing', async (t) => {
  const dir = directoryWith(t, files);
  expect(await gw(dir, ['-v'])).toEqual({
    code: 0,
    stdout: '',
    stderr: `gw version: gw/${VERSION}\n`,
  });
});

test('-V prints what gw was built from, what it runs on and which modules are built in', async (t) => {
  const { code, stderr } = await gw(directoryWith(t, files), ['-V']);
  expect(code).toBe(0);
  expect(stderr).toMatch(
    /^gw version: gw\/.*\nbuilt from a checkout\ninstalled as checkout in \/.*\nbuilt with Node\.js \d.*\nbuilt with OpenSSL \d.*\nnative parts: uWebSockets\.js \d.*, lmdb \d.*, @node-rs\/bcrypt \d.*\nTLS SNI support enabled\nconfigure arguments: (--with-http_\w+_module ?)+\n$/,
  );
  expect(stderr).toContain(' --with-http_stub_status_module ');
});

test('-h lists every option that is understood', async (t) => {
  const dir = directoryWith(t, files);
  const { code, stderr } = await gw(dir, ['-h']);
  expect(code).toBe(0);
  for (const option of [
    '-?,-h',
    '-v',
    '-V',
    '-t',
    '-T',
    '-q',
    '-s signal',
    '-p prefix',
    '-e filename',
    '-c filename',
    '-g directives',
  ])
    expect(stderr).toContain(`  ${option} `);
  expect(await gw(dir, ['-?'])).toEqual({ code: 0, stdout: '', stderr });
});

test('-v beside -t shows the version and tests, as nginx does', async (t) => {
  const dir = directoryWith(t, files);
  const { stderr } = await gw(dir, ['-p', dir, '-vt', '-c', 'good.conf']);
  expect(stderr).toMatch(
    /^gw version: .*\n(.*\n)*gw: configuration file DIR\/good\.conf test is successful\n$/,
  );
});

test('without -c gateway.conf of the prefix is read, else conf/gateway.conf', async (t) => {
  const first = directoryWith(t, { 'gateway.conf': GOOD, 'conf/gateway.conf': 'broken' });
  expect((await gw(first, ['-t'])).stderr).toContain('DIR/gateway.conf test is successful');
  const second = directoryWith(t, { 'conf/gateway.conf': GOOD });
  expect((await gw(second, ['-t'])).stderr).toContain('DIR/conf/gateway.conf test is successful');
  expect((await gw(second, ['-t', '-p', `${second}/conf`])).stderr).toContain(
    'DIR/conf/gateway.conf test is successful',
  );
});

test('directives of -g are read before the file and their faults name the command line', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': `worker_processes 2;\n${GOOD}` });
  expect((await gw(dir, ['-t', '-g', 'daemon off; pid other.pid;'])).code).toBe(0);
  const clash = await gw(dir, ['-t', '-g', 'worker_processes 1;']);
  expect(clash.stderr).toContain('"worker_processes" directive is duplicate in gateway.conf:1:1');
  expect(clash.stderr).toContain('first set at command line:1');
  expect((await gw(dir, ['-t', '-g', 'nonsense;'])).stderr).toContain(
    'unknown directive "nonsense" in command line:1:1',
  );
});

test('-s reports which pid file or process is missing or wrong', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': GOOD, 'empty.pid': '', 'gone.pid': '4194303\n' });
  const signal = (pid: string) => gw(dir, ['-s', 'reload', '-g', `pid ${pid};`]);
  expect(await signal('none.pid')).toEqual({
    code: 1,
    stdout: '',
    stderr: 'gw: [error] open() "DIR/none.pid" failed (2: No such file or directory)\n',
  });
  expect((await signal('empty.pid')).stderr).toBe('gw: [error] invalid PID number "" in "DIR/empty.pid"\n');
  expect((await signal('gone.pid')).stderr).toMatch(
    /^gw: \[\w+\] kill\(4194303, .*\) failed \(3: No such process\)\n$/,
  );
});

test('no signal is sent to a process that is not gw', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': GOOD, 'other.pid': `${process.pid}\n` });
  const said = await gw(dir, ['-s', 'stop', '-g', 'pid other.pid;']);
  expect(said).toMatchObject({ code: 1, stdout: '' });
  expect(said.stderr).toMatch(
    new RegExp(
      `^gw: \\[error\\] no signal is sent: process ${process.pid} in "DIR/other\\.pid" is not gw's: it is ".+"\n$`,
    ),
  );
});

/** Runs gw where no file of nginx's can be found, or only one of its own. */
function hidingNginx(dir: string, args: readonly string[], conf?: string): Promise<Said> {
  const write = conf === undefined ? '' : `printf '%s' "$CONF" > /etc/nginx/nginx.conf;`;
  const script = `mkdir -p /etc/nginx && mount -t tmpfs none /etc/nginx; ${write} exec "$@"`;
  const command = ['unshare', '-m', 'sh', '-c', script, 'sh', process.execPath, GW, ...args];
  return runIn(dir, command, { env: { CONF: conf } });
}
const canHide = process.platform === 'linux' && spawnSync('unshare', ['-m', 'true']).status === 0;

test.runIf(canHide)('a command without a configuration says where it searched, and what to do', async (t) => {
  const dir = directoryWith(t, {});
  const advice =
    '  searched in DIR: gateway.conf, conf/gateway.conf, /etc/gw/gateway.conf and /etc/nginx/nginx.conf\n' +
    `  "${resolve('bin/gw')} -c FILE" names another file, "${resolve('bin/gw')} example rest > gateway.conf" writes one to start from, "${resolve('bin/gw')} demo" shows what there is\n`;
  for (const args of [[], ['-t']]) {
    const { code, stderr } = await hidingNginx(dir, args);
    expect(code).toBe(1);
    expect(stderr).toMatch(/open\(\) "DIR\/gateway\.conf" failed \(2: No such file or directory\)\n/);
    expect(stderr).toContain(advice);
  }
  const said = await hidingNginx(dir, ['status']);
  expect(said.stderr).toBe(
    'gw: no gateway is known here: there is no gateway.conf, conf/gateway.conf or /etc/gw/gateway.conf\n  -c FILE or --address URL names one\n',
  );
});

test.runIf(canHide)(
  "nginx's file is taken for a signal only if it is named, and never to be changed",
  async (t) => {
    const dir = directoryWith(t, {});
    const refused =
      'no signal is sent: the configuration would be /etc/nginx/nginx.conf, by which nginx may run\n  -c /etc/nginx/nginx.conf takes it all the same\n';
    for (const args of [['-s', 'stop'], ['upgrade']])
      expect(await hidingNginx(dir, args, GOOD)).toEqual({
        code: 1,
        stdout: '',
        stderr: `gw: [error] ${refused}`,
      });
    const named = await hidingNginx(
      dir,
      ['-s', 'stop', '-c', '/etc/nginx/nginx.conf'],
      `pid ${dir}/none.pid;${GOOD}`,
    );
    expect(named.stderr).toBe('gw: [error] open() "DIR/none.pid" failed (2: No such file or directory)\n');
    expect((await hidingNginx(dir, ['status'], GOOD)).stderr).toMatch(/^gw: no gateway is known here: /);
    expect((await hidingNginx(dir, ['-t'], GOOD)).stderr).toMatch(
      /^gw: using the configuration file \/etc\/nginx\/nginx\.conf: there is no gateway\.conf, conf\/gateway\.conf or \/etc\/gw\/gateway\.conf\n/,
    );
  },
);

test('-t and a signal do not report directives without effect', async (t) => {
  const dir = directoryWith(t, { 'gateway.conf': `user nobody;\n${GOOD}` });
  expect((await gw(dir, ['-t'])).stderr).not.toContain('no effect');
});

for (const line of [
  '-T -c big.conf',
  '-t --tree -c big.conf',
  '-h',
  '-V',
  'reference',
  'help',
  'check big.conf',
])
  test(`gw ${line} ends silently when nobody reads what it prints`, async (t) => {
    const dir = directoryWith(t, {
      ...files,
      'big.conf': GOOD.replace('return', 'add_header a b; '.repeat(9) + 'return'),
    });
    const command = `'${process.execPath}' '${GW}' ${line}`;
    const { stdout } = await runIn(dir, ['sh', '-c', `{ ${command} 2>&1; echo $? >code; } | :; cat code`]);
    expect(stdout).toBe('0\n');
  });

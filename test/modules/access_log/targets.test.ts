import { createSocket } from 'node:dgram';
import { execFileSync } from 'node:child_process';
import { constants, existsSync, openSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { oneGateway, startGateway } from '../../harness/gateway.ts';

const load = oneGateway();

const FORMAT = `log_format short '$uri|$args';`;

test('variables of a path make a file per value, below the directory before them', async (t) => {
  const gw = await load(
    t,
    `${FORMAT} open_log_file_cache max=10;
     server { root named; access_log named/$arg_file.log short; return 200; }`,
    { 'named/keep': '', 'named/below/keep': '' },
  );
  for (const file of ['a', 'b', 'a', 'below/c']) await gw.fetch(`/x?file=${file}`);
  await expect.poll(() => gw.read('named/a.log')).toBe('/x|file=a\n/x|file=a\n');
  await expect.poll(() => gw.read('named/b.log')).toBe('/x|file=b\n');
  await expect.poll(() => gw.read('named/below/c.log')).toBe('/x|file=below/c\n');
});

test('no value leads out of the directory, and the error log names the request', async (t) => {
  const gw = await load(
    t,
    `${FORMAT} error_log error.log;
     server {
       root named;
       access_log named/$arg_file.log short;
       access_log $http_x_path short;
       return 200;
     }`,
    { 'named/keep': '' },
  );
  for (const file of ['../up', 'a/../../up', '..', './a', '/etc/passwd', 'a%00']) {
    await gw.fetch(`/x?file=${file}`, { headers: { 'x-path': join(gw.dir, 'absolute.log') } });
  }
  const refused = (path: string): RegExp =>
    new RegExp(`\\[error\\].*log path "${path}" leaves "${gw.dir}.*client:`);
  for (const path of ['\\.\\./up\\.log', 'a/\\.\\./\\.\\./up\\.log', '\\./a\\.log', '/etc/passwd\\.log']) {
    await gw.waitForLog(refused(path));
  }
  await gw.waitForLog(refused(join(gw.dir, 'absolute.log')));
  expect(existsSync(join(gw.dir, 'up.log'))).toBe(false);
  expect(existsSync(join(gw.dir, 'absolute.log'))).toBe(false);
  // A name that consists of dots only is allowed.
  await expect.poll(() => gw.read('named/...log')).toBe('/x|file=..\n');
});

test('without a buffer, a line is in the file before the client sees the close', async (t) => {
  const gw = await load(
    t,
    `${FORMAT} server {
       access_log prompt.log short;
       location / { return 200 text; }
       location /asked { auth_request /; return 200; }
     }`,
    { 'prompt.log': '' },
  );
  const close = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  for (let round = 0; round < 25; round += 1) {
    for (const path of [`/${round}`, `/asked/${round}`]) {
      const connection = await gw.connect();
      connection.write(close(path));
      await connection.closed;
      expect(gw.read('prompt.log')).toContain(`${path}|-\n`);
    }
  }
});

test('a path whose directory is missing is logged as nginx logs it', async (t) => {
  const gw = await load(t, `server { root .; access_log none/$arg_file.log; return 200; }`);
  await gw.fetch('/?file=a');
  const [line] = await gw.waitForLog(
    /\[crit\] \d+#\d+: open\(\) "\S+\/none\/a\.log" failed \(2: No such file or directory\) while logging request/,
  );
  expect(line).toContain(gw.dir);
});

test('a compressed log is a series of gzip members that zcat reads', async (t) => {
  const gw = await load(
    t,
    `${FORMAT} server { access_log zipped.gz short gzip=9 buffer=1k flush=50ms; return 200; }`,
  );
  const text = (): string => {
    const path = join(gw.dir, 'zipped.gz');
    return existsSync(path) ? gunzipSync(readFileSync(path)).toString() : '';
  };
  await gw.fetch('/first');
  await expect.poll(text).toBe('/first|-\n');
  await gw.fetch('/second');
  await expect.poll(text).toBe('/first|-\n/second|-\n');
});

test('requests go to a syslog server in the format of their log', async (t) => {
  const socket = createSocket('udp4');
  const packets: string[] = [];
  socket.on('message', (packet) => packets.push(packet.toString()));
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  t.onTestFinished(async () => void socket.close());
  const { port } = socket.address();
  const gw = await load(
    t,
    `${FORMAT} server { access_log syslog:server=127.0.0.1:${port},tag=web,nohostname short if=$arg_log; return 200; }`,
  );
  await gw.fetch('/skipped');
  await gw.fetch('/a?log=1');
  await expect.poll(() => packets).toEqual([expect.stringMatching(/^<190>.{15} web: \/a\|log=1$/)]);
});

const rootless = [
  { it: 'the root', path: '/x', missing: 'sites/evil' },
  { it: 'the default root', path: '/default', missing: 'html' },
  { it: 'the directory of an alias', path: '/alias/x', missing: 'sites/none/' },
  { it: 'a directory where a file is', path: '/file', missing: 'sites/file', reason: '20: Not a directory' },
];
for (const { it, path, missing, reason = '2: No such file or directory' } of rootless)
  test(`without ${it}, no log with a path of the client is created`, async (t) => {
    const gw = await load(
      t,
      `${FORMAT} open_log_file_cache max=10; error_log error.log;
       server {
         access_log named/$host.log short;
         location / { root sites/$host; return 200; }
         location /default { return 200; }
         location /alias/ { alias sites/none/; return 200; }
         location /file { root sites/file; return 200; }
       }`,
      { 'named/keep': '', 'sites/good/keep': '', 'sites/file': '' },
    );
    for (const host of ['evil', 'good']) await gw.fetch(host === 'good' ? '/x' : path, { headers: { host } });
    await gw.waitForLog(
      new RegExp(
        `\\[error\\].* testing "${gw.dir}/${missing}" existence failed \\(${reason}\\) while logging request, client:`,
      ),
    );
    await expect.poll(() => gw.read('named/good.log')).toContain('/x|-\n');
    expect(existsSync(join(gw.dir, 'named/evil.log'))).toBe(false);
  });

/**
 * A step such as `a1` writes line 1 to the log of `a`; `>a` renames that log. A file that is still open gets further
 * lines under its new name. The expected files are those of nginx 1.22.
 */
test('open_log_file_cache keeps the most recently used names, and keeps the files open that have enough lines', async (t) => {
  const gw = await load(
    t,
    `${FORMAT} open_log_file_cache max=3 min_uses=2 inactive=1h valid=1h;
     server { root kept; access_log kept/$arg_n.log short; return 200; }`,
    { 'kept/keep': '' },
  );
  const steps = ['a1', 'a2', '>a', 'a3', 'b1', 'c1', 'a4', 'd1', '>b', 'b2', 'a5', 'e1', 'f1', 'g1', 'a6'];
  for (const step of steps) {
    const [of = '', line = ''] = step;
    if (of === '>') renameSync(join(gw.dir, `kept/${line}.log`), join(gw.dir, `kept/${line}.old`));
    else {
      await gw.fetch(`/${line}?n=${of}`);
      const known = (): string => ['log', 'old'].map((end) => gw.read(`kept/${of}.${end}`)).join('');
      await expect.poll(known).toContain(`/${line}|`);
    }
  }
  const linesOf = (name: string): string => gw.read(name).replaceAll(/^\/(\d).*\n/gm, '$1');
  expect(['a.old', 'a.log', 'b.old', 'b.log'].map((name) => linesOf(`kept/${name}`))).toEqual([
    '12345',
    '6',
    '1',
    '2',
  ]);
});

const pipes = [
  { it: 'an access log', conf: 'access_log pipe;' },
  { it: 'an access log with variables', conf: 'root .; access_log $arg_name;' },
  { it: 'an error log', conf: 'error_log pipe info;' },
];
for (const { it, conf } of pipes)
  test(`a pipe without a reader in place of ${it} does not block requests`, async (t) => {
    const gw = await load(t, 'server { return 200; }');
    rmSync(join(gw.dir, 'pipe'), { force: true });
    execFileSync('mkfifo', ['-m', '666', join(gw.dir, 'pipe')]);
    expect(
      await gw.reload(`server { ${conf} location / { return 200; } location /files/ { alias none/; } }`),
    ).toBe('done');
    // More writes than libuv has threads, and more bytes than the 64 KB that a pipe keeps.
    for (let sent = 0; sent < 40; sent += 1)
      await gw.expect(`GET /files/?name=pipe&${'x'.repeat(4_000)}`, { status: 404 });
    gw.signal('SIGUSR1');
    await gw.waitForLog(/worker 1 reopened its logs/);
    await gw.expect('GET /', { status: 200 });
    expect(await gw.reload('server { return 200; }')).toBe('done');
  });

test('a gateway that ends after a reload writes the lines that a slow reader of the replaced log has not taken yet', async (t) => {
  const gw = await startGateway(t, 'server { return 200; }', { fresh: true });
  const pipe = join(gw.dir, 'slow');
  execFileSync('mkfifo', ['-m', '666', pipe]);
  const reader = new Socket({
    fd: openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK),
    readable: true,
  });
  expect(await gw.reload('server { access_log slow; return 200; }')).toBe('done');
  const paths = Array.from({ length: 100 }, (_, index) => `/${index}/${'x'.repeat(4_000)}`);
  for (const path of paths) await gw.expect(`GET ${path}`, { status: 200 });
  expect(await gw.reload('server { return 200; }')).toBe('done');
  const ended = gw.stop('SIGQUIT');
  let text = '';
  for await (const piece of reader) {
    text += String(piece);
    // The last lines are taken long after the gateway has been told to end.
    await delay(15);
  }
  await ended;
  expect(paths.filter((path) => !text.includes(`GET ${path} `))).toEqual([]);
});

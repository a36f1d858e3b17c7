import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, runIn } from '../cli/command.ts';
import { startGateway } from '../harness/gateway.ts';
import { check, load } from '../../src/pipeline.ts';
import { httpOf, ROOT, textOf } from './files.ts';

/** The lines of a unit file's section that set something: `Key=value`. */
const unit = Object.fromEntries(
  textOf('conf/deploy/gw.service')
    .split('\n')
    .flatMap((line) => {
      const [, key, value] = /^(\w+)=(.*)$/.exec(line) ?? [];
      return key === undefined ? [] : [[key, value]];
    }),
) as Readonly<Record<string, string>>;

test('the unit starts, and reloads or upgrades, with one configuration, and stops with the right signal', () => {
  const ofConfiguration = ['ExecStart', 'ExecReload'].map(
    (key) => /^\/usr\/bin\/gw .*-c (\S+)/.exec(unit[key] ?? '')?.[1],
  );
  expect(new Set(ofConfiguration)).toEqual(new Set(['/etc/gw/gateway.conf']));
  expect(unit).toMatchObject({ KillSignal: 'SIGQUIT', Type: 'notify', RestartPreventExitStatus: '1 2' });
});

const HAS_ANALYZE = spawnSync('systemd-analyze', ['--version']).error === undefined;

test.skipIf(!HAS_ANALYZE)('the exposure of the unit is 3.0 at most for systemd', () => {
  const words = ['security', '--offline=true', '--threshold=30', join(ROOT, 'conf/deploy/gw.service')];
  expect(spawnSync('systemd-analyze', words).status).toBe(0);
});

test('unit, rotation and guide name the same pid file, and the script of the rotation is valid', () => {
  const [, script = ''] = /postrotate\n([^]*?)endscript/.exec(textOf('conf/deploy/gw.logrotate')) ?? [];
  expect(spawnSync('sh', ['-n'], { input: script }).status).toBe(0);
  expect(script).toContain(`/run/${unit['RuntimeDirectory']}/gw.pid`);
  expect(textOf('conf/guide/production.md')).toContain(`pid /run/${unit['RuntimeDirectory']}/gw.pid;`);
});

for (const { it, pid, says } of [
  { it: 'runs', pid: '$$', says: 'what runs goes on with the configuration that it has\n' },
  { it: 'has run', pid: '2147483647', says: '' },
  { it: 'never ran', pid: '', says: '' },
])
  test(`without systemd, the script of the package speaks of a gateway that ${it} as it is`, async (t) => {
    const dir = directoryWith(t, {});
    const functions = /^is_running\(\)[^]*?^go_on_without_systemd\(\)[^]*?^}$/m.exec(
      textOf('conf/deploy/debian/postinst'),
    )?.[0];
    const script = `set -e; pidfile=${dir}/gw.pid; say() { echo "$*"; }; is_sound() { return 1; }
printf %s "${pid}" >"$pidfile"
${functions}
go_on_without_systemd`;
    expect(await runIn(dir, ['sh', '-c', script])).toEqual({ code: 0, stdout: says, stderr: '' });
  });

// Root's terminal is no matter of what runs as the account: it could type into it.
const asAccount: readonly { readonly it: string; readonly script: (dir: string) => string }[] = [
  {
    it: 'the rotation without systemd',
    script: (dir) =>
      (/postrotate\n([^]*?)endscript/.exec(textOf('conf/deploy/gw.logrotate'))?.[1] ?? '')
        .replace('/run/systemd/system', `${dir}/nowhere`)
        .replace('/run/gw/gw.pid', `${dir}/gw.pid`)
        .replace('/usr/bin/gw', `${dir}/gw`)
        .replaceAll('PATH=', `SAID=${dir}/said PATH=`),
  },
  {
    it: 'the script of the package',
    script: (dir) =>
      `${/^said=[^]*?^}$/m.exec(textOf('conf/deploy/debian/postinst'))?.[0]}\nas_account ${dir}/gw`.replace(
        'PATH=',
        `SAID=${dir}/said PATH=`,
      ),
  },
];
for (const { it, script } of asAccount)
  test.skipIf(process.platform !== 'linux')(
    `${it} runs gw as the account, in a session of its own, without root's terminal`,
    async (t) => {
      const dir = directoryWith(t, {
        setpriv:
          '#!/bin/sh\necho "$1 $2 $3 $4 $5" >said\nwhile [ "$1" != -- ]; do shift; done; shift; exec "$@"\n',
        gw: '#!/bin/sh\nexec >>"$SAID"; readlink /proc/$$/fd/0; readlink /proc/$$/fd/2; cut -d" " -f6 /proc/$$/stat\n(sleep 3; echo late) &\n',
        'gw.pid': '1\n',
      });
      for (const name of ['setpriv', 'gw']) chmodSync(join(dir, name), 0o755);
      const text = script(dir).replaceAll('cd / ', `cd ${dir} `);
      const said = await runIn(dir, ['sh', '-c', `${text}\ncut -d" " -f6 /proc/$$/stat; cat ${dir}/said`], {
        env: { PATH: `${dir}:/usr/bin:/bin` },
      });
      const [ownSession, account, input, output, session] = said.stdout.split('\n');
      expect(account).toBe('--reuid gw --regid gw --init-groups');
      expect(input).toBe('/dev/null');
      // A process that stays would keep a pipe open, and its reader waiting.
      expect(output).toMatch(/^\/.*\/tmp\.\w+$/);
      expect(said.stdout).not.toContain('late');
      expect(session).toMatch(/^\d+$/);
      expect(session).not.toBe(ownSession);
    },
  );

test('the Dockerfile takes the package, which is all that a build is sent, and files that the package has', () => {
  const text = textOf('conf/deploy/Dockerfile');
  const copied = [...text.matchAll(/^COPY (\S+) /gm)].map(([, path = '']) => path);
  expect(copied).toEqual(['release/gw_*_${TARGETARCH}.deb']);
  expect(textOf('.dockerignore')).toMatch(/^\*\n!release\/gw_\*\.deb$/m);
  const used = [...text.matchAll(/\/usr\/lib\/gw\/(conf\/\S+)/g)].map(([, path = '']) => path);
  expect(used.length).toBeGreaterThan(3);
  expect(used.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the default configuration of the container serves, and knows whether it is ready', async (t) => {
  const servers = textOf('conf/deploy/container-default.conf').replace('listen 8080;', '');
  const conf = httpOf(textOf('conf/deploy/container.conf'), 0)
    .replace('include mime.types;', '')
    .replace('access_log /dev/stdout;', 'access_log off;')
    .replace('include conf.d/*.conf;', servers);
  const gw = await startGateway(t, conf);
  expect((await gw.fetch('/')).body).toMatch(/^it works/);
  expect((await gw.fetch('/ready')).status).toBe(200);
  expect((await gw.fetch('/live')).status).toBe(200);
});

test("what nginx's package of Debian has to be included is there, and loads", async () => {
  const text = `http {
    server {
      listen 127.0.0.1:8080;
      root /srv;
      location / { include proxy_params; proxy_pass http://127.0.0.1:1; }
      location ~ [.]php(/|$) { include snippets/fastcgi-php.conf; fastcgi_pass 127.0.0.1:9000; }
      location /f { include fastcgi.conf; fastcgi_pass 127.0.0.1:9000; }
    }
  }`;
  const loaded = load({ confFile: join(ROOT, 'conf/php.conf'), name: 'php.conf', prefix: ROOT, text });
  expect(loaded.report.faults).toEqual([]);
  const findings = await check(loaded, { severity: 'warning' });
  expect(findings.map(({ rule, message }) => `${rule} ${message}`)).toEqual([]);
});

test('the configuration of the Debian package serves on loopback alone, and knows whether it is ready', async (t) => {
  const text = textOf('conf/deploy/debian/gateway.conf');
  expect(text.match(/^ *listen .*$/gm)).toEqual(['        listen 127.0.0.1:8080;']);
  const conf = httpOf(text, 0)
    .replace('include mime.types;', '')
    .replace(/access_log .*combined;/, 'access_log off;')
    .replace('listen 127.0.0.1:0;', '');
  expect(text).toMatch(/^user gw;$/m);
  const gw = await startGateway(t, conf);
  expect((await gw.fetch('/')).body).toMatch(/^it works/);
  expect((await gw.fetch('/metrics')).status).toBe(200);
  expect((await gw.fetch('/ready')).status).toBe(200);
});

import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startGateway } from '../harness/gateway.ts';
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

test('the configuration of the Debian package serves on loopback alone, and knows whether it is ready', async (t) => {
  const text = textOf('conf/deploy/debian/gateway.conf');
  expect(text.match(/^ *listen .*$/gm)).toEqual(['        listen 127.0.0.1:8080;']);
  const conf = httpOf(text, 0)
    .replace('include mime.types;', '')
    .replace(/access_log .*combined;/, 'access_log off;')
    .replace('listen 127.0.0.1:0;', '');
  const gw = await startGateway(t, conf);
  expect((await gw.fetch('/')).body).toMatch(/^it works/);
  expect((await gw.fetch('/ready')).status).toBe(200);
});

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith } from '../cli/command.ts';
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

test('the unit starts, tests and reloads with one configuration, and stops with the right signal', () => {
  const ofConfiguration = ['ExecStart', 'ExecStartPre', 'ExecReload'].map(
    (key) => /^\/usr\/bin\/gw .*-c (\S+)/.exec(unit[key] ?? '')?.[1],
  );
  expect(new Set(ofConfiguration)).toEqual(new Set(['/etc/gw/gateway.conf']));
  expect(unit).toMatchObject({ KillSignal: 'SIGQUIT', Type: 'exec', RestartPreventExitStatus: '1 2' });
});

test('unit, rotation and guide name the same pid file, and the script of the rotation is valid', () => {
  const [, script = ''] = /postrotate\n([^]*?)endscript/.exec(textOf('conf/deploy/gw.logrotate')) ?? [];
  expect(spawnSync('sh', ['-n'], { input: script }).status).toBe(0);
  expect(script).toContain(`/run/${unit['RuntimeDirectory']}/gw.pid`);
  expect(textOf('conf/guide/production.md')).toContain(`pid /run/${unit['RuntimeDirectory']}/gw.pid;`);
});

test('the Dockerfile copies only files that exist', () => {
  const copied = [
    ...textOf('conf/deploy/Dockerfile').matchAll(/^COPY (?:--chmod=\d+ )?(?!--from)(.+) \S+$/gm),
  ];
  const sources = copied.flatMap(([, paths = '']) => paths.split(' '));
  expect(sources.length).toBeGreaterThan(5);
  expect(sources.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
});

test('the default configuration of the container serves, and knows whether it is ready', async (t) => {
  const conf = httpOf(textOf('conf/deploy/container.conf'), 0)
    .replace('include mime.types;', '')
    .replace('access_log /dev/stdout;', 'access_log off;')
    .replace('listen 8080;', '');
  const gw = await startGateway(t, conf);
  expect((await gw.fetch('/')).body).toMatch(/^it works/);
  expect((await gw.fetch('/ready')).status).toBe(200);
  expect((await gw.fetch('/live')).status).toBe(200);
});

test('the entry point fills templates from the environment alone and runs scripts in order', (t) => {
  const dir = directoryWith(t, {
    'templates/site.conf.template': 'server_name ${SITE}; return 200 "$host ${UNKNOWN}";\n',
    'scripts/20-second.sh': '#!/bin/sh\necho "second $FROM_FIRST"\n',
    'scripts/10-first.envsh': 'export FROM_FIRST=first\n',
  });
  spawnSync('chmod', ['+x', join(dir, 'scripts/20-second.sh')]);
  const { stdout, status } = spawnSync(
    join(ROOT, 'conf/deploy/docker-entrypoint.sh'),
    ['echo', 'the', 'command'],
    {
      encoding: 'utf8',
      env: {
        PATH: process.env['PATH'],
        SITE: 'example.com',
        GW_ENTRYPOINT_DIR: join(dir, 'scripts'),
        GW_ENVSUBST_TEMPLATE_DIR: join(dir, 'templates'),
        GW_ENVSUBST_OUTPUT_DIR: join(dir, 'conf.d'),
      },
    },
  );
  expect({ stdout, status }).toEqual({ stdout: 'second first\nthe command\n', status: 0 });
  expect(readFileSync(join(dir, 'conf.d/site.conf'), 'utf8')).toBe(
    'server_name example.com; return 200 "$host ${UNKNOWN}";\n',
  );
});

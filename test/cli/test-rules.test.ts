import { expect, test } from 'vitest';
import { directoryWith, gw } from './command.ts';

const whole = (server: string, main = 'events {}'): string =>
  `${main}\nhttp {\n    server {\n        listen 127.0.0.1:8080;\n        ${server}\n    }\n}\n`;
const ALIAS = 'location /img { alias /srv/img/; }';
const TWICE = 'server_name a a;';

const DONE =
  'gw: the configuration file DIR/a.conf syntax is ok\ngw: configuration file DIR/a.conf test is successful\n';
const FAILED = 'gw: configuration file DIR/a.conf test failed\n';
const foundAs = (
  level: string,
): string => `gw: [${level}] GW301 alias-traversal: location "/img" + alias "/srv/img/" also serves "/img../" in a.conf:5:25
  5 |         location /img { alias /srv/img/; }
    |                         ^^^^^^^^^^^^^^^
`;

const runs: readonly { it: string; conf: string; args: readonly string[]; code: number; stderr: string }[] = [
  {
    it: 'warns of errors and passes',
    conf: whole(ALIAS),
    args: ['-t'],
    code: 0,
    stderr: foundAs('warn') + DONE,
  },
  {
    it: 'passes findings that are no errors',
    conf: whole('autoindex on;'),
    args: ['-t'],
    code: 0,
    stderr: DONE,
  },
  {
    it: 'heeds ignore comments',
    conf: whole(`${ALIAS} # gw-ignore GW301: public`),
    args: ['-t'],
    code: 0,
    stderr: DONE,
  },
  {
    it: 'fails on errors when it is strict',
    conf: whole(ALIAS),
    args: ['-t', '--strict'],
    code: 1,
    stderr: foundAs('warn') + FAILED,
  },
  {
    it: 'passes advice when it is strict',
    conf: whole('sendfile on;'),
    args: ['--strict'],
    code: 0,
    stderr: DONE,
  },
  {
    it: 'fails on findings that the configuration refuses',
    conf: whole(ALIAS, 'check { refuse error; }'),
    args: ['-t'],
    code: 1,
    stderr: foundAs('emerg') + FAILED,
  },
  {
    it: 'passes findings below the level that the configuration refuses',
    conf: whole('return 204;', 'check { refuse warning; }'),
    args: ['-t'],
    code: 0,
    stderr: DONE,
  },
];

for (const { it, conf, args, code, stderr } of runs) {
  test(`gw ${args.join(' ')} ${it}`, async (t) => {
    const dir = directoryWith(t, { 'a.conf': conf });
    expect(await gw(dir, ['-p', dir, ...args, '-c', 'a.conf'])).toEqual({ code, stdout: '', stderr });
  });
}

const doubtful: readonly { it: string; conf: string; args: readonly string[] }[] = [
  { it: 'on warnings of the load when it is strict', conf: whole(TWICE), args: ['-t', '--strict'] },
  {
    it: 'on warnings of rules when it is strict',
    conf: whole('valid_referers none blocked;'),
    args: ['-t', '--strict'],
  },
  {
    it: 'on warnings where the configuration refuses them',
    conf: whole('valid_referers none blocked;', 'check { refuse warning; }'),
    args: ['-t'],
  },
];

for (const { it, conf, args } of doubtful) {
  test(`gw ${args.join(' ')} fails ${it}`, async (t) => {
    const dir = directoryWith(t, { 'a.conf': conf });
    const said = await gw(dir, ['-p', dir, ...args, '-c', 'a.conf']);
    expect(said).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/in a\.conf:5:\d+\n[^]*test failed\n$/) as string,
    });
  });
}

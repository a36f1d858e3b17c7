import { chmodSync, existsSync, readFileSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { directoryWith, runIn } from '../cli/command.ts';
import { ROOT } from './files.ts';

const DEPLOY = join(ROOT, 'conf/deploy');

interface Case {
  readonly it: string;
  /** Files of the container. Those that begin with "#!" and those of `executable` are executable. */
  readonly files: Readonly<Record<string, string>>;
  readonly executable?: readonly string[];
  readonly links?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** What is started; `gw` prints its arguments and `$SET`. */
  readonly command?: readonly string[];
  readonly code?: number;
  readonly stdout?: string;
  /** Lines of standard error, without their prefix. */
  readonly says?: readonly (string | RegExp)[];
  /** Files afterwards. */
  readonly written?: Readonly<Record<string, string>>;
}

const TEMPLATE = 'templates/site.conf.template';
const SCRIPT = '#!/bin/sh\necho "$0 $SET" | sed "s|.*/||"\n';
const filled = (name = 'site.conf'): string =>
  `DIR/templates/${name}.template is filled into DIR/conf.d/${name}`;

const cases: readonly Case[] = [
  {
    it: 'runs scripts in the order of their numbers, and starts gw with its arguments',
    files: { 'd/10-b.sh': SCRIPT, 'd/9-a.sh': SCRIPT },
    command: ['gw', '-g', 'daemon off;'],
    stdout: '9-a.sh \n10-b.sh \ngw -g daemon off;\n',
    says: ['running DIR/d/9-a.sh', 'running DIR/d/10-b.sh'],
  },
  {
    it: 'gives what an .envsh file exports to later scripts and to gw',
    files: { 'd/1.envsh': 'export SET=first\n', 'd/2.sh': SCRIPT },
    executable: ['d/1.envsh'],
    stdout: '2.sh first\ngw first\n',
    says: ['reading DIR/d/1.envsh', 'running DIR/d/2.sh'],
  },
  {
    it: 'skips what is not executable and what has another ending, and says so',
    files: { 'd/1.envsh': 'export SET=1\n', 'd/2.sh': 'echo no\n', 'd/README': 'no\n' },
    stdout: 'gw\n',
    says: [
      'skipping DIR/d/1.envsh: it is not executable',
      'skipping DIR/d/2.sh: it is not executable',
      'skipping DIR/d/README: its name ends neither in .sh nor in .envsh',
    ],
  },
  {
    it: 'ends when a script fails',
    files: { 'd/1.sh': '#!/bin/sh\nexit 3\n', 'd/2.sh': SCRIPT },
    code: 3,
    says: ['running DIR/d/1.sh'],
  },
  {
    it: 'runs nothing before another command',
    files: { 'd/1.sh': SCRIPT },
    command: ['echo', 'the', 'command'],
    stdout: 'the command\n',
  },
  {
    it: 'starts gw without a directory of scripts',
    files: {},
    stdout: 'gw\n',
  },
  ...['GW', 'NGINX'].map((prefix) => ({
    it: `says nothing with ${prefix}_ENTRYPOINT_QUIET_LOGS`,
    files: { 'd/1.envsh': '', 'd/2.sh': SCRIPT, [TEMPLATE]: '' },
    env: { [`${prefix}_ENTRYPOINT_QUIET_LOGS`]: '1' },
    stdout: '2.sh \ngw\n',
    written: { 'conf.d/site.conf': '' },
  })),
  {
    it: 'fills templates with variables of the environment alone',
    files: { [TEMPLATE]: 'server_name ${SITE} $SITE; return 200 "$host ${UNKNOWN} $SITES ${}";\n' },
    env: { SITE: 'a.example' },
    says: [filled()],
    written: {
      'conf.d/site.conf': 'server_name a.example a.example; return 200 "$host ${UNKNOWN} $SITES ${}";\n',
    },
  },
  {
    it: 'takes values as text that nothing runs and nothing expands again',
    files: { [TEMPLATE]: '${VALUE}' },
    env: { VALUE: '$(touch injected) `touch injected` ${VALUE} $& "\n\\1' },
    says: [filled()],
    written: { 'conf.d/site.conf': '$(touch injected) `touch injected` ${VALUE} $& "\n\\1' },
  },
  {
    it: 'runs nothing of what the name of a file says',
    files: { 'd/$(touch injected).sh': '', 'templates/$(touch injected).conf.template': '1' },
    says: [filled('$(touch injected).conf'), 'skipping DIR/d/$(touch injected).sh: it is not executable'],
    written: { 'conf.d/$(touch injected).conf': '1' },
  },
  {
    it: 'replaces only variables that the filter matches',
    files: { [TEMPLATE]: '$GW_A $OTHER' },
    env: { GW_A: '1', OTHER: '2', NGINX_ENVSUBST_FILTER: '^GW_' },
    says: [filled()],
    written: { 'conf.d/site.conf': '1 $OTHER' },
  },
  {
    it: "prefers its own settings to those of nginx's image",
    files: { 'templates/a.tpl': '1', 'templates/b.template': '2' },
    env: { GW_ENVSUBST_TEMPLATE_SUFFIX: '.tpl', NGINX_ENVSUBST_TEMPLATE_SUFFIX: '.template' },
    says: ['DIR/templates/a.tpl is filled into DIR/conf.d/a'],
    written: { 'conf.d/a': '1' },
  },
  {
    it: 'keeps the directories of templates',
    files: { 'templates/sites/a.conf.template': '1' },
    says: [filled('sites/a.conf')],
    written: { 'conf.d/sites/a.conf': '1' },
  },
  {
    it: 'fills templates with what a script before it exports',
    files: { 'd/10.envsh': 'export SITE=a.example\n', [TEMPLATE]: '$SITE' },
    executable: ['d/10.envsh'],
    stdout: 'gw\n',
    says: ['reading DIR/d/10.envsh', filled()],
    written: { 'conf.d/site.conf': 'a.example' },
  },
  {
    it: 'replaces a file that is there',
    files: { [TEMPLATE]: 'new', 'conf.d/site.conf': 'old' },
    says: [filled()],
    written: { 'conf.d/site.conf': 'new' },
  },
  {
    it: 'ends with code 1 after a template that cannot be written, and fills the others',
    files: { [TEMPLATE]: '1', 'conf.d/site.conf/directory': '', 'templates/t.conf.template': '2' },
    code: 1,
    stdout: '',
    says: [/^DIR\/templates\/site.conf.template is not filled: EISDIR/, filled('t.conf')],
    written: { 'conf.d/t.conf': '2' },
  },
  {
    it: 'ends with code 1 after a template that is a link to nothing, and says it without logs, too',
    files: { [TEMPLATE]: '1' },
    links: { 'templates/t.conf.template': 'nowhere' },
    env: { GW_ENTRYPOINT_QUIET_LOGS: '1' },
    code: 1,
    stdout: '',
    says: [/^DIR\/templates\/t.conf.template is not filled: ENOENT/],
    written: { 'conf.d/site.conf': '1' },
  },
  {
    it: 'ends with code 1 where the templates are no directory',
    files: { [TEMPLATE]: '', 'a-file': '' },
    env: { NGINX_ENVSUBST_TEMPLATE_DIR: 'DIR/a-file' },
    code: 1,
    stdout: '',
    says: [/^the templates of DIR\/a-file are not filled: ENOTDIR/],
  },
  {
    it: 'starts gw where there is no directory of templates',
    files: { [TEMPLATE]: '' },
    env: { NGINX_ENVSUBST_TEMPLATE_DIR: 'DIR/nowhere' },
    stdout: 'gw\n',
  },
  {
    it: 'skips all templates and starts gw where the output directory cannot be written',
    files: { [TEMPLATE]: '1', output: 'a file' },
    env: { NGINX_ENVSUBST_OUTPUT_DIR: 'DIR/output/conf.d', GW_ENVSUBST_OUTPUT_DIR: '' },
    says: ['the templates of DIR/templates are skipped: DIR/output/conf.d is not writable'],
  },
];

for (const {
  it,
  files,
  executable = [],
  links = {},
  env,
  code = 0,
  command = ['gw'],
  ...expected
} of cases) {
  test(`the entry point ${it}`, async (t) => {
    const dir = directoryWith(t, { 'bin/gw': '#!/bin/sh\necho gw $* $SET\n', 'd/keep': '', ...files });
    for (const [path, target] of Object.entries(links)) symlinkSync(target, join(dir, path));
    const isTemplated = Object.keys(files).some((path) => path.startsWith('templates/'));
    const fill = join(dir, 'd/20-envsubst-on-templates.sh');
    if (isTemplated) symlinkSync(join(DEPLOY, 'fill-templates.sh'), fill);
    const isProgram = (path: string): boolean => (files[path] ?? '').startsWith('#!');
    const programs = Object.keys(files).filter(isProgram);
    for (const path of ['bin/gw', ...executable, ...programs]) chmodSync(join(dir, path), 0o755);
    const settings = {
      PATH: `${dir}/bin:${dirname(process.execPath)}:/usr/bin:/bin`,
      GW_ENTRYPOINT_DIR: `${dir}/d`,
      NGINX_ENVSUBST_TEMPLATE_DIR: `${dir}/templates`,
      GW_ENVSUBST_OUTPUT_DIR: `${dir}/conf.d`,
      ...Object.fromEntries(Object.entries(env ?? {}).map(([k, v]) => [k, v.replaceAll('DIR', dir)])),
    };
    const said = await runIn(dir, [join(DEPLOY, 'docker-entrypoint.sh'), ...command], { env: settings });
    const lines = said.stderr.replaceAll('entrypoint: ', '').split('\n').filter(isTold);
    expect(lines).toEqual((expected.says ?? []).map(matching));
    expect(said.code).toBe(code);
    if (expected.stdout !== undefined) expect(said.stdout).toBe(expected.stdout);
    for (const [path, text] of Object.entries(expected.written ?? {}))
      expect(readFileSync(join(dir, path), 'utf8')).toBe(text);
    expect(existsSync(join(dir, 'injected'))).toBe(false);
  });
}

/** Without the lines about what the test itself has put there. */
function isTold(line: string): boolean {
  return line !== '' && !/\/d\/(keep:|20-envsubst)/.test(line);
}

function matching(line: string | RegExp): unknown {
  return typeof line === 'string' ? line : expect.stringMatching(line);
}

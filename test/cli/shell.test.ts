import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpdir } from 'node:os';
import { beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../bin/commands.ts';
import { directives, variables } from '../../src/tools/lookups.ts';
import { directoryWith, runIn } from './command.ts';
import { firstAsProgram } from './in-process.ts';
import { ruleCatalogue } from '../../src/pipeline.ts';

const { rules: RULES } = await ruleCatalogue();

const gw = firstAsProgram();
const HERE = tmpdir();
const has = (program: string): boolean => spawnSync(program, ['--version']).error === undefined;

const scripts: Record<string, string> = {};
/** Every command: `['jwt', 'sign']`. */
let commands: readonly (readonly string[])[] = [];

beforeAll(async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    scripts[shell] = (await gw(HERE, ['completion', shell])).stdout;
  }
  commands = await commandsBelow([]);
});

const pageOf = (path: readonly string[]): string => ['gw', ...path].join('-');

/** What a command line for help prints; tests below run some in a process of their own. */
async function helpOf(args: readonly string[]): Promise<string> {
  let printed = '';
  const writeOut = (text: string): void => void (printed += text);
  const writeErr = (text: string): void => expect(text).toBe('');
  expect(await runCommand(args, { writeOut, writeErr })).toBe(0);
  return printed;
}

/** The commands that `--help` lists: those that a user can find. */
async function commandsBelow(path: readonly string[]): Promise<readonly (readonly string[])[]> {
  const stdout = await helpOf(path.length === 0 ? ['help'] : [...path, '--help']);
  const [, listed = ''] = /\nCommands:\n([^]*)$/.exec(stdout) ?? [];
  const names = [...listed.matchAll(/^ {2}(\S+)/gm)].flatMap(([, name = '']) =>
    name === 'help' && path.length > 0 ? [] : [name],
  );
  const below = await Promise.all(names.map((name) => commandsBelow([...path, name])));
  return [path, ...below.flat()];
}

const completed: readonly { line: string; words: readonly string[] | RegExp }[] = [
  { line: 'gw chec', words: ['check'] },
  { line: 'gw list-', words: ['list-modules', 'list-directives', 'list-variables'] },
  { line: 'gw jwt ', words: ['sign', 'verify', 'inspect', 'help'] },
  { line: 'gw jwt sign --se', words: ['--secret', '--secret-file'] },
  { line: 'gw jwt --', words: ['--help'] },
  { line: 'gw -c x.conf -', words: /^-\? -h -v -V -t -T --tree .*-s --wait -p -e -c -g$/ },
  { line: 'gw -s re', words: ['reopen', 'reload'] },
  { line: 'gw hash-password --scheme sha', words: ['sha512', 'sha256', 'sha'] },
  { line: 'gw hash-password -s b', words: ['bcrypt'] },
  { line: 'gw hash-password --user ', words: [] },
  { line: 'gw completion ', words: ['bash', 'zsh', 'fish'] },
  { line: 'gw help jw', words: ['jwt'] },
  { line: 'gw why dbrest_pass', words: ['dbrest_pass'] },
  { line: 'gw why alias-t', words: ['alias-traversal'] },
  { line: 'gw list-directives -m k', words: ['kv'] },
  { line: 'gw example rest', words: ['rest', 'rest-functions'] },
  { line: 'gw jwt sign --role check --ki', words: ['--kid'] },
  { line: 'gw check jwt sign --ba', words: ['--baseline'] },
  { line: 'gw db setup --dsn x --app', words: ['--apply'] },
];

for (const { line, words } of completed) {
  test(`bash completes "${line}"`, async (t) => {
    const dir = directoryWith(t, { 'gw.bash': scripts['bash'] ?? '' });
    // The call that readline makes; a blank at the end begins a new word.
    const driver = `set -eu; source gw.bash; COMP_WORDS=(${line}${line.endsWith(' ') ? "''" : ''})
      COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); set +u; _gw; echo "\${COMPREPLY[*]}"; complete -p gw`;
    const said = await runIn(dir, ['bash', '--norc', '-c', driver]);
    expect(said).toMatchObject({ code: 0, stderr: '' });
    const [offered, registered] = said.stdout.split('\n');
    if (words instanceof RegExp) expect(offered).toMatch(words);
    else expect(offered).toBe(words.join(' '));
    expect(registered).toBe('complete -o default -F _gw gw');
  });
}

test('bash completes every directive and every rule behind why', () => {
  const [, words = ''] =
    /^ +'\/why'\).*else COMPREPLY=\(\$\(compgen -W '(.*?)'/m.exec(scripts['bash'] ?? '') ?? [];
  const offered = new Set(words.split(' '));
  for (const { name } of directives()) expect(offered).toContain(name);
  for (const { id, slug } of RULES) expect([...offered]).toEqual(expect.arrayContaining([id, slug]));
});

for (const shell of ['bash', 'zsh', 'fish']) {
  test.skipIf(!has(shell))(`${shell} reads its script without an error`, async (t) => {
    const dir = directoryWith(t, { script: scripts[shell] ?? '' });
    expect(await runIn(dir, [shell, '-n', 'script'])).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  test(`the script for ${shell} knows every command`, () => {
    const places = commands.map((path) => path.map((name) => `/${name}`).join(''));
    const written = (place: string): boolean => (scripts[shell] ?? '').includes(`'${place}`);
    expect(places).toEqual(expect.arrayContaining(['', '/check', '/jwt/sign', '/db/status']));
    expect(places.filter((place) => !written(place))).toEqual([]);
  });
}

test('gw completion of another shell is refused', async () => {
  expect(await gw(HERE, ['completion', 'tcsh'])).toEqual({
    code: 2,
    stdout: '',
    stderr: 'gw: invalid value "tcsh" of argument "shell"\n  expected bash, zsh, fish\n',
  });
});

test('gw manpage writes a page for every command, and every page lists the options of its command', async (t) => {
  const dir = directoryWith(t, {});
  expect(await gw(dir, ['manpage', '-o', 'man'])).toEqual({ code: 0, stdout: '', stderr: '' });
  const files = readdirSync(join(dir, 'man'));
  expect(files.sort()).toEqual([...commands.map((path) => `${pageOf(path)}.1`), 'gw.conf.5'].sort());
  const page = readFileSync(join(dir, 'man/gw-jwt-sign.1'), 'utf8');
  expect(page).toMatch(/^\.TH "GW\\-JWT\\-SIGN" "1" /);
  expect(page).toContain('\n.TP\n\\fB\\-\\-exp time\\fR\nhow long it is valid');
  expect(page).toContain('\n.br\nDefault: 1h.\n');
  const printed = await gw(dir, ['manpage', 'gw-jwt-sign']);
  expect(printed).toEqual({ code: 0, stdout: page, stderr: '' });
});

test('gw manpage --json has every command with its options', async () => {
  const { stdout } = await gw(HERE, ['manpage', '--json']);
  interface Facts {
    readonly path: readonly string[];
    readonly synopsis: string;
    readonly options: readonly object[];
    readonly commands: readonly Facts[];
  }
  const all = (command: Facts): Facts[] => [command, ...command.commands.flatMap(all)];
  const facts = all(JSON.parse(stdout) as Facts);
  expect(facts.map(({ path }) => path)).toEqual(expect.arrayContaining([...commands]));
  const sign = facts.find(({ path }) => path.join(' ') === 'jwt sign');
  expect(sign?.synopsis).toBe('gw jwt sign [options] [payload]');
  expect(sign?.options).toContainEqual({
    names: ['--exp'],
    summary: expect.stringMatching(/^how long it is valid/) as string,
    value: { name: 'time', isRequired: true, isVariadic: false },
    default: '1h',
  });
});

test('gw.conf(5) has every directive and every variable', async () => {
  const { stdout } = await gw(HERE, ['manpage', 'gw.conf']);
  const text = stdout.replaceAll('\\-', '-').replaceAll('\\e', '\\');
  for (const { syntax, summary } of directives()) {
    expect(text).toContain(`\\fB${syntax}\\fR\n`);
    expect(text).toContain(summary);
  }
  for (const { name } of variables()) expect(text).toContain(`\\fB$${name}\\fR\n`);
});

test.skipIf(!has('groff'))('groff formats every page without a warning', async (t) => {
  const dir = directoryWith(t, {});
  await gw(dir, ['manpage', '-o', 'man']);
  const files = readdirSync(join(dir, 'man')).map((file) => `man/${file}`);
  const said = await runIn(dir, ['groff', '-man', '-Tutf8', '-ww', '-z', ...files]);
  expect(said).toEqual({ code: 0, stdout: '', stderr: '' });
  const shown = await runIn(dir, ['groff', '-man', '-Tascii', '-P-cbou', 'man/gw.1']);
  expect(shown.stdout).toMatch(/NAME\n +gw - A config-driven HTTP gateway/);
  expect(shown.stdout).toMatch(/ gw-check\(1\)\n/);
});

test('a page is roff and nothing else: each line that begins with a dot is a macro of man', async (t) => {
  const dir = directoryWith(t, {});
  await gw(dir, ['manpage', '-o', 'man']);
  for (const file of readdirSync(join(dir, 'man'))) {
    const text = readFileSync(join(dir, 'man', file), 'utf8');
    for (const line of text.split('\n')) {
      if (/^[.']/.test(line)) expect(line).toMatch(/^\.(?:TH|SH|SS|TP|br|nf|fi)\b/);
      // Any other backslash would be an escape that the text did not have.
      expect(line.replace(/\\(?:e|-|&|fB|fR|\[u[0-9A-F]{4,5}\])/g, '')).not.toContain('\\');
    }
    expect(text).toMatch(/^\.TH .*\n\.SH "NAME"\n\S+ \\- \S/);
  }
});

test('gw manpage of an unknown page is refused', async () => {
  const said = await gw(HERE, ['manpage', 'gw-nosuch']);
  expect(said).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('no page "gw-nosuch"') as string,
  });
});

test('gw -h lists every command, and gw help describes each', async () => {
  const { stderr } = await gw(HERE, ['-h']);
  const top = commands.filter(({ length }) => length === 1).flat();
  const listed = [...(stderr.split('\nCommands')[1] ?? '').matchAll(/^ {2}(\S+) +: /gm)].map(
    ([, name]) => name,
  );
  expect(listed).toEqual(top);
  for (const name of top) {
    expect(await helpOf(['help', name])).toContain(`Usage: gw ${name} `);
  }
});

const helped: readonly { args: readonly string[]; code: number; stdout: RegExp; stderr: string }[] = [
  { args: ['help'], code: 0, stdout: /^Usage: gw \[options\] \[command\]\n[^]*\nCommands:\n/, stderr: '' },
  { args: ['jwt', '--help'], code: 0, stdout: /^Usage: gw jwt [^]*\nCommands:\n {2}sign /, stderr: '' },
  {
    args: ['help', 'jwt', 'sign'],
    code: 0,
    stdout: /^Usage: gw jwt sign \[options\] \[payload\]\n/,
    stderr: '',
  },
  { args: ['help', 'help'], code: 0, stdout: /^Usage: gw help /, stderr: '' },
  { args: ['jwt', 'help', 'sign'], code: 0, stdout: /^Usage: gw jwt sign /, stderr: '' },
  {
    args: ['help', 'chekc'],
    code: 2,
    stdout: /^$/,
    stderr: 'gw: unknown command "chekc"\n  did you mean "check"?\n',
  },
  {
    args: ['help', 'jwt', 'sgin'],
    code: 2,
    stdout: /^$/,
    stderr: 'gw: unknown command "sgin"\n  did you mean "sign"?\n',
  },
  { args: ['help', 'check', 'it'], code: 2, stdout: /^$/, stderr: 'gw: unknown command "it"\n' },
];

const runHelp = firstAsProgram();
for (const { args, code, stdout, stderr } of helped) {
  test(`gw ${args.join(' ')} ends with ${code}`, async () => {
    const said = await runHelp(HERE, args);
    expect(said).toMatchObject({ code, stderr });
    expect(said.stdout).toMatch(stdout);
  });
}

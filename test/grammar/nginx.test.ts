import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { loadText } from './load-text.ts';

const directory = mkdtempSync(join(tmpdir(), 'gw-nginx-'));
afterAll(() => rmSync(directory, { recursive: true }));

/** The first fault that the nginx on the PATH finds in a configuration, without its place. */
function nginxFault(text: string): string {
  const file = join(directory, 'nginx.conf');
  writeFileSync(file, text);
  const { stderr } = spawnSync('nginx', ['-t', '-c', file, '-e', '/dev/null'], { encoding: 'utf8' });
  return stderr
    .slice(stderr.indexOf('[emerg] ') + 8, stderr.lastIndexOf('\nnginx: '))
    .replace(/ in \/\S+:\d+$/, '');
}

const hasNginx = spawnSync('nginx', ['-v']).status === 0;

// `daemon` takes "on" or "off", so nginx's refusal quotes the word as nginx read it.
const words = [
  'a#b',
  '"a b"',
  "'a\"b'",
  '"a\\"b"',
  'a"b',
  '"a\nb"',
  '"{;}#"',
  'a}b',
  'a\\ b\\;c\\{d',
  '\\"a',
  '\\#a',
  '\\}a',
  '\\.\\d\\\\.',
  'a\\tb\\rc\\nd',
  '${a}b${',
  '$${{a',
  '\\n${a}',
  '$',
  '()',
  'é日本🎈',
  '#c\n x #d\n',
  '"\\$"',
];

const refused = [
  'daemon "a"b;',
  'daemon "a"#b;',
  'daemon "a""b";',
  'daemon a',
  'daemon "a',
  'daemon "a"',
  'daemon a\\',
  'daemon a#b',
  'env a;}',
  'daemon a}',
  'daemon a }',
  'events {',
  'events { worker_connections 1;',
  'events { worker_connections 1 }',
  ';',
  '{',
  '}',
  'events {};',
  `daemon ${'x'.repeat(4096)};`,
  `daemon "${'x'.repeat(4096)}";`,
];

const accepted = [
  'events{}',
  'events{}#',
  '# only\nevents {worker_connections 10;}',
  'events\n{\nworker_connections\n10\n;\n}\n',
  '"events" { \'worker_connections\' "10"; }\r\n',
  `env ${'x'.repeat(4095)};env "${'é'.repeat(2047)}";events{}`,
];

describe.skipIf(!hasNginx)('as nginx does', () => {
  for (const word of words) {
    test(`the lexer reads the word ${JSON.stringify(word)}`, () => {
      const text = `daemon ${word};`;
      const value = loadText(text).tree!.directives[0]!.args[0]!.value;
      expect(nginxFault(text)).toBe(
        `invalid value "${value}" in "daemon" directive, it must be "on" or "off"`,
      );
    });
  }

  for (const text of refused) {
    test(`the parser refuses ${JSON.stringify(text.slice(0, 30))}`, () => {
      const nginx = nginxFault(text);
      const ours = loadText(text).report.faults.map((fault) => fault.message);
      expect(ours.length).toBeGreaterThan(0);
      // A `}` where a `;` is missing is the one case in which gw uses another phrase of nginx.
      if (nginx !== 'unexpected "}"') expect(ours).toContain(nginx);
    });
  }

  for (const text of accepted) {
    test(`the parser accepts ${JSON.stringify(text.slice(0, 30))}`, () => {
      expect(nginxFault(text)).toMatch(/^$|syntax is ok/);
      expect(loadText(text).report.faults).toEqual([]);
    });
  }
});

import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT, textOf } from './files.ts';

const PAGE = textOf('conf/guide/runbook.md');
const sections = PAGE.split(/^## /m)
  .slice(1)
  .filter((text) => text.includes('| Symptom'))
  .map((text) => ({ title: text.slice(0, text.indexOf('\n')), text }));

const codesIn = (text: string): readonly string[] =>
  [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
const row = (text: string, name: string): string =>
  new RegExp(`^\\| ${name} +\\|(.*)\\|$`, 'm').exec(text)?.[1] ?? '';

test('the runbook has the faults that wake somebody up', () => {
  expect(sections.map(({ title }) => title)).toEqual([
    'An upstream is down',
    'The database is slow',
    'The database is away',
    'The disk is full',
    'A certificate ends, or was not renewed',
    'A worker hangs',
    'Memory grows',
    'Descriptors run out',
    'Limits refuse clients',
    'A cluster has a gap, or its store is away',
    'Lines of logs are lost',
    'The collector is away',
    'A reload was refused',
  ]);
});

test.each(sections)('$title: every row is filled', ({ text }) => {
  for (const name of ['Symptom', 'Command', 'Metric', 'Log'])
    expect([name, row(text, name).trim()]).not.toEqual([name, '']);
});

test('every metric that the runbook names is one of the list', () => {
  const list = textOf('conf/guide/metrics.md');
  const named = codesIn(PAGE).filter((code) => /^(gw|nginx|process)_[a-z_]+$/.test(code));
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((name) => !list.includes(`| \`${name}\` `))).toEqual([]);
});

test('every line of the log that the runbook quotes is one that the gateway writes', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => textOf(join('src', path)));
  // Lines with the number and the text of an error of the system are put together: tests compare them with those of nginx, or wait for them.
  const written = [
    ...sources,
    textOf('test/conformance/error-lines.golden'),
    textOf('test/modules/access_log/full-disk.test.ts').replaceAll('\\', ''),
  ];
  const quoted = sections.flatMap(({ text }) => codesIn(row(text, 'Log')));
  expect(quoted.length).toBeGreaterThan(sections.length);
  expect(quoted.filter((phrase) => !written.some((text) => text.includes(phrase)))).toEqual([]);
});

test('every program that the runbook starts is a command of gw', () => {
  const commands = sections
    .flatMap(({ text }) => codesIn(row(text, 'Command')))
    .flatMap((code) => /^gw ([a-z]+)/.exec(code)?.[1] ?? []);
  const known = readdirSync(join(ROOT, 'bin'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => textOf(join('bin', path)))
    .join('\n');
  expect(commands.length).toBeGreaterThan(5);
  expect(commands.filter((name) => !new RegExp(`command\\('${name}\\b`).test(known))).toEqual([]);
});

test('what the runbook gives a program has the arguments that it asks for', () => {
  const explained = codesIn(PAGE).filter((code) => code.startsWith('gw explain'));
  expect(explained).toEqual(['gw explain GET URL']);
});

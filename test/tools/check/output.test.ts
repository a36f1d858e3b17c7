import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Ajv } from 'ajv';
import formats from 'ajv-formats';
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import type { Log } from 'sarif';
import { expect, test } from 'vitest';
import {
  type CheckReport,
  type Format,
  FORMATS,
  type JsonReport,
  reportOf,
} from '../../../src/tools/check/index.ts';
import { load, review } from '../../../src/pipeline.ts';

const ROOT = resolve(import.meta.dirname, 'output');

/** A fixed set of rules, so that a new rule does not change the output in the golden files. */
const RULES = ['GW117', 'GW121', 'GW206', 'GW207', 'GW301', 'GW320'];

async function reportOn(name: string): Promise<CheckReport> {
  const loaded = load({ confFile: join(ROOT, name), name, prefix: ROOT }, { advise: true });
  return reportOf([{ name, review: await review(loaded, { select: RULES, fingerprints: true }) }]);
}

async function written(format: Format, { color = false } = {}): Promise<string> {
  return FORMATS[format](await reportOn('site.conf'), { color, root: '/srv/project', version: '1.2.3' });
}

const extensions: Readonly<Record<Format, string>> = {
  human: 'txt',
  concise: 'txt',
  json: 'json',
  sarif: 'sarif.json',
  github: 'txt',
  gitlab: 'json',
  junit: 'xml',
};

for (const format of Object.keys(FORMATS) as Format[]) {
  test(`${format} prints all findings as its golden file has them`, async () => {
    const file = join(ROOT, `${format}.${extensions[format]}`);
    await expect(await written(format)).toMatchFileSnapshot(file);
  });

  test(`${format} shows no secret`, async () => {
    expect(await written(format)).not.toContain('hunter2');
  });
}

test('concise names what was expected, as human does', async () => {
  const report = await reportOn('expected.conf');
  const options = { color: false, root: '/srv/project', version: '1.2.3' };
  expect(FORMATS.human(report, options)).toContain('= expected a size such as 512, 8k, 1m or 2g ');
  expect(FORMATS.concise(report).split('\n')).toEqual([
    'expected.conf:3:24: error GW108 bad-value: "client_max_body_size" directive invalid value (expected a size such as 512, 8k, 1m or 2g)',
    'expected.conf:4:3: error GW105 unknown-directive: unknown directive "sendflie" (did you mean "sendfile"?) [--unsafe-fixes]',
    '',
  ]);
});

test('human colours severities where colours are enabled', async () => {
  const text = await written('human', { color: true });
  expect(text).toContain('\u001b[31merror\u001b[39m \u001b[31mGW301 alias-traversal\u001b[39m');
  // eslint-disable-next-line no-control-regex -- these are the colours
  expect(text.replace(/\u001b\[\d+m/g, '')).toBe(await written('human'));
});

/** sarif-schema-2.1.0.json of OASIS, from @microsoft/jest-sarif 1.0.0-beta.0, which uses an older draft of JSON Schema. */
function sarifSchema(): object {
  const file = join(import.meta.dirname, 'sarif-2.1.0.schema.json');
  const { $schema, id, ...schema } = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  expect([$schema, id]).toEqual([
    'http://json-schema.org/draft-04/schema#',
    expect.stringContaining('sarif-2.1.0') as string,
  ]);
  return schema;
}

test('sarif is valid by the schema of OASIS', async () => {
  const ajv = new Ajv({ strict: false, allErrors: true, unicodeRegExp: false });
  formats.default(ajv);
  const isValid = ajv.compile(sarifSchema());
  const log = JSON.parse(await written('sarif')) as Log;
  expect(isValid(log), JSON.stringify(isValid.errors)).toBe(true);
  // This shows that the schema refuses invalid documents.
  expect(isValid({ ...log, version: '2.0.0' })).toBe(false);
});

test('sarif points from each result to its rule, its places and its fix', async () => {
  const [run] = (JSON.parse(await written('sarif')) as Log).runs;
  const rules = run?.tool.driver.rules ?? [];
  for (const { ruleId, ruleIndex } of run?.results ?? []) expect(rules[ruleIndex ?? -1]?.id).toBe(ruleId);
  const alias = run?.results?.find(({ ruleId }) => ruleId === 'GW301');
  expect(alias?.relatedLocations?.[0]?.message?.text).toBe('prefix has no trailing slash');
  expect(alias?.fixes?.[0]?.artifactChanges[0]?.replacements[0]?.insertedContent?.text).toBe('/');
  expect(run?.results?.at(-1)?.suppressions).toEqual([
    { kind: 'inSource', status: 'accepted', justification: 'the files beside it are public too' },
  ]);
});

test('a line feed in a name breaks no annotation', () => {
  const report = {
    findings: [
      { rule: 'GW110', slug: 'include-missing', severity: 'error', message: 'a\nb: 100%', file: 'x,\n::y' },
    ],
    suppressed: [],
    files: [],
    rules: [],
    directives: 0,
    hidden: [],
  } as const satisfies CheckReport;
  expect(FORMATS.github(report)).toBe(
    '::error file=x%2C%0A%3A%3Ay,title=GW110 include-missing::a%0Ab: 100%25\n',
  );
});

test('gitlab gives each issue a fingerprint of its own, a severity and lines', async () => {
  const issues = JSON.parse(await written('gitlab')) as {
    fingerprint: string;
    severity: string;
    location: { path: string; lines: { begin: number } };
  }[];
  expect(new Set(issues.map(({ fingerprint }) => fingerprint)).size).toBe(issues.length);
  for (const { severity, location } of issues) {
    expect(['info', 'minor', 'major', 'critical', 'blocker']).toContain(severity);
    expect(location).toEqual({
      path: expect.stringMatching(/^(site|sites\/shop)\.conf$/) as string,
      lines: { begin: expect.any(Number) as number, end: expect.any(Number) as number },
    });
  }
});

test('junit is XML whose counts are those of its cases', async () => {
  const text = await written('junit');
  expect(XMLValidator.validate(text)).toBe(true);
  const isArray = (name: string): boolean => name === 'testsuite' || name === 'testcase';
  const parsed = new XMLParser({ ignoreAttributes: false, isArray }).parse(text) as {
    testsuites: { '@_tests': string; '@_failures': string; testsuite: { testcase: object[] }[] };
  };
  const { testsuites } = parsed;
  const cases = testsuites.testsuite.flatMap(({ testcase }) => testcase);
  expect(Number(testsuites['@_tests'])).toBe(cases.length);
  expect(Number(testsuites['@_failures'])).toBe(cases.filter((each) => 'failure' in each).length);
});

test('json counts what it lists', async () => {
  const { version, findings, suppressed, summary } = JSON.parse(await written('json')) as JsonReport;
  expect(version).toBe(1);
  expect(summary.errors + summary.warnings + summary.infos).toBe(findings.length);
  expect(summary.suppressed).toBe(suppressed.length);
  expect(findings.map(({ file, line }) => [file, line])).toEqual(
    findings
      .map(({ file, line }) => [file, line])
      .toSorted(([a, n], [b, m]) => (a === b ? Number(n) - Number(m) : a === 'site.conf' ? -1 : 1)),
  );
});

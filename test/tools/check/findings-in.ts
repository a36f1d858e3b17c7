import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Fix } from '../../../grammar/index.ts';
import type { Example } from '../../../src/contract/index.ts';
import type { Finding } from '../../../src/tools/check/index.ts';
import { check, load } from '../../../src/pipeline.ts';
import { writeFiles } from './example-files.ts';

/** The text around an example, from the inside out. */
const AROUND: readonly (readonly [where: Example['in'], wrap: (text: string) => string])[] = [
  ['location', (text) => `location / {\n${text}\n}`],
  ['server', (text) => `server {\nlisten 127.0.0.1:8080;\n${text}\n}`],
  ['http', (text) => `http {\n${text}\n}`],
];

/** The whole configuration of an example. */
export function whole({ in: where = 'server', text }: Example): string {
  const from = AROUND.findIndex(([context]) => context === where);
  const wraps = from < 0 ? [] : AROUND.slice(from);
  return wraps.reduce((inside, [, wrap]) => wrap(inside), text);
}

type CheckOptions = Parameters<typeof check>[1];

/** A directory with the files of an example, in which texts can be checked. */
export async function placeFor({
  files,
}: Example): Promise<(text: string, options?: CheckOptions) => Promise<readonly Finding[]>> {
  const directory = await mkdtemp(join(tmpdir(), 'gw-check-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFiles(directory, files);
  const confFile = join(directory, 'gateway.conf');
  return (text, options = {}) =>
    check(load({ confFile, name: 'gateway.conf', prefix: directory, text }, { advise: true }), options);
}

/** The findings of `gw check` in an example. */
export async function findingsIn(example: Example, options: CheckOptions = {}): Promise<readonly Finding[]> {
  return (await placeFor(example))(whole(example), options);
}

/** A piece of configuration, and the findings of one rule: none, unless there are messages. */
export interface RuleCase extends Example {
  readonly it: string;
  readonly says?: readonly string[];
  /** The piece with the fix of the first finding applied. */
  readonly fixed?: string;
}

/** A test for each case of a rule. */
export function testRule(rule: string, cases: readonly RuleCase[]): void {
  for (const { it, says = [], fixed, ...example } of cases) {
    test(`${rule} ${it}`, async () => {
      const found = (await findingsIn(example)).filter(({ slug }) => slug === rule);
      expect(found.map(({ message }) => message)).toEqual(says);
      const [first] = found;
      if (fixed !== undefined)
        expect(mended(first?.fix, whole(example))).toBe(whole({ ...example, text: fixed }));
    });
  }
}

function mended(fix: Fix | undefined, text: string): string {
  const edits = (fix?.edits ?? []).map((edit, order) => ({ ...edit, order }));
  return edits
    .toSorted((a, b) => b.span.start - a.span.start || b.order - a.order)
    .reduce((rest, { span, text: put }) => rest.slice(0, span.start) + put + rest.slice(span.end), text);
}

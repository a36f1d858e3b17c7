import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { formatFaults } from '../../../grammar/index.ts';
import type { Account, ExplainQuery } from '../../../src/tools/explain/index.ts';
import { explain, load, type Loaded } from '../../../src/pipeline.ts';
import type { Owner } from '../../harness/owner.ts';

/** A configuration that requests are explained with. */
export interface Explained {
  readonly dir: string;
  readonly loaded: Loaded;
}

/** Loads a configuration from a directory of its own, which the end of the test removes. */
export function configured(t: Owner, conf: string, files: Readonly<Record<string, string>> = {}): Explained {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'gw-explain-')));
  t.onTestFinished(async () => rmSync(dir, { recursive: true, force: true }));
  for (const [path, content] of Object.entries({ ...files, 'gw.conf': conf })) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), content);
  }
  const loaded = load({ confFile: join(dir, 'gw.conf'), name: 'gw.conf', prefix: dir });
  if (!loaded.plan) throw new Error(formatFaults(loaded.report, { program: 'gw', color: false }));
  return { dir, loaded };
}

const PLAIN: Omit<ExplainQuery, 'method' | 'url'> = { headers: [], from: '127.0.0.1', live: false };

/** The account of a request. */
export async function accountOf(
  { loaded }: Explained,
  question: Partial<ExplainQuery> & Pick<ExplainQuery, 'url'>,
): Promise<Account> {
  const told = await explain(loaded, { ...PLAIN, method: 'GET', ...question });
  if (typeof told === 'string') throw new Error(told);
  return told.account;
}

/** The same account as text; the configuration's directory shows as `DIR`. */
export async function textOf(
  { loaded, dir }: Explained,
  question: Partial<ExplainQuery> & Pick<ExplainQuery, 'url'>,
): Promise<string> {
  const told = await explain(loaded, { ...PLAIN, method: 'GET', ...question });
  if (typeof told === 'string') throw new Error(told);
  return told.print({ color: false }).replaceAll(dir, 'DIR');
}

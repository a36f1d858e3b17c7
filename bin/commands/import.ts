import { commentRefused } from '../import/comment-refused.ts';
import { draftText } from '../import/draft.ts';
import type { Imported } from '../import/draft.ts';
import { isPostgrest } from '../import/postgrest-file.ts';
import { importPostgrest } from '../import/postgrest.ts';
import { SecretKeeper } from '../import/secret-words.ts';
import { importWebdis, isWebdis } from '../import/webdis.ts';
import { readText } from '../read-text.ts';

/** Options of `gw import`. */
export interface ImportOptions {
  readonly from?: Origin;
  readonly inlineSecrets?: boolean;
}

type Origin = 'postgrest' | 'webdis';

const IMPORTERS: Readonly<
  Record<Origin, { is(text: string): boolean; read(text: string, keeper: SecretKeeper): Imported | string }>
> = {
  webdis: { is: isWebdis, read: importWebdis },
  postgrest: { is: isPostgrest, read: importPostgrest },
};

/** `gw import FILE`: prints a configuration that does the same. 1: the file cannot be read, 2: nobody knows whose it is. */
export function importConfig(file: string, { from, inlineSecrets }: ImportOptions): number {
  const source = readText(file);
  if (!source) return 1;
  const { name, text } = source;
  const origin = from ?? (Object.keys(IMPORTERS) as Origin[]).find((each) => IMPORTERS[each].is(text));
  if (!origin)
    return fail(`"${name}" is no configuration of PostgREST or Webdis\n  --from says which it is`, 2);
  const imported = IMPORTERS[origin].read(text, new SecretKeeper(inlineSecrets === true));
  if (typeof imported === 'string') return fail(`"${name}" ${imported}`, 1);
  const { notCarried, secrets, draft } = imported;
  const { text: conf, refused } = commentRefused(draftText(draft));
  process.stdout.write(conf);
  const left = [...notCarried, ...refused];
  if (left.length > 0) say(`not carried over, as the comments say: ${left.join(', ')}`);
  for (const { variable, of } of secrets) say(`${variable} must be set: ${of}`);
  return 0;
}

function say(text: string): void {
  process.stderr.write(`gw: ${text}\n`);
}

function fail(message: string, code: number): number {
  say(message);
  return code;
}

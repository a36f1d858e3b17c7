import { placeOf, type Source } from '../../grammar/index.ts';
import { fail, readText } from '../terminal.ts';
import { draftText, faultsOf, type ImportedConfig, isPostgrest, SecretKeeper } from './draft.ts';
import { isNginz, translateNginz } from './nginz.ts';
import { importPostgrest } from './postgrest.ts';
import { importWebdis, isWebdis } from './webdis.ts';

/** A reference, whose value may not exist yet. */
const REFERENCE = /\$\{(?:env|file):/;

/**
 * Returns the directives of a draft that gw refuses, because the other program accepts values that gw does not. They
 * are kept: without a line that limits or denies, more would be served than before.
 */
function refusedIn(text: string): readonly string[] {
  const lines = text.split('\n');
  const refused = faultsOf(text).flatMap(({ severity, span }) => {
    const line = span && severity === 'emerg' ? (lines[placeOf(span).line - 1] ?? '') : '';
    return REFERENCE.test(line) ? [] : (/^\s*(\w+) /.exec(line)?.[1] ?? []);
  });
  return [...new Set(refused)];
}

/** Options of `gw import`. */
export interface ImportOptions {
  readonly from?: Origin;
  readonly inlineSecrets?: boolean;
}

/** Programs with settings in another language. */
type Foreign = 'postgrest' | 'webdis';
type Origin = Foreign | 'nginz';

const IMPORTERS: Readonly<
  Record<
    Foreign,
    { is(text: string): boolean; read(text: string, keeper: SecretKeeper): ImportedConfig | string }
  >
> = {
  webdis: { is: isWebdis, read: importWebdis },
  postgrest: { is: isPostgrest, read: importPostgrest },
};

/** `gw import FILE`: prints an equivalent configuration. Exit code 1: the file cannot be read; 2: its program is unknown. */
export function importConfig(file: string, { from, inlineSecrets }: ImportOptions): number {
  const source = readText(file);
  if (!source) return 1;
  const { name, text } = source;
  const origin = from ?? originOf(text);
  if (!origin)
    return fail(`"${name}" is no configuration of PostgREST, Webdis or nginz\n  --from says which it is`, 2);
  if (origin === 'nginz') return printNginz(source);
  const imported = IMPORTERS[origin].read(text, new SecretKeeper(inlineSecrets === true));
  if (typeof imported === 'string') return fail(`"${name}" ${imported}`, 1);
  const { notCarried, secrets, draft } = imported;
  const conf = draftText(draft);
  process.stdout.write(conf);
  if (notCarried.length > 0) say(`not carried over, as the comments say: ${notCarried.join(', ')}`);
  sayRefused(refusedIn(conf));
  for (const { variable, of } of secrets) say(`${variable} must be set: ${of}`);
  return 0;
}

function originOf(text: string): Origin | undefined {
  const foreign = (Object.keys(IMPORTERS) as Foreign[]).find((each) => IMPORTERS[each].is(text));
  return foreign ?? (isNginz(text) ? 'nginz' : undefined);
}

function printNginz(source: Source): number {
  const { text, left } = translateNginz(source);
  process.stdout.write(text);
  sayRefused(left);
  return 0;
}

function sayRefused(left: readonly string[]): void {
  if (left.length > 0) say(`left as they are, and refused by gw: ${left.join(', ')}`);
}

function say(text: string): void {
  process.stderr.write(`gw: ${text}\n`);
}

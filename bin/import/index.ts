import { placeOf, type Source } from '../../grammar/index.ts';
import { fail, readText } from '../terminal.ts';
import { draftText, faultsOf, type ImportedConfig, isPostgrest, SecretKeeper } from './draft.ts';
import { isNginz, translateNginz } from './nginz.ts';
import { importPostgrest } from './postgrest.ts';
import { importWebdis, isWebdis } from './webdis.ts';

/** A reference, whose value may not exist yet. */
const REFERENCE = /\$\{(?:env|file):/;

/**
 * The text with refused directives turned into comments, so that the rest loads, and a list of them. The other program may
 * accept values that gw does not.
 */
function commentRefused(text: string): { readonly text: string; readonly refused: readonly string[] } {
  const lines = text.split('\n');
  const refused: string[] = [];
  for (const { severity, message, span } of faultsOf(text)) {
    const at = span && severity === 'emerg' ? placeOf(span).line - 1 : -1;
    const [, indent, directive] = /^(\s*)(\w+) .*;$/.exec(lines[at] ?? '') ?? [];
    if (indent === undefined || directive === undefined || REFERENCE.test(lines[at] ?? '')) continue;
    refused.push(directive);
    lines[at] = `${indent}# Not carried over: ${message}.\n${indent}# ${(lines[at] ?? '').trim()}`;
  }
  return { text: lines.join('\n'), refused };
}

/** Options of `gw import`. */
export interface ImportOptions {
  readonly from?: Origin;
  readonly inlineSecrets?: boolean;
}

/** Programs whose settings are another language. */
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
  const { text: conf, refused } = commentRefused(draftText(draft));
  process.stdout.write(conf);
  const left = [...notCarried, ...refused];
  if (left.length > 0) say(`not carried over, as the comments say: ${left.join(', ')}`);
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
  if (left.length > 0) say(`left as they are, and refused by gw: ${left.join(', ')}`);
  return 0;
}

function say(text: string): void {
  process.stderr.write(`gw: ${text}\n`);
}

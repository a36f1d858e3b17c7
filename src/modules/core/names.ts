import { hostname } from 'node:os';
import type { Fix, Word } from '../../../grammar/index.ts';
import { readers, readRegex } from '../../config/index.ts';
import type { ArgReader, ReadScope } from '../../config/index.ts';
import type { LocationMatch, ServerName } from '../../contract/index.ts';

/** `server_name` (nginx ngx_http_core_module#server_name): exact, `*.x`, `x.*`, `.x`, `~regex`, `""`. */
export const serverNames: ArgReader<readonly ServerName[]> = readers.words(
  { syntax: 'name ...', min: 1, max: Infinity },
  (words, scope) => words.flatMap((word) => readName(word, scope)),
);

function readName(word: Word, scope: ReadScope): ServerName[] {
  const name = word.value.toLowerCase();
  if (name.startsWith('~')) {
    if (name === '~') scope.report.emerg(`empty regex in server name "${word.value}"`, word.span);
    const regex = readRegex(word, { skip: 1, caseless: true }, scope);
    return regex ? [{ kind: 'regex', regex }] : [];
  }
  if (name === '$hostname') return [{ kind: 'exact', name: hostname().toLowerCase() }];
  const bare = name.replace(/^\*?\./, '').replace(/\.\*$/, '');
  if (/[*\s]/.test(bare) || (name !== '' && bare === '') || (name.startsWith('*.') && name.endsWith('.*'))) {
    scope.report.emerg(`server name "${word.value}" is invalid`, word.span);
    return [];
  }
  if (name.includes('/')) {
    scope.report.warn(`server name "${word.value}" has suspicious symbols`, word.span, {
      rule: 'suspicious-server-name',
      fix: withoutUrl(word),
    });
  }
  if (name.startsWith('*.')) return [{ kind: 'leading wildcard', suffix: name.slice(1) }];
  if (name.endsWith('.*')) return [{ kind: 'trailing wildcard', prefix: name.slice(0, -1) }];
  if (name.startsWith('.')) {
    return [
      { kind: 'exact', name: bare },
      { kind: 'leading wildcard', suffix: name },
    ];
  }
  return [{ kind: 'exact', name }];
}

/** The host alone, of what was copied from an address bar. */
function withoutUrl({ value, span }: Word): Fix | undefined {
  const host = /^(?:https?:\/\/)?([^/:\s]+)(?::\d+)?(?:\/.*)?$/i.exec(value)?.[1];
  return host === undefined
    ? undefined
    : { title: `leave "${host}"`, safe: false, edits: [{ span, text: host }] };
}

const SEPARATE_MODIFIERS: ReadonlySet<string> = new Set(['=', '^~', '~', '~*']);
const MODIFIERS = /^(=|\^~|~\*|~|@)/;

/** The arguments of `location` (nginx ngx_http_core_module#location); `=/x` written together parses as well. */
export const locationMatch: ArgReader<LocationMatch> = readers.words(
  { syntax: '[ = | ~ | ~* | ^~ ] uri | @name', min: 1, max: 2 },
  (words, scope) => {
    const [first, second] = words as [Word, Word?];
    if (second && !SEPARATE_MODIFIERS.has(first.value)) {
      const hint = 'expected =, ~, ~* or ^~';
      scope.report.emerg(`invalid location modifier "${first.value}"`, first.span, hint);
      return undefined;
    }
    if (second) return matchOf(first.value, { word: second, skip: 0 }, scope);
    const modifier = MODIFIERS.exec(first.value)?.[0] ?? '';
    return matchOf(modifier, { word: first, skip: modifier.length }, scope);
  },
);

interface Pattern {
  readonly word: Word;
  readonly skip: number;
}

function matchOf(modifier: string, { word, skip }: Pattern, scope: ReadScope): LocationMatch | undefined {
  const path = word.value.slice(skip);
  switch (modifier) {
    case '^~':
      return { kind: 'prefix', path, stop: true };
    case '=':
      return { kind: 'exact', path };
    case '@':
      return { kind: 'named', name: `@${path}` };
    case '~':
    case '~*': {
      const caseless = modifier === '~*';
      const regex = readRegex(word, { skip, caseless }, scope);
      return regex && { kind: 'regex', regex, caseless };
    }
    default:
      return { kind: 'prefix', path, stop: false };
  }
}

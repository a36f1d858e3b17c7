import type { Word } from '../../../grammar/index.ts';
import { directivesFor, readers, readRegex, type ReadScope } from '../../config/index.ts';
import {
  moduleFor,
  type RegexConfig,
  type ServerName,
  type VariableDefinition,
} from '../../contract/index.ts';
import { compileRegex } from '../../http/index.ts';

/** One parameter of `valid_referers`. */
type Referer =
  | { readonly kind: 'none' }
  | { readonly kind: 'blocked' }
  | { readonly kind: 'server_names' }
  /** `*.example.org`, `www.example.*`, `.example.org` or a name, and the prefix of the path. */
  | { readonly kind: 'host'; readonly pattern: string; readonly path: string }
  | { readonly kind: 'regex'; readonly regex: RegexConfig };

/** The valid referers of one location. */
interface RefererConfig {
  readonly referers?: readonly (readonly Referer[])[];
}

const KEYWORDS = ['none', 'blocked', 'server_names'] as const;
const HOST = /^(?:\*\.|\.)?[^*]+$|^[^*]+\.\*$/;

/** Tells whether a parameter names a referer, unlike `none` and `blocked`. */
function isNamed({ kind }: Referer): boolean {
  return kind === 'host' || kind === 'server_names';
}

/** nginx's referer module. */
const directives = directivesFor<RefererConfig>()({
  valid_referers: {
    contexts: ['server', 'location'],
    args: readers.words(
      { syntax: 'none | blocked | server_names | host[/path] | ~regex ...', min: 1, max: Infinity },
      (words, scope) => words.flatMap((word) => readReferer(word, scope) ?? []),
    ),
    into: 'referers',
    repeat: 'append',
    summary: 'Values of the request header `Referer` for which $invalid_referer is empty.',
    source: 'nginx ngx_http_referer_module#valid_referers',
  },
});

function readReferer(word: Word, scope: ReadScope): Referer | undefined {
  const keyword = KEYWORDS.find((name) => name === word.value);
  if (keyword) return { kind: keyword };
  if (word.value.startsWith('~')) {
    if (word.value === '~') scope.report.emerg(`empty regex in "${word.value}"`, word.span);
    const regex = word.value === '~' ? undefined : readRegex(word, { skip: 1, caseless: true }, scope);
    return regex && { kind: 'regex', regex };
  }
  const slash = word.value.indexOf('/');
  const pattern = (slash < 0 ? word.value : word.value.slice(0, slash)).toLowerCase();
  if (word.value === '') scope.report.emerg(`invalid referer "${word.value}"`, word.span);
  else if (!HOST.test(pattern)) scope.report.emerg(`invalid hostname or wildcard "${pattern}"`, word.span);
  else return { kind: 'host', pattern, path: slash < 0 ? '' : word.value.slice(slash) };
  return undefined;
}

/** Tells whether a value of `Referer` is valid. */
type IsValid = (referer: string | undefined) => boolean;

const SCHEME = /^https?:\/\//i;
/** nginx: the length of `http://i.ru`. */
const SHORTEST = 11;
const LONGEST_HOST = 256;

/** Compiles the test: exact names first, then the longest wildcard, then regexes (nginx ngx_http_referer_variable). */
function compileReferers(referers: readonly Referer[], serverNames: readonly ServerName[]): IsValid {
  const has = (kind: Referer['kind']): boolean => referers.some((referer) => referer.kind === kind);
  const names = has('server_names') ? serverNames : [];
  const hosts = new Hosts();
  for (const referer of referers) if (referer.kind === 'host') hosts.add(referer.pattern, referer.path);
  for (const name of names) if (name.kind !== 'regex') hosts.add(patternOf(name), '');
  const hostRegexes = names.flatMap((name) => (name.kind === 'regex' ? compileRegex(name.regex) : []));
  const regexes = referers.flatMap((referer) =>
    referer.kind === 'regex' ? compileRegex(referer.regex) : [],
  );
  const allowsNone = has('none');
  const allowsBlocked = has('blocked');
  return (referer) => {
    if (referer === undefined) return allowsNone;
    const scheme = referer.length >= SHORTEST ? SCHEME.exec(referer) : null;
    if (!scheme) return allowsBlocked;
    const rest = referer.slice(scheme[0].length);
    const end = rest.search(/[/:]/);
    const host = (end < 0 ? rest : rest.slice(0, end)).toLowerCase();
    if (host.length > LONGEST_HOST) return false;
    const path = hosts.find(host);
    if (path !== undefined) return pathOf(rest).startsWith(path);
    return hostRegexes.some((regex) => regex.test(host)) || regexes.some((regex) => regex.test(rest));
  };
}

/** Gives the part from the first slash behind the host on. */
function pathOf(rest: string): string {
  const slash = rest.indexOf('/');
  return slash < 0 ? '' : rest.slice(slash);
}

function patternOf(name: Exclude<ServerName, { kind: 'regex' }>): string {
  if (name.kind === 'exact') return name.name;
  return name.kind === 'leading wildcard' ? `*${name.suffix}` : `${name.prefix}*`;
}

/** The prefix of the path by host. */
class Hosts {
  readonly #exact = new Map<string, string>();
  readonly #suffixes = new Map<string, string>();
  readonly #prefixes = new Map<string, string>();

  /** Adds a pattern; of equal ones the first is used. */
  add(pattern: string, path: string): void {
    if (pattern.startsWith('.')) {
      addFirst(this.#exact, pattern.slice(1), path);
      addFirst(this.#suffixes, pattern, path);
    } else if (pattern.startsWith('*.')) addFirst(this.#suffixes, pattern.slice(1), path);
    else if (pattern.endsWith('.*')) addFirst(this.#prefixes, pattern.slice(0, -1), path);
    else addFirst(this.#exact, pattern, path);
  }

  find(host: string): string | undefined {
    const exact = this.#exact.get(host);
    if (exact !== undefined) return exact;
    for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
      const path = dot === 0 ? undefined : this.#suffixes.get(host.slice(dot));
      if (path !== undefined) return path;
    }
    for (let dot = host.lastIndexOf('.'); dot > 0; dot = host.lastIndexOf('.', dot - 1)) {
      const path = this.#prefixes.get(host.slice(0, dot + 1));
      if (path !== undefined) return path;
    }
    return undefined;
  }
}

function addFirst(map: Map<string, string>, key: string, path: string): void {
  if (!map.has(key)) map.set(key, path);
}

const definition = (compile: VariableDefinition['compile']): VariableDefinition => ({
  summary: 'Empty if the request header `Referer` is one of `valid_referers`, otherwise 1.',
  compile,
});

/** Gives a pattern that an earlier one already contains. */
function conflicting(referers: readonly Referer[]): string | undefined {
  const seen = new Set<string>();
  for (const referer of referers) {
    if (referer.kind !== 'host') continue;
    const { pattern } = referer;
    const names = pattern.startsWith('.') ? [pattern.slice(1), `*${pattern}`] : [pattern];
    if (names.some((name) => seen.has(name))) return pattern;
    for (const name of names) seen.add(name);
  }
  return undefined;
}

/** Checks of the `Referer` header (nginx ngx_http_referer_module). */
export const referer = moduleFor<RefererConfig>()({
  name: 'referer',
  summary: 'A variable that tells whether the Referer is allowed.',
  directives,
  variables: { invalid_referer: definition(() => () => '') },
  enabled: ({ referers }) => referers !== undefined,
  validate({ referers = [] }, report) {
    const all = referers.flat();
    const conflict = conflicting(all);
    if (conflict !== undefined)
      report.phrase('referers', `conflicting parameter "${conflict}"`, { rule: 'duplicate-directive' });
    const wantsNone = all.some(({ kind }) => kind === 'none' || kind === 'blocked');
    if (wantsNone && !all.some(isNamed)) {
      const message =
        'the "none" or "blocked" referers are specified in the "valid_referers" directive without any valid referer';
      report.phrase('referers', message);
    }
  },
  defines: ({ referers = [] }) => ({
    invalid_referer: definition((build) => {
      build.needHeader('referer');
      const isValid = compileReferers(referers.flat(), build.serverNames);
      return (x) => (isValid(x.header('referer')) ? '' : '1');
    }),
  }),
  compile: () => ({}),
  rules: () => import('./rules.ts'),
});

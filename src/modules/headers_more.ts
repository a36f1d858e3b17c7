import type { Word } from '../../grammar/index.ts';
import {
  type ArgReader,
  type ComplexValue,
  constantText,
  directivesFor,
  isTellingHeader,
  type ReadScope,
  readers,
} from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import { cleanHeaderValue, type Exchange, type HeaderFilter, isSafeHeaderName } from '../http/index.ts';

/** A header that is set or removed. A name that ends in `*` means all headers that begin with it. */
interface ChangedHeader {
  readonly name: string;
  /** `undefined` removes the header. */
  readonly value: ComplexValue | undefined;
}

/** One directive. Without statuses or types, all match. */
interface HeaderChange {
  readonly statuses: readonly number[];
  readonly types: readonly string[];
  readonly headers: readonly ChangedHeader[];
}

interface HeadersMoreConfig {
  readonly changes?: readonly HeaderChange[];
}

/** Headers that frame a response: changing one would desynchronize the connection. */
const FRAMING: ReadonlySet<string> = new Set(['content-length', 'transfer-encoding', 'connection']);

/** Reads the header of one word, as the directive writes it. */
type HeaderReader = (word: Word, scope: ReadScope) => ChangedHeader | undefined;

/** `name: value`; without a value the header is removed. */
const setHeader: HeaderReader = (word, scope) => {
  const [given = '', name = ''] = /^([^:]*)(?::[ \t]*)?/.exec(word.value) ?? [];
  if (!isNameFit(name, word, scope)) return undefined;
  const [first = '', ...rest] = scope.complexValue(word).parts;
  // The name has no variables, so the first part begins with it.
  const value = { parts: [(first as string).slice(given.length), ...rest] };
  return { name, value: constantText(value) === '' ? undefined : value };
};

const clearedHeader: HeaderReader = (word, scope) => {
  const name = word.value.replace(/:.*$/s, '').trim();
  return isNameFit(name.replace(/\*$/, '') || 'a', word, scope) ? { name, value: undefined } : undefined;
};

function isNameFit(name: string, { span }: Word, { report, directive }: ReadScope): boolean {
  if (!isSafeHeaderName(name) || name.includes('$')) {
    report.emerg(`invalid header name "${name}"`, span);
    return false;
  }
  if (!FRAMING.has(name.toLowerCase())) return true;
  report.warn(`"${directive}" does not change "${name}", which frames the response, ignored`, span, {
    rule: 'ignored-directive',
  });
  return false;
}

/** Reads `[-t types] [-s statuses] header ...`; both options may be repeated. */
function changeReader(syntax: string, readHeader: HeaderReader): ArgReader<HeaderChange> {
  return readers.words({ syntax, min: 1, max: Infinity }, (words, scope) => {
    const statuses: number[] = [];
    const types: string[] = [];
    const headers: (ChangedHeader | undefined)[] = [];
    for (let at = 0; at < words.length; at++) {
      const word = words[at] as Word;
      if (!word.value.startsWith('-')) headers.push(readHeader(word, scope));
      else if (!readOption(word, words[++at], { scope, statuses, types })) return undefined;
    }
    return { statuses, types, headers: headers.filter((header) => header !== undefined) };
  });
}

interface Options {
  readonly scope: ReadScope;
  readonly statuses: number[];
  readonly types: string[];
}

function readOption(
  option: Word,
  list: Word | undefined,
  { scope: { report }, statuses, types }: Options,
): boolean {
  const items = list?.value.split(/\s+/).filter((item) => item !== '') ?? [];
  if (option.value === '-t' && list) types.push(...items.map((type) => type.toLowerCase()));
  else if (option.value === '-s' && list && items.every((item) => /^\d{3}$/.test(item)))
    statuses.push(...items.map(Number));
  else {
    const at = option.value === '-s' && list ? list : option;
    report.emerg(
      `invalid option "${at.value}"`,
      at.span,
      'expected -t "types", or -s "statuses" of three digits',
    );
    return false;
  }
  return true;
}

const CONTEXTS = ['http', 'server', 'location', 'location if'] as const;
const SOURCE = 'headers-more-nginx-module';

/** Changes of an outer level come before those of this one. */
const behindOuter = (
  own: readonly HeaderChange[],
  above: readonly HeaderChange[],
): readonly HeaderChange[] => [...above, ...own];

const tells = (words: readonly Word[]): boolean =>
  words.every(({ value }) => !value.includes('$') || isTellingHeader(value));

const directives = directivesFor<HeadersMoreConfig>()({
  more_set_headers: {
    contexts: CONTEXTS,
    args: changeReader('[-t types] [-s statuses] header:value ...', setHeader),
    into: 'changes',
    repeat: 'append',
    completedBy: behindOuter,
    summary:
      'Sets headers of responses, of errors too; each replaces those of its name. An empty value removes them.',
    tells,
    source: `${SOURCE}#more_set_headers`,
  },
  more_clear_headers: {
    contexts: CONTEXTS,
    args: changeReader('[-t types] [-s statuses] header ...', clearedHeader),
    into: 'changes',
    repeat: 'append',
    completedBy: behindOuter,
    summary: 'Removes headers of responses; a `*` at the end of a name stands for any rest.',
    source: `${SOURCE}#more_clear_headers`,
  },
});

/**
 * Headers of responses, set and removed before `add_header` adds its own (headers-more-nginx-module). `Server` and, on
 * the node engine, `Date` can be removed, too.
 */
export const headersMore = moduleFor<HeadersMoreConfig>()({
  name: 'headers_more',
  summary: 'Sets and clears response headers, whatever module has sent them.',
  directives,
  enabled: ({ changes = [] }) => changes.length > 0,
  compile: ({ changes = [] }, _resources, build) => {
    const steps = changes.map((change) => compileChange(change, build));
    return {
      filter: (x) => {
        if (x.main === x) for (const step of steps) step(x);
      },
    };
  },
});

function compileChange({ statuses, types, headers }: HeaderChange, build: Build): HeaderFilter {
  const steps = headers.map((header) => compileHeader(header, build));
  const fits = new Set(statuses);
  return (x) => {
    if (fits.size > 0 && !fits.has(x.status)) return;
    if (types.length > 0 && !types.includes(bareType(x))) return;
    for (const step of steps) step(x);
  };
}

function bareType({ response }: Exchange): string {
  return (response.type.split(/[; ]/, 1)[0] as string).toLowerCase();
}

function compileHeader({ name, value }: ChangedHeader, build: Build): HeaderFilter {
  const key = name.toLowerCase();
  const remove = compileRemoval(key);
  if (!value) return remove;
  const render = build.value(value);
  return (x) => {
    const text = cleanHeaderValue(render(x));
    if (text === '') remove(x);
    else if (key === 'content-type') x.response.type = text;
    else x.response.replaceHeader(name, key === 'location' ? x.absolute(text) : text);
  };
}

/** Headers that the engines add themselves. */
const OWN_HEADERS = ['server', 'date'] as const;

function compileRemoval(key: string): HeaderFilter {
  const prefix = key.endsWith('*') ? key.slice(0, -1) : undefined;
  const isMeant = (name: string): boolean => (prefix === undefined ? name === key : name.startsWith(prefix));
  const omitted = OWN_HEADERS.filter(isMeant);
  const clearsType = isMeant('content-type');
  return ({ response }) => {
    response.removeHeaders(isMeant);
    if (clearsType) response.type = '';
    for (const name of omitted) response.omit(name);
  };
}

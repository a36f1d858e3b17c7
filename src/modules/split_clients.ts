import type { DirectiveNode, Word } from '../../grammar/index.ts';
import { AT, type ComplexValue, defines, directivesFor, readers, type ReadScope } from '../config/index.ts';
import { type Build, moduleFor } from '../contract/index.ts';
import type { Getter } from '../http/index.ts';

/** One part of the clients. */
interface Part {
  /** Hashes of this part are below it; absent: all others. */
  readonly below?: number;
  readonly value: string;
}

/** One `split_clients` block. */
interface SplitConfig {
  /** In lower case. */
  readonly variable: string;
  readonly key: ComplexValue;
  /** In file order. */
  readonly parts: readonly Part[];
}

/** All `split_clients` blocks. */
interface SplitsConfig {
  readonly splits?: readonly SplitConfig[];
}

/** 100 %, in hundredths of a percent. */
const ALL = 10_000;

const PERCENT = /^(\d*)(?:\.(\d{0,2}))?%$/;

/** Reads the block `split_clients string $variable { ... }` (nginx ngx_http_split_clients_module#split_clients). */
function readSplit({ args, block = [] }: DirectiveNode, scope: ReadScope): SplitConfig | undefined {
  const [keyWord, name] = args as [Word, Word];
  const variable = readers.readVariableName(name, scope);
  const key = scope.complexValue(keyWord);
  const parts: Part[] = [];
  let sum = 0;
  let below = 0;
  for (const line of block) {
    const share = readShare(line, scope);
    const value = line.args[0]?.value ?? '';
    if (share === undefined) return undefined;
    sum = share === 'rest' ? ALL : sum + share;
    if (sum > ALL) {
      scope.report.emerg('percent total is greater than 100%', line.name.span);
      return undefined;
    }
    // Each part is rounded on its own, as in nginx.
    if (share !== 'rest') below += Math.floor((share * 0xffff_ffff) / ALL);
    parts.push(share === 'rest' ? { value } : { below, value });
  }
  return variable === undefined ? undefined : { variable, key, parts };
}

/** Reads a percentage as hundredths of a percent. */
function readShare({ name, args, block }: DirectiveNode, { report }: ReadScope): number | 'rest' | undefined {
  if (block || args.length !== 1) {
    const message = block ? 'unexpected "{"' : 'invalid number of arguments in "split_clients" block';
    const rule = block ? 'unexpected-token' : 'wrong-arity';
    report.emerg(message, name.span, { rule, hint: 'expected a percentage or "*", and a value' });
    return undefined;
  }
  if (name.value === '*') return 'rest';
  const [, whole = '', fraction = ''] = PERCENT.exec(name.value) ?? [];
  const share = Number(whole) * 100 + Number(fraction.padEnd(2, '0'));
  if (share > 0) return share;
  report.emerg(`invalid percent value "${name.value}"`, name.span, 'expected a percentage such as 0.5%');
  return undefined;
}

const MULTIPLIER = 0x5bd1_e995;
/**
 * Computes MurmurHash2 of a text's UTF-8 bytes, seeded with their number, as nginx does (ngx_murmur_hash2): 32 bits,
 * unsigned. `isBytes`: the text has one character for each byte.
 */
function murmurHash2(text: string, isBytes = false): number {
  const { length } = text;
  let hash = length;
  // One that is not ASCII shows in the upper bits.
  let characters = 0;
  let at = 0;
  for (; at + 4 <= length; at += 4) {
    const first = text.charCodeAt(at);
    const second = text.charCodeAt(at + 1);
    const third = text.charCodeAt(at + 2);
    const fourth = text.charCodeAt(at + 3);
    characters |= first | second | third | fourth;
    let word = Math.imul(first | (second << 8) | (third << 16) | (fourth << 24), MULTIPLIER);
    word = Math.imul(word ^ (word >>> 24), MULTIPLIER);
    hash = Math.imul(hash, MULTIPLIER) ^ word;
  }
  let rest = 0;
  for (let index = length - 1; index >= at; index--) {
    const character = text.charCodeAt(index);
    characters |= character;
    rest = (rest << 8) | character;
  }
  // Most texts are ASCII: for a short one, creating a buffer takes longer than hashing it.
  if (characters >= 0x80 && !isBytes) return murmurHash2(Buffer.from(text).toString('latin1'), true);
  if (at < length) hash = Math.imul(hash ^ rest, MULTIPLIER);
  hash = Math.imul(hash ^ (hash >>> 13), MULTIPLIER);
  return (hash ^ (hash >>> 15)) >>> 0;
}

const directives = directivesFor<SplitsConfig>()({
  split_clients: {
    contexts: ['http'],
    words: { min: 2, max: 2 },
    data: (node, scope) => {
      const split = readSplit(node, scope);
      return split && [split];
    },
    into: 'splits',
    merge: (before, added) => [...before, ...added],
    syntax: 'string $variable { ... }',
    summary: 'A variable for A/B tests: its value depends on the hash of a string.',
    roles: defines('variable', AT.secondVariable),
    source: 'nginx ngx_http_split_clients_module#split_clients',
  },
});

/** Variables for A/B tests (nginx ngx_http_split_clients_module): clients get the same value as in nginx. */
export const splitClients = moduleFor<SplitsConfig>()({
  name: 'split_clients',
  summary: 'Variables that divide clients by percentages.',
  directives,
  enabled: ({ splits }) => splits !== undefined,
  defines: ({ splits = [] }) =>
    Object.fromEntries(
      splits.map((each) => [
        each.variable,
        { summary: 'The value that `split_clients` gives.', compile: (build) => compileSplit(each, build) },
      ]),
    ),
  compile: () => ({}),
});

function compileSplit({ key, parts }: SplitConfig, build: Build): Getter {
  const render = build.value(key);
  return (x) => {
    const hash = murmurHash2(render(x));
    for (const { below, value } of parts) if (below === undefined || hash < below) return value;
    return '';
  };
}

import type { Word } from '../../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, readers, type ReadScope } from '../../../config/index.ts';

const MATCHINGS = ['string', 'ip', 'prefix'] as const;

/**
 * How keys are compared with what is looked up: they are equal, or the key is the network of an address, or the
 * beginning of a text; of several the longest one counts.
 */
export type Matching = (typeof MATCHINGS)[number];

/** What `keyval_zone` says of a dictionary beyond `shared_dict_zone`. */
export interface KeyvalZone {
  readonly matching: Matching;
  /** The file that keeps the entries, as written. */
  readonly state?: string;
}

/** `keyval key $variable zone=name`. */
export interface KeyvalVariable {
  /** In lower case. */
  readonly variable: string;
  readonly key: ComplexValue;
  readonly zone: string;
}

/** `keyval_zone` as a dictionary. */
interface KeyvalDictionary {
  readonly name: string;
  readonly sizeBytes: number;
  readonly timeoutMs: number;
  readonly evict: false;
  readonly isSynced?: true;
  readonly keyval: KeyvalZone;
}

type KeyvalParts = Partial<Omit<KeyvalDictionary, 'evict' | 'keyval'> & KeyvalZone>;

/** Reads `zone=name:size [state=file] [timeout=time] [type=string|ip|prefix] [sync]`. */
export const keyvalZone: ArgReader<KeyvalDictionary> = readers.words(
  { syntax: 'zone=name:size [state=file] [timeout=time] [type=string|ip|prefix] [sync]', min: 1, max: 5 },
  (words, scope) => {
    let read: KeyvalParts = {};
    for (const word of words) {
      const part = readPart(word, scope);
      if (!part) return undefined;
      read = { ...read, ...part };
    }
    const { name, sizeBytes, timeoutMs = 0, isSynced, matching = 'string', state } = read;
    const { report, directive, span } = scope;
    if (name === undefined || sizeBytes === undefined) {
      report.emerg(`"${directive}" must have "zone" parameter`, span);
      return undefined;
    }
    if (isSynced && timeoutMs === 0) {
      report.emerg(`"${directive}" with "sync" must have "timeout" parameter`, span);
      return undefined;
    }
    const keyval = { matching, ...(state !== undefined && { state }) };
    return { name, sizeBytes, timeoutMs, evict: false, ...(isSynced && { isSynced }), keyval };
  },
);

function readPart(word: Word, scope: ReadScope): KeyvalParts | undefined {
  const { value, span } = word;
  const { report } = scope;
  if (value === 'sync') return { isSynced: true };
  if (value.startsWith('zone=')) return readers.readZone(word, scope);
  const [, parameter, text = ''] = /^(state|timeout|type)=(.+)$/s.exec(value) ?? [];
  const timeoutMs = parameter === 'timeout' ? readers.parseTimeMs(text) : undefined;
  if (timeoutMs !== undefined && timeoutMs > 0) return { timeoutMs };
  const matching = parameter === 'type' ? MATCHINGS.find((each) => each === text) : undefined;
  if (matching) return { matching };
  if (parameter === 'state') return { state: text };
  const expected = parameter === 'type' ? TYPES : 'zone=, state=, timeout=, type= or sync';
  report.emerg(`invalid parameter "${value}"`, span, `expected ${expected}`);
  return undefined;
}

const TYPES = 'type=string, type=ip or type=prefix';

/** Reads `key $variable zone=name`. */
export const keyvalVariable: ArgReader<KeyvalVariable> = readers.words(
  { syntax: 'key $variable zone=name', min: 3, max: 3 },
  ([keyWord, variableWord, zoneWord], scope) => {
    const { value: written, span } = variableWord as Word;
    const variable = /^\$(\w+)$/.exec(written)?.[1]?.toLowerCase();
    if (variable === undefined) {
      scope.report.emerg(`invalid variable name "${written}"`, span);
      return undefined;
    }
    const [, zone] = /^zone=(.+)$/.exec((zoneWord as Word).value) ?? [];
    if (zone === undefined) {
      const { value, span: at } = zoneWord as Word;
      scope.report.emerg(`invalid parameter "${value}"`, at, 'expected zone=name');
      return undefined;
    }
    scope.defineVariable(variable, span);
    return { variable, key: scope.complexValue(keyWord as Word), zone };
  },
);

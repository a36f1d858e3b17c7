import type { DirectiveNode, Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import type { WrittenCheck } from '../../contract/index.ts';
import type { HeaderCondition, HealthMatch } from '../../upstream/index.ts';

type Settings = { -readonly [K in keyof WrittenCheck]: WrittenCheck[K] };

/** The largest delay of a timer. */
const MAX_MS = 2 ** 31 - 1;
const MAX_COUNT = 1_000_000;

/** `health_check [parameters]` of an `upstream` block. */
export const healthCheck: ArgReader<WrittenCheck> = readers.words(
  {
    syntax:
      '[interval=time] [jitter=time] [timeout=time] [fails=number] [passes=number] [uri=uri] [port=number] [match=name] [slow_start=time] [mandatory [persistent]] [keepalive_time=time]',
    min: 0,
    max: Infinity,
  },
  (words, scope) => {
    const settings: Settings = {
      intervalMs: 5000,
      jitterMs: 0,
      timeoutMs: 1000,
      fails: 2,
      passes: 1,
      uri: '/',
      slowStartMs: 0,
      mandatory: false,
      persistent: false,
      keepaliveMs: 0,
    };
    for (const word of words) {
      const end = word.value.indexOf('=') + 1;
      const [name, value] = end === 0 ? [word.value, ''] : [word.value.slice(0, end), word.value.slice(end)];
      if (name === 'type=')
        return refuse(word, 'gw probes over HTTP only: the check of a gRPC service is not available', scope);
      if (!setParameter(settings, name, value))
        return refuse(word, `invalid parameter "${word.value}"`, scope);
    }
    if (settings.persistent && !settings.mandatory)
      return refuse(words[0] as Word, '"persistent" requires "mandatory"', scope);
    return settings;
  },
);

function refuse(word: Word, message: string, { report }: ReadScope): undefined {
  report.emerg(message, word.span);
  return undefined;
}

const TIMES = {
  'interval=': 'intervalMs',
  'jitter=': 'jitterMs',
  'timeout=': 'timeoutMs',
  'slow_start=': 'slowStartMs',
  'keepalive_time=': 'keepaliveMs',
} as const;

const COUNTS = { 'fails=': 'fails', 'passes=': 'passes' } as const;

/** Sets a parameter; false if it does not exist or its value is invalid. */
function setParameter(settings: Settings, name: string, value: string): boolean {
  if (Object.hasOwn(TIMES, name)) return setTime(settings, name as keyof typeof TIMES, value);
  if (Object.hasOwn(COUNTS, name)) {
    const count = numberIn(value, MAX_COUNT);
    settings[COUNTS[name as keyof typeof COUNTS]] = count ?? 0;
    return count !== undefined;
  }
  switch (name) {
    case 'uri=':
      settings.uri = value;
      return /^\/[\u0021-\u007E]*$/.test(value);
    case 'port=': {
      const port = numberIn(value, 65_535);
      if (port !== undefined) settings.port = port;
      return port !== undefined;
    }
    case 'match=':
      settings.match = value;
      return value !== '';
    case 'mandatory':
      return (settings.mandatory = true);
    case 'persistent':
      return (settings.persistent = true);
    default:
      return false;
  }
}

function setTime(settings: Settings, name: keyof typeof TIMES, value: string): boolean {
  const ms = readers.parseTimeMs(value);
  const mayBeZero = name !== 'interval=' && name !== 'timeout=';
  if (ms === undefined || ms > MAX_MS || (ms === 0 && !mayBeZero)) return false;
  settings[TIMES[name]] = ms;
  return true;
}

function numberIn(text: string, most: number): number | undefined {
  const number = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  return number >= 1 && number <= most ? number : undefined;
}

type MatchSettings = { -readonly [K in keyof HealthMatch]: HealthMatch[K] } & {
  headers: HeaderCondition[];
};

/** `match name { … }`, also written `health_match`. */
export function readMatch({ args, block = [] }: DirectiveNode, scope: ReadScope): readonly HealthMatch[] {
  const match: MatchSettings = { name: args[0]?.value ?? '', headers: [] };
  for (const line of block) {
    const fault = setCondition(match, line, scope);
    if (fault !== undefined) scope.report.emerg(fault, line.name.span);
  }
  return [match];
}

/** Adds a condition. Returns what is wrong with it. */
function setCondition(match: MatchSettings, line: DirectiveNode, scope: ReadScope): string | undefined {
  const { name, args } = line;
  const words = args.map(({ value }) => value);
  switch (name.value) {
    case 'status':
      return setStatus(match, words);
    case 'header':
      return setHeader(match, args, scope);
    case 'body': {
      const [operator, pattern] = args;
      if (match.body) return '"body" directive is duplicate';
      if (!pattern || args.length > 2 || !/^!?~\*?$/.test(operator?.value ?? ''))
        return 'invalid "body" condition';
      const regex = patternOf(pattern, operator as Word, scope);
      if (regex) match.body = { regex, not: words[0]?.startsWith('!') === true };
      return undefined;
    }
    case 'require':
      return '"require" is not available: a probe has no variables';
    default:
      return `unknown directive "${name.value}"`;
  }
}

function patternOf(pattern: Word, { value: operator }: Word, scope: ReadScope) {
  return readers.readRegex(pattern, { skip: 0, caseless: operator.endsWith('*') }, scope);
}

function setStatus(match: MatchSettings, words: readonly string[]): string | undefined {
  const not = words[0] === '!';
  const ranges = words.slice(not ? 1 : 0).map((word) => {
    const [, first = '', last = first] = /^(\d{3})(?:-(\d{3}))?$/.exec(word) ?? [];
    return [Number(first), Number(last)] as const;
  });
  if (match.status) return '"status" directive is duplicate';
  if (ranges.length === 0 || ranges.some(([first, last]) => first < 100 || last > 599 || first > last))
    return 'invalid "status" condition';
  match.status = { ranges, not };
  return undefined;
}

function setHeader({ headers }: MatchSettings, args: readonly Word[], scope: ReadScope): string | undefined {
  const [first, second, third] = args;
  const name = (first?.value === '!' ? second : first)?.value.toLowerCase() ?? '';
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name)) return 'invalid "header" condition';
  if (first?.value === '!' && args.length === 2) headers.push({ name, is: 'absent' });
  else if (args.length === 1) headers.push({ name, is: 'present' });
  else if (args.length === 3 && second && third)
    return setComparison(headers, { name, second, third }, scope);
  else return 'invalid "header" condition';
  return undefined;
}

function setComparison(
  headers: HeaderCondition[],
  { name, second, third }: { name: string; second: Word; third: Word },
  scope: ReadScope,
): string | undefined {
  switch (second.value) {
    case '=':
    case '!=':
      headers.push({ name, is: second.value === '=' ? 'equal' : 'unequal', value: third.value });
      return undefined;
    case '~':
    case '~*':
    case '!~':
    case '!~*': {
      const regex = patternOf(third, second, scope);
      const is = second.value.startsWith('!') ? 'not matching' : 'matching';
      if (regex) headers.push({ name, is, regex });
      return undefined;
    }
    default:
      return 'invalid "header" condition';
  }
}

import { partOfWord, type Word } from '../../../grammar/index.ts';
import { type ArgReader, type ComplexValue, readers, type ReadScope } from '../../config/index.ts';
import { isSameSite, type Sticky } from '../../upstream/index.ts';

/** `sticky cookie|route|learn …` (nginx ngx_http_upstream_module#sticky). */
export const sticky: ArgReader<Sticky> = readers.words(
  {
    syntax:
      'cookie name [expires=time|max] [domain=] [path=] [samesite=] [httponly] [secure] | route $value ... | learn create=$value lookup=$value zone=name:size [timeout=time] [header] [sync]',
    min: 2,
    max: Infinity,
  },
  (words, scope) => {
    const [method, ...parameters] = words as [Word, ...Word[]];
    switch (method.value) {
      case 'cookie':
        return readCookie(parameters, scope);
      case 'route':
        return readRoute(parameters, scope);
      case 'learn':
        return readLearn(parameters, scope);
      default:
        return refuse(method, `unknown parameter "${method.value}"`, scope);
    }
  },
);

/** Splits `name=value`; a flag has no value. */
function splitParameter(word: Word): { readonly name: string; readonly value: Word | undefined } {
  const end = word.value.indexOf('=');
  if (end < 0) return { name: word.value, value: undefined };
  return { name: word.value.slice(0, end), value: partOfWord(word, end + 1) };
}

/** Reports a fault in nginx's words: `"sticky" directive …`. */
function complain(word: Word, message: string, { report, directive }: ReadScope): undefined {
  report.emerg(`"${directive}" directive ${message}`, word.span);
  return undefined;
}

function refuse(word: Word, message: string, { report }: ReadScope): undefined {
  report.emerg(message, word.span);
  return undefined;
}

type CookieSettings = {
  -readonly [K in keyof Extract<Sticky, { kind: 'cookie' }>]: Extract<Sticky, { kind: 'cookie' }>[K];
};

function readCookie(words: readonly Word[], scope: ReadScope): Sticky | undefined {
  const [name, ...parameters] = words as [Word, ...Word[]];
  if (name.value === '') return complain(name, 'empty cookie name', scope);
  if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name.value))
    return refuse(name, `invalid cookie name "${name.value}"`, scope);
  const settings: CookieSettings = { kind: 'cookie', name: name.value, httpOnly: false, secure: false };
  const seen = new Set<string>();
  for (const word of parameters) {
    const parameter = splitParameter(word);
    if (seen.has(parameter.name)) return complain(word, `parameter "${parameter.name}" is duplicate`, scope);
    seen.add(parameter.name);
    const fault = setCookieParameter(settings, parameter, scope);
    if (fault === 'unknown') return refuse(word, `unknown parameter "${word.value}"`, scope);
    if (fault !== undefined) return complain(word, fault, scope);
  }
  return settings;
}

/** Sets a parameter of the cookie. Returns the fault, if any. */
function setCookieParameter(
  settings: CookieSettings,
  { name, value }: ReturnType<typeof splitParameter>,
  scope: ReadScope,
): string | undefined {
  if (value === undefined) {
    if (name === 'httponly') settings.httpOnly = true;
    else if (name === 'secure') settings.secure = true;
    else return 'unknown';
    return undefined;
  }
  switch (name) {
    case 'domain':
      if (value.value === '') return 'no value for "domain"';
      settings.domain = scope.complexValue(value);
      return undefined;
    case 'path':
      if (value.value === '') return 'no value for "path"';
      settings.path = value.value;
      return undefined;
    case 'expires':
      return setExpires(settings, value.value);
    case 'samesite':
      settings.sameSite = scope.complexValue(value);
      return isConstant(settings.sameSite) && !isSameSite(value.value)
        ? 'invalid "samesite" parameter value'
        : undefined;
    default:
      return 'unknown';
  }
}

function setExpires(settings: CookieSettings, text: string): string | undefined {
  const ms = /ms/.test(text) ? undefined : readers.parseTimeMs(text);
  if (text === 'max') settings.expires = 'max';
  else if (ms === undefined) return 'invalid "expires" parameter value';
  else settings.expires = ms / 1000;
  return undefined;
}

function isConstant({ parts }: ComplexValue): boolean {
  return parts.every((part) => typeof part === 'string');
}

function readRoute(words: readonly Word[], scope: ReadScope): Sticky | undefined {
  for (const word of words) {
    if (!/^\$\w/.test(word.value)) return refuse(word, `invalid variable name "${word.value}"`, scope);
  }
  return { kind: 'route', values: words.map((word) => scope.complexValue(word)) };
}

/** nginx needs eight pages of memory. */
const MIN_ZONE_BYTES = 8 * 4096;
const DEFAULT_TIMEOUT_MS = 600_000;

interface LearnSettings {
  readonly create: ComplexValue[];
  readonly lookup: ComplexValue[];
  zone: { readonly name: string; readonly sizeBytes: number } | undefined;
  timeoutMs: number | undefined;
  atHead: boolean;
  isShared: boolean;
}

function readLearn(words: readonly Word[], scope: ReadScope): Sticky | undefined {
  const settings: LearnSettings = {
    create: [],
    lookup: [],
    zone: undefined,
    timeoutMs: undefined,
    atHead: false,
    isShared: false,
  };
  for (const word of words) {
    const fault = setLearnParameter(settings, splitParameter(word), scope);
    if (fault === 'unknown') return refuse(word, `unknown parameter "${word.value}"`, scope);
    if (fault !== undefined) return complain(word, fault, scope);
  }
  const { create, lookup, zone, timeoutMs = DEFAULT_TIMEOUT_MS, ...learning } = settings;
  const missing = lookup.length === 0 ? 'lookup' : create.length === 0 ? 'create' : zone ? undefined : 'zone';
  if (missing !== undefined || !zone)
    return complain(words[0] as Word, `"${missing}" parameter is not specified`, scope);
  return {
    kind: 'learn',
    ...learning,
    create,
    lookup,
    zone: zone.name,
    sizeBytes: zone.sizeBytes,
    timeoutMs,
  };
}

/** Sets a parameter of `sticky learn`. Returns the fault, if any. */
function setLearnParameter(
  settings: LearnSettings,
  { name, value }: ReturnType<typeof splitParameter>,
  scope: ReadScope,
): string | undefined {
  if (value === undefined) {
    if (name === 'header') settings.atHead = true;
    else if (name === 'sync') settings.isShared = true;
    else return 'unknown';
    return undefined;
  }
  switch (name) {
    case 'create':
    case 'lookup':
      if (!/^\$\w/.test(value.value)) return `missing variable in the "${name}" parameter`;
      settings[name].push(scope.complexValue(value));
      return undefined;
    case 'timeout': {
      if (settings.timeoutMs !== undefined) return 'duplicate timeout';
      settings.timeoutMs = readers.parseTimeMs(value.value);
      return settings.timeoutMs ? undefined : 'invalid timeout';
    }
    case 'zone':
      return setZone(settings, value.value);
    default:
      return 'unknown';
  }
}

function setZone(settings: LearnSettings, text: string): string | undefined {
  if (settings.zone) return 'duplicate zone';
  const colon = text.indexOf(':');
  if (colon < 0) return 'zone size is not specified';
  if (colon === 0) return 'zone name is not specified';
  const sizeBytes = readers.parseSize(text.slice(colon + 1));
  if (sizeBytes === undefined) return 'invalid zone size';
  if (sizeBytes < MIN_ZONE_BYTES) return 'zone is too small';
  settings.zone = { name: text.slice(0, colon), sizeBytes };
  return undefined;
}

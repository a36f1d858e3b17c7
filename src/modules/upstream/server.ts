import { placeText, type Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import { readServerAddress, type ServerConfig, type ServerTarget } from '../../upstream/index.ts';

const DEFAULT_PORT = 80;
/** Sums of weights must fit in 32 bits. */
const MAX_WEIGHT = 65_535;
const MAX_NUMBER = 2 ** 31 - 1;

type Settings = {
  -readonly [K in keyof Omit<ServerConfig, 'name' | 'place' | 'target' | 'resolve'>]: ServerConfig[K];
} & {
  resolve: boolean;
  service: string;
};

/** `server address [parameters]` of an `upstream` block. */
export const server: ArgReader<ServerConfig> = readers.words(
  {
    syntax:
      'address [weight= max_conns= max_fails= fail_timeout= backup down drain slow_start= route= resolve service=]',
    min: 1,
    max: Infinity,
  },
  ([address, ...parameters], scope) => {
    const settings = readSettings(parameters, scope);
    return settings && readServer(address as Word, settings, scope);
  },
);

function readServer(
  word: Word,
  { resolve, service, ...settings }: Settings,
  scope: ReadScope,
): ServerConfig | undefined {
  const name = word.value;
  const target = readServerAddress(name, DEFAULT_PORT);
  if (typeof target === 'string') return refuse(word, `${target} in upstream "${name}"`, scope);
  const fault = service === '' ? undefined : findServiceFault({ name, target, resolve });
  if (fault !== undefined) return refuse(word, fault, scope);
  // An address need not be resolved: nginx accepts the parameter and ignores it.
  const asks = resolve && target.kind === 'name';
  const following = asks && { resolve: service === '' ? {} : { service } };
  return { name, place: placeText(word.span), target, ...settings, ...following };
}

interface ServiceServer {
  readonly name: string;
  readonly target: ServerTarget;
  readonly resolve: boolean;
}

/** SRV records contain ports and exist for names only. */
function findServiceFault({ name, target, resolve }: ServiceServer): string | undefined {
  if (!resolve) return `service upstream "${name}" requires "resolve" parameter`;
  if (target.kind !== 'name') return `service upstream "${name}" requires domain name`;
  return name.includes(':') ? `service upstream "${name}" may not have port` : undefined;
}

function readSettings(words: readonly Word[], scope: ReadScope): Settings | undefined {
  const settings: Settings = {
    weight: 1,
    maxConnections: 0,
    maxFails: 1,
    failTimeoutSeconds: 10,
    backup: false,
    down: false,
    drain: false,
    slowStartMs: 0,
    resolve: false,
    service: '',
  };
  for (const word of words) {
    const [name, value] = splitParameter(word.value);
    if (!setParameter(settings, name, value)) return refuse(word, `invalid parameter "${word.value}"`, scope);
  }
  return settings;
}

/** Splits `name=value`; a flag has an empty value. */
function splitParameter(text: string): [name: string, value: string] {
  const end = text.indexOf('=') + 1;
  return end === 0 ? [text, ''] : [text.slice(0, end), text.slice(end)];
}

/** Sets a parameter; false if its name or value is invalid. */
function setParameter(settings: Settings, name: string, value: string): boolean {
  switch (name) {
    case 'weight=':
      return setNumber(value, { min: 1, max: MAX_WEIGHT }, (weight) => (settings.weight = weight));
    case 'max_conns=':
      return setNumber(value, { min: 0, max: MAX_NUMBER }, (most) => (settings.maxConnections = most));
    case 'max_fails=':
      return setNumber(value, { min: 0, max: MAX_NUMBER }, (most) => (settings.maxFails = most));
    case 'fail_timeout=':
      return setSeconds(value, settings);
    case 'slow_start=':
      return setSlowStart(value, settings);
    case 'route=':
      return setRoute(value, settings);
    case 'service=':
      settings.service = value;
      return value !== '';
    case 'resolve':
      return (settings.resolve = true);
    case 'backup':
      return (settings.backup = true);
    case 'down':
      return (settings.down = true);
    case 'drain':
      return (settings.drain = true);
    default:
      return false;
  }
}

function setNumber(
  text: string,
  { min, max }: { readonly min: number; readonly max: number },
  set: (value: number) => void,
): boolean {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : -1;
  if (number < min || number > max) return false;
  set(number);
  return true;
}

/** Reads whole seconds: nginx accepts no milliseconds here. */
function setSeconds(text: string, settings: Settings): boolean {
  const ms = /ms/.test(text) ? undefined : readers.parseTimeMs(text);
  if (ms === undefined || ms / 1000 > MAX_NUMBER) return false;
  settings.failTimeoutSeconds = ms / 1000;
  return true;
}

function setSlowStart(text: string, settings: Settings): boolean {
  const ms = readers.parseTimeMs(text);
  if (ms === undefined || ms > MAX_NUMBER) return false;
  settings.slowStartMs = ms;
  return true;
}

/** Longest name in nginx, the length of the default MD5. */
const MAX_ROUTE_BYTES = 32;

function setRoute(text: string, settings: Settings): boolean {
  if (text === '' || Buffer.byteLength(text) > MAX_ROUTE_BYTES) return false;
  settings.route = text;
  return true;
}

function refuse(word: Word, message: string, { report }: ReadScope): undefined {
  report.emerg(message, word.span);
  return undefined;
}

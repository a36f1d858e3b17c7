import type { Word } from '../../../grammar/index.ts';
import { type ArgReader, readers, type ReadScope } from '../../config/index.ts';
import type { HealthCheck } from '../../health/index.ts';

type Settings = { -readonly [K in keyof HealthCheck]: HealthCheck[K] };

const GRPC = 'gw sends no gRPC probes';

/** `health_check [parameters]` (NGINX Plus, ngx_http_upstream_hc_module). */
export const healthCheck: ArgReader<HealthCheck> = readers.words(
  {
    syntax:
      '[interval=time] [jitter=time] [timeout=time] [fails=number] [passes=number] [uri=uri] [port=number] [match=name] [slow_start=time] [mandatory [persistent]] [keepalive_time=time] [type=http]',
    min: 0,
    max: Infinity,
  },
  (words, scope) => {
    const settings = defaultsIn(scope);
    const seen = new Set<string>();
    for (const word of words) {
      const fault = takeWord(settings, word, seen);
      if (fault !== undefined) return refuse(word, fault, scope);
    }
    const [first] = words;
    if (first && settings.persistent && !settings.mandatory)
      return refuse(first, '"persistent" requires "mandatory"', scope);
    return settings;
  },
);

/** Returns the defaults: those of NGINX Plus in a location; in an `upstream` a short timeout and two failures. */
function defaultsIn({ block }: ReadScope): Settings {
  const isUpstream = block.context === 'upstream';
  return {
    intervalMs: 5000,
    jitterMs: 0,
    ...(isUpstream && { timeoutMs: 1000 }),
    fails: isUpstream ? 2 : 1,
    passes: 1,
    uri: '/',
    slowStartMs: 0,
    mandatory: false,
    persistent: false,
    keepaliveMs: 0,
  };
}

function takeWord(settings: Settings, { value: text }: Word, seen: Set<string>): string | undefined {
  const end = text.indexOf('=');
  const name = end < 0 ? text : text.slice(0, end);
  if (seen.has(name)) return `duplicate parameter "${name}"`;
  seen.add(name);
  const isValid = end < 0 ? setFlag(settings, name) : setParameter(settings, name, text.slice(end + 1));
  if (isValid === true) return undefined;
  return isValid === false ? `invalid parameter "${text}"` : isValid;
}

function setFlag(settings: Settings, name: string): boolean {
  if (name === 'mandatory') return (settings.mandatory = true);
  return name === 'persistent' && (settings.persistent = true);
}

/** Sets a parameter. Returns false if the name or the value is invalid, or the reason why it is refused. */
function setParameter(settings: Settings, name: string, value: string): boolean | string {
  switch (name) {
    case 'interval':
      return setTime(value, 1, (ms) => (settings.intervalMs = ms));
    case 'jitter':
      return setTime(value, 0, (ms) => (settings.jitterMs = ms));
    case 'timeout':
      return setTime(value, 1, (ms) => (settings.timeoutMs = ms));
    case 'slow_start':
      return setTime(value, 0, (ms) => (settings.slowStartMs = ms));
    case 'keepalive_time':
      return setTime(value, 0, (ms) => (settings.keepaliveMs = ms));
    case 'fails':
      return setNumber(value, 2 ** 30, (fails) => (settings.fails = fails));
    case 'passes':
      return setNumber(value, 2 ** 30, (passes) => (settings.passes = passes));
    case 'port':
      return setNumber(value, 65_535, (port) => (settings.port = port));
    case 'uri':
      settings.uri = value;
      return /^\/[\x21-\x7e]*$/.test(value);
    case 'match':
      settings.match = value;
      return value !== '';
    case 'type':
      return value === 'http' || (value === 'grpc' && `"type=grpc" is not supported: ${GRPC}`);
    case 'grpc_service':
    case 'grpc_status':
      return `"${name}" is not supported: ${GRPC}`;
    default:
      return false;
  }
}

/** The longest timer of Node.js. */
const MOST_MS = 2 ** 31 - 1;

function setTime(text: string, leastMs: number, set: (ms: number) => void): boolean {
  const ms = readers.parseTimeMs(text);
  if (ms === undefined || ms < leastMs) return false;
  set(Math.min(MOST_MS, ms));
  return true;
}

function setNumber(text: string, most: number, set: (value: number) => void): boolean {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > most) return false;
  set(number);
  return true;
}

function refuse(word: Word, message: string, { report }: ReadScope): undefined {
  report.emerg(message, word.span);
  return undefined;
}

import { createHash } from 'node:crypto';
import { type AuthResult, type Build, compileAuthCounter } from '../../contract/index.ts';
import {
  type AccessCheck,
  type Denial,
  type Exchange,
  type Getter,
  type Handler,
  logContext,
  quotable,
  stateKey,
} from '../../http/index.ts';
import type { WatchedFiles } from '../../system/index.ts';
import type { AuthApiKeyConfig, Protection } from './directives.ts';
import type { KeyEntries, KeyEntry } from './key-lines.ts';

/** The length of keys, which consist of visible ASCII characters. */
const KEY = /^[!-~]{16,256}$/;

/** Keys that a request has presented. They are taken out of it, so another location cannot find them again. */
interface Presented {
  readonly header: string;
  readonly arg: string | undefined;
  /** Several are a mistake of the client, or an attempt to have two programs read different ones. */
  readonly keys: readonly string[];
}

/** What a location found out about the key of a request. */
interface Judgement {
  /** The config of the location: after an internal redirect, another one judges again. */
  readonly by: AuthApiKeyConfig;
  readonly entry?: KeyEntry;
  readonly fault?: Fault;
}

interface Fault {
  readonly result: AuthResult;
  readonly message: string;
  readonly denial: Denial;
}

const PRESENTED = stateKey<Presented>('presented API key');
const JUDGEMENT = stateKey<Judgement>('auth_api_key');

/** `$api_key_id`: the id of the accepted key. */
export const keyId: Getter = ({ main }) => main.state(JUDGEMENT)?.entry?.id;

/** `$api_key_NAME`: an attribute of the accepted key. */
export function keyAttribute(name: string): Getter {
  return ({ main }) => main.state(JUDGEMENT)?.entry?.attributes.get(name);
}

/** The files of keys of one worker. */
export type ApiKeyFiles = WatchedFiles<KeyEntries>;

/** Compiles the step that reads the key of a request, before anything could use it or pass it on. */
export function compileIdentify(config: AuthApiKeyConfig, files: ApiKeyFiles, build: Build): Handler {
  const protection = config.protection as Protection;
  build.needHeader(protection.header);
  const judge = compileJudge(config, files);
  return (x) => {
    if (x.main !== x || x.state(JUDGEMENT)?.by === config) return;
    const presented = presentedBy(x, protection);
    x.setState(PRESENTED, presented);
    if (!config.passes) takeOut(x, protection);
    x.setState(JUDGEMENT, { by: config, ...judge(presented.keys) });
  };
}

/** Compiles the access check, which logs refused requests. */
export function compileAccess(config: AuthApiKeyConfig, files: ApiKeyFiles, build: Build): AccessCheck {
  const count = compileAuthCounter(build, 'api_key');
  const identify = compileIdentify(config, files, build);
  return (x) => {
    void identify(x);
    const { fault } = x.state(JUDGEMENT) as Judgement;
    count(fault?.result ?? 'accepted');
    if (!fault) return 'allowed';
    build.log.write(fault.result === 'failed' ? 'error' : 'info', fault.message, logContext(x));
    return fault.denial;
  };
}

function compileJudge(
  { protection, files: paths = [] }: AuthApiKeyConfig,
  files: ApiKeyFiles,
): (keys: readonly string[]) => Pick<Judgement, 'entry' | 'fault'> {
  const { realm } = protection as Protection;
  const challenge = ['WWW-Authenticate', `ApiKey realm="${quotable(realm)}"`];
  const denial: Denial = { status: 401, headers: challenge };
  const refused = (message: string, result: Fault['result'] = 'refused') => ({
    fault: { result, message, denial },
  });
  return (keys) => {
    const [key, second] = keys;
    if (key === undefined) return refused('no API key was provided', 'none');
    if (second !== undefined)
      return { fault: { result: 'refused', message: 'client sent two API keys', denial: { status: 400 } } };
    if (!KEY.test(key)) return refused('the API key is malformed');
    const digest = createHash('sha256').update(key).digest('hex');
    const nowMs = Date.now();
    const faults: string[] = [];
    for (const path of paths) {
      const content = files.content(path, 0, nowMs);
      if ('fault' in content) {
        faults.push(content.fault);
        continue;
      }
      const entry = content.value.get(digest);
      if (!entry) continue;
      return entry.expiresMs > nowMs ? { entry } : refused(`the API key "${entry.id}" has expired`);
    }
    if (faults.length === 0) return refused('the API key is not known');
    return { fault: { result: 'failed', message: faults.join('; '), denial: AWAY } };
  };
}

const AWAY: Denial = { status: 503, headers: ['Retry-After', '5'] };

/** The keys in the header and the argument of a request. */
function presentedBy(x: Exchange, { header, arg }: Protection): Presented {
  const before = x.state(PRESENTED);
  if (before?.header === header && before.arg === arg) return before;
  const { headers } = x.request;
  const inHeaders = headers.filter((_, index) => index % 2 === 1 && headers[index - 1] === header);
  const inArgs = arg === undefined ? [] : argumentsOf(x.args, arg);
  return { header, arg, keys: [...inHeaders, ...inArgs] };
}

function argumentsOf(args: string, name: string): readonly string[] {
  return args.split('&').flatMap((argument) => {
    const equals = argument.indexOf('=');
    return equals > 0 && isNamed(argument.slice(0, equals), name)
      ? [decoded(argument.slice(equals + 1))]
      : [];
  });
}

function isNamed(written: string, name: string): boolean {
  return decoded(written).toLowerCase() === name.toLowerCase();
}

/** The characters of names and keys need no escapes, but programs may make some. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Takes the key out of a request, so that no upstream, program, log or subrequest has it. */
function takeOut(x: Exchange, { header, arg }: Protection): void {
  const { request } = x;
  const isKey = (index: number): boolean => request.headers[index - (index % 2)] === header;
  const headers = request.headers.filter((_, index) => !isKey(index));
  if (arg === undefined) {
    if (headers.length < request.headers.length) x.request = { ...request, headers };
    return;
  }
  const [path = '', ...rest] = request.requestUri.split('?');
  const query = without(rest.join('?'), arg);
  x.request = {
    ...request,
    line: undefined,
    headers,
    args: without(request.args, arg),
    requestUri: rest.length === 0 ? path : `${path}${query === '' ? '' : `?${query}`}`,
  };
  x.args = without(x.args, arg);
}

function without(args: string, name: string): string {
  const isKey = (argument: string): boolean => isNamed(argument.split('=', 1)[0] ?? '', name);
  return args
    .split('&')
    .filter((argument) => !isKey(argument))
    .join('&');
}

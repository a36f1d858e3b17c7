import { createHash } from 'node:crypto';
import {
  type AuthResult,
  type Build,
  compileAuthCounter,
  type ExplainedAction,
} from '../../contract/index.ts';
import {
  type AccessCheck,
  type Denial,
  type Exchange,
  type Getter,
  type Handler,
  logContext,
  quotable,
  stateKey,
  type Verdict,
} from '../../http/index.ts';
import type { AuthApiKeyConfig, Protection } from './directives.ts';
import type { KeyEntry } from './key-lines.ts';
import type { KeySources, Lookup } from './key-sources.ts';

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

type Finding = Pick<Judgement, 'entry' | 'fault'>;

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

/** Compiles the step that reads the key of a request, before anything could use it or pass it on. */
export function compileIdentify(config: AuthApiKeyConfig, sources: KeySources, build: Build): Handler {
  const protection = config.protection as Protection;
  build.needHeader(protection.header);
  const judge = compileJudge(config, sources);
  const present = compilePresent(config);
  return (x) => {
    if (x.main !== x || x.state(JUDGEMENT)?.by === config) return undefined;
    const presented = present(x);
    const keep = (finding: Finding): void => x.setState(JUDGEMENT, { by: config, ...finding });
    const finding = judge(presented.keys);
    return finding instanceof Promise ? finding.then(keep) : keep(finding);
  };
}

/** Compiles what takes the key out of a request as it enters the location; absent if upstreams get it. */
export function compileEntering(config: AuthApiKeyConfig): ((x: Exchange) => void) | undefined {
  const present = compilePresent(config);
  return config.passes ? undefined : (x) => void (x.main === x && present(x));
}

function compilePresent({ protection, passes }: AuthApiKeyConfig): (x: Exchange) => Presented {
  const asked = protection as Protection;
  return (x) => {
    const presented = presentedBy(x, asked);
    x.setState(PRESENTED, presented);
    if (!passes) takeOut(x, asked);
    return presented;
  };
}

/** Compiles the access check, which logs refused requests. */
export function compileAccess(config: AuthApiKeyConfig, sources: KeySources, build: Build): AccessCheck {
  const count = compileAuthCounter(build, 'api_key');
  const identify = compileIdentify(config, sources, build);
  const decide = (x: Exchange): Verdict => {
    const { fault } = x.state(JUDGEMENT) as Judgement;
    count(fault?.result ?? 'accepted');
    if (!fault) return 'allowed';
    build.log.write(fault.result === 'failed' ? 'error' : 'info', fault.message, logContext(x));
    return fault.denial;
  };
  return (x) => {
    const waits = identify(x);
    return waits ? waits.then(() => decide(x)) : decide(x);
  };
}

/** Explains the access check: a key that files do not have may be in a dictionary or a store. */
export function explainAccess({ main }: Exchange): ExplainedAction {
  const does = 'requires an API key';
  if (main.state(JUDGEMENT)?.fault?.result !== 'failed') return { does };
  const unknown = 'whether the API key is known';
  return { does, unknown, isVerdictUnknown: true, unknownVariables: ['api_key_id'] };
}

function compileJudge(
  { protection }: AuthApiKeyConfig,
  sources: KeySources,
): (keys: readonly string[]) => Finding | Promise<Finding> {
  const { realm } = protection as Protection;
  const challenge = ['WWW-Authenticate', `ApiKey realm="${quotable(realm)}"`];
  const denial: Denial = { status: 401, headers: challenge };
  const refused = (message: string, result: Fault['result'] = 'refused'): Finding => ({
    fault: { result, message, denial },
  });
  const judged = ({ entry, faults }: Lookup): Finding => {
    if (entry)
      return entry.expiresMs > Date.now() ? { entry } : refused(`the API key "${entry.id}" has expired`);
    if (faults.length === 0) return refused('the API key is not known');
    return { fault: { result: 'failed', message: faults.join('; '), denial: AWAY } };
  };
  return (keys) => {
    const [key, second] = keys;
    if (key === undefined) return refused('no API key was provided', 'none');
    if (second !== undefined)
      return { fault: { result: 'refused', message: 'client sent two API keys', denial: { status: 400 } } };
    if (!KEY.test(key)) return refused('the API key is malformed');
    const found = sources.find(createHash('sha256').update(key).digest('hex'), Date.now());
    return found instanceof Promise ? found.then(judged) : judged(found);
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

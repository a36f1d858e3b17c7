import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { ComplexValue } from '../../config/index.ts';
import {
  cookieTime,
  type Exchange,
  FAR_COOKIE_TIME,
  type Getter,
  type HeaderFilter,
  logContext,
  stateKey,
} from '../../http/index.ts';
import type { ErrorLog } from '../../log/index.ts';
import type { Counters } from '../../zone/index.ts';
import { KeyMeter } from '../meters.ts';
import type { Sticky } from '../plan.ts';
import type { Peer, PeerBinding, Rejection, UpstreamGroup } from '../interfaces.ts';
import type { Sessions } from './sessions.ts';

type StickyOf<K extends Sticky['kind']> = Extract<Sticky, { kind: K }>;

/** The part of a build that compiles the values of a request. */
interface StickyBuild {
  readonly log: ErrorLog;
  readonly metrics: Counters;
  value(value: ComplexValue): (x: Exchange) => string;
  variable(name: string): Getter;
}

/**
 * Compiles how the requests of one location are bound to the peers of a group; `undefined` if they are not.
 */
export function compileSticky(
  { name, sticky, sessions }: Pick<UpstreamGroup, 'name' | 'sticky' | 'sessions'>,
  build: StickyBuild,
): ((x: Exchange) => PeerBinding) | undefined {
  switch (sticky?.kind) {
    case undefined:
      return undefined;
    case 'cookie':
      return compileCookie(sticky, build);
    case 'route': {
      const id = firstOf(sticky.values, build);
      return (x) => ({ id: id(x) });
    }
    case 'learn':
      return sessions ? compileLearn(sticky, sessions, build) : () => UNBOUND;
    case 'key':
      return compileKey(sticky, new KeyMeter(build.metrics, name), build);
  }
}

const UNBOUND: PeerBinding = { id: '' };

/** The `Set-Cookie` of a request's last try. */
const SET_COOKIE = stateKey<string>('sticky cookie');

/** Tells whether responses of a group carry a cookie: then `setStickyCookie` has to be among the header filters. */
export function setsCookie(sticky: Sticky): boolean {
  return sticky.kind === 'cookie' || (sticky.kind === 'key' && sticky.issuesCookie);
}

/** Adds the cookie that names the peer of the last try to the response, whatever response that is. */
export const setStickyCookie: HeaderFilter = (x) => {
  const cookie = x.state(SET_COOKIE);
  if (cookie !== undefined && x.main === x) x.response.setHeader('Set-Cookie', cookie);
};

function firstOf(values: readonly ComplexValue[], build: StickyBuild): (x: Exchange) => string {
  const renders = values.map((value) => build.value(value));
  return (x) => {
    for (const render of renders) {
      const text = render(x);
      if (text !== '') return text;
    }
    return '';
  };
}

function compileCookie(sticky: StickyOf<'cookie'>, build: StickyBuild): (x: Exchange) => PeerBinding {
  const { name, expires, domain, path, sameSite, httpOnly, secure } = sticky;
  const idOf = build.variable(`cookie_${name.toLowerCase()}`);
  const domainOf = domain && build.value(domain);
  const sameSiteOf = sameSite && build.value(sameSite);
  const flags = `${httpOnly ? '; httponly' : ''}${secure ? '; secure' : ''}`;
  const end = path === undefined ? '' : `; path=${path}`;
  const cookieOf = (x: Exchange, id: string): string => {
    const host = domainOf?.(x) ?? '';
    const site = sameSiteOf ? knownSite(sameSiteOf(x)) : '';
    return `${name}=${id}${lifetimeOf(expires)}${host === '' ? '' : `; domain=${host}`}${flags}${site}${end}`;
  };
  return (x) => ({
    id: idOf(x) ?? '',
    picked: (peer) => x.setState(SET_COOKIE, cookieOf(x, peer.id)),
  });
}

function lifetimeOf(expires: number | 'max' | undefined): string {
  if (expires === undefined) return '';
  if (expires === 'max') return `; expires=${FAR_COOKIE_TIME}; max-age=315360000`;
  return `; expires=${cookieTime(expires)}; max-age=${expires}`;
}

/** An unknown value of a variable counts as the strictest one (nginx). */
function knownSite(value: string): string {
  if (value === '') return '';
  return `; samesite=${isSameSite(value) ? value : 'strict'}`;
}

/** Tells whether a value of `samesite` exists. */
export function isSameSite(value: string): boolean {
  return /^(?:strict|lax|none)$/i.test(value);
}

/** An evicted session is logged at most this often. */
const EVICTION_LOG_MS = 10_000;

function compileLearn(
  sticky: StickyOf<'learn'>,
  sessions: Sessions,
  build: StickyBuild,
): (x: Exchange) => PeerBinding {
  const createOf = firstOf(sticky.create, build);
  const lookupOf = firstOf(sticky.lookup, build);
  const { atHead, zone } = sticky;
  let toldMs = -Infinity;
  let evicted = 0;
  /** The zone keeps digests: it does not grow with the ids of applications, and does not hold them. */
  const store = (session: string, peer: Peer): void => {
    sessions.learn(session, peer);
    const { evicted: now } = sessions;
    if (now > evicted && performance.now() - toldMs >= EVICTION_LOG_MS) {
      build.log.write('warn', `sticky zone "${zone}" is full, the oldest sessions are dropped`);
      toldMs = performance.now();
    }
    evicted = now;
  };
  return (x) => {
    const known = lookupOf(x);
    const session = known === '' ? '' : digestOf(known);
    const id = session === '' ? '' : (tolerant(x, build.log, () => sessions.find(session)) ?? '');
    const learn = (peer: Peer): void =>
      tolerant(x, build.log, () => {
        const created = createOf(x);
        if (created !== '') store(digestOf(created), peer);
        else if (session !== '') sessions.renew(session, peer, id);
      });
    return {
      id,
      ...(atHead ? { headArrived: learn } : { ended: learn }),
    };
  };
}

function digestOf(session: string): string {
  return createHash('md5').update(session).digest('base64');
}

/** The zone cannot be locked in time when the machine is overloaded: the request is then served without it. */
function tolerant<T>(x: Exchange, log: ErrorLog, act: () => T): T | undefined {
  try {
    return act();
  } catch (error) {
    log.write('warn', `sticky session: ${(error as Error).message}`, logContext(x));
    return undefined;
  }
}

const PEER = 'peer:';

function compileKey(
  sticky: StickyOf<'key'>,
  meter: KeyMeter,
  build: StickyBuild,
): (x: Exchange) => PeerBinding {
  const { from, name, isStrict, issuesCookie, attributes } = sticky;
  const variable = from === 'cookie' ? `cookie_${name}` : `http_${name.replaceAll('-', '_')}`;
  const keyOf = build.variable(variable.toLowerCase());
  const end = attributes === '' ? '' : `; ${attributes}`;
  const rejected = (reason: Rejection): void => meter.count(`rejected_${reason}`);
  return (x) => {
    const key = keyOf(x) ?? '';
    const address = key.startsWith(PEER) ? key.slice(PEER.length) : '';
    // A client without a key gets one if cookies are issued.
    const strict = isStrict && !(issuesCookie && key === '');
    let isIssued = false;
    const issue = (peer: Peer): void => {
      // A cookie that still holds is not sent again.
      if (peer.address === address) return;
      x.setState(SET_COOKIE, `${name}=${PEER}${peer.address}${end}`);
      if (!isIssued) meter.count(key === '' ? 'cookie_issued' : 'cookie_rotated');
      isIssued = true;
    };
    return {
      id: '',
      ...(address !== '' && { address }),
      ...(address === '' && key !== '' && { hash: crc32(key) }),
      isStrict: strict,
      decided: (isBound) => meter.decided({ key, address, isStrict: strict, isBound }),
      rejected,
      ...(issuesCookie && (key === '' || address !== '') && { picked: issue }),
    };
  };
}

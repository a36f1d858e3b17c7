import { randomBytes } from 'node:crypto';
import { addressBytes } from '../../config/index.ts';
import { type Build, moduleFor, type VariableDefinition } from '../../contract/index.ts';
import {
  cookieTime,
  type Exchange,
  FAR_COOKIE_TIME,
  type Getter,
  type HeaderFilter,
  logContext,
  stateKey,
} from '../../http/index.ts';
import { directives, type UserIdConfig } from './directives.ts';

/** 16 bytes: service number, time, process, and a counter. */
type UserId = Buffer;

const BYTES = 16;
const BASE64 = /^[A-Za-z0-9+/]{22}$/;
/** The start value of nginx's counter. */
const FIRST = 0x0303_0302;
const FIRST_V1 = 1;
const STEP = 0x100;

/** Decodes the id from the first 22 characters of a cookie; the rest may be a mark and is ignored otherwise (nginx). */
export function decodeUserId(cookie: string): UserId | undefined {
  const digits = cookie.slice(0, 22);
  return BASE64.test(digits) ? Buffer.from(digits, 'base64') : undefined;
}

/** Returns `uid=0100007FD9ED006B886D48A602030303`: four words in little-endian order. */
export function userIdText(name: string, id: UserId): string {
  const words = [0, 4, 8, 12].map((at) => id.readUInt32LE(at).toString(16).toUpperCase().padStart(8, '0'));
  return `${name}=${words.join('')}`;
}

/** Tells whether an id is valid: nginx ignores ids whose last word is 0. */
export function isId(id: UserId | undefined): id is UserId {
  return id !== undefined && id.readUInt32LE(12) !== 0;
}

/** Generates ids that differ from those of all other workers and processes. */
export class UserIdSource {
  readonly #start: number;
  #next = FIRST;
  #nextV1 = FIRST_V1;

  /** `start`: 32 bits that are unique to this worker. */
  constructor(start: number) {
    this.#start = start;
  }

  /** Generates an id. `address` is the local address of the connection, used if no service number is configured. */
  give({ mode, service }: Pick<UserIdConfig, 'mode' | 'service'>, address: string): UserId {
    const id = Buffer.alloc(BYTES);
    const seconds = Math.floor(Date.now() / 1000);
    if (mode === 'v1') {
      for (const [index, word] of [service ?? 0, seconds, this.#start, this.#nextV1].entries())
        id.writeUInt32LE(word, index * 4);
      this.#nextV1 = (this.#nextV1 + STEP) % 2 ** 32;
      return id;
    }
    if (service === undefined) id.set((addressBytes(address) ?? []).slice(-4));
    else id.writeUInt32BE(service, 0);
    for (const [index, word] of [seconds, this.#start, this.#next].entries())
      id.writeUInt32BE(word, (index + 1) * 4);
    this.#next += STEP;
    if (this.#next >= 2 ** 32) this.#next = FIRST;
    return id;
  }
}

/** The visitor of one request. */
interface Visitor {
  /** The cookie of the request. */
  readonly cookie: string;
  readonly got: UserId | undefined;
  /** The new id that the response sets; `null` if it sets none, `undefined` until that is decided. */
  set: UserId | null | undefined;
  /** The cookie of the request is replaced by a new one. */
  isReset: boolean;
}

const VISITOR = stateKey<Visitor>('userid');
const RESET = stateKey<string>('uid_reset');
const SHORTEST_COOKIE = 22;

/** Reads `$uid_reset`, which `set` may have set. */
const readReset: Getter = (x) => x.main.state(RESET) ?? '';
const writeReset = (x: Exchange, value: string): void => x.main.setState(RESET, value);

/** Provides the variables and the cookie of one location. */
class Visitors {
  readonly #config: UserIdConfig;
  readonly #source: UserIdSource;
  readonly #cookieOf: Getter;
  /** `$uid_reset`, which may also come from a map. */
  readonly #resetOf: Getter;
  readonly #build: Build;

  constructor(config: UserIdConfig, source: UserIdSource, build: Build) {
    this.#config = config;
    this.#source = source;
    this.#build = build;
    this.#resetOf = build.variable('uid_reset');
    this.#cookieOf = build.variable(`cookie_${config.name.toLowerCase()}`);
  }

  /** `$uid_got`. */
  readonly got: Getter = ({ main }) => {
    const { got } = this.#visitor(main);
    return isId(got) ? userIdText(this.#config.name, got) : undefined;
  };

  /** `$uid_set`. */
  readonly set: Getter = ({ main }) => {
    if (!this.#sets) return undefined;
    const id = this.#decide(main);
    return id ? userIdText(this.#config.name, id) : undefined;
  };

  /** Sets the cookie if necessary. */
  readonly filter: HeaderFilter = (x) => {
    if (x.main !== x || !this.#sets) return;
    const id = this.#decide(x);
    if (!id) return;
    x.response.setHeader('Set-Cookie', this.#cookie(id, this.#visitor(x)));
    if (this.#config.p3p !== '') x.response.setHeader('P3P', this.#config.p3p);
  };

  get #sets(): boolean {
    return this.#config.mode === 'on' || this.#config.mode === 'v1';
  }

  #visitor(x: Exchange): Visitor {
    const known = x.state(VISITOR);
    if (known) return known;
    const cookie = this.#cookieOf(x);
    const got = cookie === undefined ? undefined : this.#read(cookie, x);
    const visitor: Visitor = { cookie: cookie ?? '', got, set: undefined, isReset: false };
    x.setState(VISITOR, visitor);
    return visitor;
  }

  #read(cookie: string, x: Exchange): UserId | undefined {
    const isShort = cookie.length < SHORTEST_COOKIE;
    const got = isShort ? undefined : decodeUserId(cookie);
    if (!got) {
      const message = `client sent ${isShort ? 'too short' : 'invalid'} userid cookie "${this.#config.name}=${cookie}"`;
      this.#build.log.write('error', message, logContext(x));
    }
    return got;
  }

  #decide(x: Exchange): UserId | null {
    const visitor = this.#visitor(x);
    if (visitor.set === undefined) visitor.set = this.#choose(visitor, x);
    return visitor.set;
  }

  #choose(visitor: Visitor, x: Exchange): UserId | null {
    const { got, cookie } = visitor;
    const { mark, name } = this.#config;
    if (isId(got)) {
      const reset = this.#resetOf(x) ?? '';
      if (reset === '' || reset === '0')
        return mark === '' || cookie.slice(22, 24) === `${mark}=` ? null : got;
      visitor.isReset = true;
      if (reset === 'log') {
        const message = `userid cookie "${userIdText(name, got)}" was reset`;
        this.#build.log.write('notice', message, logContext(x));
      }
    }
    return this.#source.give(this.#config, x.request.port.address);
  }

  #cookie(id: UserId, { got, cookie, isReset }: Visitor): string {
    const { name, mark, expires, domain, path, flags } = this.#config;
    const keeps = isId(got) && !isReset;
    const digits = keeps ? cookie.slice(0, 22) : id.toString('base64', 0, 16).slice(0, 22);
    const attributes = [
      `${name}=${digits}${mark === '' ? '=' : mark}=`,
      expires !== 0 && `expires=${expires === 'max' ? FAR_COOKIE_TIME : cookieTime(expires)}`,
      domain !== '' && `domain=${domain}`,
      path !== '' && `path=${path}`,
      ...flags,
    ];
    return attributes.filter(Boolean).join('; ');
  }
}

const GOT = 'Name and id of the cookie that the client sent.';
const SET = 'Name and id of the cookie that the response sets.';
const nothing = (summary: string): VariableDefinition => ({ summary, compile: () => () => undefined });

/** Cookies that identify visitors (nginx ngx_http_userid_module). */
export const userid = moduleFor<UserIdConfig>()<UserIdSource>({
  name: 'userid',
  summary: 'Cookies that tell clients apart.',
  directives,
  variables: {
    uid_got: nothing(GOT),
    uid_set: nothing(SET),
    uid_reset: {
      summary: 'If it is set to a value other than 0, the client gets a new cookie; `log` also logs this.',
      compile: () => readReset,
      assign: writeReset,
    },
  },
  enabled: ({ mode }) => mode !== 'off',
  provision: (_config, worker) =>
    worker.share(
      'userid',
      () => new UserIdSource(randomBytes(4).readUInt32LE()),
      () => undefined,
    ),
  defines: (config, source) => ({
    uid_got: { summary: GOT, compile: (build) => new Visitors(config, source, build).got },
    uid_set: { summary: SET, live: true, compile: (build) => new Visitors(config, source, build).set },
  }),
  compile: (config, source, build) => ({ filter: new Visitors(config, source, build).filter }),
});

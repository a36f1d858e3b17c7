import type { Build } from '../../contract/index.ts';
import { logContext } from '../../http/index.ts';
import type { Exchange, Getter, HeaderFilter } from '../../http/index.ts';
import type { UserIdConfig } from './config.ts';
import { decodeUserId, isId, userIdText } from './user-id.ts';
import type { UserId, UserIdSource } from './user-id.ts';

/** What is known of the visitor who made a request. */
interface Visitor {
  /** The cookie that came. */
  readonly cookie: string;
  readonly got: UserId | undefined;
  /** The id that the answer sets; `undefined`: not decided yet, `null`: none. */
  set: UserId | null | undefined;
  /** The cookie that came is given up for a new one. */
  isReset: boolean;
}

const VISITOR = Symbol('userid');
const RESET = Symbol('uid_reset');
const SHORTEST_COOKIE = 22;
const FAR = 'Thu, 31-Dec-37 23:55:55 GMT';

/** `set $uid_reset`. */
export const readReset: Getter = (x) => x.main.state(RESET) ?? '';
export const writeReset = (x: Exchange, value: string): void => x.main.setState(RESET, value);

/** What the variables and the cookie of one location are made of. */
export class Visitors {
  readonly #config: UserIdConfig;
  readonly #source: UserIdSource;
  readonly #cookieOf: Getter;
  readonly #build: Build;

  constructor(config: UserIdConfig, source: UserIdSource, build: Build) {
    this.#config = config;
    this.#source = source;
    this.#build = build;
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

  /** Sends the cookie where one is due. */
  readonly filter: HeaderFilter = (x) => {
    if (x.main !== x || !this.#sets) return;
    const id = this.#decide(x);
    if (!id) return;
    x.setHeader('Set-Cookie', this.#cookie(id, this.#visitor(x)));
    if (this.#config.p3p !== '') x.setHeader('P3P', this.#config.p3p);
  };

  get #sets(): boolean {
    return this.#config.mode === 'on' || this.#config.mode === 'v1';
  }

  #visitor(x: Exchange): Visitor {
    const known = x.state<Visitor>(VISITOR);
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
      const reset = readReset(x) ?? '';
      if (reset === '' || reset === '0')
        return mark === '' || cookie.slice(22, 24) === `${mark}=` ? null : got;
      visitor.isReset = true;
      if (reset === 'log') {
        const message = `userid cookie "${userIdText(name, got)}" was reset`;
        this.#build.log.write('notice', message, logContext(x));
      }
    }
    return this.#source.give(this.#config, x.port.address);
  }

  #cookie(id: UserId, { got, cookie, isReset }: Visitor): string {
    const { name, mark, expires, domain, path, flags } = this.#config;
    const keeps = isId(got) && !isReset;
    const digits = keeps ? cookie.slice(0, 22) : id.toString('base64', 0, 16).slice(0, 22);
    const attributes = [
      `${name}=${digits}${mark === '' ? '=' : mark}=`,
      expires !== 0 && `expires=${expires === 'max' ? FAR : cookieTime(expires)}`,
      domain !== '' && `domain=${domain}`,
      path !== '' && `path=${path}`,
      ...flags,
    ];
    return attributes.filter(Boolean).join('; ');
  }
}

/** So many seconds from now, as nginx's ngx_http_cookie_time writes it: `Sat, 21-Nov-26 02:03:21 GMT`. */
function cookieTime(seconds: number): string {
  const [day, date, month, year = '', time] = new Date(Date.now() + seconds * 1000).toUTCString().split(' ');
  const years = Number(year) > 2037 ? year : year.slice(2);
  return `${day} ${date}-${month}-${years} ${time} GMT`;
}

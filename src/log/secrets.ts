/**
 * What logs, spans, dumps and explanations must not show. All of them ask here: what one output hides, no other shows.
 */

/** Stands in place of a secret. */
export const MASK = '***';

/** Words at the end of a name whose value is a secret; `_` stands for whatever separates words. */
const WORDS = [
  'authorization',
  'auth',
  'bearer',
  'cookie',
  'credentials?',
  '(?:access|account|api|app|auth|client|encryption|master|private|publish|secret|shared|signing)_?key',
  '\\w*token',
  'jwt',
  'pass',
  '\\w*passw(?:or)?d',
  '\\w*passphrase',
  'pwd',
  '\\w*secret',
  'session',
  '\\w*sess(?:ion)?_?id',
  'sid',
  'assertion',
  'code_verifier',
  'sig(?:nature)?',
  'otp',
  'saml_?(?:art|request|response)',
].join('|');

const SECRET_NAME = new RegExp(
  `(?:^|[_[])(?:${WORDS})(?:_?\\d{1,2}|_(?:again|confirm|confirmation|hint|new|old|repeat))?$`,
);
/** Alone, it is the key of an API; behind other words, it may be one of anything. */
const KEY = /^(?:.*\[)?key$/i;
const HUMP = /(?<=[a-z\d])(?=[A-Z])/g;
/** Each name above has one of these. */
const HINT = /key|jwt|token|pass|pwd|secret|auth|bearer|sess|sid|sig|cred|assert|verif|cookie|otp|saml/i;

/**
 * Tells whether a value of this name is a secret, be it the name of an argument, a header, a cookie, a parameter of a
 * program or a variable: `access_token`, `X-Api-Key`, `user[password]`, `clientSecret`. Case does not matter.
 */
export function isSecretName(name: string): boolean {
  if (!HINT.test(name)) return false;
  const own = name.replace(/(?:\[\d*)?]$/, '');
  return KEY.test(own) || SECRET_NAME.test(wordsOf(own)) || SECRET_NAME.test(wordsOf(own.replace(HUMP, '_')));
}

function wordsOf(name: string): string {
  return name
    .replace(/[^A-Za-z\d[]+/g, '_')
    .replace(/^_|_$/g, '')
    .toLowerCase();
}

/** A text without any of these has no secret that could be recognized. */
const MAY_HOLD = /[=@]|eyJ|%(?:25)*(?:3d|40)/i;

/** What a name in a query, a URL, a request line or a message stands behind, the name, and the sign before its value. */
const NAMED = /(?:^|[?&;#\s"'])([^=?&;#\s"']+)=/g;
/** A question mark, a semicolon or a quotation mark ends a value only where something else follows that can follow it. */
const VALUE = /'(?:[^'\\]|\\.)*'|(?:[^?&;#\s"]|[?;](?![^=?&;#\s"]+=)|"(?![\s,)]|$))+/y;

/**
 * Masks the secrets in a text that may contain a query, a URL, the string of a connection or a token: `?key=abc&n=1`
 * becomes `?key=***&n=1`.
 */
export function redact(text: string): string {
  return MAY_HOLD.test(text) ? redacted(text, MOST_LAYERS) : text;
}

/** A URL within a URL within a URL: how often percent-encoded text is decoded in search of secrets. */
const MOST_LAYERS = 3;

function redacted(text: string, layers: number): string {
  const hasEscapes = text.includes('%');
  let shown = text;
  if (text.includes('=') && (hasEscapes || HINT.test(text) || text.includes('code=')))
    shown = maskValues(text);
  if (hasEscapes && layers > 0 && ESCAPED.test(shown))
    shown = shown.replace(RUN, (run) => (ESCAPED.test(run) ? redactedRun(run, layers - 1) : run));
  if (shown.includes('://') && shown.includes('@')) shown = maskLogins(shown);
  return shown.includes('eyJ') ? shown.replace(DOTTED, withoutToken) : shown;
}

/** A value in a text that is a secret: always, or where both of the names of a login are there. */
interface Value {
  readonly start: number;
  readonly end: number;
  readonly ofLogin: boolean;
}

/** What a configuration has put in place of a secret, as GitLab's does. */
const MASKED = /^\[[A-Z]+]$/;

/** `code` and `state`. */
const LOGIN_NAMES = 2;

function maskValues(text: string): string {
  const values: Value[] = [];
  const logins = new Set<string>();
  NAMED.lastIndex = 0;
  for (let found = NAMED.exec(text); found; found = NAMED.exec(text)) {
    const [, name = ''] = found;
    const plain = name.includes('%') ? decodedName(name) : name;
    const ofLogin = plain === 'code' || plain === 'state';
    if (ofLogin) logins.add(plain);
    else if (!isSecretName(plain)) continue;
    const start = (VALUE.lastIndex = NAMED.lastIndex);
    if (!VALUE.test(text) || MASKED.test(text.slice(start, VALUE.lastIndex))) continue;
    values.push({ start, end: VALUE.lastIndex, ofLogin });
    NAMED.lastIndex = VALUE.lastIndex;
  }
  let shown = '';
  let at = 0;
  for (const { start, end, ofLogin } of values) {
    if (ofLogin && logins.size < LOGIN_NAMES) continue;
    shown += text.slice(at, start) + MASK;
    at = end;
  }
  return at === 0 ? text : shown + text.slice(at);
}

/** `=` or `@` in percent-encoded text: it may have a query or a URL of its own. */
const ESCAPED = /%(?:25)*(?:3d|40)/i;
const RUN = /[^\s?&#=";]+/g;

function redactedRun(run: string, layers: number): string {
  let decoded: string;
  try {
    decoded = decodeURIComponent(run);
  } catch {
    return run;
  }
  const shown = redacted(decoded, layers);
  return shown === decoded ? run : encodeURIComponent(shown);
}

const DOTTED = /[\w.-]+/g;
const LEAST_TOKEN_PARTS = 3;

/** Masks a signed or encrypted token: an object of JSON in base64url, and more behind dots (RFC 7515, RFC 7516). */
function withoutToken(run: string): string {
  const at = run.indexOf('eyJ');
  return at >= 0 && run.slice(at).split('.').length >= LEAST_TOKEN_PARTS ? run.slice(0, at) + MASK : run;
}

function decodedName(name: string): string {
  return name.replace(/%([0-7][0-9a-f])/gi, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}

/**
 * Tells whether a query takes a login back from a provider (RFC 6749, 4.1.2). Its `code` and `state` are secrets then;
 * alone, they are words that queries have for other things.
 */
export function isAuthorizationResponse(query: string): boolean {
  const text = query.includes('%') ? decodedName(query) : query;
  return /(?:^|[?&;#\s"])code=/.test(text) && /(?:^|[?&;#\s"])state=/.test(text);
}

/** The part of a URL that may have a login. */
const AUTHORITY = /\b([a-z][a-z0-9+.-]{0,31}):\/\/([^\s/?#]+)/gi;

function maskLogins(text: string): string {
  return text.replace(AUTHORITY, (url: string, scheme: string, authority: string) => {
    const at = authority.lastIndexOf('@');
    if (at < 0) return url;
    const colon = authority.slice(0, at).indexOf(':');
    const host = authority.slice(at);
    if (colon >= 0) return `${scheme}://${authority.slice(0, colon)}:${MASK}${host}`;
    // A name without a password is a token in URLs of the web, and nothing but a name in those of databases.
    return /^https?$/i.test(scheme) ? `${scheme}://${MASK}${host}` : url;
  });
}

/** Where a password is in the word of a configuration: from `start` to `end`. */
interface PasswordSpan {
  readonly start: number;
  readonly end: number;
}

/** Keywords of a connection, and the headers of logins; the last group is the secret. */
const PASSWORDS = [
  /(\bpassword\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s"'&;]+)/gi,
  /(\b(?:basic|bearer)\s+)([^\s"'$]+)/gi,
];
const LOGIN = /(:\/\/[^/?#\s]*?:)([^/?#\s]*)(?=@)/g;
/** A slash, which should have been escaped, does not reveal the password either; a port is none. */
const BROKEN_LOGIN = /(:\/\/[^/?#\s:@]*:)(?!\d*[/?#])([^\s"'@]*[/?#]\S*)(?=@)/g;

/** An argument of a URL whose value is written there. */
const ARGUMENT = /([?&](?<name>[^=?&#\s"']+)=)(?<secret>[^&#\s"'$]+)/g;

/** Finds passwords in the word of a configuration, such as `scheme://user:password@host`. */
export function passwordsIn(word: string): readonly PasswordSpan[] {
  const logins = [...word.matchAll(LOGIN)];
  const found = logins.length > 0 ? logins : [...word.matchAll(BROKEN_LOGIN)];
  const named = [...word.matchAll(ARGUMENT)].filter(({ groups }) => isSecretName(groups?.['name'] ?? ''));
  return [...found, ...named, ...PASSWORDS.flatMap((pattern) => [...word.matchAll(pattern)])].map(
    ({ index, 1: before = '', 2: second = '', groups }) => {
      const secret = groups?.['secret'] ?? second;
      const start = index + before.length;
      return { start, end: start + secret.length };
    },
  );
}

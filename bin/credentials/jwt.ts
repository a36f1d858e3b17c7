import { text as textOf } from 'node:stream/consumers';
import { isatty } from 'node:tty';
import { readers } from '../../src/config/index.ts';
import { isObject, parseJson } from '../../src/json.ts';
import { type dbrestTools, loadDbrestTools } from '../../src/tools/lookups.ts';
import { fail, visible } from '../terminal.ts';
import { isOnStandardInput, readSecret, type SecretOptions } from './secrets.ts';

const SECRET_VARIABLE = 'GW_JWT_SECRET';

/** Options of `gw jwt sign`. */
export interface SignOptions extends SecretOptions {
  readonly role?: string;
  /** Claims as `name=value`. */
  readonly claim: readonly string[];
  /** Lifetime, or `never`. */
  readonly exp: string;
  readonly alg?: string;
  readonly kid?: string;
}

/** `gw jwt sign [PAYLOAD]`: prints a token. Exit code 1: the key cannot sign; 2: an option is wrong. */
export async function sign(payload: string | undefined, options: SignOptions): Promise<number> {
  const claims = claimsOf(payload, options);
  if ('fault' in claims) return fail(claims.fault, 2);
  const read = await readSecret(options, SECRET_VARIABLE);
  if ('fault' in read) return fail(read.fault, 2);
  const order = { claims: claims.claims, secret: read.secret, algorithm: options.alg, keyId: options.kid };
  const { signToken } = await loadDbrestTools();
  const signed = await signToken(order);
  if ('fault' in signed) return fail(signed.fault, 1);
  if (signed.warning !== undefined) process.stderr.write(`gw: [warn] ${signed.warning}\n`);
  process.stdout.write(`${signed.token}\n`);
  return 0;
}

type Claims = Readonly<Record<string, unknown>>;

/** Returns the claims of the payload, overridden by options, with default times. */
function claimsOf(
  payload: string | undefined,
  { role, claim, exp }: SignOptions,
): { readonly claims: Claims } | { readonly fault: string } {
  const given = payload === undefined ? {} : parseObject(payload);
  if (!given) return { fault: 'the payload is not a JSON object' };
  const single: Record<string, unknown> = {};
  for (const text of claim) {
    const [, name, value = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
    if (name === undefined) return { fault: `invalid claim "${text}"\n  expected name=value` };
    single[name] = parseJson(value) ?? value;
  }
  const now = Math.floor(Date.now() / 1000);
  const lifetimeMs = exp === 'never' ? undefined : readers.parseTimeMs(exp);
  if (lifetimeMs === undefined && exp !== 'never') {
    return { fault: `invalid time "${exp}"\n  expected a time such as 30s, 1h or 7d, or "never"` };
  }
  const times = { iat: now, ...(lifetimeMs !== undefined && { exp: now + Math.ceil(lifetimeMs / 1000) }) };
  return { claims: { ...times, ...given, ...single, ...(role !== undefined && { role }) } };
}

function parseObject(text: string): Claims | undefined {
  const value = parseJson(text);
  return isObject(value) ? value : undefined;
}

/** Options of `gw jwt verify`. */
export interface VerifyOptions extends SecretOptions {
  readonly audience?: string;
  readonly json?: boolean;
}

/**
 * `gw jwt verify [TOKEN]`: verifies a token as a location does. Exit code 0: accepted; 1: refused; 2: it cannot be
 * decided.
 */
export async function verify(given: string | undefined, options: VerifyOptions): Promise<number> {
  if (given === undefined && isOnStandardInput(options, SECRET_VARIABLE)) {
    return fail(`the token is read from standard input: set ${SECRET_VARIABLE}, or use --secret-file`, 2);
  }
  const read = await readSecret(options, SECRET_VARIABLE);
  if ('fault' in read) return fail(read.fault, 2);
  const token = await tokenOf(given);
  const { audience } = options;
  const { checkToken } = await loadDbrestTools();
  const verdict = checkToken(token, { secret: read.secret, audience, nowMs: Date.now() });
  if ('fault' in verdict) return fail(verdict.fault, 2);
  const { decoded, refusal } = verdict;
  if (options.json === true) {
    const shown = { valid: refusal === undefined, ...refusal, ...decoded };
    process.stdout.write(`${JSON.stringify(shown, undefined, 2)}\n`);
  } else if (refusal) return fail(refusalText(refusal), 1);
  else process.stdout.write(`valid\n${decodedText(decoded as dbrestTools.DecodedToken)}`);
  return refusal ? 1 : 0;
}

function refusalText({ code, message, reason }: NonNullable<dbrestTools.TokenVerdict['refusal']>): string {
  const detail = reason === '' ? '' : `\n  ${visible(reason)}`;
  return `the token is refused with ${code} "${visible(message)}"${detail}`;
}

/** `gw jwt inspect [TOKEN]`: prints a token without verifying it. Exit code 1: it is not a token. */
export async function inspect(
  given: string | undefined,
  { json }: { readonly json?: boolean },
): Promise<number> {
  const { decodeToken } = await loadDbrestTools();
  const decoded = decodeToken(await tokenOf(given));
  if (!decoded) return fail('this is not a signed JSON Web Token', 1);
  process.stderr.write(
    'gw: not verified: anybody can write such a token; "gw jwt verify" checks its signature\n',
  );
  process.stdout.write(json === true ? `${JSON.stringify(decoded, undefined, 2)}\n` : decodedText(decoded));
  return 0;
}

/** Returns the token in the argument or on standard input; an `Authorization` header around it is removed. */
async function tokenOf(given: string | undefined): Promise<string> {
  const text = given ?? (isatty(0) ? '' : await textOf(process.stdin));
  return text.trim().replace(/^(?:authorization:\s*)?bearer\s+/i, '');
}

const TIMES: ReadonlySet<string> = new Set(['exp', 'nbf', 'iat']);

/** Returns the members of a token, one line each, with times also in readable form. */
function decodedText({ header, claims }: dbrestTools.DecodedToken): string {
  const lines = [
    'header',
    ...Object.entries(header).map(([name, value]) => `  ${visible(name)}: ${shown(value)}`),
    'claims',
    ...Object.entries(claims).map(([name, value]) => {
      const at = TIMES.has(name) ? momentOf(value) : undefined;
      return `  ${visible(name)}: ${shown(value)}${at === undefined ? '' : ` (${at})`}`;
    }),
  ];
  return `${lines.join('\n')}\n`;
}

function shown(value: unknown): string {
  return visible(JSON.stringify(value));
}

function momentOf(seconds: unknown): string | undefined {
  const at = new Date(Number(seconds) * 1000);
  return typeof seconds !== 'number' || Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

import { isUtf8 } from 'node:buffer';
import { createHash, randomBytes } from 'node:crypto';
import md5Crypt from 'apache-md5';
import { MOST_PASSWORD_BYTES } from './verifier.ts';

/** The scheme and the cost of a hash. */
interface HashOrder {
  readonly scheme: PasswordScheme;
  /** bcrypt: the logarithm of the number of rounds. */
  readonly cost: number;
  /** SHA-crypt: the number of rounds. */
  readonly rounds: number;
}

const MOST_BYTES: Readonly<Partial<Record<PasswordScheme, number>>> = { bcrypt: 72 };
/** The alphabet of crypt(3); 16 characters of it are 96 bits. */
const SALT_ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** The schemes that `auth_basic` can check and htpasswd can write, best first, with a remark about weak ones. */
export const PASSWORD_SCHEMES = {
  bcrypt: {},
  sha512: {},
  sha256: {},
  apr1: { warning: 'MD5 is computed so fast that passwords can be guessed' },
  md5: { warning: 'MD5 is computed so fast that passwords can be guessed' },
  ssha: { warning: 'SHA-1 is computed so fast that passwords can be guessed' },
  sha: { warning: 'SHA-1 without a salt is computed so fast that passwords can be guessed' },
  plain: { warning: 'the password is stored as it is' },
} as const satisfies Readonly<Record<string, { readonly warning?: string }>>;
export type PasswordScheme = keyof typeof PASSWORD_SCHEMES;

/** Returns the form in which a user file stores a password, or the fault of one that cannot be stored. */
export async function hashPassword(
  password: Buffer,
  order: HashOrder,
): Promise<{ readonly stored: string } | { readonly fault: string }> {
  const fault = faultOf(password, order.scheme);
  return fault === undefined ? { stored: await MAKERS[order.scheme](password, order) } : { fault };
}

/** Returns the fault of a password that the check would refuse or confuse with another. */
function faultOf(password: Buffer, scheme: PasswordScheme): string | undefined {
  if (password.length === 0) return 'the password is empty';
  if (password.includes(0)) return 'the password contains a zero byte';
  if (!isUtf8(password)) return 'the password is not UTF-8';
  if (scheme === 'plain' && /[:\r\n]/.test(password.toString())) {
    return 'a password that is stored as it is cannot contain a colon or the end of a line';
  }
  if (password.length > MOST_PASSWORD_BYTES)
    return `the password is longer than ${MOST_PASSWORD_BYTES} bytes`;
  const limit = MOST_BYTES[scheme];
  if (limit === undefined || password.length <= limit) return undefined;
  return `${scheme} takes the first ${limit} bytes of a password only, and this one is longer`;
}

type Maker = (password: Buffer, order: HashOrder) => string | Promise<string>;

const MAKERS: Readonly<Record<PasswordScheme, Maker>> = {
  bcrypt: async (password, { cost }) => (await import('@node-rs/bcrypt')).hash(password, { cost }),
  sha512: (password, order) => shaCrypt(password, { ...order, id: 6 }),
  sha256: (password, order) => shaCrypt(password, { ...order, id: 5 }),
  apr1: (password) => md5Crypt(password.toString('latin1'), `$apr1$${salt(8)}`),
  md5: (password) => md5Crypt(password.toString('latin1'), `$1$${salt(8)}`),
  ssha: (password) => {
    const added = randomBytes(8);
    return `{SSHA}${Buffer.concat([sha1(Buffer.concat([password, added])), added]).toString('base64')}`;
  },
  sha: (password) => `{SHA}${sha1(password).toString('base64')}`,
  plain: (password) => `{PLAIN}${password.toString()}`,
};

async function shaCrypt(password: Buffer, { id, rounds }: HashOrder & { id: 5 | 6 }): Promise<string> {
  const { encrypt } = await import('unixcrypt');
  return encrypt(password.toString(), `$${id}$rounds=${rounds}$${salt(16)}`);
}

function sha1(bytes: Buffer): Buffer {
  return createHash('sha1').update(bytes).digest();
}

function salt(length: number): string {
  return Array.from(randomBytes(length), (byte) => SALT_ALPHABET[byte % SALT_ALPHABET.length]).join('');
}

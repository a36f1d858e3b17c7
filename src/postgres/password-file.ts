import type { Stats } from 'node:fs';
import { readSmallFile } from './small-file.ts';

/** The permissions of group and others. */
const OTHERS = 0o077;

/** The connection for which a password is looked up. */
interface Login {
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
}

/**
 * Reads a password file (PostgreSQL documentation, "The Password File") and returns a function that looks up passwords
 * in it. As in libpq, no password is found if the file cannot be used; `warn` gets the reason, without secrets.
 */
export function readPasswordFile(
  path: string,
  warn: (message: string) => void,
): (login: Login) => string | undefined {
  const read = readSmallFile(path, { name: 'it', refuse: refuseOpen });
  if ('fault' in read) {
    warn(`the password file "${path}" is ignored: ${read.fault}`);
    return () => undefined;
  }
  const lines = read.text.split(/\r?\n/);
  const entries = lines.flatMap((line) => (line.startsWith('#') ? [] : (entryOf(line) ?? [])));
  return ({ host, port, database, user }) => {
    const wanted = [host, String(port), database, user];
    const fits = ({ fields }: PasswordLine): boolean =>
      fields.every((field, i) => field === '*' || unescaped(field) === wanted[i]);
    return entries.find(fits)?.password;
  };
}

function refuseOpen({ mode }: Stats): string | undefined {
  return (mode & OTHERS) === 0
    ? undefined
    : 'group or others may use it, its permissions should be 0600 or less';
}

interface PasswordLine {
  /** Host, port, database and user as written: an escaped `*` is not a wildcard. */
  readonly fields: readonly string[];
  readonly password: string;
}

const FIELD = String.raw`((?:\\.|[^:\\])*):`;
/** Only the first four fields end at a colon. */
const ENTRY = new RegExp(`^${FIELD.repeat(4)}(.*)$`, 's');

function entryOf(line: string): PasswordLine | undefined {
  const [, host, port, database, user, password] = ENTRY.exec(line) ?? [];
  if (password === undefined) return undefined;
  return { fields: [host, port, database, user] as string[], password: unescaped(password) };
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/gs, '$1');
}

import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { isatty } from 'node:tty';
import { hashPassword, PASSWORD_SCHEMES, type PasswordScheme } from '../../src/tools/lookups.ts';
import { fail, failureText } from '../terminal.ts';

/** The sources of a secret; the first that is set is used. */
export interface SecretOptions {
  readonly secret?: string;
  /** `-`: standard input. */
  readonly secretFile?: string;
}

/** Tells whether a secret can only be read from standard input. */
export function isOnStandardInput({ secret, secretFile }: SecretOptions, variable: string): boolean {
  return (
    secret === undefined && (secretFile ?? (process.env[variable] === undefined ? '-' : undefined)) === '-'
  );
}

/**
 * Returns a secret, or the reason why it cannot be read, which never contains it. `variable` is a variable of the
 * environment; '' to use none.
 */
export async function readSecret(
  options: SecretOptions,
  variable: string,
): Promise<{ readonly secret: string } | { readonly fault: string }> {
  const { secret, secretFile } = options;
  if (secret !== undefined) return { secret };
  if (secretFile === undefined && process.env[variable] !== undefined)
    return { secret: process.env[variable] };
  const onInput = isOnStandardInput(options, variable);
  const ways = variable === '' ? '' : `; set ${variable}, or use --secret-file`;
  if (onInput && isatty(0)) return { fault: `no secret is given${ways}` };
  const name = onInput ? 'standard input' : `"${secretFile}"`;
  try {
    const read = withoutLineEnd(await (onInput ? buffer(process.stdin) : readFile(secretFile as string)));
    return read.length === 0 ? { fault: `${name} has no secret${ways}` } : { secret: read.toString() };
  } catch (error) {
    return { fault: failureText(error, secretFile) };
  }
}

/** Reads a password: typed twice without echo, or from a pipe without the final line end. */
async function readPassword(): Promise<{ readonly password: Buffer } | { readonly fault: string }> {
  if (!isatty(0)) return { password: withoutLineEnd(await buffer(process.stdin)) };
  const password = await typeUnseen('Password: ');
  const again = password && (await typeUnseen('Again: '));
  if (!password || !again) return { fault: 'no password' };
  return password === again ? { password: Buffer.from(password) } : { fault: 'the two passwords differ' };
}

function withoutLineEnd(bytes: Buffer): Buffer {
  const [end = ''] = /\r?\n$/.exec(bytes.toString('latin1')) ?? [];
  return bytes.subarray(0, bytes.length - end.length);
}

const CTRL_C = '\x03';
const CTRL_D = '\x04';
const CTRL_U = '\x15';
const ERASING = ['\x7f', '\b'];

/** Reads a line from the terminal without echo; `undefined` if it is interrupted. */
function typeUnseen(prompt: string): Promise<string | undefined> {
  const { stdin, stderr } = process;
  // Before the prompt, so that early input is not echoed either.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stderr.write(prompt);
  return new Promise((resolve) => {
    let line: string[] = [];
    const end = (typed: string | undefined): void => {
      stdin.off('data', take);
      stdin.setRawMode(false);
      stdin.pause();
      stderr.write('\n');
      resolve(typed);
    };
    const take = (text: string): void => {
      const characters = Array.from(text);
      for (const [at, character] of characters.entries()) {
        if (character === CTRL_C || (character === CTRL_D && line.length === 0)) return end(undefined);
        if (character === '\r' || character === '\n') {
          // Input after the line end belongs to the next line.
          const rest = characters.slice(at + 1).join('');
          if (rest !== '') stdin.unshift(rest);
          return end(line.join(''));
        }
        if (character === CTRL_U) line = [];
        else if (ERASING.includes(character)) line.pop();
        else if (character >= ' ') line.push(character);
      }
    };
    stdin.on('data', take);
    stdin.resume();
  });
}

const LEAST_BYTES = 32;
const MOST_BYTES = 4_096;

/** `gw secret`: prints random bytes as base64url, enough for HS256. Exit code 2: too few are requested. */
export function secret({ bytes }: { readonly bytes: string }): number {
  const count = Number(bytes);
  if (!/^\d+$/.test(bytes) || count < LEAST_BYTES || count > MOST_BYTES) {
    return fail(`invalid number of bytes "${bytes}"\n  expected ${LEAST_BYTES} to ${MOST_BYTES}`, 2);
  }
  process.stdout.write(`${randomBytes(count).toString('base64url')}\n`);
  return 0;
}

/** Options of `gw hash-password`. */
export interface HashOptions {
  readonly scheme: PasswordScheme;
  readonly cost: string;
  readonly rounds: string;
  readonly user?: string;
}

/**
 * `gw hash-password`: prints the hash of a password for a user file. Exit code 1: the password cannot be hashed; 2: an
 * option is wrong.
 */
export async function printHash({ scheme, cost, rounds, user }: HashOptions): Promise<number> {
  if (!isWithin(cost, 4, 31)) return fail(`invalid cost "${cost}"\n  expected 4 to 31`, 2);
  if (!isWithin(rounds, 1_000, 1_000_000))
    return fail(`invalid rounds "${rounds}"\n  expected 1000 to 1000000`, 2);
  if (user !== undefined && /^#|[:\r\n\0]|^$/.test(user)) {
    return fail(`invalid user name "${user}"\n  it must not begin with "#" or contain a colon`, 2);
  }
  const read = await readPassword();
  if ('fault' in read) return fail(read.fault, 1);
  const made = await hashPassword(read.password, { scheme, cost: Number(cost), rounds: Number(rounds) });
  if ('fault' in made) return fail(made.fault, 1);
  const { warning }: { readonly warning?: string } = PASSWORD_SCHEMES[scheme];
  if (warning !== undefined) process.stderr.write(`gw: [warn] ${warning}\n`);
  process.stdout.write(`${user === undefined ? '' : `${user}:`}${made.stored}\n`);
  return 0;
}

function isWithin(text: string, least: number, most: number): boolean {
  return /^\d+$/.test(text) && Number(text) >= least && Number(text) <= most;
}

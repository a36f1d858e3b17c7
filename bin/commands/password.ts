import { randomBytes } from 'node:crypto';
import { hashPassword, PASSWORD_SCHEMES } from '../../src/lookups.ts';
import type { PasswordScheme } from '../../src/lookups.ts';
import { readPassword } from '../secret-input.ts';

const LEAST_BYTES = 32;
const MOST_BYTES = 4_096;

/** `gw secret`: random bytes as base64url, enough for HS256. 2: fewer are asked for. */
export function secret({ bytes }: { readonly bytes: string }): number {
  const count = Number(bytes);
  if (!/^\d+$/.test(bytes) || count < LEAST_BYTES || count > MOST_BYTES) {
    return fail(`invalid number of bytes "${bytes}"\n  expected ${LEAST_BYTES} to ${MOST_BYTES}`);
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

/** `gw hash-password`: what a user file stores of a password. 1: it cannot be stored so, 2: an option that is wrong. */
export async function printHash({ scheme, cost, rounds, user }: HashOptions): Promise<number> {
  if (!isWithin(cost, 4, 31)) return fail(`invalid cost "${cost}"\n  expected 4 to 31`);
  if (!isWithin(rounds, 1_000, 1_000_000))
    return fail(`invalid rounds "${rounds}"\n  expected 1000 to 1000000`);
  if (user !== undefined && /^#|[:\r\n\0]|^$/.test(user)) {
    return fail(`invalid user name "${user}"\n  it must not begin with "#" or contain a colon`);
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

function fail(message: string, code = 2): number {
  process.stderr.write(`gw: ${message}\n`);
  return code;
}

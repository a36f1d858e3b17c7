import { createHmac } from 'node:crypto';

export const SECRET = 'a secret of at least thirty-two bytes';

const encode = (part: unknown): string =>
  (Buffer.isBuffer(part)
    ? part
    : Buffer.from(typeof part === 'string' ? part : JSON.stringify(part))
  ).toString('base64url');

/** A token of these parts; a string or buffer is used as it is. Signed with HS256 unless the header says otherwise. */
export function sign(
  payload: unknown,
  {
    secret = SECRET,
    header = {},
  }: { secret?: string | Buffer; header?: Record<string, unknown> | string } = {},
): string {
  const head = typeof header === 'string' ? header : { alg: 'HS256', typ: 'JWT', ...header };
  const signed = `${encode(head)}.${encode(payload)}`;
  const bits = /"HS(384|512)"/.exec(typeof head === 'string' ? head : JSON.stringify(head))?.[1] ?? '256';
  return `${signed}.${createHmac(`sha${bits}`, secret).update(signed).digest('base64url')}`;
}

/** The time so many seconds from now, in seconds since the epoch. */
export const inSeconds = (seconds: number): number => Math.floor(Date.now() / 1_000) + seconds;

export const bearer = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` });

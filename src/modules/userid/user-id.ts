import { addressBytes } from '../../config/index.ts';
import type { UserIdConfig } from './config.ts';

/** 16 bytes: who gave it, when, which process, and how many that one has given. */
export type UserId = Buffer;

const BYTES = 16;
const BASE64 = /^[A-Za-z0-9+/]{22}$/;
/** What nginx begins to count with. */
const FIRST = 0x0303_0302;
const FIRST_V1 = 1;
const STEP = 0x100;

/** The id in the first 22 characters of a cookie; what follows may be a mark, or rubbish (nginx). */
export function decodeUserId(cookie: string): UserId | undefined {
  const digits = cookie.slice(0, 22);
  return BASE64.test(digits) ? Buffer.from(digits, 'base64') : undefined;
}

/** `uid=0100007FD9ED006B886D48A602030303`: four words as a little-endian machine sees them. */
export function userIdText(name: string, id: UserId): string {
  const words = [0, 4, 8, 12].map((at) => id.readUInt32LE(at).toString(16).toUpperCase().padStart(8, '0'));
  return `${name}=${words.join('')}`;
}

/** nginx takes an id whose last word is 0 for none. */
export function isId(id: UserId | undefined): id is UserId {
  return id !== undefined && id.readUInt32LE(12) !== 0;
}

/** Gives ids that no other worker or process gives. */
export class UserIdSource {
  readonly #start: number;
  #next = FIRST;
  #nextV1 = FIRST_V1;

  /** `start`: 32 bits that tell this worker from all others. */
  constructor(start: number) {
    this.#start = start;
  }

  /** `address` is the one that the request came in on, where no service is configured. */
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

import type { ConnectionLimitDeclaration, RequestLimitDeclaration, ZoneKind } from '../declaration.ts';
import { fnv1a } from '../dictionary/fnv1a.ts';
import { BLOCK_BYTES } from '../dictionary/layout.ts';
import { rebuild, repairDictionary } from '../dictionary/rebuild.ts';
import { MAX_ZONE_BYTES, VERSION_WORD, memoryOf } from '../layout.ts';
import { CONNECTION_LIMIT_MAGIC, KEY_WORD, LIMITS_VERSION, REQUEST_LIMIT_MAGIC } from './layout.ts';
import { forgetThread, recount } from './shares.ts';

type LimitDeclaration = RequestLimitDeclaration | ConnectionLimitDeclaration;

/** What both kinds of limits do alike with their memory. */
const shared: Omit<ZoneKind<LimitDeclaration>, 'magic' | 'repair'> = {
  bytes: ({ sizeBytes }) => sizeBytes - (sizeBytes % BLOCK_BYTES),

  fault({ name, sizeBytes }) {
    if (sizeBytes <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: at most ${MAX_ZONE_BYTES} bytes are allowed, ${sizeBytes} given`;
  },

  conflict(later, earlier) {
    if (later.sizeBytes === earlier.sizeBytes) return undefined;
    return `the size ${later.sizeBytes} of shared memory zone "${later.name}" conflicts with already declared size ${earlier.sizeBytes}`;
  },

  format(buffer, { key }) {
    const memory = memoryOf(buffer);
    memory.u32[VERSION_WORD] = LIMITS_VERSION;
    memory.u32[KEY_WORD] = hashOf(key);
    rebuild(memory);
  },

  keeps(buffer, { key }) {
    const words = new Uint32Array(buffer, 0, KEY_WORD + 1);
    return words[VERSION_WORD] === LIMITS_VERSION && words[KEY_WORD] === hashOf(key);
  },
};

/** Request limits (limit_req_zone). */
export const requestLimitKind: ZoneKind<RequestLimitDeclaration> = {
  ...shared,
  magic: REQUEST_LIMIT_MAGIC,
  repair: (buffer) => repairDictionary(memoryOf(buffer)),
};

/** Connection limits (limit_conn_zone). */
export const connectionLimitKind: ZoneKind<ConnectionLimitDeclaration> = {
  ...shared,
  magic: CONNECTION_LIMIT_MAGIC,
  repair(buffer) {
    const memory = memoryOf(buffer);
    repairDictionary(memory);
    recount(memory);
  },
  leave: (buffer, threadId) => forgetThread(memoryOf(buffer), threadId),
};

function hashOf(key: string): number {
  return fnv1a(Buffer.from(key));
}

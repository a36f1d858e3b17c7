import type { PeersDeclaration, ZoneKind } from '../declaration.ts';
import { MAX_ZONE_BYTES, VERSION_WORD } from '../layout.ts';
import {
  PEERS_MAGIC,
  PEERS_VERSION,
  REQUESTS,
  SLOTS_WORD,
  THREADS_WORD,
  USES,
  cellAt,
  peersBytes,
  slotAt,
} from './layout.ts';

/** Peers of an upstream. */
export const peersKind: ZoneKind<PeersDeclaration> = {
  magic: PEERS_MAGIC,
  bytes: peersBytes,

  fault({ name, slots, threads }) {
    const bytes = peersBytes({ slots, threads });
    if (bytes <= MAX_ZONE_BYTES) return undefined;
    return `zone "${name}" is too large: ${slots} peers need ${bytes} bytes, at most ${MAX_ZONE_BYTES} are allowed`;
  },

  conflict: (later, earlier) =>
    later.slots === earlier.slots && later.threads === earlier.threads
      ? undefined
      : `zone "${later.name}" is already declared with another size`,

  format(buffer, { slots, threads }) {
    const words = new Int32Array(buffer);
    words[VERSION_WORD] = PEERS_VERSION;
    words[SLOTS_WORD] = slots;
    words[THREADS_WORD] = threads;
  },

  keeps: (buffer, { slots, threads }) => {
    const words = new Int32Array(buffer);
    const isSame = words[SLOTS_WORD] === slots && words[THREADS_WORD] === threads;
    return isSame && words[VERSION_WORD] === PEERS_VERSION;
  },

  // Weights and failures may miss what the dead thread was about to write: they recover by themselves.
  repair: () => undefined,

  leave(buffer, threadId) {
    const words = new Int32Array(buffer);
    const slots = words[SLOTS_WORD] as number;
    if (threadId >= (words[THREADS_WORD] as number)) return;
    for (let index = 0; index < slots; index++) {
      const cell = cellAt(slots, { threadId, index });
      Atomics.sub(words, slotAt(index) + USES, Atomics.exchange(words, cell, 0));
      Atomics.sub(words, slotAt(index) + REQUESTS, Atomics.exchange(words, cell + 1, 0));
    }
  },
};
